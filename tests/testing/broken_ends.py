"""Providers that break the contract by how they are cancelled, go on and are closed."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

from testing.good_providers import Good, Released

from engine_intelligence import ActivitySink, ActivitySubmission, Ok, ProviderError

# S12, S13, S15, P5, P6


class Slow(Good):
    """Goes on until it is cancelled."""

    async def run(self, submission: ActivitySubmission, sink: Any) -> None:
        while True:
            sink.text("and ")
            await asyncio.sleep(0.001)


class IgnoresCancel(Slow):
    def cancel(self, activity_id: str) -> Any:
        return Ok(None)


class LosesAnEarlyCancel(Slow):
    """Knows of an Activity only once it has spoken."""

    def cancel(self, activity_id: str) -> Any:
        if self.sinks[activity_id].texts:
            return super().cancel(activity_id)
        return Ok(None)


class SaysNothing(Good):
    async def run(self, submission: ActivitySubmission, sink: Any) -> None:
        await asyncio.Event().wait()


class ForgetsAtTheSecondCancel(Slow):
    def __init__(self) -> None:
        super().__init__()
        self.cancelling: set[str] = set()

    def cancel(self, activity_id: str) -> Any:
        """The second takes back what the first has asked for."""
        task = self.tasks.get(activity_id)
        if task is not None and activity_id in self.cancelling:
            task.uncancel()
            self.sinks[activity_id] = None
        elif task is not None:
            self.cancelling.add(activity_id)
            asyncio.get_running_loop().call_later(0.01, self.stop, activity_id)
        return Ok(None)

    def stop(self, activity_id: str) -> None:
        if self.sinks[activity_id] is not None and activity_id in self.tasks:
            self.tasks[activity_id].cancel()


class CancelsEverything(Good):
    def cancel(self, activity_id: str) -> Any:
        for task in self.tasks.values():
            task.cancel()
        return Ok(None)


class EndsAgainWhenCancelled(Good):
    def cancel(self, activity_id: str) -> Any:
        if activity_id in self.sinks and activity_id not in self.tasks:
            self.sinks[activity_id].cancelled()
        return super().cancel(activity_id)


class OneTurnASession(Good):
    def __init__(self) -> None:
        super().__init__()
        self.sessions: set[str] = set()

    def start(self, submission: ActivitySubmission, sink: ActivitySink) -> Any:
        if submission.session.id in self.sessions:
            raise ProviderError("this session is over", reason="session-lost")
        self.sessions.add(submission.session.id)
        return super().start(submission, sink)


class LosesACancelledSession(Good):
    def __init__(self) -> None:
        super().__init__()
        self.lost: set[str] = set()
        self.session_of: dict[str, str] = {}

    async def run(self, submission: ActivitySubmission, sink: Any) -> None:
        if submission.session.id in self.lost:
            sink.fail(ProviderError("this session is over", reason="session-lost"))
        else:
            await super().run(submission, sink)

    def start(self, submission: ActivitySubmission, sink: ActivitySink) -> Any:
        self.session_of[submission.id] = submission.session.id
        return super().start(submission, sink)

    def cancel(self, activity_id: str) -> Any:
        self.lost.add(self.session_of[activity_id])
        return super().cancel(activity_id)


# B4, H6


class CloseRaises(Good):
    async def close(self) -> None:
        await super().close()
        raise LookupError("no such session")


class CloseHangs(Good):
    async def close(self) -> None:
        await super().close()
        await asyncio.Event().wait()


class SecondCloseRaises(Good):
    closed = False

    async def close(self) -> None:
        await super().close()
        if self.closed:
            raise LookupError("closed already")
        self.closed = True


class CloseBlocks(Good):
    async def close(self) -> None:
        await super().close()
        Released.event.wait(30)


class LeavesItsTasks(Slow):
    async def close(self) -> None:
        pass


class LeavesAThread(Good):
    def start(self, submission: ActivitySubmission, sink: ActivitySink) -> Any:
        threading.Thread(target=Released.event.wait, args=(30,), name="worker", daemon=True).start()
        return super().start(submission, sink)
