"""An event loop whose time stands still until it is moved, and one iteration of which is one step."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class ClockworkLoop(asyncio.SelectorEventLoop):
    """A real event loop that reads a made-up clock. Nothing in it sleeps as long as something is ready."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 1000.0

    def time(self) -> float:
        return self.now


def run_clockwork(main: Coroutine[Any, Any, T]) -> T:
    """Run `main` on a loop of its own. It has to be ready at all times: it yields with `sleep(0)` and waits for nothing."""
    loop = ClockworkLoop()
    try:
        return loop.run_until_complete(main)
    finally:
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.close()
