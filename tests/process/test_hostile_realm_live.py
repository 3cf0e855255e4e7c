"""Rule M5 against a Host that runs: what a realm that breaks the rules on one port is told, and what it cannot touch.

The realm is bytes on a real socket. All tests here use one Host, each a port of its own; after each the honest port of
the same connection still does its work, and the Host holds no more than before.
"""

import os
from collections.abc import Callable

import pytest
from support import hostile_bodies
from support.hostile_minds import HONEST
from support.hostile_town import Victim
from support.port_messages import hello, submit
from support.raw_game import RawGame

from engine_intelligence import Cancelled, Completed, SessionRef
from engine_intelligence.protocol.messages import Cancel, Close, Closed, Events, Hello, Poll, Rejected

pytestmark = [
    pytest.mark.skipif(os.name != "posix", reason="a socket is taken that a Host inherits"),
]

# What ends the port


@pytest.mark.fault("R74")
@pytest.mark.spec("M3", "M5")
@pytest.mark.parametrize(
    ("body", "reason"), hostile_bodies.BAD_BODIES.values(), ids=hostile_bodies.BAD_BODIES.keys()
)
def test_a_body_that_is_no_message_closes_its_port_by_name(victim: Victim, body: bytes, reason: str) -> None:
    victim.game.body(victim.channel, body)
    assert victim.game.why_closed(victim.channel) == reason


@pytest.mark.spec("M3", "M5")
def test_a_body_that_is_no_message_ends_what_runs_on_its_port(victim: Victim) -> None:
    victim.tell(hello(victim.provider_id), Poll(64))
    victim.submit("a", "talk")
    victim.game.hear(lambda: bool(victim.game.events(victim.channel, "a")), "text")
    victim.game.body(victim.channel, b"\xc1")
    assert victim.game.why_closed(victim.channel) == "frame-garbled"


@pytest.mark.spec("M1", "M5")
@pytest.mark.parametrize("first", [False, True], ids=["at once", "after a good one"])
@pytest.mark.parametrize(
    ("protocol", "provider_id", "reason"),
    [
        (2, None, "protocol-version"),
        (-(2**63), None, "protocol-version"),
        (2**64 - 1, None, "protocol-version"),
        (1, HONEST, "provider-mismatch"),
        (1, "", "provider-mismatch"),
    ],
)
def test_a_hello_that_does_not_fit_closes_the_port_by_name(
    victim: Victim, first: bool, protocol: int, provider_id: str | None, reason: str
) -> None:
    if first:
        victim.tell(hello(victim.provider_id))
    victim.tell(hello(victim.provider_id if provider_id is None else provider_id, protocol=protocol))
    assert victim.game.why_closed(victim.channel) == reason


@pytest.mark.fault("R70")
@pytest.mark.spec("M5", "B1")
def test_what_is_said_after_a_close_is_answered_by_nothing(victim: Victim) -> None:
    victim.tell(Close(), Close(), Poll(9), Cancel("a"), hello(victim.provider_id))
    victim.submit("a", "talk")
    victim.game.body(victim.channel, b"\xc1")
    assert victim.game.why_closed(victim.channel) is None
    victim.until_idle()
    assert victim.game.heard[victim.channel][1:] == [Closed()]


# What does not


@pytest.mark.fault("R70")
@pytest.mark.spec("M1", "M4")
def test_a_submit_before_any_hello_is_carried_out_in_answer_mode(victim: Victim) -> None:
    victim.submit("a", "echo me")
    while not any(isinstance(event, Completed) for event in victim.game.events(victim.channel)):
        answers = victim.game.answers(victim.channel)
        victim.tell(Poll(8))
        victim.game.hear(lambda n=answers: victim.game.answers(victim.channel) > n, "an answer")  # type: ignore[misc]
    assert victim.game.answers(victim.channel) >= 1


@pytest.mark.fault("R70")
@pytest.mark.spec("M1", "M5")
def test_a_hello_that_is_said_a_thousand_times_counts_once(victim: Victim) -> None:
    victim.tell(*[hello(victim.provider_id)] * 1000, Poll(64))
    victim.submit("a", "echo me")
    assert isinstance(victim.game.until_end(victim.channel, "a"), Completed)
    assert sum(isinstance(message, Hello) for message in victim.game.heard[victim.channel]) == 1


@pytest.mark.spec("M5")
@pytest.mark.parametrize("item", [b"\xa0", b"\xa1a", b"\xa2ab"], ids=["empty", "one letter", "two letters"])
def test_a_hello_with_millions_of_features_is_read_and_let_go(victim: Victim, item: bytes) -> None:
    victim.game.body(victim.channel, hostile_bodies.wide(item, victim.provider_id))
    victim.tell(Poll(8))
    victim.game.hear(lambda: victim.game.answers(victim.channel) == 1, "the answer to a poll")


@pytest.mark.spec("M4", "M5")
@pytest.mark.parametrize("credit", [0, -1, -(2**63)])
def test_credit_of_no_events_is_answered_with_none(victim: Victim, credit: int) -> None:
    victim.submit("a", "echo me")
    victim.until_idle()
    victim.tell(Poll(credit))
    victim.game.hear(lambda: victim.game.answers(victim.channel) == 1, "the answer to a poll")
    assert victim.game.events(victim.channel) == []


@pytest.mark.fault("R52")
@pytest.mark.spec("M4", "M5")
def test_credit_below_none_takes_nothing_away_from_what_is_granted(victim: Victim) -> None:
    victim.tell(hello(victim.provider_id), Poll(-(2**63)), Poll(-1), Poll(64))
    victim.submit("a", "echo me")
    assert isinstance(victim.game.until_end(victim.channel, "a"), Completed)


@pytest.mark.spec("M4", "M5")
def test_a_poll_that_says_its_credit_twice_is_answered_once(victim: Victim) -> None:
    victim.game.body(victim.channel, hostile_bodies.poll_twice_in_one(1, 2))
    victim.until_idle()
    assert victim.game.heard[victim.channel][1:] == [Events(())]


@pytest.mark.fault("R52")
@pytest.mark.spec("S7", "M5")
def test_endless_credit_does_not_raise_what_one_message_holds(victim: Victim) -> None:
    victim.tell(hello(victim.provider_id), *[Poll(2**64 - 1)] * 50)
    victim.submit("a", "echo " + "word " * 2000)
    assert isinstance(victim.game.until_end(victim.channel, "a"), Completed)
    heard = victim.game.heard[victim.channel]
    assert max(len(message.events) for message in heard if isinstance(message, Events)) <= 256


# Identities


def rejected(field: str) -> Callable[[Rejected], bool]:
    return lambda message: (
        (message.error.code, message.error.detail.field) == ("intelligence-invalid-request", field)
    )


@pytest.mark.spec("M5", "D1")
@pytest.mark.parametrize(
    ("id", "session_id", "input", "field"),
    [
        ("", "s", "x", "id"),
        ("i" * 257, "s", "x", "id"),
        ("i" * 1_000_000, "s", "x", "id"),
        ("a", "", "x", "session"),
        ("a", "s" * 257, "x", "session"),
        ("a", "s", "", "input"),
        ("a", "s", "x" * 16_385, "input"),
        ("a", "s", "\U0001f9e0" * 1_000_000, "input"),
    ],
    ids=lambda value: value if len(str(value)) < 9 else f"{len(value)} characters",
)
def test_a_submission_out_of_bounds_is_rejected_by_field(
    victim: Victim, id: str, session_id: str, input: str, field: str
) -> None:
    victim.tell(submit(id, input, SessionRef(victim.provider_id, session_id)))
    (rejection,) = victim.rejections(1)
    assert rejected(field)(rejection)


@pytest.mark.fault("R74")
@pytest.mark.spec("M5", "S3")
@pytest.mark.parametrize("owner", [HONEST, "MARK-0", "mark-0\0", "mаrk-0", "../mark-0"])
def test_a_session_of_another_provider_is_rejected(victim: Victim, owner: str) -> None:
    victim.tell(submit("a", "x", SessionRef(owner, "s")))
    (rejection,) = victim.rejections(1)
    assert rejection.error.code == "intelligence-session-provider-mismatch"


@pytest.mark.fault("R72")
@pytest.mark.spec("M5")
def test_an_id_is_refused_while_it_is_held_and_free_when_its_end_was_polled(victim: Victim) -> None:
    victim.submit("live", "talk")
    victim.submit("live", "echo again")
    assert rejected("id")(victim.rejections(1)[0])
    victim.tell(Cancel("live"))
    victim.until_idle()
    victim.submit("live", "echo ended but not polled")
    assert rejected("id")(victim.rejections(2)[1])
    victim.tell(Poll(64))
    victim.game.hear(lambda: bool(victim.game.events(victim.channel)), "the end of what was live")
    victim.submit("live", "echo anew")
    victim.tell(hello(victim.provider_id), Poll(64))

    def completed() -> list[Completed]:
        return [event for event in victim.game.events(victim.channel, "live") if isinstance(event, Completed)]

    victim.game.hear(lambda: bool(completed()), "the end of the last one")
    assert [event.output for event in completed()] == ["echo anew "]


@pytest.mark.fault("R73")
@pytest.mark.spec("M5")
def test_no_guess_cancels_or_feeds_on_what_runs_at_another_port(victim: Victim) -> None:
    """Neither the very id nor one next to it, nor credit."""
    other = Victim(victim.game)
    other.tell(hello(other.provider_id))
    other.submit("activity-7", "echo unharmed")
    guesses = [f"activity-{number}" for number in range(5, 10)] + ["activity-7\0", "activity-7 ", "*", ""]
    victim.tell(*(Cancel(guess) for guess in guesses), *[Poll(1000)] * 20)
    victim.until_idle()
    assert victim.game.events(victim.channel) == []
    other.tell(Poll(64))
    end = other.game.until_end(other.channel, "activity-7")
    assert isinstance(end, Completed)
    other.tell(Close())
    other.game.why_closed(other.channel)


@pytest.mark.spec("M5", "S12")
def test_an_activity_that_is_cancelled_a_thousand_times_ends_once(victim: Victim) -> None:
    victim.tell(hello(victim.provider_id), Poll(2000))
    victim.submit("a", "talk")
    victim.game.hear(lambda: bool(victim.game.events(victim.channel, "a")), "text")
    victim.tell(*[Cancel("a")] * 1000)
    victim.game.until_end(victim.channel, "a")
    victim.until_idle()
    ends = [
        event for event in victim.game.events(victim.channel) if isinstance(event, (Cancelled, Completed))
    ]
    assert len(ends) == 1


@pytest.mark.fault("R78")
@pytest.mark.spec("M3", "M5", "E2")
def test_what_a_provider_repeats_stays_text_whatever_it_looks_like(
    town: RawGame, victim: Victim, capfd: pytest.CaptureFixture[str]
) -> None:
    frames = "\x00\x00\x00\x01\x00\x00\xc1"
    input = f"sk-CANARY \x1b[2J\x1b]0;owned\x07 {frames} \u202e \r\n\x9b31m"
    assert town.ask("repeat", input) == input
    said = capfd.readouterr()
    assert "CANARY" not in said.out + said.err
