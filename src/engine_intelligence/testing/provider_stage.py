"""One provider in front of a strict sink: what every check of a provider does with it."""

from __future__ import annotations

import asyncio
import itertools
import threading
from collections.abc import Callable
from typing import Any

from engine_intelligence.activity import ActivitySubmission, SessionRef
from engine_intelligence.contracts import IntelligenceProvider
from engine_intelligence.limits import Deadlines, IntelligenceLimits
from engine_intelligence.result import Err, Ok
from engine_intelligence.testing.bounded import Watch, bounded, until
from engine_intelligence.testing.conformance import ConformanceError, blamed, require
from engine_intelligence.testing.strict_sink import StrictSink

# How long a check listens for what comes after an end: other threads need their turn, and nothing is claimed by it.
SETTLE_S = 0.05


class StageActivity:
    """An Activity that a check began."""

    def __init__(self, id: str, session: SessionRef) -> None:
        self.id = id
        self.session = session
        self.sink = StrictSink()

    @property
    def ended(self) -> bool:
        """Whether its terminal has come."""
        return self.sink.terminal is not None


class ProviderStage:
    """A provider of the factory, and the ways to use it. A new one for every check."""

    def __init__(
        self,
        make_provider: Callable[[], Any],
        *,
        watch: Watch,
        input: str,
        failing_input: str | None,
        limits: IntelligenceLimits,
        deadlines: Deadlines,
        drive: Callable[[Any], object] | None,
    ) -> None:
        self.make_provider = make_provider
        self.watch = watch
        self.input = input
        self.failing_input = failing_input
        self.limits = limits
        self.deadlines = deadlines
        self._drive = drive
        self._numbers = itertools.count(1)
        self.provider: IntelligenceProvider = make_provider()

    # What a service does

    def session(self) -> SessionRef:
        """A new conversation."""
        return SessionRef(self.provider.id, f"check-session-{next(self._numbers)}")

    def start(self, input: str | None = None, session: SessionRef | None = None) -> StageActivity:
        """Begin an Activity, which the provider has to accept."""
        activity = StageActivity(f"check-{next(self._numbers)}", session or self.session())
        submission = ActivitySubmission(activity.id, activity.session, self.input if input is None else input)
        with self.watch.at("S1", "start()"), blamed("S14", "start()"):
            result: Any = self.provider.start(submission, activity.sink)
        _require_result(result, "start()")
        if not result.ok:
            raise ConformanceError("S14", f"start() refused what the check asked for: {result.error}")
        return activity

    def cancel(self, activity_id: str) -> None:
        """Cancel; what the provider answers may be either result."""
        with self.watch.at("S1", "cancel()"), blamed("S14", "cancel()"):
            result: Any = self.provider.cancel(activity_id)
        _require_result(result, "cancel()")

    async def close(self, provider: IntelligenceProvider | None = None) -> None:
        """Close the provider, as a service does at its end."""
        target = self.provider if provider is None else provider
        grace_s = self.deadlines.close_grace_s
        with self.watch.at("B4", "close()"), blamed("B4", "close()"):
            closed = await bounded(target.close(), grace_s)
        require(closed, "B4", f"close() did not end within {grace_s:g} s")

    # What a check waits for

    async def until(self, condition: Callable[[], bool], within_s: float) -> bool:
        """Let the provider go on until `condition` holds; whether it does."""
        return await until(condition, within_s, self._turn)

    async def settle(self) -> None:
        """Give what comes late the time to come."""
        await self.until(lambda: False, SETTLE_S)

    async def to_its_end(self, activity: StageActivity, *, what: str = "an Activity") -> StrictSink:
        """Wait for the terminal of an Activity, and look whether anything follows."""
        within_s = self.deadlines.activity_s
        ended = await self.until(lambda: activity.ended, within_s)
        escaped = self.watch.escaped
        because = f"; this was raised meanwhile: {escaped[0]}" if escaped else ""
        require(ended, "S6", f"{what} had no terminal within {within_s:g} s{because}")
        await self.settle()
        sink = activity.sink
        require(not sink.late, "S6", f"{what} went on after {sink.terminal}(): {', '.join(sink.late)}")
        return sink

    async def to_completion(self, activity: StageActivity, *, what: str = "an Activity") -> StrictSink:
        """Wait for an Activity that has to complete."""
        sink = await self.to_its_end(activity, what=what)
        because = f": {sink.cause}" if sink.cause is not None else ""
        require(
            sink.terminal == "complete", "S6", f"{what} ended with {sink.terminal}(), not complete(){because}"
        )
        require(
            not sink.texts or sink.output is None or sink.joined == sink.output,
            "P3",
            f"{what} said {_quoted(sink.joined)} in chunks, and completed with {_quoted(sink.output)}",
        )
        return sink

    async def leftovers(self, tasks: set[asyncio.Task[Any]], threads: set[threading.Thread]) -> list[str]:
        """The tasks and threads that are there and were not, once they had `close_grace_s` to end."""

        def left() -> list[str]:
            now = [task.get_name() for task in asyncio.all_tasks() - tasks]
            # The loop's own pool, for asyncio.to_thread, belongs to the loop.
            new = [thread.name for thread in set(threading.enumerate()) - threads]
            return [f"task {name!r}" for name in now] + [
                f"thread {name!r}" for name in new if not name.startswith("asyncio_")
            ]

        await until(lambda: not left(), self.deadlines.close_grace_s)
        return left()

    def _turn(self) -> None:
        if self._drive is not None:
            with blamed("S14", "drive()"):
                self._drive(self.provider)


def _require_result(result: Any, call: str) -> None:
    require(
        isinstance(result, Ok | Err), "S14", f"{call} returned {type(result).__name__}, not Ok(None) or Err"
    )


def _quoted(text: str | None) -> str:
    """A text, cut where it is long."""
    return "None" if text is None else ascii(text if len(text) <= 60 else text[:60] + "...")
