import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.scene import make_scene

from engine_intelligence import Completed


@pytest.mark.spec("D3")
def test_the_first_event_has_sequence_1() -> None:
    scene = make_scene()
    _, sink = scene.begin()
    sink.text("Halt!")
    assert [event.sequence for event in scene.runtime.poll()] == [1]


@pytest.mark.spec("D3")
def test_a_terminal_without_text_has_sequence_1() -> None:
    scene = make_scene()
    _, sink = scene.begin()
    sink.complete("Halt!")
    assert [event.sequence for event in scene.runtime.poll()] == [1]


@pytest.mark.spec("D3", "S11")
def test_a_poll_after_a_merge_goes_on_without_a_gap() -> None:
    scene = make_scene(max_pending_events_per_activity=3)
    id, sink = scene.begin()
    sink.text("a")
    first = scene.runtime.poll()
    for _ in range(50):
        sink.text("b")
    sink.complete("a" + "b" * 50)
    events = first + scene.runtime.poll()
    assert [event.sequence for event in events] == list(range(1, len(events) + 1))
    assert id == "a-1"


@pytest.mark.spec("D3", "S9")
def test_activities_are_numbered_apart() -> None:
    scene = make_scene()
    for sink in (scene.begin()[1], scene.begin()[1]):
        sink.text("a")
        sink.complete("a")
    assert sorted((event.activity_id, event.sequence) for event in scene.runtime.poll()) == [
        ("a-1", 1),
        ("a-1", 2),
        ("a-2", 1),
        ("a-2", 2),
    ]


@pytest.mark.spec("D3", "S6", "S11")
@given(
    st.integers(2, 5),
    st.lists(st.tuples(st.integers(0, 2), st.integers(1, 5), st.integers(0, 4)), max_size=20),
)
def test_no_merging_and_no_size_of_polls_leaves_a_gap_or_loses_text(
    pending: int, rounds: list[tuple[int, int, int]]
) -> None:
    scene = make_scene(max_pending_events_per_activity=pending)
    activities = [scene.begin() for _ in range(3)]
    said = ["", "", ""]
    for number, (which, chunks, polled) in enumerate(rounds):
        for chunk in range(chunks):
            text = f"{number}.{chunk} "
            activities[which][1].text(text)
            said[which] += text
        if polled:
            scene.poll(polled)
    for (_, sink), text in zip(activities, said, strict=True):
        sink.complete(text)
    scene.drain()
    for (id, _), text in zip(activities, said, strict=True):
        assert isinstance(scene.told.terminal(id), Completed)
        assert scene.told.text(id) == text
