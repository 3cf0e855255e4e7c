"""A Ctrl-C in the middle of a call: what it interrupts may be lost, and the service goes on."""

import signal
from collections.abc import Callable, Generator
from contextlib import contextmanager
from types import FrameType

import pytest
from support.scene import Scene, make_scene

from engine_intelligence import TextDelta

INTERRUPTS = 1500
# Some lines of the package apart, and no multiple of how long a call takes.
EVERY_S = 0.000_037

pytestmark = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="this system has no interval timers")


def speak(scene: Scene) -> None:
    scene.provider.sinks["a-1"].text("and ")


def speak_beyond_ascii(scene: Scene) -> None:
    scene.provider.sinks["a-1"].text("und außerdem ")


def poll(scene: Scene) -> None:
    scene.provider.sinks["a-1"].text("and ")
    scene.runtime.poll()


def cancel_of_none(scene: Scene) -> None:
    scene.provider.sinks["a-1"].text("and ")
    scene.runtime.cancel("a-none")


@contextmanager
def interrupts() -> Generator[None]:
    """Ctrl-C again and again, as the timer of the process sends it."""

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    former = signal.signal(signal.SIGALRM, interrupt)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, former)


@pytest.mark.spec("P2", "S1")
@pytest.mark.parametrize("call", [speak, speak_beyond_ascii, poll, cancel_of_none])
def test_a_service_goes_on_whatever_a_ctrl_c_interrupts(call: Callable[[Scene], None]) -> None:
    scene = make_scene(max_output_chars=100_000_000, max_pending_events_per_activity=4)
    scene.begin()
    with interrupts():
        for _ in range(INTERRUPTS):
            try:
                signal.setitimer(signal.ITIMER_REAL, EVERY_S)
                while True:
                    call(scene)
            except KeyboardInterrupt:
                pass
    scene.runtime.poll()
    scene.provider.sinks["a-1"].text("Halt!")
    (event,) = scene.runtime.poll()
    assert isinstance(event, TextDelta)
    assert event.text == "Halt!"
