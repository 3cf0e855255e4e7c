"""Rule S13 and the verdict of rule P5, over the orders in which two threads can get through one another."""

from collections.abc import Callable
from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.interleaving import Stepper
from support.scene import Scene, make_scene

from engine_intelligence import Cancelled, Completed, SessionRef, TextDelta

Call = Callable[[Scene], object]


def another_speaks(scene: Scene) -> None:
    scene.provider.sinks["a-2"].text("and ")


def the_same_speaks(scene: Scene) -> None:
    scene.provider.sinks["a-1"].text("and ")


def the_same_fails(scene: Scene) -> None:
    scene.provider.sinks["a-1"].fail("it broke")


def the_game_polls(scene: Scene) -> None:
    scene.poll()


def the_game_cancels(scene: Scene) -> None:
    scene.runtime.cancel("a-1")


def time_is_over(scene: Scene) -> None:
    scene.clock.advance(10_000)
    scene.runtime.turn()


OTHERS = [another_speaks, the_same_speaks, the_same_fails, the_game_polls, the_game_cancels, time_is_over]


def together(scene: Scene, first: Call, second: Call, turns: list[int]) -> None:
    """Make both calls, each on its thread, in turns of so many lines."""
    steppers = [Stepper(partial(first, scene)), Stepper(partial(second, scene))]
    lines = [0, 0]
    for number, turn in enumerate(turns):
        lines[number % 2] += turn
        steppers[number % 2].run_to(lines[number % 2])
    # The second first: it then looks at what the other has not finished yet.
    steppers[1].run_to(float("inf"))
    assert steppers[0].finish()
    assert steppers[1].finish()


turns = st.lists(st.integers(1, 25), min_size=3, max_size=5)


@pytest.mark.parametrize("other", OTHERS)
@pytest.mark.spec("S13", "P5", "P2")
def test_complete_tells_the_truth_whatever_another_thread_is_in_the_middle_of(other: Call) -> None:
    @given(turns)
    @settings(max_examples=80, deadline=None, database=None, derandomize=True)
    def in_turns(turns: list[int]) -> None:
        scene = make_scene()
        scene.begin()
        scene.begin()
        stood: list[bool] = []
        together(
            scene,
            other,
            lambda scene: stood.append(scene.provider.sinks["a-1"].complete("whole")),
            turns,
        )
        assert stood == [isinstance(scene.terminal("a-1"), Completed)]

    in_turns()


@pytest.mark.parametrize("other", [another_speaks, the_same_speaks, the_game_polls])
@pytest.mark.spec("P2", "S6")
def test_text_is_not_lost_whatever_another_thread_is_in_the_middle_of(other: Call) -> None:
    @given(turns)
    @settings(max_examples=30, deadline=None, database=None, derandomize=True)
    def in_turns(turns: list[int]) -> None:
        scene = make_scene()
        scene.begin()
        scene.begin()
        together(scene, other, lambda scene: scene.provider.sinks["a-1"].text("Halt! "), turns)
        scene.drain()
        assert scene.told.text("a-1").count("Halt! ") == 1
        assert all(isinstance(event, TextDelta) for event in scene.told.events("a-1"))

    in_turns()


@pytest.mark.spec("S12", "P6")
def test_a_cancel_that_another_thread_holds_up_while_the_activity_starts_reaches_the_provider() -> None:
    scene = make_scene()
    session = SessionRef("test.provider", "s")
    _, sink = scene.begin(session=session)
    second = scene.submit(session=session).id
    # The runtime's parts, because no public call can be stopped between these two moments.
    runtime, turn = scene.runtime, scene.runtime._box._turn  # pyright: ignore[reportPrivateUsage]

    looks = iter(["for what is due", "for the time of the cancel"])

    def look_at_the_clock() -> float:
        if next(looks) != "for the time of the cancel":
            return scene.clock()
        runtime._clock = scene.clock  # pyright: ignore[reportPrivateUsage]
        assert sink.complete("whole")  # so that the second may start
        del turn[0]  # another thread is in the middle of a sink call
        return scene.clock()

    runtime._clock = look_at_the_clock  # pyright: ignore[reportPrivateUsage]
    assert runtime.cancel(second).ok
    turn.append(None)
    assert isinstance(scene.terminal(second), Cancelled)
    assert scene.provider.starts[1:] == scene.provider.cancels == [second]
