"""Cycles of open and close: a few leave nothing, and a leak of any kind is found."""

import os
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from campaign import cycles
from campaign.cycling import SAID, Account, leaks


@pytest.fixture
def traced() -> Iterator[None]:
    tracemalloc.start()
    yield
    tracemalloc.stop()


def counted(cycle: Callable[[], object], *, count: int = 600, said: str = SAID) -> dict[str, Any]:
    account = Account(count, samples=5)
    for number in account.cycles():
        cycle()
        account.check(said, number)
    return account.record()


@pytest.mark.spec("H6", "C6")
def test_a_few_cycles_leave_nothing() -> None:
    record = cycles.run(0.001)
    assert cycles.violations(record) == 0
    assert [entry["cycles"] for entry in record["cycles"].values()] == [5, 5, 10]
    assert "| both sides in one process | 10 | 0 |" in cycles.table(record)


@pytest.mark.usefixtures("traced")
def test_cycles_that_keep_nothing_have_no_leak() -> None:
    assert leaks(counted(lambda: [object()])) == 0


@pytest.mark.usefixtures("traced")
def test_one_small_object_that_every_cycle_keeps_is_found() -> None:
    kept: list[object] = []
    assert leaks(counted(lambda: kept.append(bytearray(8)))) >= 1


def test_descriptors_that_are_left_open_are_found() -> None:
    with ExitStack() as until_the_end:

        def leak() -> None:
            descriptor = os.open(os.devnull, os.O_RDONLY)
            until_the_end.callback(os.close, descriptor)

        assert leaks(counted(leak, count=10)) == 10


def test_a_cycle_that_does_not_say_what_it_has_to_is_found() -> None:
    assert leaks(counted(lambda: None, count=3, said="one two")) == 3 + 5  # five of them to warm up


def test_memory_outside_of_python_that_grows_is_found() -> None:
    record = counted(lambda: None, count=10)
    grows = {**record, "cycles": 10_000, "resident_kb_per_1000_cycles": 1000.0}
    assert (leaks(record), leaks(grows)) == (0, 1)


def test_a_worker_that_fails_is_a_violation() -> None:
    assert cycles.violations({"cycles": {"a Host process, socket": {"failed": "exit code 1: boom"}}}) == 1
