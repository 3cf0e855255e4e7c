"""A check always ends, and what it leaves behind ends as soon as it can."""

import asyncio
import threading
import time

import pytest

from engine_intelligence.testing import ConformanceError
from engine_intelligence.testing.bounded import Watch, bounded, run_bounded, until

HANGS_S = 30.0


def test_what_is_raised_inside_is_raised_outside() -> None:
    async def main(watch: Watch) -> None:
        raise LookupError("no such thing")

    with pytest.raises(LookupError, match="no such thing"):
        run_bounded(main, blocked_s=HANGS_S)


def test_a_thread_that_is_blocked_is_given_up_with_the_rule_and_the_place() -> None:
    release = threading.Event()

    async def main(watch: Watch) -> None:
        with watch.at("C6", "close()"):
            release.wait(HANGS_S)

    try:
        with pytest.raises(ConformanceError, match=r"close\(\) blocked its thread .* in wait") as found:
            run_bounded(main, blocked_s=0.2)
        assert found.value.rule == "C6"
    finally:
        release.set()


def test_a_check_that_was_given_up_does_not_go_on_when_it_comes_free() -> None:
    release, ended = threading.Event(), threading.Event()

    async def main(watch: Watch) -> None:
        release.wait(HANGS_S)
        try:
            await asyncio.sleep(HANGS_S)
        finally:
            ended.set()

    with pytest.raises(ConformanceError):
        run_bounded(main, blocked_s=0.2)
    release.set()
    assert ended.wait(HANGS_S / 2)


def test_a_loop_that_turns_may_take_longer_than_a_thread_may_be_blocked() -> None:
    turns: list[int] = []

    async def main(watch: Watch) -> None:
        end = time.monotonic() + 0.6
        while time.monotonic() < end:
            await asyncio.sleep(0.01)
            turns.append(1)

    run_bounded(main, blocked_s=0.3)
    assert turns


def test_a_task_that_cannot_be_stopped_is_a_finding_and_no_hang() -> None:
    release = threading.Event()
    tasks: list[asyncio.Task[None]] = []

    async def stubborn() -> None:
        while not release.is_set():
            try:
                await asyncio.sleep(0.01)
            except asyncio.CancelledError:
                pass

    async def main(watch: Watch) -> None:
        tasks.append(asyncio.ensure_future(stubborn()))
        await asyncio.sleep(0)

    try:
        with pytest.raises(ConformanceError, match="what was left in the event loop") as found:
            run_bounded(main, blocked_s=0.3)
        assert found.value.rule == "H6"
    finally:
        release.set()


def test_what_a_task_raises_that_nobody_awaits_is_a_finding() -> None:
    async def forgotten() -> None:
        raise LookupError("no such thing")

    async def main(watch: Watch) -> None:
        asyncio.ensure_future(forgotten())  # noqa: RUF006 - it is forgotten on purpose
        await asyncio.sleep(0.01)

    with pytest.raises(ConformanceError, match="LookupError") as found:
        run_bounded(main, blocked_s=HANGS_S)
    assert found.value.rule == "S14"


def test_what_other_threads_raise_is_told_to_whom_it_was_told_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    told: list[object] = []

    def tell(args: threading.ExceptHookArgs) -> None:
        told.append(args.exc_type)

    monkeypatch.setattr(threading, "excepthook", tell)
    go = threading.Event()

    def other() -> None:
        go.wait(HANGS_S)
        raise LookupError("of somebody else")

    thread = threading.Thread(target=other)
    thread.start()

    async def main(watch: Watch) -> None:
        go.set()
        await asyncio.to_thread(thread.join)

    run_bounded(main, blocked_s=HANGS_S)
    assert told == [LookupError]


def test_a_condition_that_never_holds_is_waited_for_as_long_as_it_says() -> None:
    turned: list[int] = []

    async def main(watch: Watch) -> None:
        assert not await until(lambda: False, 0.05, lambda: turned.append(1))
        assert await until(lambda: True, 0.0)

    run_bounded(main, blocked_s=HANGS_S)
    assert turned


def test_what_ignores_its_cancellation_is_left_behind() -> None:
    release = asyncio.Event()

    async def stubborn() -> None:
        while not release.is_set():
            try:
                await release.wait()
            except asyncio.CancelledError:
                pass

    async def main(watch: Watch) -> None:
        assert not await bounded(stubborn(), 0.01)
        release.set()
        assert await bounded(asyncio.sleep(0), HANGS_S)

    run_bounded(main, blocked_s=HANGS_S)
