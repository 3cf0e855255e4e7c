"""Rule S8: what `submit`, `poll` and `cancel` cost does not grow with the Activities that are idle.

Work is counted in steps of the interpreter, which no other process disturbs.
"""

import gc
import sys
from collections.abc import Callable
from functools import partial
from types import FrameType
from typing import Any

import pytest
from support.scene import Scene, make_scene

FEW, MANY = 8, 4000
ROUNDS = 20


def crowd(idle: int) -> Scene:
    """That many Activities that have said something once and nothing since, and a clock that moves a little."""
    scene = make_scene(max_concurrent_activities=2 * MANY, max_poll_events=2 * MANY)
    for _ in range(idle):
        scene.begin()[1].text("Hm.")
    scene.runtime.poll()
    return scene


def steps(call: Callable[[], object]) -> int:
    """How many bytecodes `call` runs, in all the functions that it comes to."""
    count = 0

    def trace(frame: FrameType, event: str, _argument: object) -> Any:
        nonlocal count
        frame.f_trace_opcodes = True
        frame.f_trace_lines = False
        if event == "opcode":
            count += 1
        return trace

    before = sys.gettrace()
    # A collection would be counted too: other packages have functions called at each, and it comes at any moment.
    gc.collect()
    gc.disable()
    sys.settrace(trace)
    try:
        call()
    finally:
        sys.settrace(before)
        gc.enable()
    return count


def submit(scene: Scene) -> None:
    scene.runtime.submit("x")


def poll(scene: Scene) -> None:
    scene.runtime.poll()


def cancel(scene: Scene) -> None:
    scene.runtime.cancel("a-1")


def cancel_of_none(scene: Scene) -> None:
    scene.runtime.cancel("a-none")


def answer(scene: Scene) -> None:
    """One Activity talks and is polled, while the others say nothing."""
    scene.provider.sinks["a-2"].text("and ")
    scene.clock.advance(0.001)
    scene.runtime.poll()


def come_and_go(scene: Scene) -> None:
    """One Activity from its submit to the poll of its end."""
    scene.begin()[1].complete("Halt!")
    scene.runtime.poll()


@pytest.mark.fault("C4")
@pytest.mark.spec("S8")
@pytest.mark.parametrize("call", [submit, poll, cancel, cancel_of_none, answer, come_and_go])
def test_the_cost_of_a_call_does_not_grow_with_those_that_are_idle(call: Callable[[Scene], None]) -> None:
    def rounds(scene: Scene) -> None:
        for _ in range(ROUNDS):
            call(scene)

    steps(
        partial(rounds, crowd(FEW))
    )  # from Python 3.12 on, the first count of a function misses some of its steps
    few, many = crowd(FEW), crowd(MANY)
    costs = [steps(partial(rounds, few)), steps(partial(rounds, many))]
    # Some tens of steps for a deeper heap or a larger table; one step for each that is idle would be thousands.
    assert costs[1] <= costs[0] + ROUNDS * 50


@pytest.mark.spec("S8")
def test_the_clock_is_not_asked_for_each_that_is_idle() -> None:
    asked: list[int] = []
    for scene in (crowd(FEW), crowd(MANY)):
        before = scene.clock.calls
        scene.runtime.poll()
        asked.append(scene.clock.calls - before)
    assert asked[0] == asked[1]


@pytest.mark.spec("S8")
def test_a_poll_asks_the_provider_nothing() -> None:
    scene = crowd(FEW)
    before = len(scene.provider.calls)
    scene.runtime.poll()
    assert len(scene.provider.calls) == before
