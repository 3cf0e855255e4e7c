"""Seeded schedules of a realm, a Host and a wire between them: no rule is broken, and builds that break one are found."""

import logging
import warnings
from collections.abc import Iterator

import pytest
from simulation.clockwork import ClockworkLoop
from simulation.ledger import Violation
from simulation.mutants import MUTANTS, broken
from simulation.world import run_schedule

SCHEDULES = 10_000
PARTS = 5
RERUNS = 200


@pytest.fixture
def loop() -> Iterator[ClockworkLoop]:
    """A loop on which nothing is left behind by what a schedule does on purpose."""
    logging.disable(logging.CRITICAL)  # providers that raise are logged, thousands of times
    loop = ClockworkLoop()
    yield loop
    loop.close()
    logging.disable(logging.NOTSET)


@pytest.mark.fault("R69")
@pytest.mark.spec("S6", "S11", "S12", "S15", "P6", "C4", "C6", "B2", "B4", "B5", "B6", "M4")
@pytest.mark.parametrize("part", range(PARTS))
def test_no_schedule_breaks_a_rule(loop: ClockworkLoop, part: int) -> None:
    async def run() -> None:
        for seed in range(part, SCHEDULES, PARTS):
            await run_schedule(seed, loop)

    loop.run_until_complete(run())


def test_a_seed_gives_the_same_trace_every_time(loop: ClockworkLoop) -> None:
    async def run() -> None:
        for seed in range(RERUNS):
            first = await run_schedule(seed, loop)
            second = await run_schedule(seed, loop)
            assert first.trace_hash() == second.trace_hash()

    loop.run_until_complete(run())


@pytest.mark.parametrize("name", MUTANTS)
def test_a_broken_build_is_found(loop: ClockworkLoop, name: str) -> None:
    async def find() -> int | None:
        for seed in range(SCHEDULES):
            try:
                await run_schedule(seed, loop)
            except Violation:
                return seed
        return None

    loop.set_exception_handler(lambda loop, context: None)
    with broken(name), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a broken build leaves coroutines and sockets behind
        assert loop.run_until_complete(find()) is not None


def test_a_failing_seed_prints_what_was_done(loop: ClockworkLoop) -> None:
    async def run() -> None:
        for seed in range(SCHEDULES):
            await run_schedule(seed, loop)

    with broken("a_cancel_is_not_passed_on"), pytest.raises(Violation) as caught:
        loop.run_until_complete(run())
    (script,) = caught.value.__notes__
    assert script.startswith("seed ")
    assert "cancel a-" in script
