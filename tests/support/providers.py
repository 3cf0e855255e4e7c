"""Providers that a test drives by hand."""

from collections.abc import Callable

from engine_intelligence import ActivitySink, ActivitySubmission, IntelligenceError, Ok, Result

Started = Result[None, IntelligenceError]


class RecordingProvider:
    """Notes what it is asked, in order, and answers nothing by itself: the test calls the sinks.

    `on_start`, `on_cancel` and `on_close` stand for what a provider may do inside those calls.
    """

    def __init__(self, id: str = "test.provider") -> None:
        self._id = id
        self.submissions: list[ActivitySubmission] = []
        self.sinks: dict[str, ActivitySink] = {}
        self.cancels: list[str] = []
        self.closes = 0
        self.on_start: Callable[[ActivitySubmission, ActivitySink], Started] = lambda _submission, _sink: Ok(
            None
        )
        self.on_cancel: Callable[[str], Started] = lambda _activity_id: Ok(None)

    @property
    def id(self) -> str:
        return self._id

    @property
    def starts(self) -> list[str]:
        """The ids that `start` was called for, in order."""
        return [submission.id for submission in self.submissions]

    @property
    def calls(self) -> int:
        """How many calls there were, of any kind."""
        return len(self.submissions) + len(self.cancels) + self.closes

    def start(self, submission: ActivitySubmission, sink: ActivitySink) -> Started:
        self.submissions.append(submission)
        self.sinks[submission.id] = sink
        return self.on_start(submission, sink)

    def cancel(self, activity_id: str) -> Started:
        self.cancels.append(activity_id)
        return self.on_cancel(activity_id)

    async def close(self) -> None:
        self.closes += 1
