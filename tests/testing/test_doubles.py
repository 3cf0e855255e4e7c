"""The clock, the transcript and the provider that a test drives by hand."""

import asyncio

import pytest
from support.port_messages import completed, delta

from engine_intelligence import (
    Cancelled,
    Completed,
    Deadlines,
    Err,
    Failed,
    IntelligenceError,
    Ok,
    create_intelligence_port_client,
    create_intelligence_runtime,
)
from engine_intelligence.ports.memory import memory_port_pair
from engine_intelligence.testing import ConformanceError, ManualClock, ManualProvider, Transcript


def test_a_manual_clock_stands_still_until_it_is_told() -> None:
    clock = ManualClock(5.0)
    assert [clock(), clock()] == [5.0, 5.0]
    clock.advance(0.25)
    assert (clock(), clock.calls) == (5.25, 3)


@pytest.mark.parametrize("seconds", [-1, -0.001, float("nan")])
def test_a_manual_clock_does_not_go_back(seconds: float) -> None:
    clock = ManualClock()
    with pytest.raises(ValueError, match="does not go back"):
        clock.advance(seconds)
    assert clock() == 1000.0


@pytest.mark.spec("S15")
def test_a_runtime_judges_its_deadlines_by_a_manual_clock() -> None:
    clock, provider = ManualClock(), ManualProvider()
    runtime = create_intelligence_runtime(provider, clock=clock, deadlines=Deadlines(first_text_s=10))
    runtime.submit("May I pass?")
    clock.advance(9)
    assert runtime.poll() == []
    clock.advance(1)
    [event] = runtime.poll()
    assert isinstance(event, Failed)
    assert event.error.detail.reason == "timeout"


@pytest.mark.spec("C6")
def test_a_client_judges_its_deadlines_by_a_manual_clock() -> None:
    clock, (realm, _) = ManualClock(), memory_port_pair()
    client = create_intelligence_port_client("p", realm, clock=clock, deadlines=Deadlines(close_grace_s=3))
    task = client.close()
    assert not task.done
    clock.advance(3)
    assert task.done


def test_a_manual_provider_notes_what_it_is_asked_and_answers_through_its_sinks() -> None:
    provider = ManualProvider("p")
    runtime = create_intelligence_runtime(provider)
    started = runtime.submit("May I pass?")
    assert isinstance(started, Ok)
    id = started.value.id
    provider.sinks[id].complete("No.")
    [event] = runtime.poll()
    assert isinstance(event, Completed)
    runtime.cancel(id)
    runtime.close()
    assert provider.calls == [("start", id), ("close",)]
    assert (provider.starts, provider.cancels, provider.closes) == ([id], [], 1)


def test_a_manual_provider_may_refuse_and_stop_inside_a_call() -> None:
    provider = ManualProvider("p")
    runtime = create_intelligence_runtime(provider)
    started = runtime.submit("May I pass?")
    assert isinstance(started, Ok)

    def stop(activity_id: str) -> Ok[None]:
        provider.sinks[activity_id].cancelled()
        return Ok(None)

    provider.on_cancel = stop
    provider.on_start = lambda _submission, _sink: Err(IntelligenceError("intelligence-capacity-exceeded"))
    assert not runtime.submit("And now?").ok
    runtime.cancel(started.value.id)
    assert [type(event) for event in runtime.poll()] == [Cancelled]
    assert provider.cancels == [started.value.id]


def test_a_manual_provider_may_take_time_to_close() -> None:
    closed: list[int] = []

    async def close() -> None:
        await asyncio.sleep(0)
        closed.append(1)

    async def main() -> None:
        provider = ManualProvider("p")
        provider.on_close = close
        await create_intelligence_runtime(provider).close()

    asyncio.run(main())
    assert closed == [1]


def test_a_transcript_keeps_what_was_told_of_each_activity() -> None:
    told = Transcript()
    told.take([delta(1, "Who ", "a-1"), delta(1, "Halt!", "a-2"), completed(2, "Halt!", "a-2")])
    told.take([delta(2, "goes there?", "a-1")])
    assert (told.text("a-1"), told.terminal("a-1"), told.terminal("a-3")) == ("Who goes there?", None, None)
    assert (told.activities, told.ended) == (["a-1", "a-2"], ["a-2"])
    assert told.terminal("a-2") == completed(2, "Halt!", "a-2")
    assert len(told.events("a-1")) == 2


@pytest.mark.spec("S6")
def test_a_transcript_names_the_rule_of_what_follows_a_terminal() -> None:
    told = Transcript()
    told.take([completed(1)])
    with pytest.raises(ConformanceError, match="follows the terminal") as found:
        told.take([delta(2)])
    assert found.value.rule == "S6"


@pytest.mark.spec("D3")
@pytest.mark.parametrize("sequence", [0, 1, 3])
def test_a_transcript_names_the_rule_of_a_gap(sequence: int) -> None:
    told = Transcript()
    told.take([delta(1)])
    with pytest.raises(ConformanceError) as found:
        told.take([delta(sequence)])
    assert found.value.rule == "D3"
