"""Providers that break the contract by what they say."""

from __future__ import annotations

import asyncio
import threading
from itertools import count
from typing import Any

from testing.good_providers import CHUNKS, Good, Released

from engine_intelligence import ActivitySink, ActivitySubmission, Ok

# P7

_numbers = count(1)


class AnotherNameEachTime(Good):
    def __init__(self) -> None:
        super().__init__()
        self.id = f"p-{next(_numbers)}"


class NoName(Good):
    id = ""


class ANameThatIsNoText(Good):
    id = 7


# S6


class TwoTerminals(Good):
    def complete(self, submission: ActivitySubmission, sink: Any) -> None:
        super().complete(submission, sink)
        sink.cancelled()


class TextAfterTheTerminal(Good):
    def complete(self, submission: ActivitySubmission, sink: Any) -> None:
        super().complete(submission, sink)
        sink.text("and ")


class LateFromAnotherThread(Good):
    """Says something more from a thread, once it has completed."""

    def complete(self, submission: ActivitySubmission, sink: Any) -> None:
        super().complete(submission, sink)
        threading.Timer(0.01, sink.text, ["and "]).start()


class NeverEnds(Good):
    def complete(self, submission: ActivitySubmission, sink: Any) -> None:
        pass


class RaisesInItsTask(Good):
    """Its exception goes into a task that nobody awaits, so that the Activity never ends."""

    async def run(self, submission: ActivitySubmission, sink: Any) -> None:
        raise LookupError("no such model")


class CompletesLater(Good):
    """Answers once, and only the sink that it was handed last."""

    async def run(self, submission: ActivitySubmission, sink: Any) -> None:
        for chunk in CHUNKS:
            await asyncio.sleep(0.001)
            list(self.sinks.values())[-1].text(chunk)
        await asyncio.sleep(0.002)
        last = list(self.sinks.values())[-1]
        last.complete(last.joined if hasattr(last, "joined") else "".join(CHUNKS))


class OneText(Good):
    """Keeps one text for all that it is doing."""

    def __init__(self) -> None:
        super().__init__()
        self.said = ""

    async def run(self, submission: ActivitySubmission, sink: Any) -> None:
        for chunk in CHUNKS:
            await asyncio.sleep(0.001)
            self.said += chunk
            sink.text(chunk)
        await asyncio.sleep(0.001)
        sink.complete(self.said)


class IgnoresItsBounds(Good):
    """Completes twice where it runs beside nothing else, which a service has to ignore."""

    def complete(self, submission: ActivitySubmission, sink: Any) -> None:
        sink.complete("".join(CHUNKS))
        sink.complete("".join(CHUNKS))


# S1


class BlocksInStart(Good):
    def start(self, submission: ActivitySubmission, sink: ActivitySink) -> Any:
        Released.event.wait(30)
        return super().start(submission, sink)


class BlocksTheLoop(Good):
    async def run(self, submission: ActivitySubmission, sink: Any) -> None:
        Released.event.wait(30)


# S14


class ReturnsNothing(Good):
    def start(self, submission: ActivitySubmission, sink: ActivitySink) -> Any:
        super().start(submission, sink)


class RaisesInStart(Good):
    def start(self, submission: ActivitySubmission, sink: ActivitySink) -> Any:
        raise LookupError("no such model")


class SecondCancelRaises(Good):
    def __init__(self) -> None:
        super().__init__()
        self.cancels: set[str] = set()

    def cancel(self, activity_id: str) -> Any:
        if activity_id in self.cancels:
            raise LookupError(activity_id)
        self.cancels.add(activity_id)
        return super().cancel(activity_id)


class CancelOfAnythingElseRaises(Good):
    def cancel(self, activity_id: str) -> Any:
        self.tasks[activity_id].cancel()
        return Ok(None)


class CompletesWhereItFails(Good):
    async def fail(self, sink: Any) -> None:
        sink.complete("It went wrong.")


class RaisesBesides(Good):
    """Answers well, and raises in a task that it has forgotten."""

    async def run(self, submission: ActivitySubmission, sink: Any) -> None:
        async def log() -> None:
            raise LookupError("no such file")

        asyncio.ensure_future(log())  # noqa: RUF006 - it is forgotten on purpose
        await super().run(submission, sink)


class RaisesInAThread(Good):
    def complete(self, submission: ActivitySubmission, sink: Any) -> None:
        super().complete(submission, sink)
        thread = threading.Thread(target=self.log, name="logging")
        thread.start()
        thread.join()

    def log(self) -> None:
        raise LookupError("no such file")


# P3, P2, D1


class CompletesWithAnotherText(Good):
    def complete(self, submission: ActivitySubmission, sink: Any) -> None:
        sink.complete("Halt!")


class SaysNumbers(Good):
    def complete(self, submission: ActivitySubmission, sink: Any) -> None:
        sink.text(7)
        super().complete(submission, sink)


class CountsInADict(Good):
    def complete(self, submission: ActivitySubmission, sink: Any) -> None:
        sink.complete("".join(CHUNKS), {"input": 1})


class FinishesInItsOwnWords(Good):
    def complete(self, submission: ActivitySubmission, sink: Any) -> None:
        sink.complete("".join(CHUNKS), None, "end_turn")


class ReadsOnlyTheBasicPlane(Good):
    async def run(self, submission: ActivitySubmission, sink: Any) -> None:
        if max(submission.input) <= "\uffff":
            await super().run(submission, sink)


class GivesUpOnLongTexts(Good):
    async def run(self, submission: ActivitySubmission, sink: Any) -> None:
        if len(submission.input) < 1000:
            await super().run(submission, sink)


class AnswersTwiceToBlanks(Good):
    def complete(self, submission: ActivitySubmission, sink: Any) -> None:
        super().complete(submission, sink)
        if not submission.input.strip():
            super().complete(submission, sink)
