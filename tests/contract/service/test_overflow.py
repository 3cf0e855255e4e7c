"""Rule S10: the bound of the output, streamed and whole."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.scene import Scene, make_scene

from engine_intelligence import ActivitySink, Completed, Failed, TextDelta


def begin(max_output_chars: int = 5) -> tuple[Scene, str, ActivitySink]:
    scene = make_scene(max_output_chars=max_output_chars)
    return scene, *scene.begin()


def assert_overflowed(scene: Scene, id: str, limit: int = 5) -> None:
    error = scene.failure(id).error
    assert (error.code, error.detail.activity_id, error.detail.bound, error.detail.limit) == (
        "intelligence-output-overflow",
        id,
        "output-chars",
        limit,
    )


@pytest.mark.spec("S10")
def test_output_of_just_the_bound_is_completed() -> None:
    scene, id, sink = begin()
    sink.text("abc")
    sink.text("de")
    sink.complete("abcde")
    terminal = scene.terminal(id)
    assert isinstance(terminal, Completed)
    assert (scene.told.text(id), terminal.output) == ("abcde", "abcde")


@pytest.mark.spec("S10")
def test_streamed_text_is_counted_cumulatively() -> None:
    scene, id, sink = begin()
    for chunk in ("a", "b", "c", "d", "e", "f"):
        sink.text(chunk)
    assert_overflowed(scene, id)


@pytest.mark.spec("S10")
def test_streamed_text_is_counted_over_polls() -> None:
    scene, id, sink = begin()
    for chunk in ("abc", "de", "f"):
        sink.text(chunk)
        scene.poll()
    assert_overflowed(scene, id)


@pytest.mark.fault("R50")
@pytest.mark.spec("S10")
def test_one_chunk_beyond_the_bound_overflows() -> None:
    scene, id, sink = begin()
    sink.text("abcdef")
    assert_overflowed(scene, id)


@pytest.mark.spec("S10")
def test_a_whole_output_beyond_the_bound_overflows_by_itself() -> None:
    scene, id, sink = begin()
    sink.complete("abcdef")
    assert_overflowed(scene, id)


@pytest.mark.spec("S10")
def test_a_whole_output_does_not_add_to_what_was_streamed() -> None:
    scene, id, sink = begin()
    sink.text("abcde")
    assert sink.complete("vwxyz") is True
    assert isinstance(scene.terminal(id), Completed)


@pytest.mark.spec("S10")
def test_a_whole_output_that_overflows_does_not_stand() -> None:
    _, _, sink = begin()
    assert sink.complete("abcdef") is False


@pytest.mark.spec("S10")
def test_what_was_pending_is_delivered_before_the_failure() -> None:
    scene, id, sink = begin()
    sink.text("abc")
    sink.text("def")
    scene.drain()
    assert [type(event) for event in scene.told.events(id)] == [TextDelta, Failed]
    assert scene.told.text(id) == "abc"


@pytest.mark.spec("S10")
def test_what_was_pending_is_delivered_before_the_failure_of_a_whole_output() -> None:
    scene, id, sink = begin()
    sink.text("abc")
    sink.complete("abcdef")
    scene.drain()
    assert [type(event) for event in scene.told.events(id)] == [TextDelta, Failed]


@pytest.mark.spec("S10")
@pytest.mark.parametrize("whole", [True, False])
def test_the_provider_is_told_to_cancel_once(whole: bool) -> None:
    scene, id, sink = begin()
    if whole:
        sink.complete("abcdef")
    else:
        sink.text("abcdef")
        sink.text("ghijkl")
    scene.drain()
    scene.clock.advance(60)
    scene.drain()
    assert scene.provider.cancels == [id]


@pytest.mark.spec("S10")
def test_the_provider_is_told_to_cancel_also_when_the_game_does_not_poll() -> None:
    scene, id, sink = begin()
    sink.text("abcdef")
    scene.runtime.turn()
    assert scene.provider.cancels == [id]


@pytest.mark.spec("S10", "S6")
@pytest.mark.parametrize("then", ["text", "complete", "fail", "cancelled"])
def test_there_is_exactly_one_failure_whatever_follows(then: str) -> None:
    scene, id, sink = begin()
    sink.text("abcdef")
    getattr(sink, then)(*(["x"] if then != "cancelled" else []))
    scene.drain()
    assert [type(event) for event in scene.told.events(id)] == [Failed]


@pytest.mark.spec("S10")
def test_an_overflow_leaves_other_activities_alone() -> None:
    scene = make_scene(max_output_chars=5)
    _, sink = scene.begin()
    other, other_sink = scene.begin()
    other_sink.text("abc")
    sink.text("abcdef")
    other_sink.text("de")
    other_sink.complete("abcde")
    assert isinstance(scene.terminal(other), Completed)


@pytest.mark.spec("S10", "S13")
def test_cancelling_what_overflowed_finds_no_activity() -> None:
    scene, id, sink = begin()
    sink.text("abcdef")
    assert not scene.runtime.cancel(id).ok


@pytest.mark.spec("S10")
@given(st.integers(1, 30), st.lists(st.integers(1, 8), max_size=12))
def test_streaming_overflows_exactly_where_the_sum_passes_the_bound(bound: int, sizes: list[int]) -> None:
    scene, id, sink = begin(bound)
    for size in sizes:
        sink.text("🛡" * size)
    terminal = scene.terminal(id)
    assert isinstance(terminal, Failed) == (sum(sizes) > bound)
    assert len(scene.told.text(id)) <= bound
