"""Rules C5 and S15: a Host that says nothing, told by a clock that a test moves."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.port_messages import completed, delta, events, hello
from support.port_rigs import ClientRig, client_rig, refusal_of

from engine_intelligence import Deadlines, Failed
from engine_intelligence.protocol.messages import Events, Heartbeat

DEADLINES = Deadlines(unresponsive_s=10, first_text_s=60)
FRAME_S = 1 / 64


def frames(rig: ClientRig, seconds: float, step: float = FRAME_S) -> None:
    """Frames at a steady rate in which nothing arrives."""
    for _ in range(int(seconds / step)):
        rig.clock.advance(step)
        rig.client.poll()


def greeted(features: tuple[str, ...] = ("stream-credit", "heartbeat")) -> ClientRig:
    return client_rig(hello=hello(features=features), deadlines=DEADLINES)


@pytest.mark.spec("C5")
def test_a_host_that_is_silent_for_as_long_as_the_deadline_says_is_unresponsive() -> None:
    rig = greeted()
    frames(rig, 11)
    assert rig.client.closed


@pytest.mark.spec("C5")
def test_the_end_of_an_unresponsive_host_leaves_nothing() -> None:
    rig = greeted()
    rig.submit()
    frames(rig, 11)
    assert (rig.client.held_activities, rig.port.closes, rig.closed_code()) == (0, 1, "intelligence-closed")


@pytest.mark.spec("C5", "C7")
def test_an_unresponsive_host_is_told_by_name() -> None:
    rig = greeted()
    frames(rig, 11)
    refused = refusal_of(rig.client.submit("hello"))
    assert refused.detail.reason == "unresponsive"


@pytest.mark.spec("C5")
def test_a_host_that_is_silent_for_less_is_not() -> None:
    rig = greeted()
    frames(rig, 9.5)
    assert not rig.client.closed


@pytest.mark.spec("C5", "M1")
@pytest.mark.parametrize(
    "message", [Heartbeat(), Events(()), hello()], ids=lambda message: type(message).__name__
)
def test_any_message_shows_that_the_host_is_there(message: Heartbeat) -> None:
    rig = greeted()
    for _ in range(20):
        frames(rig, 9)
        rig.port.arrive(message)
        rig.client.poll()
    assert not rig.client.closed


@pytest.mark.fault("R63")
@pytest.mark.spec("C5", "S1")
@pytest.mark.parametrize("away_s", [11.0, 60.0, 86_400.0])
def test_a_realm_that_was_away_itself_does_not_blame_its_host(away_s: float) -> None:
    """A loading screen, a debugger, a suspended machine: the clock went on, and nobody looked at the port."""
    rig = greeted()
    frames(rig, 1)
    rig.clock.advance(away_s)
    rig.client.poll()
    assert not rig.client.closed


@pytest.mark.spec("C5")
def test_a_realm_that_was_away_finds_out_afterwards_that_its_host_is_silent() -> None:
    rig = greeted()
    rig.clock.advance(60)
    frames(rig, 11)
    assert rig.client.closed


@pytest.mark.spec("C5")
def test_a_realm_that_is_away_again_and_again_finds_out_in_the_end() -> None:
    """Two seconds a frame is slow, and yet the game looks: such a realm must not keep a dead Host for ever."""
    rig = greeted()
    frames(rig, 120, step=2.0)
    assert rig.client.closed


@pytest.mark.spec("C5", "M1")
def test_a_host_that_announced_no_heartbeat_may_be_silent() -> None:
    rig = greeted(features=("stream-credit",))
    frames(rig, 100)
    assert not rig.client.closed


@pytest.mark.spec("C5", "M1")
def test_a_host_that_never_said_hello_may_be_silent() -> None:
    rig = client_rig(deadlines=DEADLINES)
    frames(rig, 100)
    assert not rig.client.closed


@pytest.mark.fault("R13")
@pytest.mark.spec("C5")
@given(gaps=st.lists(st.floats(0.001, 9.0), min_size=1, max_size=40))
def test_no_pattern_of_heartbeats_within_the_deadline_closes_the_client(gaps: list[float]) -> None:
    rig = greeted()
    for gap in gaps:
        rig.clock.advance(gap)
        rig.port.arrive(Heartbeat())
        rig.client.poll()
    assert not rig.client.closed


@pytest.mark.fault("R3", "C1")
@pytest.mark.spec("S15", "C5")
def test_without_a_word_of_the_host_an_activity_ends_by_first_text_s() -> None:
    rig = client_rig(deadlines=DEADLINES)
    rig.submit()
    rig.clock.advance(60)
    (failed,) = rig.client.poll()
    assert isinstance(failed, Failed)
    assert (failed.sequence, failed.error.code, failed.error.detail.reason) == (
        1,
        "intelligence-provider-failed",
        "timeout",
    )


@pytest.mark.spec("S15")
def test_without_a_word_of_the_host_an_activity_is_not_ended_before_that() -> None:
    rig = client_rig(deadlines=DEADLINES)
    rig.submit()
    rig.clock.advance(59.9)
    assert rig.client.poll() == []


@pytest.mark.spec("S15", "S8")
def test_the_place_of_an_activity_that_nobody_answered_is_free_again() -> None:
    rig = client_rig(deadlines=DEADLINES)
    rig.submit()
    rig.clock.advance(60)
    rig.client.poll()
    assert rig.client.held_activities == 0


@pytest.mark.spec("S15", "S6")
def test_what_a_host_says_at_last_of_an_activity_that_has_ended_is_ignored() -> None:
    rig = client_rig(deadlines=DEADLINES)
    rig.submit()
    rig.clock.advance(60)
    rig.client.poll()
    rig.port.arrive(hello(), events(delta(1), completed(2)))
    assert (rig.client.poll(), rig.client.closed) == ([], False)


@pytest.mark.spec("S15")
@pytest.mark.parametrize("message", [hello(), Events(())], ids=["hello", "an answer"])
def test_once_the_host_has_spoken_the_deadlines_are_its_own(message: Events) -> None:
    rig = client_rig(deadlines=DEADLINES)
    rig.submit()
    rig.client.poll()
    rig.port.arrive(message)
    rig.client.poll()
    for _ in range(100):
        rig.clock.advance(1)
        rig.port.arrive(Heartbeat())
        assert rig.client.poll() == []


@pytest.mark.spec("S15")
def test_each_activity_has_its_own_time() -> None:
    rig = client_rig(deadlines=DEADLINES)
    rig.submit()
    rig.clock.advance(30)
    rig.submit()
    rig.clock.advance(30)
    assert [event.activity_id for event in rig.client.poll()] == ["a-1"]
