"""The tokens of an Activity are counted once, whatever its provider says, how often and from which thread (rule P2)."""

import threading
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine_intelligence.activity import Usage
from engine_intelligence.contracts import ActivitySink
from engine_intelligence.conversation import estimated_tokens
from engine_intelligence.errors import ProviderError
from engine_intelligence.spending.meter import Meter
from engine_intelligence.testing.strict_sink import StrictSink


class Counted:
    """A meter, what was handed to it for counting, and what came out of it."""

    def __init__(self, sink: ActivitySink | None = None) -> None:
        self.out = StrictSink()
        self.spent: list[int] = []
        self.ends = 0
        self.meter = Meter(sink or self.out, spend=self.spent.append, cancel=lambda: None, ended=self._end)

    def _end(self, meter: Meter) -> None:
        self.ends += 1

    @property
    def tokens(self) -> int:
        return sum(self.spent)


ENDS: dict[str, Callable[[Meter], object]] = {
    "complete": lambda meter: meter.complete("four"),
    "fail": lambda meter: meter.fail("the oven is cold"),
    "cancelled": lambda meter: meter.cancelled(),
    "stop": lambda meter: meter.stop(ProviderError("stopped", reason="unavailable")),
    "abandon": lambda meter: meter.abandon(),
}


def test_what_a_provider_tells_of_is_what_is_counted() -> None:
    counted = Counted()
    counted.meter.text("x" * 4000)
    counted.meter.complete("x" * 4000, Usage(5, 17))
    assert counted.tokens == 17


@pytest.mark.parametrize("end", ENDS)
def test_where_a_provider_tells_nothing_its_text_is_estimated(end: str) -> None:
    counted = Counted()
    counted.meter.text("four")
    counted.meter.text("fives, ")
    ENDS[end](counted.meter)
    assert counted.tokens == estimated_tokens("four") + estimated_tokens("fives, ") == 6


def test_an_output_that_was_not_streamed_is_counted() -> None:
    counted = Counted()
    counted.meter.complete("four")
    assert counted.tokens == 2


@pytest.mark.parametrize("told", [-1, True, 1.5, None, 10**12, "7"])
def test_a_number_that_can_not_be_is_not_believed(told: Any) -> None:
    counted = Counted()
    counted.meter.complete("four", Usage(0, told))
    assert counted.tokens == 2


def test_a_usage_that_is_none_is_not_believed() -> None:
    counted = Counted()
    rubbish: Any = {"output_tokens": 100}
    counted.meter.complete("four", rubbish)
    assert counted.tokens == 2


@pytest.mark.spec("P2")
@pytest.mark.parametrize("second", ENDS)
@pytest.mark.parametrize("first", ENDS)
def test_of_two_ends_the_first_is_counted(first: str, second: str) -> None:
    counted = Counted()
    counted.meter.text("four")
    ENDS[first](counted.meter)
    before = counted.tokens
    counted.meter.text("late text " * 10)
    ENDS[second](counted.meter)
    counted.meter.complete("x" * 400, Usage(1, 1000))
    assert (counted.tokens, counted.ends) == (before, 1)


@pytest.mark.spec("P2")
def test_what_is_no_text_is_passed_on_and_not_counted() -> None:
    counted = Counted()
    rubbish: Any = 5
    counted.meter.text(rubbish)
    counted.meter.complete(rubbish)
    assert counted.tokens == 0
    assert len(counted.out.mistyped) == 2


class IgnoringSink(StrictSink):
    def text(self, text: str) -> None:
        pass


class LyingText(str):
    def __len__(self) -> int:
        raise RuntimeError("how long is a piece of string?")


@pytest.mark.spec("P2")
def test_a_text_that_does_not_tell_its_length_is_counted() -> None:
    counted = Counted(IgnoringSink())
    counted.meter.text(LyingText("four"))
    counted.meter.complete(LyingText("four"))
    assert counted.tokens == 2


def test_all_that_is_said_is_passed_on_as_it_is() -> None:
    counted = Counted()
    counted.meter.text("one ")
    counted.meter.text("two")
    assert counted.meter.complete("one two", Usage(1, 2), "stop")
    assert not counted.meter.complete("again")
    counted.meter.cancelled()
    assert (counted.out.texts, counted.out.output) == (["one ", "two"], "one two")
    assert counted.out.late == ["complete", "cancelled"]


def test_after_a_stop_nothing_of_the_provider_is_passed_on() -> None:
    counted = Counted()
    assert counted.meter.stop(ProviderError("stopped", reason="unavailable"))
    counted.meter.text("late")
    assert not counted.meter.complete("late")
    counted.meter.fail("late")
    counted.meter.cancelled()
    assert (counted.out.terminal, counted.out.late) == ("fail", [])


def test_a_stop_after_the_end_says_nothing() -> None:
    counted = Counted()
    counted.meter.complete("done")
    assert not counted.meter.stop(ProviderError("stopped", reason="unavailable"))
    assert (counted.out.terminal, counted.out.late) == ("complete", [])


def test_what_was_spent_is_counted_before_the_end_is_passed_on() -> None:
    order: list[str] = []

    class Sink(StrictSink):
        def complete(self, output: str, usage: Usage | None = None, finish: Any = None) -> bool:
            order.append("passed on")
            return super().complete(output, usage, finish)

    meter = Meter(Sink(), spend=lambda _: order.append("counted"), cancel=lambda: None, ended=lambda _: None)
    meter.complete("four")
    assert order == ["counted", "passed on"]


STEP = st.one_of(
    st.tuples(st.just("text"), st.integers(0, 20)),
    st.tuples(st.just("progress"), st.just(0)),
)


@given(steps=st.lists(STEP, max_size=20), told=st.none() | st.integers(0, 50))
def test_the_parts_of_an_activity_are_as_much_as_the_whole(
    steps: list[tuple[str, int]], told: int | None
) -> None:
    counted, tokens = Counted(), 0
    for step, size in steps:
        if step == "text":
            counted.meter.text("x" * size)
            tokens += estimated_tokens("x" * size)
        else:
            counted.meter.progress()
            assert counted.tokens == tokens
    counted.meter.complete("", None if told is None else Usage(0, told))
    counted.meter.progress()
    assert counted.tokens == (tokens if told is None else told)


@pytest.mark.spec("P2")
def test_threads_that_speak_and_end_at_once_are_counted_once() -> None:
    counted = Counted()
    together = threading.Barrier(6)

    def speak(end: Callable[[Meter], object]) -> None:
        together.wait()
        for _ in range(500):
            counted.meter.text("four")
            counted.meter.progress()
        end(counted.meter)

    threads = [threading.Thread(target=speak, args=(end,)) for end in (Meter.progress, *ENDS.values())]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    # Whoever came first ended it, with all that had been said by then: at least by itself.
    assert counted.ends == 1
    assert 500 * 2 <= counted.tokens <= 6 * 500 * 2


@pytest.mark.spec("P2")
def test_no_text_of_threads_that_speak_at_once_is_lost() -> None:
    counted = Counted()
    together = threading.Barrier(4)

    def speak() -> None:
        together.wait()
        for _ in range(2000):
            counted.meter.text("four")

    threads = [threading.Thread(target=speak) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    counted.meter.cancelled()
    assert counted.tokens == 4 * 2000 * 2
