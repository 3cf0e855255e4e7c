"""A process that is forked while a thread of a provider's is in the middle of a call (rule S1)."""

import os

import pytest
from support.forks import in_fork
from support.interleaving import Stepper
from support.scene import Scene, make_scene

# More lines than a call of a sink has.
MOST_LINES = 45


def use(scene: Scene) -> object:
    """What a fork does with the service; that it returns is what counts."""
    accepted = scene.runtime.submit("hello").ok
    polled = len(scene.runtime.poll()) >= 0
    cancelled = scene.runtime.cancel("nobody").ok
    return [accepted, polled, cancelled]


@pytest.mark.fault("R58")
@pytest.mark.spec("S1")
@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_no_call_of_a_service_hangs_in_a_fork_that_was_made_while_a_thread_held_its_lock() -> None:
    for line in range(1, MOST_LINES, 2):
        scene = make_scene()
        _, sink = scene.begin()
        speaker = Stepper(lambda sink=sink: sink.text("Halt! "))  # type: ignore[misc]
        speaker.run_to(line)
        assert in_fork(lambda scene=scene: use(scene)) == [True, True, False]  # type: ignore[misc]
        assert speaker.finish()
        assert scene.drain().text("a-1") == "Halt! "
