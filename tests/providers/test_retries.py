"""Trying again: how often, how long between, and when not at all."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import TypeAlias

import pytest

from engine_intelligence.activity import SessionRef, Usage
from engine_intelligence.errors import ProviderError
from engine_intelligence.providers.retries import FIRST_WAIT_S, LONGEST_WAIT_S, Retrying
from engine_intelligence.providers.stream import Finish, Prompt

PROMPT = Prompt("Hello", SessionRef("gatekeeper", "one"), "activity")
FINISH = Finish(Usage(1, 2), "stop")

Piece: TypeAlias = str | Finish | BaseException


def busy() -> ProviderError:
    return ProviderError("busy", reason="unavailable", transient=True)


def limited(retry_after_s: float) -> ProviderError:
    return ProviderError("slow down", reason="rate-limited", retry_after_s=retry_after_s, transient=True)


class Mind:
    """A backend whose answers are these pieces, of which an exception is raised."""

    def __init__(self, *answers: Sequence[Piece]) -> None:
        self.answers = list(answers)
        self.asked = 0
        self.unwound = 0
        self.warmed = 0
        self.closed = 0

    def warm(self) -> None:
        self.warmed += 1

    async def answer(self, prompt: Prompt) -> AsyncGenerator[str | Finish, None]:
        assert prompt is PROMPT
        self.asked += 1
        try:
            for piece in self.answers.pop(0):
                if isinstance(piece, BaseException):
                    raise piece
                yield piece
        finally:
            self.unwound += 1

    async def close(self) -> None:
        self.closed += 1


class Clock:
    """Waits that pass at once, and are noted."""

    def __init__(self) -> None:
        self.waits: list[float] = []

    async def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)


def ask(mind: Mind, clock: Clock, *, attempts: int = 4, within_s: float = 60.0) -> list[str | Finish]:
    async def scenario() -> list[str | Finish]:
        retrying = Retrying(mind, attempts=attempts, within_s=within_s, sleep=clock.sleep)
        async with aclosing(retrying.answer(PROMPT)) as pieces:
            return [piece async for piece in pieces]

    return asyncio.run(scenario())


def test_an_answer_that_begins_is_asked_for_once_and_passed_on_whole() -> None:
    mind, clock = Mind([FINISH, "", "Go ", "on.", FINISH]), Clock()
    assert ask(mind, clock) == [FINISH, "", "Go ", "on.", FINISH]
    assert (mind.asked, clock.waits) == (1, [])


def test_a_fault_that_passes_is_not_seen() -> None:
    mind, clock = Mind([busy()], [FINISH, "", busy()], ["Go on.", FINISH]), Clock()
    assert ask(mind, clock) == ["Go on.", FINISH]
    assert (mind.asked, mind.unwound, len(clock.waits)) == (3, 3, 2)


@pytest.mark.fault("C19")
@pytest.mark.parametrize("attempts", [1, 2, 4])
def test_a_fault_that_lasts_is_told_after_so_many_attempts(attempts: int) -> None:
    last = busy()
    mind, clock = Mind(*[[busy()]] * (attempts - 1), [last]), Clock()
    with pytest.raises(ProviderError) as error:
        ask(mind, clock, attempts=attempts)
    assert error.value is last
    assert (mind.asked, mind.unwound, len(clock.waits)) == (attempts, attempts, attempts - 1)


@pytest.mark.parametrize(
    "error",
    [ProviderError("no", reason="auth"), LookupError("a bug"), asyncio.CancelledError(), SystemExit(1)],
)
def test_what_does_not_pass_is_told_at_once(error: BaseException) -> None:
    mind, clock = Mind([error], ["Go on."]), Clock()
    with pytest.raises(type(error)):
        ask(mind, clock)
    assert (mind.asked, clock.waits) == (1, [])


@pytest.mark.fault("C17")
def test_nothing_is_asked_again_once_text_was_told() -> None:
    mind, clock = Mind(["", "Go ", busy()], ["Go on."]), Clock()
    with pytest.raises(ProviderError, match="busy"):
        ask(mind, clock)
    assert (mind.asked, mind.unwound, clock.waits) == (1, 1, [])


def test_each_piece_is_passed_on_before_the_next_is_asked_for() -> None:
    async def scenario() -> None:
        told: list[str] = []

        class Slow(Mind):
            async def answer(self, prompt: Prompt) -> AsyncGenerator[str | Finish, None]:
                for piece in ("Go ", "on", "."):
                    yield piece
                    assert told[-1] == piece

        async with aclosing(Retrying(Slow(), attempts=2, within_s=1.0).answer(PROMPT)) as pieces:
            async for piece in pieces:
                assert isinstance(piece, str)
                told.append(piece)
        assert told == ["Go ", "on", "."]

    asyncio.run(scenario())


def test_the_waits_are_drawn_from_a_range_that_doubles_up_to_a_bound() -> None:
    longest: list[float] = [0.0] * 7
    for _ in range(200):
        clock = Clock()
        with pytest.raises(ProviderError):
            ask(Mind(*[[busy()]] * 8), clock, attempts=8)
        longest = [max(pair) for pair in zip(longest, clock.waits, strict=True)]
    bounds = [min(FIRST_WAIT_S * 2**number, LONGEST_WAIT_S) for number in range(7)]
    for seen_s, bound_s in zip(longest, bounds, strict=True):
        assert bound_s / 2 < seen_s <= bound_s  # of 200 draws none above half happens once in 2**200


@pytest.mark.parametrize("asked_s", [0.0, 3.0, -1.0])
def test_a_wait_that_is_asked_for_is_kept_and_a_crowd_does_not_come_back_together(asked_s: float) -> None:
    waits: set[float] = set()
    for _ in range(20):
        clock = Clock()
        assert ask(Mind([limited(asked_s)], ["Go on."]), clock) == ["Go on."]
        waits.update(clock.waits)
    least_s = max(0.0, asked_s)
    assert all(least_s <= wait_s <= least_s + FIRST_WAIT_S for wait_s in waits)
    assert len(waits) > 1


@pytest.mark.fault("C16")
def test_a_wait_longer_than_there_is_time_is_told_at_once_with_its_length() -> None:
    mind, clock = Mind([limited(1_209_600)], ["Go on."]), Clock()
    with pytest.raises(ProviderError) as error:
        ask(mind, clock, within_s=60.0)
    assert error.value.retry_after_s == 1_209_600
    assert (mind.asked, clock.waits) == (1, [])


@pytest.mark.fault("C8")
def test_a_cancel_ends_a_wait() -> None:
    async def scenario() -> None:
        waiting = asyncio.Event()

        async def sleep(seconds: float) -> None:
            waiting.set()
            await asyncio.sleep(seconds)

        mind = Mind([limited(3600)], ["Go on."])
        retrying = Retrying(mind, attempts=2, within_s=7200, sleep=sleep)

        async def listen() -> None:
            async for _ in retrying.answer(PROMPT):
                pass

        task = asyncio.ensure_future(listen())
        await waiting.wait()
        task.cancel()
        await asyncio.wait([task], timeout=60)
        assert task.cancelled()
        assert mind.asked == 1

    asyncio.run(scenario())


def test_an_answer_that_is_left_unwinds_what_it_asked() -> None:
    async def scenario() -> None:
        mind = Mind(["Go ", "on."])
        async with aclosing(Retrying(mind, attempts=2, within_s=1.0).answer(PROMPT)) as pieces:
            assert await anext(pieces) == "Go "
        assert mind.unwound == 1

    asyncio.run(scenario())


def test_it_is_warmed_and_closed_with_what_it_asks() -> None:
    mind = Mind()
    retrying = Retrying(mind, attempts=2, within_s=1.0)
    retrying.warm()
    asyncio.run(retrying.close())
    assert (mind.warmed, mind.closed) == (1, 1)
