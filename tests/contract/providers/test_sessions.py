"""Rule P6: the Activities of a session come one after the other."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.scene import Scene, make_scene

from engine_intelligence import ActivitySink, Cancelled, Completed, Deadlines, SessionRef

SESSION = SessionRef("test.provider", "s-9")
OTHER = SessionRef("test.provider", "s-8")


def say(sink: ActivitySink, end: str) -> None:
    getattr(sink, end)(*(["x"] if end != "cancelled" else []))


@pytest.mark.fault("C14")
@pytest.mark.spec("P6")
def test_the_second_of_a_session_is_accepted_and_waits() -> None:
    scene = make_scene()
    first, _ = scene.begin(session=SESSION)
    assert scene.runtime.submit("x", SESSION).ok
    scene.poll()
    assert scene.provider.starts == [first]


@pytest.mark.spec("P6")
@pytest.mark.parametrize("end", ["complete", "fail", "cancelled"])
def test_the_second_is_started_when_the_first_has_ended(end: str) -> None:
    scene = make_scene()
    first, sink = scene.begin(session=SESSION)
    second = scene.submit(session=SESSION).id
    say(sink, end)
    scene.poll()
    assert scene.provider.starts == [first, second]


@pytest.mark.spec("P6")
def test_the_second_is_started_also_when_the_game_does_not_poll() -> None:
    scene = make_scene()
    first, sink = scene.begin(session=SESSION)
    second = scene.submit(session=SESSION).id
    sink.complete("Halt!")
    scene.runtime.turn()
    assert scene.provider.starts == [first, second]


@pytest.mark.spec("P6")
def test_text_of_the_first_does_not_start_the_second() -> None:
    scene = make_scene()
    first, sink = scene.begin(session=SESSION)
    scene.submit(session=SESSION)
    sink.text("Halt!")
    scene.poll()
    assert scene.provider.starts == [first]


@pytest.mark.fault("C14")
@pytest.mark.spec("P6")
def test_those_of_a_session_are_started_in_order_of_submission() -> None:
    scene = make_scene()
    ids = [scene.submit(session=SESSION).id for _ in range(5)]
    for number in range(5):
        scene.provider.sinks[ids[number]].complete("Halt!")
        scene.poll()
    assert scene.provider.starts == ids


@pytest.mark.spec("P6")
def test_a_session_that_was_begun_is_kept_apart_as_well() -> None:
    scene = make_scene()
    begun = scene.submit()
    scene.submit(session=begun.session)
    scene.poll()
    assert scene.provider.starts == [begun.id]


@pytest.mark.spec("P6")
def test_other_sessions_run_on() -> None:
    scene = make_scene()
    first, _ = scene.begin(session=SESSION)
    scene.submit(session=SESSION)
    other, sink = scene.begin(session=OTHER)
    sink.complete("Halt!")
    assert isinstance(scene.terminal(other), Completed)
    assert scene.provider.starts == [first, other]


@pytest.mark.spec("P6", "S12")
def test_one_that_is_cancelled_while_it_waits_never_reaches_the_provider() -> None:
    scene = make_scene()
    _, sink = scene.begin(session=SESSION)
    waiting = scene.submit(session=SESSION).id
    assert scene.runtime.cancel(waiting).ok
    sink.complete("Halt!")
    scene.drain()
    assert (waiting in scene.provider.starts, scene.provider.cancels) == (False, [])


@pytest.mark.spec("P6", "S12")
def test_one_that_is_cancelled_while_it_waits_is_cancelled_at_once() -> None:
    scene = make_scene()
    scene.begin(session=SESSION)
    waiting = scene.submit(session=SESSION).id
    scene.runtime.cancel(waiting)
    assert isinstance(scene.terminal(waiting), Cancelled)


@pytest.mark.spec("P6")
def test_one_that_is_cancelled_while_it_waits_does_not_hold_up_the_next() -> None:
    scene = make_scene()
    first, sink = scene.begin(session=SESSION)
    waiting = scene.submit(session=SESSION).id
    last = scene.submit(session=SESSION).id
    scene.runtime.cancel(waiting)
    sink.complete("Halt!")
    scene.drain()
    assert scene.provider.starts == [first, last]


@pytest.mark.fault("C9")
@pytest.mark.spec("P6", "S12")
def test_a_cancel_followed_by_a_submit_on_the_same_session_works() -> None:
    scene = make_scene()
    first, sink = scene.begin(session=SESSION)
    scene.runtime.cancel(first)
    second = scene.submit(session=SESSION).id
    sink.cancelled()
    scene.poll()
    scene.provider.sinks[second].complete("Halt!")
    assert isinstance(scene.terminal(second), Completed)


@pytest.mark.spec("P6", "S12")
def test_the_second_waits_while_the_first_is_stopping() -> None:
    scene = make_scene()
    first, _ = scene.begin(session=SESSION)
    scene.runtime.cancel(first)
    scene.submit(session=SESSION)
    scene.poll()
    assert scene.provider.starts == [first]


@pytest.mark.spec("P6", "S12")
def test_a_session_goes_on_after_one_that_did_not_stop() -> None:
    scene = make_scene(deadlines=Deadlines(cancel_grace_s=2))
    first, _ = scene.begin(session=SESSION)
    scene.runtime.cancel(first)
    second = scene.submit(session=SESSION).id
    scene.clock.advance(2)
    scene.drain()
    scene.provider.sinks[second].complete("Halt!")
    assert isinstance(scene.terminal(second), Completed)


@pytest.mark.spec("P6", "S10")
def test_a_session_goes_on_after_one_that_said_too_much() -> None:
    scene = make_scene(max_output_chars=5)
    _, sink = scene.begin(session=SESSION)
    second = scene.submit(session=SESSION).id
    sink.text("too much")
    scene.drain()
    # Its provider was told to cancel, and does.
    sink.cancelled()
    scene.drain()
    scene.provider.sinks[second].complete("Halt!")
    assert isinstance(scene.terminal(second), Completed)


@pytest.mark.spec("P6")
def test_a_session_that_is_idle_again_starts_at_once() -> None:
    scene = make_scene()
    for _ in range(3):
        id, sink = scene.begin(session=SESSION)
        sink.complete("Halt!")
        scene.drain()
        assert scene.provider.starts[-1] == id


def running_by_session(scene: Scene, ended: set[str]) -> list[str]:
    return [submission.session.id for submission in scene.provider.submissions if submission.id not in ended]


@pytest.mark.spec("P6", "S6")
@given(
    st.lists(
        st.tuples(st.sampled_from(["submit", "complete", "fail", "cancel"]), st.integers(0, 2)), max_size=40
    )
)
def test_no_two_of_a_session_ever_run_together(moves: list[tuple[str, int]]) -> None:
    scene = make_scene(max_concurrent_activities=64)
    sessions = [SessionRef("test.provider", f"s-{number}") for number in range(3)]
    submitted: list[list[str]] = [[], [], []]
    ended: set[str] = set()

    def stop(activity_id: str) -> None:
        scene.provider.sinks[activity_id].cancelled()
        ended.add(activity_id)

    for move, which in moves:
        running = [id for id in submitted[which] if id in scene.provider.sinks and id not in ended]
        if move == "submit":
            submitted[which].append(scene.submit(session=sessions[which]).id)
        elif move == "cancel" and submitted[which]:
            last = submitted[which][-1]
            scene.runtime.cancel(last)
            if last in scene.provider.cancels and last not in ended:
                stop(last)
        elif running:
            say(scene.provider.sinks[running[0]], move if move != "cancel" else "complete")
            ended.add(running[0])
        scene.poll()
        busy = running_by_session(scene, ended)
        assert len(busy) == len(set(busy))
    for which, ids in enumerate(submitted):
        started = [id for id in scene.provider.starts if id in ids]
        assert started == [id for id in ids if id in started], which
