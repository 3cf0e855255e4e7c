"""The provider of the simulation: it does what a schedule decides, well or badly, and remembers what it did."""

from dataclasses import dataclass, field
from random import Random

from engine_intelligence import ActivitySink, ActivitySubmission, IntelligenceError, Ok, Result, Usage


@dataclass
class Work:
    """One Activity as its provider sees it."""

    submission: ActivitySubmission
    sink: ActivitySink
    said: list[str] = field(default_factory=list[str])
    ended: bool = False
    cancel_asked: bool = False
    abandoned: bool = False
    """The runtime has given it up, as far as a provider can tell: it was told to cancel."""


class Mind:
    """An `IntelligenceProvider`. Faults are switched on from outside."""

    def __init__(self, id: str, random: Random) -> None:
        self.id = id
        self._random = random
        self.works: dict[str, Work] = {}
        self.starts: list[str] = []
        self.turns: list[str] = []
        """Ids of the Activities whose completion stood, so that their turn was kept."""
        self.ignores_cancel = False
        self.raises_in_start = False
        self.raises_in_cancel = False
        self.close_fault: str | None = None
        self.closes = 0
        self.silent = False

    def start(self, submission: ActivitySubmission, sink: ActivitySink) -> Result[None, IntelligenceError]:
        self.starts.append(submission.id)
        if self.raises_in_start:
            raise RuntimeError("no")
        self.works[submission.id] = Work(submission, sink)
        return Ok(None)

    def cancel(self, activity_id: str) -> Result[None, IntelligenceError]:
        work = self.works.get(activity_id)
        if work is not None:
            work.abandoned = True
        if self.raises_in_cancel:
            raise RuntimeError("no")
        if work is not None:
            work.cancel_asked = True
        return Ok(None)

    async def close(self) -> None:
        self.closes += 1
        if self.close_fault == "raises":
            raise RuntimeError("no")
        if self.close_fault == "hangs":
            import asyncio

            await asyncio.get_running_loop().create_future()

    def itself(self) -> "Mind":
        """What a plan makes when it is asked for this provider."""
        return self

    @property
    def open_works(self) -> list[Work]:
        """Those that have not been ended by this provider."""
        return [work for work in self.works.values() if not work.ended]

    def act(self) -> str:
        """Do one thing for one Activity, and say what."""
        works = self.open_works
        if not works or self.silent:
            return "nothing"
        work = self._random.choice(works)
        if work.cancel_asked and not self.ignores_cancel:
            work.ended = True
            work.sink.cancelled()
            return f"confirm {work.submission.id}"
        kind = self._random.random()
        if kind < 0.7:
            text = self._random.choice(("a", "bc", "def ", "ghij klm ", "é", "🜂"))
            work.said.append(text)
            work.sink.text(text)
            return f"text {work.submission.id} {text}"
        work.ended = True
        if kind < 0.9:
            if work.sink.complete("".join(work.said), Usage(1, len(work.said)), "stop"):
                self.turns.append(work.submission.id)
            return f"complete {work.submission.id}"
        work.sink.fail("it broke")
        return f"fail {work.submission.id}"

    def act_late(self) -> str:
        """Call a sink whose Activity this provider has ended already: the contract has it ignored."""
        works = [work for work in self.works.values() if work.ended]
        if not works:
            return "nothing"
        work = self._random.choice(works)
        self._random.choice(
            (
                lambda: work.sink.text("late"),
                lambda: work.sink.complete("late"),
                lambda: work.sink.fail("late"),
                work.sink.cancelled,
            )
        )()
        return f"late {work.submission.id}"
