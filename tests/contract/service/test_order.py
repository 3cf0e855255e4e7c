"""Rule S6: any number of deltas, then one terminal, and nothing after it."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.scene import make_scene

from engine_intelligence import ActivitySink, Cancelled, Completed, Failed, TextDelta


def complete(sink: ActivitySink) -> None:
    sink.complete("whole")


def fail(sink: ActivitySink) -> None:
    sink.fail("it broke")


def cancelled(sink: ActivitySink) -> None:
    sink.cancelled()


def text(sink: ActivitySink) -> None:
    sink.text("Halt! ")


END = [complete, fail, cancelled]
Call = Callable[[ActivitySink], None]


@pytest.mark.spec("S6")
def test_text_comes_in_order_and_before_the_terminal() -> None:
    scene = make_scene()
    id, sink = scene.begin()
    for word in ("Who ", "goes ", "there?"):
        sink.text(word)
    sink.complete("Who goes there?")
    scene.drain()
    assert scene.told.text(id) == "Who goes there?"
    assert isinstance(scene.told.terminal(id), Completed)


@pytest.mark.spec("S6")
def test_text_that_was_polled_before_is_not_told_again() -> None:
    scene = make_scene()
    id, sink = scene.begin()
    sink.text("Who ")
    scene.poll()
    sink.text("goes?")
    scene.poll()
    assert scene.told.text(id) == "Who goes?"


@pytest.mark.spec("S6")
def test_an_activity_may_end_without_any_text() -> None:
    scene = make_scene()
    id, sink = scene.begin()
    sink.complete("Halt!")
    scene.drain()
    assert [type(event) for event in scene.told.events(id)] == [Completed]


@pytest.mark.fault("R50")
@pytest.mark.spec("S6")
def test_empty_text_is_no_event() -> None:
    scene = make_scene()
    _, sink = scene.begin()
    sink.text("")
    assert scene.poll() == []


@pytest.mark.parametrize("first", END)
@pytest.mark.parametrize("then", [text, *END])
@pytest.mark.spec("S6", "P2")
def test_nothing_follows_a_terminal_that_is_still_pending(first: Call, then: Call) -> None:
    scene = make_scene()
    id, sink = scene.begin()
    first(sink)
    then(sink)
    scene.drain()
    assert len(scene.told.events(id)) == 1


@pytest.mark.parametrize("first", END)
@pytest.mark.parametrize("then", [text, *END])
@pytest.mark.spec("S6", "P2")
def test_nothing_follows_a_terminal_that_was_polled(first: Call, then: Call) -> None:
    scene = make_scene()
    _, sink = scene.begin()
    first(sink)
    scene.poll()
    then(sink)
    assert scene.poll() == []


@pytest.mark.parametrize("ended", [True, False])
@pytest.mark.spec("S6")
def test_nothing_is_delivered_once_the_service_is_closed(ended: bool) -> None:
    scene = make_scene()
    _, sink = scene.begin()
    sink.text("Halt!")
    if ended:
        sink.complete("Halt!")

    async def close() -> None:
        await scene.runtime.close()

    asyncio.run(close())
    sink.text("late")
    assert scene.runtime.poll() == []


@dataclass(frozen=True)
class Step:
    """One thing that happens: a sink call on one of three Activities, or a poll."""

    call: Call | None
    which: int
    events: int


steps = st.lists(
    st.builds(Step, st.sampled_from([text, text, text, None, *END]), st.integers(0, 2), st.integers(1, 4)),
    max_size=30,
)


@pytest.mark.spec("S6", "D3", "P2")
@given(steps, st.integers(2, 4))
def test_any_sequence_of_sink_calls_gives_deltas_and_one_terminal(
    steps: Sequence[Step], pending: int
) -> None:
    scene = make_scene(max_pending_events_per_activity=pending)
    activities = [scene.begin() for _ in range(3)]
    said, ends = ["", "", ""], [list[Call](), list[Call](), list[Call]()]
    for step in steps:
        if step.call is None:
            scene.poll(step.events)
            continue
        step.call(activities[step.which][1])
        if step.call is not text:
            ends[step.which].append(step.call)
        elif not ends[step.which]:
            said[step.which] += "Halt! "
    scene.drain()
    classes: dict[Call, type[object]] = {complete: Completed, fail: Failed, cancelled: Cancelled}
    for (id, _), words, calls in zip(activities, said, ends, strict=True):
        assert scene.told.text(id) == words
        # A provider may call `cancelled` unasked: which terminal that gives is not said, but it is one.
        terminal = scene.told.terminal(id)
        assert (terminal is not None) == bool(calls)
        if calls and calls[0] is not cancelled:
            assert isinstance(terminal, classes[calls[0]])


@pytest.mark.fault("C4", "R50")
@pytest.mark.spec("S6")
def test_a_hundred_thousand_deltas_arrive_as_they_were_said() -> None:
    scene = make_scene(max_output_chars=600_000)
    id, sink = scene.begin()
    for number in range(100_000):
        sink.text(f"{number % 10000} ")
        if number % 100 == 0:
            events = scene.poll()
            assert all(isinstance(event, TextDelta) for event in events)
    sink.complete("done")
    scene.drain()
    assert scene.told.text(id) == "".join(f"{number % 10000} " for number in range(100_000))
