"""Rules S12 and S13: asking an Activity to stop, and what may come in between."""

from collections.abc import Callable
from itertools import permutations

import pytest
from support.scene import Scene, make_scene

from engine_intelligence import Cancelled, Completed, Deadlines, Err, Failed, Ok

GRACE = Deadlines(cancel_grace_s=2)


@pytest.mark.spec("S12")
def test_cancel_of_a_running_activity_is_accepted() -> None:
    scene = make_scene()
    id, _ = scene.begin()
    assert scene.runtime.cancel(id) == Ok(None)


@pytest.mark.spec("S12")
def test_cancel_asks_the_provider_to_stop() -> None:
    scene = make_scene()
    id, _ = scene.begin()
    scene.begin()
    scene.runtime.cancel(id)
    assert scene.provider.cancels == [id]


@pytest.mark.spec("S12")
def test_a_provider_that_stops_gives_cancelled() -> None:
    scene = make_scene()
    id, sink = scene.begin()
    scene.runtime.cancel(id)
    sink.cancelled()
    assert isinstance(scene.terminal(id), Cancelled)


@pytest.mark.spec("S12")
def test_a_provider_that_stops_inside_cancel_gives_cancelled() -> None:
    scene = make_scene()

    def stop(activity_id: str) -> Ok[None]:
        scene.provider.sinks[activity_id].cancelled()
        return Ok(None)

    scene.provider.on_cancel = stop
    id, _ = scene.begin()
    assert scene.runtime.cancel(id).ok
    assert isinstance(scene.terminal(id), Cancelled)


@pytest.mark.spec("S12", "S6")
def test_text_from_before_the_cancel_is_delivered() -> None:
    scene = make_scene()
    id, sink = scene.begin()
    sink.text("Who goes ")
    scene.runtime.cancel(id)
    sink.cancelled()
    scene.drain()
    assert scene.told.text(id) == "Who goes "


@pytest.mark.spec("S12")
def test_nothing_is_ended_before_the_grace_is_over() -> None:
    scene = make_scene(deadlines=GRACE)
    id, _ = scene.begin()
    scene.runtime.cancel(id)
    scene.clock.advance(1.99)
    assert scene.terminal(id) is None


@pytest.mark.fault("R45")
@pytest.mark.spec("S12")
def test_an_activity_that_does_not_stop_is_ended_when_the_grace_is_over() -> None:
    scene = make_scene(deadlines=GRACE)
    id, _ = scene.begin()
    scene.runtime.cancel(id)
    scene.clock.advance(2)
    assert isinstance(scene.terminal(id), Cancelled)


@pytest.mark.spec("S12")
def test_the_grace_counts_from_the_first_cancel() -> None:
    scene = make_scene(deadlines=GRACE)
    id, _ = scene.begin()
    scene.runtime.cancel(id)
    scene.clock.advance(1.5)
    scene.runtime.cancel(id)
    scene.clock.advance(0.5)
    assert isinstance(scene.terminal(id), Cancelled)


@pytest.mark.spec("S12")
def test_text_after_the_cancel_does_not_prolong_the_grace() -> None:
    scene = make_scene(deadlines=GRACE)
    id, sink = scene.begin()
    scene.runtime.cancel(id)
    for _ in range(4):
        sink.text("and ")
        scene.poll()
        scene.clock.advance(0.5)
    assert isinstance(scene.terminal(id), Cancelled)


@pytest.mark.fault("R45")
@pytest.mark.spec("S12")
@pytest.mark.parametrize("late", ["text", "complete", "fail", "cancelled"])
def test_what_the_provider_says_after_the_grace_is_ignored(late: str) -> None:
    scene = make_scene(deadlines=GRACE)
    id, sink = scene.begin()
    scene.runtime.cancel(id)
    scene.clock.advance(2)
    scene.runtime.turn()
    getattr(sink, late)(*(["x"] if late != "cancelled" else []))
    scene.drain()
    assert [type(event) for event in scene.told.events(id)] == [Cancelled]


@pytest.mark.spec("S12", "P2")
def test_what_the_provider_says_after_the_grace_is_counted() -> None:
    scene = make_scene(deadlines=GRACE)
    id, sink = scene.begin()
    scene.runtime.cancel(id)
    scene.clock.advance(2)
    scene.runtime.turn()
    before = scene.runtime.ignored_signals
    sink.text("late")
    sink.complete("late")
    assert scene.runtime.ignored_signals == before + 2


@pytest.mark.spec("S12", "S8")
def test_the_place_of_one_that_does_not_stop_becomes_free() -> None:
    scene = make_scene(deadlines=GRACE, max_concurrent_activities=1)
    id, _ = scene.begin()
    scene.runtime.cancel(id)
    scene.clock.advance(2)
    scene.drain()
    assert scene.runtime.submit("x").ok


@pytest.mark.fault("C11")
@pytest.mark.spec("S12")
def test_a_second_cancel_is_accepted_and_does_nothing() -> None:
    scene = make_scene()
    id, _ = scene.begin()
    scene.runtime.cancel(id)
    assert scene.runtime.cancel(id) == Ok(None)
    assert scene.provider.cancels == [id]


@pytest.mark.spec("S12")
def test_cancel_leaves_other_activities_alone() -> None:
    scene = make_scene(deadlines=GRACE)
    id, _ = scene.begin()
    other, sink = scene.begin()
    scene.runtime.cancel(id)
    scene.clock.advance(2)
    scene.drain()
    sink.complete("Halt!")
    assert isinstance(scene.terminal(other), Completed)


def assert_not_found(scene: Scene, id: str) -> None:
    result = scene.runtime.cancel(id)
    assert isinstance(result, Err)
    assert (result.error.code, result.error.detail.activity_id) == ("intelligence-activity-not-found", id)


@pytest.mark.fault("C11")
@pytest.mark.spec("S13")
def test_an_id_that_never_was_is_not_found() -> None:
    scene = make_scene()
    scene.begin()
    assert_not_found(scene, "a-9")


@pytest.mark.fault("C11")
@pytest.mark.spec("S13")
@pytest.mark.parametrize("end", ["complete", "fail", "cancelled"])
@pytest.mark.parametrize("polled", [False, True])
def test_an_activity_that_has_ended_is_not_found(end: str, polled: bool) -> None:
    scene = make_scene()
    id, sink = scene.begin()
    getattr(sink, end)(*(["x"] if end != "cancelled" else []))
    if polled:
        scene.poll()
    assert_not_found(scene, id)


@pytest.mark.spec("S13")
def test_an_activity_that_was_refused_is_not_found() -> None:
    scene = make_scene(create_activity_id=lambda: "same")
    scene.runtime.submit("")
    assert_not_found(scene, "same")


@pytest.mark.spec("S13")
def test_an_activity_that_has_ended_is_not_cancelled_at_the_provider() -> None:
    scene = make_scene()
    id, sink = scene.begin()
    sink.complete("Halt!")
    scene.runtime.cancel(id)
    assert scene.provider.cancels == []


@pytest.mark.spec("S13")
def test_what_completes_after_the_cancel_is_completed() -> None:
    scene = make_scene()
    id, sink = scene.begin()
    scene.runtime.cancel(id)
    assert sink.complete("Halt!") is True
    assert isinstance(scene.terminal(id), Completed)


@pytest.mark.spec("S13")
def test_what_completes_inside_cancel_is_completed() -> None:
    scene = make_scene()

    def finish(activity_id: str) -> Ok[None]:
        scene.provider.sinks[activity_id].complete("Halt!")
        return Ok(None)

    scene.provider.on_cancel = finish
    id, _ = scene.begin()
    scene.runtime.cancel(id)
    assert isinstance(scene.terminal(id), Completed)


Move = Callable[[Scene, str], object]


def ask(scene: Scene, id: str) -> object:
    return scene.runtime.cancel(id)


def finish(scene: Scene, id: str) -> object:
    return scene.provider.sinks[id].complete("whole")


def break_(scene: Scene, id: str) -> None:
    scene.provider.sinks[id].fail("it broke")


def stop(scene: Scene, id: str) -> None:
    scene.provider.sinks[id].cancelled()


def lapse(scene: Scene, id: str) -> None:
    """Time passes until every deadline is over."""
    scene.clock.advance(10_000)
    scene.runtime.turn()


def look(scene: Scene, id: str) -> object:
    return scene.poll()


def first_end(moves: tuple[Move, ...]) -> tuple[type[object], ...]:
    """The terminals that may come of these moves: that of the first move that ends an Activity."""
    asked = False
    for move in moves:
        if move is ask:
            asked = True
        elif move is finish:
            return (Completed,)
        elif move is break_:
            return (Failed, Cancelled) if asked else (Failed,)
        elif move is stop:
            return (Cancelled,) if asked else (Cancelled, Failed)
        elif move is lapse:
            return (Cancelled, Failed) if asked else (Failed,)
    raise AssertionError("nothing ends it")


RACES = [
    order
    for moves in (
        (ask, finish, stop, look),
        (ask, finish, break_, lapse),
        (ask, break_, stop, look),
        (ask, stop, lapse, finish),
    )
    for order in permutations(moves)
]


@pytest.mark.fault("R49")
@pytest.mark.parametrize("moves", RACES, ids=lambda moves: "-".join(move.__name__ for move in moves))
@pytest.mark.spec("S13", "S6")
def test_of_everything_that_races_the_first_terminal_stands(moves: tuple[Move, ...]) -> None:
    scene = make_scene()
    id, _ = scene.begin()
    for move in moves:
        move(scene, id)
    assert type(scene.terminal(id)) in first_end(moves)


@pytest.mark.parametrize(
    "moves",
    [moves for moves in RACES if finish in moves],
    ids=lambda moves: "-".join(move.__name__ for move in moves),
)
@pytest.mark.spec("S13", "P5")
def test_of_everything_that_races_complete_says_whether_it_stands(moves: tuple[Move, ...]) -> None:
    scene = make_scene()
    id, _ = scene.begin()
    stood = [move(scene, id) for move in moves]
    assert stood[moves.index(finish)] is isinstance(scene.terminal(id), Completed)


@pytest.mark.fault("C10")
@pytest.mark.spec("S13")
def test_an_error_after_the_cancel_is_no_failure_to_the_game() -> None:
    scene = make_scene()
    id, sink = scene.begin()
    scene.runtime.cancel(id)
    sink.text("and ")
    sink.fail("connection closed")
    assert isinstance(scene.terminal(id), Cancelled)
