"""Runs a check to its end, or to the moment where it can be said that there will be none.

A check runs in an event loop of its own, on a thread of its own, and the caller waits for it. So it can be
called from a plain function and from inside a running loop alike, a provider may bring its asyncio, and one
that blocks its event loop for good ends in an error instead of a hang. Its thread is a daemon, which is all
that remains of such a one.
"""

from __future__ import annotations

import asyncio
import os
import sys
import threading
import time
import traceback
from collections.abc import Awaitable, Callable, Generator, Mapping
from contextlib import contextmanager
from typing import Any

from engine_intelligence.scrubbing import describe_exception
from engine_intelligence.testing.conformance import ConformanceError

_BEAT_S = 0.01
# How often one that waits gives the loop a turn before it really waits: most of what is waited for is ready by then.
_EAGER_TURNS = 200


class Watch:
    """What a check is at, for the thread that waits for it."""

    def __init__(self) -> None:
        self.rule = "S1"
        self.doing = "the part under test"
        self.last_beat = time.monotonic()
        self.error: BaseException | None = None
        self.given_up = False
        """Nobody waits any more: what comes free at last has nothing left to do."""
        self.escaped: list[str] = []
        """What was raised where nobody could catch it: in a task, a callback or a thread of the part under test."""

    @contextmanager
    def at(self, rule: str, doing: str) -> Generator[None]:
        """Inside, blocking the thread breaks `rule`, and `doing` is what does it."""
        before = self.rule, self.doing
        self.rule, self.doing = rule, doing
        try:
            yield
        finally:
            self.rule, self.doing = before


def run_bounded(main: Callable[[Watch], Awaitable[None]], *, blocked_s: float) -> None:
    """Run `main`, and raise what it raises, or `ConformanceError` once its loop has not turned for `blocked_s`."""
    watch = Watch()
    thread = threading.Thread(target=_run, args=(main, watch), name="engine-intelligence-check", daemon=True)
    with _escapes_of_threads(watch):
        thread.start()
        while thread.is_alive() and time.monotonic() - watch.last_beat < blocked_s:
            thread.join(_BEAT_S)
    watch.given_up = thread.is_alive()
    if watch.error is not None:
        raise watch.error
    if watch.given_up:
        raise ConformanceError(
            watch.rule, f"{watch.doing} blocked its thread for more than {blocked_s:g} s{_where(thread)}"
        )
    if watch.escaped:
        raise ConformanceError("S14", f"raised where nobody could catch it: {watch.escaped[0]}")


async def until(
    condition: Callable[[], bool], within_s: float, turn: Callable[[], object] | None = None
) -> bool:
    """Let the loop turn until `condition` holds, for at most `within_s`; whether it does. `turn` is called each time."""
    end = time.monotonic() + within_s
    turns = 0
    while not condition():
        if time.monotonic() >= end:
            return False
        if turn is not None:
            turn()
        await asyncio.sleep(0 if turns < _EAGER_TURNS else 0.001)
        turns += 1
    return True


async def bounded(awaitable: Awaitable[object], within_s: float) -> bool:
    """Await something for at most `within_s`, and return whether it ended; raises what it raises.

    One that ignores its cancellation is left behind, and does not hold the caller.
    """
    task = asyncio.ensure_future(awaitable)
    done, _ = await asyncio.wait({task}, timeout=within_s)
    if done:
        task.result()
        return True
    task.cancel()
    return False


def _run(main: Callable[[Watch], Awaitable[None]], watch: Watch) -> None:
    async def run() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _loop, context: _note(watch, context))
        beating = asyncio.ensure_future(_beat(watch, asyncio.current_task()))
        try:
            await main(watch)
        finally:
            beating.cancel()

    try:
        # The runner cancels what is left, and waits for it; the watch still runs then.
        with asyncio.Runner() as runner:
            try:
                runner.run(run())
            except BaseException as error:  # noqa: BLE001 - it is raised where the check was called
                watch.error = error
            watch.last_beat = time.monotonic()
            watch.rule, watch.doing = "H6", "what was left in the event loop"
    except BaseException as error:  # noqa: BLE001 - of what was left, and raised like the rest
        watch.error = watch.error or error


async def _beat(watch: Watch, check: asyncio.Task[None] | None) -> None:
    while not watch.given_up:
        watch.last_beat = time.monotonic()
        await asyncio.sleep(_BEAT_S)
    if check is not None:
        check.cancel()


def _note(watch: Watch, context: Mapping[str, Any]) -> None:
    error = context.get("exception")
    text = describe_exception(error) if isinstance(error, BaseException) else ""
    watch.escaped.append(f"{text} ({context.get('message')})")


@contextmanager
def _escapes_of_threads(watch: Watch) -> Generator[None]:
    """Note what the threads that begin from here on raise. Those that were there before are not of the check."""
    before, hook = set(threading.enumerate()), threading.excepthook

    def note(args: threading.ExceptHookArgs) -> None:
        if args.thread in before:
            hook(args)
        elif args.exc_value is not None:
            name = "a thread" if args.thread is None else f"thread {args.thread.name!r}"
            watch.escaped.append(f"{describe_exception(args.exc_value)} (in {name})")

    threading.excepthook = note
    try:
        yield
    finally:
        threading.excepthook = hook


def _where(thread: threading.Thread) -> str:
    """Where a thread is, and how it came there: file, line and function, without any value."""
    frame = sys._current_frames().get(thread.ident or 0)  # pyright: ignore[reportPrivateUsage] - documented, for this
    if frame is None:
        return ""
    stack = traceback.extract_stack(frame)[-3:]
    places = [f"{os.path.basename(each.filename)}:{each.lineno} in {each.name}" for each in stack]
    return f", at {' > '.join(places)}"
