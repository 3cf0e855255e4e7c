"""A provider that a test drives by hand."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from engine_intelligence.activity import ActivitySubmission
from engine_intelligence.contracts import ActivitySink
from engine_intelligence.errors import IntelligenceError
from engine_intelligence.result import Ok, Result

Answer = Result[None, IntelligenceError]


class ManualProvider:
    """An `IntelligenceProvider` that notes what it is asked and answers nothing by itself: the test calls the sinks.

    `on_start`, `on_cancel` and `on_close` stand for what a provider may do inside those calls, such as to
    raise or to refuse. It has no thread and no lock, and may be used from any one thread.
    """

    def __init__(self, id: str = "test.provider") -> None:
        self._id = id
        self.calls: list[tuple[str, ...]] = []
        """What was asked, in order: `("start", id)`, `("cancel", id)`, `("close",)`."""
        self.submissions: list[ActivitySubmission] = []
        """What it was handed, in order."""
        self.sinks: dict[str, ActivitySink] = {}
        """The sink of each Activity, by the id of that."""
        self.on_start: Callable[[ActivitySubmission, ActivitySink], Answer] = lambda _submission, _sink: Ok(
            None
        )
        self.on_cancel: Callable[[str], Answer] = lambda _activity_id: Ok(None)
        self.on_close: Callable[[], Awaitable[None]] | None = None

    @property
    def id(self) -> str:
        """The name of this provider."""
        return self._id

    @property
    def starts(self) -> list[str]:
        """The ids that `start` was called for, in order."""
        return [submission.id for submission in self.submissions]

    @property
    def cancels(self) -> list[str]:
        """The ids that `cancel` was called for, in order."""
        return [call[1] for call in self.calls if call[0] == "cancel"]

    @property
    def closes(self) -> int:
        """How often `close` was called."""
        return self.calls.count(("close",))

    def start(self, submission: ActivitySubmission, sink: ActivitySink) -> Answer:
        """Keep the submission and the sink, and answer what `on_start` does."""
        self.calls.append(("start", submission.id))
        self.submissions.append(submission)
        self.sinks[submission.id] = sink
        return self.on_start(submission, sink)

    def cancel(self, activity_id: str) -> Answer:
        """Answer what `on_cancel` does."""
        self.calls.append(("cancel", activity_id))
        return self.on_cancel(activity_id)

    async def close(self) -> None:
        """Await what `on_close` returns, if there is one."""
        self.calls.append(("close",))
        if self.on_close is not None:
            await self.on_close()
