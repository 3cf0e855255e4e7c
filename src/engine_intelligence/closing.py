"""Close tasks: one idempotent handle for the end of a service, for loops with and without an event loop (rule
C6).
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import asyncio

# How often a waiting or awaiting caller looks again, in seconds. Closing is rare and takes milliseconds.
_INTERVAL_S = 0.005


class PolledClose:
    """A close task that is moved on by whoever looks at it: no thread and no event loop stands behind it.

    `step` does what can be done without waiting and says whether the end is reached; it must itself reach it
    in bounded time. `idle` waits for news for at most the given number of seconds; it is only called from
    `wait`.
    """

    def __init__(self, step: Callable[[], bool], idle: Callable[[float], None] = time.sleep) -> None:
        self._step = step
        self._idle = idle
        self._done = False

    @property
    def done(self) -> bool:
        """Whether the close is complete.

        Looking moves it on, and never waits: a frame loop may look once a frame.
        """
        if not self._done:
            self._done = self._step()
        return self._done

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until the close is complete or `timeout` seconds have passed, and return `done`.

        It blocks the thread.
        """
        end = None if timeout is None else time.monotonic() + timeout
        while not self.done:
            left = _INTERVAL_S if end is None else min(_INTERVAL_S, end - time.monotonic())
            if left <= 0:
                return False
            self._idle(left)
        return True

    def __await__(self) -> Generator[Any, None, None]:
        import asyncio  # not at the top: a realm without an event loop does not load it (rule H7)

        while not self.done:
            yield from asyncio.sleep(_INTERVAL_S).__await__()


class TaskClose:
    """A close task that an asyncio task carries out, on the side that has an event loop."""

    def __init__(self, task: asyncio.Task[None]) -> None:
        self._task = task

    @property
    def done(self) -> bool:
        """Whether the close is complete."""
        return self._task.done()

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until the close is complete or `timeout` seconds have passed, and return `done`.

        For other threads than that of the event loop, which would wait for itself: there it raises
        `RuntimeError`.
        """
        if not self.done and running_loop() is self._task.get_loop():
            raise RuntimeError(
                "wait() would stop the event loop that has to do the closing; await the close task instead"
            )
        return PolledClose(self._task.done).wait(timeout)

    def __await__(self) -> Generator[Any, None, None]:
        import asyncio

        # Shielded: whoever gives up waiting does not stop the close, which others share (rule B1).
        yield from asyncio.shield(self._task).__await__()


def running_loop() -> asyncio.AbstractEventLoop | None:
    """The event loop that runs on this thread, if any.

    It does not load asyncio into a process that has none (rule H7).
    """
    if "asyncio" not in sys.modules:
        return None
    import asyncio

    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None
