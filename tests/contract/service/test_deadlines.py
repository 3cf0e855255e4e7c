"""Rule S15: an Activity ends in time, whatever its provider does."""

import ast
import time
from pathlib import Path

import pytest
from support.scene import Scene, make_scene

import engine_intelligence
from engine_intelligence import Completed, Deadlines, SessionRef

LIMITS = Deadlines(first_text_s=10, stall_s=4, activity_s=30, cancel_grace_s=2)


def scene_in_time() -> Scene:
    return make_scene(deadlines=LIMITS)


def next_deadline(scene: Scene) -> float | None:
    return scene.runtime.next_deadline


def reason(scene: Scene, id: str) -> str | None:
    return scene.failure(id).error.detail.reason


@pytest.mark.spec("S15")
def test_a_provider_may_think_until_the_first_text_is_due() -> None:
    scene = scene_in_time()
    id, _ = scene.begin()
    scene.clock.advance(9.99)
    assert scene.terminal(id) is None


@pytest.mark.fault("R44", "C1")
@pytest.mark.spec("S15")
def test_a_provider_that_says_nothing_times_out() -> None:
    scene = scene_in_time()
    id, _ = scene.begin()
    scene.clock.advance(10)
    assert reason(scene, id) == "timeout"


@pytest.mark.spec("S15")
def test_the_failure_is_that_of_the_provider() -> None:
    scene = scene_in_time()
    id, _ = scene.begin()
    scene.clock.advance(10)
    error = scene.failure(id).error
    assert (error.code, error.detail.provider_id) == ("intelligence-provider-failed", "test.provider")


@pytest.mark.spec("S15")
def test_empty_text_is_no_first_text() -> None:
    scene = scene_in_time()
    id, sink = scene.begin()
    scene.clock.advance(9)
    sink.text("")
    scene.clock.advance(1)
    assert reason(scene, id) == "timeout"


@pytest.mark.fault("C20")
@pytest.mark.spec("S15")
def test_a_provider_that_falls_silent_is_stalled() -> None:
    scene = scene_in_time()
    id, sink = scene.begin()
    sink.text("Halt!")
    scene.clock.advance(4)
    assert reason(scene, id) == "stalled"


@pytest.mark.spec("S15")
def test_a_provider_may_be_silent_until_it_counts_as_stalled() -> None:
    scene = scene_in_time()
    id, sink = scene.begin()
    sink.text("Halt!")
    scene.clock.advance(3.99)
    assert scene.terminal(id) is None


@pytest.mark.spec("S15")
def test_silence_counts_from_the_last_text() -> None:
    scene = scene_in_time()
    id, sink = scene.begin()
    for _ in range(3):
        sink.text("and ")
        scene.clock.advance(3)
        scene.poll()
    scene.clock.advance(1)
    assert reason(scene, id) == "stalled"


@pytest.mark.spec("S15")
def test_the_first_text_may_take_longer_than_a_later_silence() -> None:
    scene = scene_in_time()
    id, sink = scene.begin()
    scene.clock.advance(9)
    scene.poll()
    sink.text("Halt!")
    sink.complete("Halt!")
    assert isinstance(scene.terminal(id), Completed)


@pytest.mark.spec("S15")
def test_a_provider_that_keeps_talking_ends_by_the_time_of_the_whole() -> None:
    scene = scene_in_time()
    id, sink = scene.begin()
    for _ in range(30):
        assert scene.told.terminal(id) is None
        sink.text("and ")
        scene.clock.advance(1)
        scene.poll()
    assert reason(scene, id) == "timeout"


@pytest.mark.spec("S15")
def test_a_provider_may_talk_until_the_time_of_the_whole_is_over() -> None:
    scene = scene_in_time()
    id, sink = scene.begin()
    for _ in range(29):
        sink.text("and ")
        scene.clock.advance(1)
        scene.poll()
    scene.clock.advance(0.99)
    sink.complete("whole")
    assert isinstance(scene.terminal(id), Completed)


@pytest.mark.spec("S15", "S6")
def test_what_was_said_before_is_delivered_before_the_failure() -> None:
    scene = scene_in_time()
    id, sink = scene.begin()
    sink.text("Who goes ")
    scene.clock.advance(4)
    scene.drain()
    assert scene.told.text(id) == "Who goes "


@pytest.mark.spec("S15", "S6")
@pytest.mark.parametrize("late", ["text", "complete", "fail", "cancelled"])
def test_there_is_one_failure_whatever_the_provider_says_later(late: str) -> None:
    scene = scene_in_time()
    id, sink = scene.begin()
    scene.clock.advance(10)
    scene.runtime.turn()
    getattr(sink, late)(*(["x"] if late != "cancelled" else []))
    scene.clock.advance(1000)
    scene.drain()
    assert len(scene.told.events(id)) == 1


@pytest.mark.spec("S15", "P5")
def test_a_completion_after_the_deadline_does_not_stand() -> None:
    scene = scene_in_time()
    _, sink = scene.begin()
    scene.clock.advance(10)
    scene.runtime.turn()
    assert sink.complete("late") is False


@pytest.mark.fault("R63")
@pytest.mark.spec("S15")
def test_a_jump_of_the_clock_over_all_deadlines_gives_one_failure() -> None:
    scene = scene_in_time()
    id, sink = scene.begin()
    sink.text("and ")
    scene.clock.advance(1e9)
    scene.drain()
    assert [event.type for event in scene.told.events(id)] == ["text-delta", "failed"]


@pytest.mark.spec("S15")
def test_a_provider_that_was_given_up_is_told_to_cancel() -> None:
    scene = scene_in_time()
    id, _ = scene.begin()
    scene.clock.advance(10)
    scene.drain()
    assert scene.provider.cancels == [id]


@pytest.mark.fault("R44")
@pytest.mark.spec("S15", "S8")
def test_the_place_of_one_that_was_given_up_becomes_free() -> None:
    scene = make_scene(deadlines=LIMITS, max_concurrent_activities=1)
    scene.begin()
    scene.clock.advance(10)
    scene.drain()
    assert scene.runtime.submit("x").ok


@pytest.mark.spec("S15")
def test_an_activity_that_has_ended_does_not_fail_later() -> None:
    scene = scene_in_time()
    id, sink = scene.begin()
    sink.complete("Halt!")
    scene.clock.advance(1000)
    assert isinstance(scene.terminal(id), Completed)


@pytest.mark.spec("S15")
def test_each_activity_has_its_own_time() -> None:
    scene = scene_in_time()
    first, _ = scene.begin()
    scene.clock.advance(6)
    second, _ = scene.begin()
    scene.clock.advance(4)
    scene.drain()
    assert [scene.told.terminal(id) is not None for id in (first, second)] == [True, False]


@pytest.mark.spec("S15", "P6")
def test_an_activity_that_waits_for_its_session_ends_in_time_as_well() -> None:
    scene = make_scene(deadlines=LIMITS)
    session = SessionRef("test.provider", "s-9")
    _, sink = scene.begin(session=session)
    waiting = scene.submit(session=session)
    for _ in range(60):
        sink.text("and ")
        scene.clock.advance(1)
        scene.poll()
    assert scene.told.terminal(waiting.id) is not None


@pytest.mark.spec("S15", "P6")
def test_a_wait_for_the_session_is_not_taken_for_a_silent_provider() -> None:
    scene = make_scene(deadlines=LIMITS)
    session = SessionRef("test.provider", "s-9")
    _, sink = scene.begin(session=session)
    waiting = scene.submit(session=session)
    for _ in range(12):
        sink.text("and ")
        scene.clock.advance(1)
        scene.poll()
    sink.complete("whole")
    scene.poll()
    scene.provider.sinks[waiting.id].complete("Halt!")
    assert isinstance(scene.terminal(waiting.id), Completed)


@pytest.mark.spec("S15", "P6")
def test_one_whose_turn_comes_has_the_whole_time_for_its_first_text() -> None:
    scene = make_scene(deadlines=LIMITS)
    session = SessionRef("test.provider", "s-9")
    _, sink = scene.begin(session=session)
    waiting = scene.submit(session=session)
    scene.clock.advance(9)
    sink.complete("whole")
    scene.poll()
    scene.clock.advance(9)
    assert scene.terminal(waiting.id) is None


@pytest.mark.fault("C13", "C20")
@pytest.mark.spec("S15", "P6")
def test_the_session_of_one_that_was_given_up_goes_on() -> None:
    scene = make_scene(deadlines=LIMITS)
    session = SessionRef("test.provider", "s-9")
    scene.begin(session=session)
    scene.clock.advance(10)
    scene.drain()
    id, sink = scene.begin(session=session)
    sink.complete("Halt!")
    assert isinstance(scene.terminal(id), Completed)


@pytest.mark.fault("R62")
@pytest.mark.spec("S15")
@pytest.mark.parametrize("jump", [3600.0, -3600.0, 1e9])
def test_a_jump_of_the_wall_clock_ends_nothing(jump: float, monkeypatch: pytest.MonkeyPatch) -> None:
    scene = scene_in_time()
    id, sink = scene.begin()
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + jump)
    scene.poll()
    sink.complete("Halt!")
    assert isinstance(scene.terminal(id), Completed)


@pytest.mark.fault("R62")
@pytest.mark.spec("S15")
def test_no_module_of_the_package_reads_the_wall_clock_but_where_a_date_is_meant() -> None:
    package = Path(engine_intelligence.__file__).parent
    found: set[str] = set()
    for path in package.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Attribute) and ast.unparse(node) in (
                "time.time",
                "datetime.now",
                "time.time_ns",
            ):
                found.add(path.relative_to(package).as_posix())
    # The date until which a service wants to be left alone, when a conversation was last continued, what was spent today.
    assert found == {"providers/failures.py", "sessions/sqlite.py", "spending/ledger.py"}


@pytest.mark.spec("S15")
def test_next_deadline_is_when_the_next_activity_would_be_given_up() -> None:
    scene = scene_in_time()
    assert next_deadline(scene) is None
    scene.begin()
    begun = scene.clock()
    due = next_deadline(scene)
    assert due is not None
    assert begun < due <= begun + 10
    scene.clock.advance(10)
    scene.drain()
    assert next_deadline(scene) is None


@pytest.mark.spec("S15")
def test_turning_at_every_next_deadline_ends_a_silent_provider_without_a_poll() -> None:
    scene = scene_in_time()
    id, sink = scene.begin()
    scene.clock.advance(1)
    sink.text("Halt!")
    for _ in range(10):
        due = next_deadline(scene)
        if due is None:
            break
        scene.clock.advance(max(0.0, due - scene.clock()))
        scene.runtime.turn()
    assert next_deadline(scene) is None
    assert reason(scene, id) == "stalled"
