"""A switch that is thrown ends what runs, and what looks at it is gone when nothing runs."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from pathlib import Path

import pytest
from support.spending_parts import WallClock, account, submission, tokens_of

from engine_intelligence import Failed, Ok, create_intelligence_runtime
from engine_intelligence.activity import IntelligenceEvent
from engine_intelligence.errors import IntelligenceError
from engine_intelligence.providers.stream import Prompt, StreamProvider
from engine_intelligence.result import Result
from engine_intelligence.runtime import IntelligenceRuntime
from engine_intelligence.spending.budgeted import Budgeted
from engine_intelligence.spending.ledger import STOPPED, Ledger
from engine_intelligence.spending.watch import Watch
from engine_intelligence.testing import ManualProvider
from engine_intelligence.testing.strict_sink import StrictSink

PATIENCE_S = 20.0


async def until(condition: Callable[[], bool]) -> None:
    while not condition():  # noqa: ASYNC110 - nobody tells of a timer or a generator
        await asyncio.sleep(0.01)


def run(play: Callable[[], Awaitable[None]]) -> None:
    async def bounded() -> None:
        await asyncio.wait_for(play(), PATIENCE_S)

    asyncio.run(bounded())


class Talker:
    """A provider that talks without end, and what became of its generators."""

    def __init__(self) -> None:
        self.begun = 0
        self.unwound = 0

    async def talk(self, prompt: Prompt) -> AsyncGenerator[str, None]:
        self.begun += 1
        try:
            yield "x" * 40
            await asyncio.Event().wait()
        finally:
            self.unwound += 1


async def events_until_ended(runtime: IntelligenceRuntime, count: int) -> list[IntelligenceEvent]:
    events: list[IntelligenceEvent] = []

    def ended() -> bool:
        events.extend(runtime.poll())
        return sum(isinstance(event, Failed) for event in events) >= count

    await until(ended)
    return events


def other(path: Path, clock: WallClock) -> Ledger:
    """The ledger as another process has it."""
    return Ledger(path, clock_ns=clock)


def test_what_runs_is_cancelled_at_the_provider_and_ends_as_unavailable(
    ledger: Ledger, path: Path, clock: WallClock
) -> None:
    talker = Talker()

    async def play() -> None:
        provider = Budgeted(StreamProvider("oracle", talker.talk), [account()], Watch(ledger))
        runtime = create_intelligence_runtime(provider)
        for _ in range(2):
            assert runtime.submit("Talk.").ok
        await until(lambda: talker.begun == 2)
        switch = other(path, clock)
        switch.stop()
        switch.close()
        failures = [e.error.detail for e in await events_until_ended(runtime, 2) if isinstance(e, Failed)]
        assert [(detail.reason, detail.cause) for detail in failures] == [("unavailable", STOPPED)] * 2
        await until(lambda: talker.unwound == 2)
        await runtime.close()

    run(play)
    assert tokens_of(ledger) == 40


@pytest.mark.spec("P6")
def test_what_waits_for_its_session_is_refused_in_its_turn(
    ledger: Ledger, path: Path, clock: WallClock
) -> None:
    talker = Talker()

    async def play() -> None:
        provider = Budgeted(StreamProvider("oracle", talker.talk), [account()], Watch(ledger))
        runtime = create_intelligence_runtime(provider)
        first = runtime.submit("Talk.")
        assert isinstance(first, Ok)
        assert runtime.submit("Talk on.", first.value.session).ok
        await until(lambda: talker.begun == 1)
        switch = other(path, clock)
        switch.stop()
        switch.close()
        failures = [e.error.detail for e in await events_until_ended(runtime, 2) if isinstance(e, Failed)]
        assert [detail.reason for detail in failures] == ["unavailable"] * 2
        await runtime.close()

    run(play)
    assert talker.begun == 1


class SayingProvider(ManualProvider):
    """One that confirms a cancel inside it, and may raise."""

    def __init__(self, raising: bool) -> None:
        super().__init__("oracle")
        self.on_cancel = self._cancel
        self._raising = raising

    def _cancel(self, activity_id: str) -> Result[None, IntelligenceError]:
        self.sinks[activity_id].cancelled()
        if self._raising:
            raise RuntimeError("deaf")
        return Ok(None)


@pytest.mark.parametrize("raising", [False, True])
def test_a_stop_is_told_as_one_also_where_the_provider_confirms_or_fails_inside_the_cancel(
    ledger: Ledger, path: Path, clock: WallClock, raising: bool
) -> None:
    inner, sinks = SayingProvider(raising), [StrictSink(), StrictSink()]

    async def play() -> None:
        provider = Budgeted(inner, [account()], Watch(ledger))
        for number, sink in enumerate(sinks):
            provider.start(submission(f"activity-{number}"), sink)
        switch = other(path, clock)
        switch.stop()
        switch.close()
        await until(lambda: all(sink.terminal for sink in sinks))
        await provider.close()

    run(play)
    assert [(sink.terminal, sink.late) for sink in sinks] == [("fail", [])] * 2
    assert sorted(inner.cancels) == ["activity-0", "activity-1"]


def test_what_runs_is_counted_before_its_end(ledger: Ledger) -> None:
    inner = ManualProvider("oracle")

    async def play() -> None:
        provider = Budgeted(inner, [account()], Watch(ledger))
        provider.start(submission(), StrictSink())
        inner.sinks["activity-1"].text("x" * 400)
        await until(lambda: tokens_of(ledger) == 200)
        inner.sinks["activity-1"].text("x" * 40)
        inner.sinks["activity-1"].cancelled()
        assert tokens_of(ledger) == 220
        await provider.close()

    run(play)


def timers(loop: asyncio.AbstractEventLoop) -> int:
    """The timers of an event loop that are to ring."""
    scheduled: list[asyncio.TimerHandle] = getattr(loop, "_scheduled")  # noqa: B009 - asyncio tells nobody else
    return sum(not timer.cancelled() for timer in scheduled)


def test_the_timer_is_there_while_something_runs_and_not_after(ledger: Ledger) -> None:
    inner = ManualProvider("oracle")

    async def play() -> None:
        loop = asyncio.get_running_loop()
        before = timers(loop)
        provider = Budgeted(inner, [account()], Watch(ledger))
        assert timers(loop) == before
        provider.start(submission("one"), StrictSink())
        provider.start(submission("two"), StrictSink())
        assert timers(loop) == before + 1
        inner.sinks["one"].cancelled()
        inner.sinks["two"].cancelled()
        await until(lambda: timers(loop) == before)
        provider.start(submission("three"), StrictSink())
        assert timers(loop) == before + 1
        await provider.close()
        assert timers(loop) == before
        assert len(asyncio.all_tasks()) <= 2  # this one, and the one that bounds it

    run(play)


def test_a_second_event_loop_has_a_timer_of_its_own(ledger: Ledger, path: Path, clock: WallClock) -> None:
    inner = ManualProvider("oracle")
    provider = Budgeted(inner, [account()], Watch(ledger))
    sinks = [StrictSink(), StrictSink()]

    async def first() -> None:
        provider.start(submission("one"), sinks[0])

    async def second() -> None:
        provider.start(submission("two"), sinks[1])
        switch = other(path, clock)
        switch.stop()
        switch.close()
        await until(lambda: all(sink.terminal == "fail" for sink in sinks))
        await provider.close()

    run(first)
    run(second)


def test_without_an_event_loop_new_activities_are_stopped_all_the_same(ledger: Ledger) -> None:
    provider = Budgeted(ManualProvider("oracle"), [account()], Watch(ledger))
    ledger.stop()
    sink = StrictSink()
    provider.start(submission(), sink)
    assert sink.terminal == "fail"
