"""Rule S8: what a game holds, and that it is bounded."""

import pytest
from support.scene import make_scene

from engine_intelligence import Err, Ok, SessionRef


@pytest.mark.spec("S8")
def test_as_many_activities_as_there_are_places_are_accepted() -> None:
    scene = make_scene(max_concurrent_activities=3)
    assert [scene.runtime.submit("x").ok for _ in range(5)] == [True, True, True, False, False]


@pytest.mark.spec("S8")
def test_what_finds_no_place_is_refused_with_the_limit() -> None:
    scene = make_scene(max_concurrent_activities=1)
    scene.submit()
    result = scene.runtime.submit("x")
    assert isinstance(result, Err)
    assert (result.error.code, result.error.detail.limit) == ("intelligence-capacity-exceeded", 1)


@pytest.mark.spec("S8")
def test_what_finds_no_place_does_not_reach_the_provider() -> None:
    scene = make_scene(max_concurrent_activities=1)
    scene.submit()
    scene.runtime.submit("x")
    assert scene.provider.starts == ["a-1"]


@pytest.mark.spec("S8")
@pytest.mark.parametrize("end", ["complete", "fail", "cancelled"])
def test_an_end_that_was_not_polled_frees_no_place(end: str) -> None:
    scene = make_scene(max_concurrent_activities=1)
    _, sink = scene.begin()
    getattr(sink, end)(*(["x"] if end != "cancelled" else []))
    assert not scene.runtime.submit("x").ok


@pytest.mark.spec("S8")
@pytest.mark.parametrize("end", ["complete", "fail", "cancelled"])
def test_the_place_is_free_once_the_terminal_was_polled(end: str) -> None:
    scene = make_scene(max_concurrent_activities=1)
    _, sink = scene.begin()
    getattr(sink, end)(*(["x"] if end != "cancelled" else []))
    scene.poll()
    assert scene.runtime.submit("x").ok


@pytest.mark.spec("S8")
def test_polling_the_text_before_the_terminal_frees_no_place() -> None:
    scene = make_scene(max_concurrent_activities=1)
    _, sink = scene.begin()
    sink.text("Halt!")
    sink.complete("Halt!")
    scene.poll(1)
    assert not scene.runtime.submit("x").ok


@pytest.mark.spec("S8", "P6")
def test_an_activity_that_waits_for_its_session_holds_a_place() -> None:
    scene = make_scene(max_concurrent_activities=2)
    session = SessionRef("test.provider", "s-9")
    scene.submit(session=session)
    scene.submit(session=session)
    assert not scene.runtime.submit("x").ok


@pytest.mark.spec("S8")
def test_a_game_that_never_polls_retains_a_bounded_number_of_activities_and_events() -> None:
    scene = make_scene(max_concurrent_activities=3, max_pending_events_per_activity=4)
    for _ in range(200):
        result = scene.runtime.submit("x")
        if isinstance(result, Ok):
            sink = scene.provider.sinks[result.value.id]
            for _ in range(50):
                sink.text("and ")
            sink.complete("whole")
    assert (scene.runtime.held_activities, scene.runtime.pending_events) == (3, 12)


@pytest.mark.spec("S8")
def test_nothing_is_held_when_all_was_polled() -> None:
    scene = make_scene()
    for _ in range(30):
        _, sink = scene.begin()
        sink.text("Halt!")
        sink.complete("Halt!")
        scene.drain()
    assert (scene.runtime.held_activities, scene.runtime.pending_events) == (0, 0)


@pytest.mark.spec("S8")
def test_an_id_may_be_used_again_once_its_terminal_was_polled() -> None:
    scene = make_scene(create_activity_id=lambda: "same")
    _, sink = scene.begin()
    sink.complete("x")
    scene.poll()
    assert scene.runtime.submit("x").ok


@pytest.mark.spec("S8", "P2")
def test_a_sink_of_an_earlier_activity_does_not_speak_for_a_later_one_of_the_same_id() -> None:
    scene = make_scene(create_activity_id=lambda: "same")
    _, earlier = scene.begin()
    earlier.complete("x")
    scene.poll()
    scene.submit()
    earlier.text("late")
    earlier.complete("late")
    assert scene.runtime.poll() == []
