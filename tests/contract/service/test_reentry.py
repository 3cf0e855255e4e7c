"""Rule P2 at its sharpest: a finaliser or a signal handler of a provider's calls a sink in the middle of another call."""

import sys
import threading
from collections.abc import Callable
from functools import partial
from types import FrameType
from typing import Any

import pytest
from support.scene import Scene, make_scene

import engine_intelligence
from engine_intelligence import Completed, Failed

# Only ever reached by a call that hangs; all the calls of a test together take less than a second.
HANGS_S = 15.0
PACKAGE = engine_intelligence.__file__.rpartition("__init__")[0]

Call = Callable[[Scene], object]


def poll(scene: Scene) -> None:
    scene.poll()


def submit(scene: Scene) -> None:
    scene.runtime.submit("x")


def cancel(scene: Scene) -> None:
    scene.runtime.cancel("a-1")


def text(scene: Scene) -> None:
    scene.provider.sinks["a-1"].text("Halt! ")


def complete(scene: Scene) -> None:
    scene.provider.sinks["a-1"].complete("whole")


def fail(scene: Scene) -> None:
    scene.provider.sinks["a-1"].fail("it broke")


def cancelled(scene: Scene) -> None:
    scene.provider.sinks["a-1"].cancelled()


def interrupted(call: Call, at_line: int, by: Call, scene: Scene) -> bool:
    """Make `call`, and `by` when that comes to its `at_line`-th line. Whether it came so far."""
    line = 0

    def trace(frame: FrameType, event: str, _argument: object) -> Any:
        nonlocal line
        if not frame.f_code.co_filename.startswith(PACKAGE):
            return None
        if event == "line":
            line += 1
            if line == at_line:
                sys.settrace(None)
                by(scene)
                return None
        return trace

    sys.settrace(trace)
    try:
        call(scene)
    finally:
        sys.settrace(None)
    return line >= at_line


def at_every_line(call: Call, by: Call, check: Callable[[Scene], None]) -> None:
    """Interrupt `call` at each of its lines in turn; fails where that hangs, or where `check` does."""
    at_line, ended, broken = 0, False, list[BaseException]()

    def run() -> None:
        nonlocal at_line, ended
        try:
            while True:
                at_line += 1
                scene = make_scene(max_pending_events_per_activity=4)
                scene.begin()
                scene.begin()
                scene.provider.sinks["a-1"].text("Halt! ")
                if not interrupted(call, at_line, by, scene):
                    break
                check(scene)
            ended = True
        except BaseException as error:  # noqa: BLE001  # told to the thread of the test
            broken.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(HANGS_S)
    assert not broken, f"at line {at_line} of the call: {broken[0]!r}"
    assert ended, f"the call that came at line {at_line} of the other does not return"
    assert at_line > 3


def check_order(scene: Scene) -> None:
    # The transcript fails at a gap, or at anything that follows a terminal.
    scene.drain()
    assert scene.told.text("a-1").startswith("Halt! ")


@pytest.mark.fault("R66")
@pytest.mark.parametrize("by", [text, complete, fail, cancelled])
@pytest.mark.parametrize("call", [poll, submit, cancel, text, complete, fail, cancelled])
@pytest.mark.spec("P2", "S1", "S6")
def test_a_sink_call_at_any_point_of_another_call_returns_and_breaks_no_order(call: Call, by: Call) -> None:
    at_every_line(call, by, check_order)


def check_end(expected: type[object] | tuple[type[object], ...], scene: Scene) -> None:
    scene.drain()
    assert isinstance(scene.told.terminal("a-1"), expected)


@pytest.mark.parametrize(
    ("by", "expected"),
    # A completion inside another call may have to become a failure: its answer is due before it can be judged.
    [(complete, (Completed, Failed)), (fail, Failed)],
    ids=["complete", "fail"],
)
@pytest.mark.parametrize("call", [poll, submit, text])
@pytest.mark.spec("P2", "S13")
def test_an_end_at_any_point_of_another_call_is_not_lost(
    call: Call, by: Call, expected: type[object] | tuple[type[object], ...]
) -> None:
    at_every_line(call, by, partial(check_end, expected))


@pytest.mark.parametrize("call", [poll, submit, cancel, text, complete, fail, cancelled])
@pytest.mark.spec("P5", "P2")
def test_complete_at_any_point_of_another_call_says_whether_it_stands(call: Call) -> None:
    said: list[bool] = []

    def by(scene: Scene) -> None:
        said.append(scene.provider.sinks["a-1"].complete("another"))

    def check(scene: Scene) -> None:
        scene.drain()
        terminal = scene.told.terminal("a-1")
        assert said[-1] is (isinstance(terminal, Completed) and terminal.output == "another")

    at_every_line(call, by, check)
