"""A service, polled like a game polls it: what the checks of a service share."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any, TypeAlias

from engine_intelligence.activity import ActivityRef, Completed, Failed, SessionRef, Terminal
from engine_intelligence.contracts import IntelligenceService
from engine_intelligence.errors import IntelligenceError
from engine_intelligence.limits import Deadlines
from engine_intelligence.result import Err, Ok
from engine_intelligence.testing.bounded import Watch, until
from engine_intelligence.testing.conformance import ConformanceError, blamed, require
from engine_intelligence.testing.transcript import Transcript

MakeService: TypeAlias = Callable[[], IntelligenceService | AbstractAsyncContextManager[IntelligenceService]]

# How long a check listens for what must not come: other processes and threads need their turn.
SETTLE_S = 0.05


class ServiceStage:
    """One service, and what was polled of it. A new one for every check."""

    def __init__(
        self,
        service: IntelligenceService,
        *,
        watch: Watch,
        input: str,
        endless_input: str | None,
        failing_input: str | None,
        overflowing_input: str | None,
        deadlines: Deadlines,
        drive: Callable[[], object] | None,
    ) -> None:
        self.service = service
        self.watch = watch
        self.input = input
        self.endless_input = input if endless_input is None else endless_input
        self.failing_input = failing_input
        self.overflowing_input = overflowing_input
        self.deadlines = deadlines
        self.told = Transcript()
        self.known: set[str] = set()
        self._drive = drive

    # What a game does

    def submit(self, input: Any, session: Any = None) -> ActivityRef | IntelligenceError:
        """Submit, with what is accepted or the error of what is refused."""
        with self.watch.at("S1", "submit()"), blamed("D4", f"submit({_shown(input)})"):
            result: Any = self.service.submit(input, session)
        value = _value(result, "submit()")
        if isinstance(value, ActivityRef):
            self.known.add(value.id)
        elif not isinstance(value, IntelligenceError):
            raise ConformanceError("D4", f"submit() returned {type(value).__name__} in its result")
        return value

    def begin(self, input: str | None = None, session: SessionRef | None = None) -> ActivityRef:
        """Submit what has to be accepted."""
        started = self.submit(self.input if input is None else input, session)
        if isinstance(started, ActivityRef):
            return started
        raise ConformanceError("S6", f"a valid request was refused: {started}")

    def cancel(self, activity_id: Any) -> IntelligenceError | None:
        """Cancel; the error of what is refused."""
        with self.watch.at("S1", "cancel()"), blamed("D4", f"cancel({_shown(activity_id)})"):
            result: Any = self.service.cancel(activity_id)
        value = _value(result, "cancel()")
        require(
            value is None or isinstance(value, IntelligenceError),
            "D4",
            f"cancel() returned {type(value).__name__} in its result",
        )
        return value if isinstance(value, IntelligenceError) else None

    def poll(self, *args: Any) -> int:
        """Poll, note what came in order, and return how many events that were."""
        with self.watch.at("S1", "poll()"), blamed("S7", f"poll({', '.join(map(_shown, args))})"):
            events: Any = self.service.poll(*args)
        require(isinstance(events, list), "S7", f"poll() returned {type(events).__name__}, not a list")
        for event in self.told.take(events):
            require(event.activity_id in self.known, "S6", f"{event!r} is of no Activity that was submitted")
        return len(events)

    # What a check waits for

    async def until(
        self, condition: Callable[[], bool], within_s: float, poll: Callable[[], object] | None = None
    ) -> bool:
        """Poll until `condition` holds; whether it does within the time."""

        def frame() -> None:
            if self._drive is not None:
                with blamed("S14", "drive()"):
                    self._drive()
            (poll or self.poll)()

        return await until(condition, within_s, frame)

    async def end_of(self, *started: ActivityRef, poll: Callable[[], object] | None = None) -> None:
        """Poll until all of these have ended, and a little longer: nothing follows a terminal."""
        ids = {each.id for each in started}
        within_s = self.deadlines.activity_s
        over = await self.until(lambda: ids <= set(self.told.ended), within_s, poll)
        left = len(ids - set(self.told.ended))
        require(over, "S6", f"{left} of {len(ids)} accepted Activities had no terminal within {within_s:g} s")
        await self.settle()

    async def settle(self, poll: Callable[[], object] | None = None) -> None:
        """Poll for a moment; `poll` is what to do instead."""
        await self.until(lambda: False, SETTLE_S, poll)

    async def warm_up(self) -> None:
        """Carry out one Activity, so that the limits are those of the other end."""
        await self.completion_of(self.begin())

    async def completion_of(self, started: ActivityRef) -> Completed:
        """Poll until an Activity has ended that has to complete."""
        await self.end_of(started)
        terminal = self.terminal(started)
        if not isinstance(terminal, Completed):
            raise ConformanceError("S6", f"the Activity has to complete, and ended with {terminal!r}")
        return terminal

    async def failure_of(self, started: ActivityRef, rule: str) -> Failed:
        """Poll until an Activity has ended that has to fail."""
        await self.end_of(started)
        terminal = self.terminal(started)
        if not isinstance(terminal, Failed):
            raise ConformanceError(rule, f"the Activity has to fail, and ended with {terminal!r}")
        return terminal

    def terminal(self, started: ActivityRef) -> Terminal | None:
        """The terminal of an Activity, if it has been polled."""
        return self.told.terminal(started.id)

    async def end(self) -> None:
        """Close the service, so that nothing of the check is left. What is wrong with that, a check of its own finds."""
        task = self.service.close()
        await until(lambda: task.done, self.deadlines.close_grace_s, self._drive)


def refusal(value: object, code: str, rule: str, what: str) -> IntelligenceError:
    """What was refused, which has to be by that code."""
    if not isinstance(value, IntelligenceError):
        raise ConformanceError(rule, f"{what} was accepted, not refused with {code}")
    require(value.code == code, rule, f"{what} was refused with {value.code}, not {code}")
    return value


def _value(result: Any, call: str) -> object:
    """What a result holds."""
    known = isinstance(result, Ok | Err)
    require(known, "D4", f"{call} returned {type(result).__name__}, not Ok or Err")
    return result.value if result.ok else result.error


def _shown(value: object) -> str:
    text = ascii(value)
    return text if len(text) <= 40 else f"{type(value).__name__}"
