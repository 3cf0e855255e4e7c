"""An event loop whose waits cost no time."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, TypeVar

T = TypeVar("T")

# How long a loop that has nothing to wait for may really wait, for another thread or process to wake it.
_STUCK_S = 5.0


class _JumpingSelector(selectors.SelectSelector):
    """Looks at the sockets without waiting; where nothing is ready, the time jumps to the next timer."""

    def __init__(self, jump: Callable[[float], None]) -> None:
        super().__init__()
        self._jump = jump

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = super().select(0)
        if ready or (timeout is not None and timeout <= 0):
            return ready
        if timeout is None:
            ready = super().select(_STUCK_S)
            if not ready:
                raise RuntimeError("the event loop waits for something that never comes")
            return ready
        self._jump(timeout)
        return super().select(0)


class VirtualTimeLoop(asyncio.SelectorEventLoop):
    """An event loop with sockets, whose time passes only by waiting for timers, and then at once."""

    def __init__(self) -> None:
        self._virtual_now = 1000.0
        self.faults: list[Mapping[str, Any]] = []
        super().__init__(_JumpingSelector(self._jump))
        self.set_exception_handler(lambda loop, context: self.faults.append(context))

    def time(self) -> float:
        return self._virtual_now

    def _jump(self, seconds: float) -> None:
        self._virtual_now += seconds


def run(main: Coroutine[Any, Any, T]) -> T:
    """Run a test on a loop of virtual time; nothing may have been raised into the loop, and no task may be left."""

    async def supervised() -> T:
        result = await main
        await settle()
        left = asyncio.all_tasks() - {asyncio.current_task()}
        assert not left, f"tasks are left: {left}"
        return result

    loops: list[VirtualTimeLoop] = []

    def make() -> VirtualTimeLoop:
        loops.append(VirtualTimeLoop())
        return loops[0]

    with asyncio.Runner(loop_factory=make) as runner:
        result = runner.run(supervised())
    faults = loops[0].faults
    assert not faults, f"raised into the event loop: {faults}"
    return result


async def settle(turns: int = 25) -> None:
    """Let everything happen that needs no time."""
    for _ in range(turns):
        await asyncio.sleep(0)


async def until(condition: Callable[[], bool], turns: int = 20_000) -> None:
    """Let the loop turn until something holds."""
    for _ in range(turns):
        if condition():
            return
        await asyncio.sleep(0)
    raise AssertionError("what was waited for did not come")
