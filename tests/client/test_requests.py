"""Rules C1 to C3 and M4: what a client sends, what it delivers, and what it holds the Host to."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.port_doubles import untyped
from support.port_messages import (
    PROVIDER,
    SESSION,
    completed,
    delta,
    events,
    failure,
    granted,
    hello,
    submit,
    text_of,
)
from support.port_rigs import ClientRig, accepted, client_rig, refusal_of

from engine_intelligence import (
    Cancelled,
    Completed,
    Failed,
    IntelligenceEvent,
    IntelligenceLimits,
    SessionRef,
    TextDelta,
)
from engine_intelligence.protocol.messages import Cancel, Closed, Events, Heartbeat, Hello, Poll, Rejected

ONE_PLACE = IntelligenceLimits(max_concurrent_activities=1)
SMALL = IntelligenceLimits(
    max_input_chars=4,
    max_output_chars=4,
    max_concurrent_activities=2,
    max_pending_events_per_activity=4,
    max_poll_events=8,
)


def refusal_code(rig: ClientRig, input: object, session: SessionRef | None = None) -> str:
    refused = refusal_of(rig.client.submit(untyped(input), session))
    return refused.code


# C1


@pytest.mark.spec("C1")
def test_a_new_client_has_sent_nothing() -> None:
    assert client_rig().port.sent == []


@pytest.mark.spec("C1")
def test_what_is_accepted_is_sent_with_its_identities_before_submit_returns() -> None:
    rig = client_rig()
    rig.submit("hello")
    assert rig.port.sent == [submit("a-1", "hello")]


@pytest.mark.spec("C1", "S4")
def test_a_given_session_is_the_one_that_is_sent() -> None:
    rig = client_rig()
    started = accepted(rig.client.submit("again", SessionRef(PROVIDER, "saved")))
    assert (started.session, rig.port.sent) == (
        SessionRef(PROVIDER, "saved"),
        [submit("a-1", "again", SessionRef(PROVIDER, "saved"))],
    )


@pytest.mark.spec("C1", "S2")
@pytest.mark.parametrize(
    "input",
    ["", "x" * 16385, "lone \ud800", "\udfff", None, 1, b"bytes"],
    ids=["empty", "too long", "high surrogate", "low surrogate", "none", "int", "bytes"],
)
def test_an_invalid_input_is_refused_before_an_identity_is_made_or_a_message_sent(input: object) -> None:
    rig = client_rig()
    code = refusal_code(rig, input)
    assert (code, rig.port.sent, rig.identities.activities, rig.client.held_activities) == (
        "intelligence-invalid-request",
        [],
        0,
        0,
    )


@pytest.mark.spec("C1", "S3")
def test_a_session_of_another_provider_is_refused_before_a_message_is_sent() -> None:
    rig = client_rig()
    code = refusal_code(rig, "hello", SessionRef("other", "s"))
    assert (code, rig.port.sent) == ("intelligence-session-provider-mismatch", [])


@pytest.mark.spec("C1", "S8")
def test_an_activity_over_the_limit_is_refused_before_a_message_is_sent() -> None:
    rig = client_rig(limits=ONE_PLACE)
    rig.submit()
    rig.port.take_sent()
    assert (refusal_code(rig, "more"), rig.port.sent) == ("intelligence-capacity-exceeded", [])


@pytest.mark.spec("C1", "S8")
def test_an_activity_holds_its_place_until_its_terminal_has_been_polled() -> None:
    rig = client_rig(limits=ONE_PLACE)
    rig.submit()
    rig.port.arrive(events(completed(1)))
    assert refusal_code(rig, "more") == "intelligence-capacity-exceeded"


@pytest.mark.spec("C1", "S8")
def test_a_polled_terminal_frees_the_place() -> None:
    rig = client_rig(limits=ONE_PLACE)
    rig.submit()
    rig.port.arrive(events(completed(1)))
    rig.client.poll()
    assert rig.client.submit("more").ok


@pytest.mark.spec("C1")
def test_an_id_that_is_already_running_is_refused_before_a_message_is_sent() -> None:
    rig = client_rig()
    rig.submit()
    rig.port.take_sent()
    rig.identities.activities = 0
    assert (refusal_code(rig, "more"), rig.port.sent) == ("intelligence-invalid-request", [])


@pytest.mark.spec("C1", "S13")
def test_a_cancel_is_sent_once_however_often_it_is_asked_for() -> None:
    rig = client_rig()
    rig.submit()
    rig.port.take_sent()
    assert [rig.client.cancel("a-1").ok for _ in range(3)] == [True] * 3
    assert rig.port.sent == [Cancel("a-1")]


@pytest.mark.spec("C1", "S13")
@pytest.mark.parametrize("id", ["nobody", "", "\ud800"])
def test_a_cancel_of_what_does_not_run_is_refused_before_a_message_is_sent(id: str) -> None:
    rig = client_rig()
    rig.submit()
    rig.port.take_sent()
    refused = refusal_of(rig.client.cancel(id))
    assert (refused.code, rig.port.sent) == ("intelligence-activity-not-found", [])


@pytest.mark.spec("C1", "S13")
def test_a_terminal_that_has_arrived_makes_a_cancel_too_late() -> None:
    rig = client_rig()
    rig.submit()
    rig.port.arrive(events(completed(1)))
    refused = refusal_of(rig.client.cancel("a-1"))
    assert refused.code == "intelligence-activity-not-found"


@pytest.mark.spec("C1", "S6")
def test_nothing_follows_a_terminal() -> None:
    rig = client_rig()
    rig.submit()
    rig.port.arrive(events(completed(1)), events(delta(2), Cancelled("a-1", 3)))
    assert rig.client.poll() == [Completed("a-1", 1, SESSION, "x")]


@pytest.mark.spec("C1")
def test_events_of_an_activity_that_is_not_held_are_ignored() -> None:
    rig = client_rig()
    rig.submit()
    rig.port.arrive(events(delta(1, "other", id="unknown"), delta(1, "mine")))
    assert rig.client.poll() == [delta(1, "mine")]


@pytest.mark.spec("C1", "S6", "D3")
def test_the_events_of_two_activities_come_in_order_within_each() -> None:
    rig = client_rig()
    rig.submit()
    rig.submit()
    rig.port.arrive(
        events(delta(1, "a", "a-1"), delta(1, "1", "a-2"), delta(2, "b", "a-1"), delta(2, "2", "a-2"))
    )
    polled = rig.client.poll()
    assert (text_of(polled, "a-1"), text_of(polled, "a-2")) == ("ab", "12")


# C2


def rejected_rig() -> ClientRig:
    rig = client_rig(limits=ONE_PLACE)
    rig.submit()
    rig.port.arrive(Rejected("a-1", failure()))
    return rig


@pytest.mark.spec("C2")
def test_a_rejection_is_polled_as_one_failed_of_sequence_1() -> None:
    rig = rejected_rig()
    assert [*rig.client.poll(), *rig.client.poll()] == [Failed("a-1", 1, failure())]


@pytest.mark.spec("C2")
def test_the_place_of_a_rejected_activity_is_free_after_the_poll() -> None:
    rig = rejected_rig()
    rig.client.poll()
    assert (rig.client.held_activities, rig.client.submit("again").ok) == (0, True)


@pytest.mark.spec("C2", "S8")
def test_the_place_of_a_rejected_activity_is_held_until_the_poll() -> None:
    assert refusal_code(rejected_rig(), "again") == "intelligence-capacity-exceeded"


@pytest.mark.spec("C2", "S13")
def test_a_cancel_after_the_rejection_finds_nothing_and_sends_nothing() -> None:
    rig = rejected_rig()
    rig.port.take_sent()
    refused = refusal_of(rig.client.cancel("a-1"))
    assert (refused.code, rig.port.sent) == ("intelligence-activity-not-found", [])


@pytest.mark.spec("C2")
def test_a_rejection_after_the_cancel_still_ends_the_activity_once() -> None:
    rig = client_rig()
    rig.submit()
    rig.client.cancel("a-1")
    rig.port.arrive(Rejected("a-1", failure()), events(Cancelled("a-1", 1)))
    assert rig.client.poll() == [Failed("a-1", 1, failure())]


@pytest.mark.spec("C2")
@pytest.mark.parametrize("id", ["unknown", ""])
def test_a_rejection_of_what_was_never_submitted_is_ignored(id: str) -> None:
    rig = client_rig()
    rig.port.arrive(Rejected(id, failure()))
    assert (rig.client.poll(), rig.client.closed) == ([], False)


@pytest.mark.spec("C2", "S6")
def test_a_second_rejection_adds_nothing() -> None:
    rig = rejected_rig()
    rig.port.arrive(Rejected("a-1", failure()))
    assert len(rig.client.poll() + rig.client.poll()) == 1


# C3 and M4: credit


@pytest.mark.spec("C3", "M1", "M4")
def test_without_hello_one_poll_is_outstanding_at_most() -> None:
    rig = client_rig()
    for _ in range(100):
        rig.client.poll()
    assert rig.port.sent == [Poll(256)]


@pytest.mark.spec("C3", "M1", "M4")
@pytest.mark.parametrize("answer", [(), (delta(1),)], ids=["nothing", "an event"])
def test_without_hello_the_answer_frees_the_next_poll(answer: tuple[IntelligenceEvent, ...]) -> None:
    rig = client_rig()
    rig.submit()
    rig.client.poll()
    rig.port.take_sent()
    rig.port.arrive(Events(answer))
    for _ in range(10):
        rig.client.poll()
    assert rig.port.sent == [Poll(256)]


@pytest.mark.spec("C3", "M4")
@pytest.mark.parametrize(("asked", "sent"), [(3, 3), (256, 256), (1_000_000, 256)])
def test_without_hello_a_poll_asks_for_what_the_game_asks_for_within_the_limit(asked: int, sent: int) -> None:
    rig = client_rig()
    rig.client.poll(asked)
    assert rig.port.sent == [Poll(sent)]


@pytest.mark.spec("S7", "M4")
@pytest.mark.parametrize("size", [0, -1, 1.5, True, "3", float("nan")], ids=repr)
@pytest.mark.parametrize("greeted", [False, True], ids=["plain", "streaming"])
def test_a_poll_of_no_sensible_size_returns_nothing_and_sends_nothing(size: object, greeted: bool) -> None:
    rig = client_rig()
    if greeted:
        rig.port.arrive(hello())
        rig.client.poll()
    rig.port.take_sent()
    rig.submit()
    rig.port.take_sent()
    rig.port.arrive(events(delta(1)))
    assert (rig.client.poll(untyped(size)), granted(rig.port.sent)) == ([], 0)


@pytest.mark.spec("S7")
def test_a_poll_returns_at_most_what_was_asked_for() -> None:
    rig = client_rig()
    rig.submit()
    rig.submit()
    rig.port.arrive(events(delta(1, "a", "a-1"), delta(1, "b", "a-2"), completed(2, "a", "a-1")))
    sizes = [len(rig.client.poll(1)) for _ in range(4)]
    assert (max(sizes), sum(sizes)) == (1, 3)


@pytest.mark.spec("C3", "M4")
def test_an_idle_realm_sends_nothing_in_a_thousand_polls() -> None:
    rig = client_rig(hello=hello())
    rig.client.poll()
    rig.port.take_sent()
    for _ in range(1000):
        rig.client.poll()
    assert rig.port.log.count("send poll") == 1


@pytest.mark.spec("C3", "M4")
def test_heartbeats_cost_an_idle_realm_no_message() -> None:
    rig = client_rig(hello=hello())
    rig.client.poll()
    rig.port.take_sent()
    for _ in range(100):
        rig.port.arrive(Heartbeat())
        rig.clock.advance(1)
        rig.client.poll()
    assert rig.port.sent == []


@pytest.mark.spec("C3")
def test_a_poll_that_finds_nothing_looks_at_the_port_once() -> None:
    rig = client_rig(hello=hello())
    rig.client.poll()
    before = rig.port.receives
    rig.client.poll()
    assert rig.port.receives == before + 1


@pytest.mark.spec("C3", "M4")
@given(rate=st.integers(1, 16), limit=st.sampled_from([32, 64, 256]))
def test_a_host_never_runs_dry_while_the_realm_polls_each_frame(rate: int, limit: int) -> None:
    """However the Host's events come, up to half a window a frame."""
    rig = client_rig(limits=IntelligenceLimits(max_poll_events=limit), hello=hello())
    rig.submit()
    rig.client.poll()
    credit = window_of(rig)
    for frame in range(100):
        assert credit >= rate, f"dry in frame {frame}"
        first = frame * rate
        rig.port.arrive(*(events(delta(first + n)) for n in range(1, rate + 1)))
        credit -= rate
        rig.port.take_sent()
        rig.client.poll()
        credit += granted(rig.port.sent)


def window_of(rig: ClientRig) -> int:
    """What a client that has just been greeted grants altogether."""
    other = client_rig(limits=rig.client.limits)
    other.port.arrive(hello())
    for _ in range(3):
        other.client.poll()
    return granted(other.port.sent)


@pytest.mark.spec("M4", "S8")
@given(bursts=st.lists(st.tuples(st.integers(0, 40), st.integers(1, 8)), max_size=30))
def test_what_is_granted_and_not_used_never_exceeds_one_window(bursts: list[tuple[int, int]]) -> None:
    """With a Host that uses all it may, and a game that takes little at a time."""
    rig = client_rig(limits=IntelligenceLimits(max_poll_events=16))
    rig.port.arrive(hello())
    rig.client.poll()
    rig.submit()
    window = credit = granted(rig.port.take_sent())
    sequence = 0
    for wanted, size in bursts:
        count = min(wanted, credit)
        rig.port.arrive(events(*(delta(sequence + n) for n in range(1, count + 1))))
        sequence += count
        rig.client.poll(size)
        credit += granted(rig.port.take_sent()) - count
        assert 0 <= credit <= window


@pytest.mark.spec("M4")
def test_a_stream_of_small_messages_is_renewed_by_few() -> None:
    rig = client_rig(hello=hello())
    rig.submit()
    rig.client.poll()
    for sequence in range(1, 1001):
        rig.port.arrive(events(delta(sequence)))
        rig.client.poll()
    assert rig.port.log.count("send poll") <= 20


@pytest.mark.spec("M4")
@pytest.mark.parametrize("features", [(), ("heartbeat",), ("Stream-Credit",), ("later",)], ids=repr)
def test_a_host_that_does_not_announce_stream_credit_is_polled_for_answers(features: tuple[str, ...]) -> None:
    rig = client_rig(hello=hello(features=features))
    rig.port.arrive(Events(()))
    rig.client.poll()
    rig.port.arrive(Events(()))
    rig.client.poll(3)
    assert rig.port.sent[-1:] == [Poll(3)]


@pytest.mark.spec("M4")
def test_the_answer_that_was_in_flight_at_the_switch_is_delivered_and_costs_no_credit() -> None:
    rig = client_rig()
    rig.submit()
    rig.client.poll()
    rig.port.take_sent()
    rig.port.arrive(hello())
    rig.client.poll()
    window = granted(rig.port.take_sent())
    rig.port.arrive(events(*(delta(n) for n in range(1, window // 2 + 1))))
    polled = rig.client.poll()
    assert (len(polled) > 0, granted(rig.port.sent)) == (True, 0)


# M1: hello


@pytest.mark.spec("M1")
def test_a_client_that_saw_no_hello_sends_none() -> None:
    rig = client_rig()
    rig.submit()
    rig.client.poll()
    rig.port.arrive(Events(()))
    rig.client.poll()
    rig.client.cancel("a-1")
    rig.client.close()
    assert set(rig.port.sent_kinds) == {"submit", "poll", "cancel", "close"}


@pytest.mark.spec("M1")
def test_a_client_answers_the_hello_of_its_host_with_its_own() -> None:
    rig = client_rig(limits=SMALL)
    rig.port.arrive(hello())
    rig.client.poll()
    answer = next(message for message in rig.port.sent if isinstance(message, Hello))
    assert (answer.protocol, answer.provider_id, answer.limits, "stream-credit" in answer.features) == (
        1,
        PROVIDER,
        SMALL,
        True,
    )


@pytest.mark.fault("R70")
@pytest.mark.spec("M1")
def test_a_second_hello_grants_no_second_window() -> None:
    rig = client_rig()
    rig.port.arrive(hello())
    rig.client.poll()
    rig.port.take_sent()
    rig.port.arrive(hello())
    rig.client.poll()
    assert granted(rig.port.sent) == 0


@pytest.mark.spec("C1", "M1")
def test_a_client_without_limits_of_its_own_adopts_those_of_the_host() -> None:
    assert client_rig(hello=hello(limits=SMALL)).client.limits == SMALL


@pytest.mark.spec("C1", "M1")
def test_a_client_with_limits_of_its_own_keeps_them() -> None:
    assert client_rig(limits=ONE_PLACE, hello=hello(limits=SMALL)).client.limits == ONE_PLACE


@pytest.mark.spec("C1")
def test_adopted_limits_are_what_is_admitted_by() -> None:
    rig = client_rig(hello=hello(limits=SMALL))
    assert refusal_code(rig, "12345") == "intelligence-invalid-request"


@pytest.mark.spec("C1")
def test_until_the_host_has_spoken_the_default_limits_hold() -> None:
    assert client_rig().client.limits == IntelligenceLimits()


@pytest.mark.spec("C5", "M1")
@pytest.mark.parametrize(
    ("greeting", "reason"),
    [
        (hello(protocol=2), "protocol-version"),
        (hello(protocol=0), "protocol-version"),
        (hello(provider_id="other"), "provider-mismatch"),
    ],
    ids=["later protocol", "earlier protocol", "other provider"],
)
def test_a_hello_that_does_not_match_closes_the_client_by_name(greeting: Hello, reason: str) -> None:
    rig = client_rig()
    rig.port.arrive(greeting)
    rig.client.poll()
    refused = refusal_of(rig.client.submit("hello"))
    assert (refused.code, refused.detail.reason) == ("intelligence-closed", reason)


@pytest.mark.spec("C5", "M1")
def test_a_hello_that_does_not_match_releases_the_port() -> None:
    rig = client_rig()
    rig.port.arrive(hello(protocol=2))
    rig.client.poll()
    assert rig.port.closes == 1


# D3, M3 and S10: what the Host is held to


@pytest.mark.fault("R30")
@pytest.mark.spec("D3", "M3")
@pytest.mark.parametrize(
    "sequences", [(2,), (0,), (-1,), (1, 1), (1, 3), (1, 2, 1)], ids=lambda sequences: repr(sequences)
)
def test_a_gap_or_a_repeat_in_the_sequence_ends_the_port(sequences: tuple[int, ...]) -> None:
    rig = client_rig()
    rig.submit()
    rig.port.arrive(events(*(delta(sequence) for sequence in sequences)))
    rig.client.poll()
    refused = refusal_of(rig.client.submit("hello"))
    assert (refused.detail.reason, rig.port.closes) == ("sequence-broken", 1)


@pytest.mark.spec("D3", "M3")
def test_a_gap_before_a_terminal_ends_the_port() -> None:
    rig = client_rig()
    rig.submit()
    rig.port.arrive(events(delta(1), completed(3)))
    rig.client.poll()
    assert rig.client.closed


@pytest.mark.spec("D3")
@given(counts=st.lists(st.integers(1, 9), min_size=1, max_size=20), size=st.integers(1, 5))
def test_delivered_sequences_have_no_gap_whatever_was_merged(counts: list[int], size: int) -> None:
    rig = client_rig(limits=IntelligenceLimits(max_pending_events_per_activity=4, max_poll_events=8))
    rig.submit()
    polled: list[IntelligenceEvent] = []
    sequence = 0
    for count in counts:
        rig.port.arrive(events(*(delta(sequence + n, str(n)) for n in range(1, count + 1))))
        sequence += count
        polled += rig.client.poll(size)
    rig.port.arrive(events(completed(sequence + 1, "end")))
    for _ in range(20):
        polled += rig.client.poll(size)
    sent = "".join(str(n) for count in counts for n in range(1, count + 1))
    assert (text_of(polled), [event.sequence for event in polled]) == (sent, list(range(1, len(polled) + 1)))


@pytest.mark.spec("S8", "S11", "M5")
def test_a_host_that_floods_beyond_its_credit_makes_no_queue_grow() -> None:
    rig = client_rig(limits=IntelligenceLimits(max_pending_events_per_activity=4, max_poll_events=8))
    rig.submit()
    for sequence in range(1, 5001):
        rig.port.arrive(events(delta(sequence)))
        rig.client.cancel("nobody")  # takes what has arrived, and delivers nothing
    polled = rig.client.poll()
    assert (len(polled) <= 4, text_of(polled)) == (True, "x" * 5000)


def overflow_of(rig: ClientRig) -> Failed:
    (terminal,) = [event for event in rig.client.poll() if not isinstance(event, TextDelta)]
    assert isinstance(terminal, Failed)
    return terminal


@pytest.mark.spec("S10", "C1")
def test_streamed_output_over_the_bound_of_the_realm_is_an_overflow_also_when_the_host_allows_more() -> None:
    rig = client_rig(limits=SMALL)
    rig.submit("x")
    rig.port.arrive(events(delta(1, "123"), delta(2, "45")))
    failed = overflow_of(rig)
    assert (failed.error.code, failed.error.detail.bound, failed.error.detail.limit) == (
        "intelligence-output-overflow",
        "output-chars",
        4,
    )


@pytest.mark.spec("S10", "C1")
def test_a_whole_output_over_the_bound_of_the_realm_is_an_overflow() -> None:
    rig = client_rig(limits=SMALL)
    rig.submit("x")
    rig.port.arrive(events(completed(1, "12345")))
    assert overflow_of(rig).error.code == "intelligence-output-overflow"


@pytest.mark.spec("S10")
def test_output_of_exactly_the_bound_passes() -> None:
    rig = client_rig(limits=SMALL)
    rig.submit("x")
    rig.port.arrive(events(delta(1, "1234"), completed(2, "1234")))
    assert isinstance(rig.client.poll()[-1], Completed)


@pytest.mark.spec("S10")
def test_at_an_overflow_the_host_is_told_to_cancel() -> None:
    rig = client_rig(limits=SMALL)
    rig.submit("x")
    rig.port.arrive(events(delta(1, "12345")))
    rig.client.poll()
    assert rig.port.sent_kinds.count("cancel") == 1


@pytest.mark.spec("S10", "S6")
def test_what_comes_after_an_overflow_is_ignored() -> None:
    rig = client_rig(limits=SMALL)
    rig.submit("x")
    rig.port.arrive(events(delta(1, "12345")))
    overflow_of(rig)
    rig.port.arrive(events(delta(2, "6"), Cancelled("a-1", 3)))
    assert (rig.client.poll(), rig.client.closed) == ([], False)


@pytest.mark.spec("S10")
def test_what_was_pending_before_an_overflow_is_delivered_before_it() -> None:
    rig = client_rig(limits=SMALL)
    rig.submit("x")
    rig.port.arrive(events(delta(1, "12"), delta(2, "345")))
    polled = rig.client.poll()
    assert (polled[0], type(polled[-1])) == (delta(1, "12"), Failed)


@pytest.mark.spec("C4")
def test_a_closed_notice_among_other_messages_stops_what_follows_it() -> None:
    rig = client_rig()
    rig.submit()
    rig.port.arrive(Closed(), events(delta(1)))
    assert (rig.client.poll(), rig.client.closed) == ([], True)
