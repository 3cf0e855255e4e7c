"""Rule S11: a game that stops polling loses no text and grows no queue."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.scene import make_scene

from engine_intelligence import Completed


@pytest.mark.spec("S11")
@pytest.mark.parametrize("most", [2, 3, 8])
def test_pending_text_leaves_the_last_place_free(most: int) -> None:
    scene = make_scene(max_pending_events_per_activity=most)
    _, sink = scene.begin()
    for _ in range(100):
        sink.text("and ")
    assert scene.runtime.pending_events == most - 1


@pytest.mark.spec("S11")
@pytest.mark.parametrize("most", [2, 3, 8])
def test_the_last_place_is_the_terminals(most: int) -> None:
    scene = make_scene(max_pending_events_per_activity=most)
    _, sink = scene.begin()
    for _ in range(100):
        sink.text("and ")
    sink.complete("whole")
    assert scene.runtime.pending_events == most


@pytest.mark.spec("S11")
@pytest.mark.parametrize("most", [2, 3, 32])
def test_no_text_is_lost(most: int) -> None:
    scene = make_scene(max_pending_events_per_activity=most)
    id, sink = scene.begin()
    words = [f"{number} " for number in range(1000)]
    for word in words:
        sink.text(word)
    sink.complete("whole")
    scene.drain()
    assert scene.told.text(id) == "".join(words)
    assert isinstance(scene.told.terminal(id), Completed)


@pytest.mark.spec("S11")
def test_merging_is_for_the_activity_that_has_too_much_pending() -> None:
    scene = make_scene(max_pending_events_per_activity=4)
    _, loud = scene.begin()
    quiet, sink = scene.begin()
    for _ in range(50):
        loud.text("and ")
    sink.text("a")
    sink.text("b")
    scene.drain()
    assert scene.told.text(quiet) == "ab"


@pytest.mark.spec("S11")
def test_after_a_pause_the_text_goes_on_where_it_was() -> None:
    scene = make_scene(max_pending_events_per_activity=3)
    id, sink = scene.begin()
    said = ""
    for pause in range(5):
        for number in range(20):
            sink.text(f"{pause}.{number} ")
            said += f"{pause}.{number} "
        scene.poll()
    assert scene.told.text(id) == said


@pytest.mark.spec("S11", "S8")
@given(st.integers(2, 6), st.lists(st.tuples(st.integers(0, 2), st.text(max_size=5)), max_size=60))
def test_what_is_pending_is_bounded_at_every_moment(most: int, said: list[tuple[int, str]]) -> None:
    scene = make_scene(max_pending_events_per_activity=most)
    activities = [scene.begin() for _ in range(3)]
    for which, text in said:
        activities[which][1].text(text)
        assert scene.runtime.pending_events <= 3 * (most - 1)
    for _, sink in activities:
        sink.complete("whole")
    assert scene.runtime.pending_events <= 3 * most
