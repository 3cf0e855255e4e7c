"""Rule M4: the two sides of credit, alone and against each other over a slow wire."""

from collections import deque

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from engine_intelligence.protocol.credit import MAX_WINDOW_EVENTS, HostCredit, RealmCredit

WINDOW = 8


def streaming_realm(window: int = WINDOW) -> RealmCredit:
    credit = RealmCredit(window)
    credit.start_streaming()
    return credit


def streaming_host() -> HostCredit:
    credit = HostCredit()
    credit.start_streaming()
    return credit


@pytest.mark.spec("M4")
def test_in_answer_mode_the_poll_of_the_game_is_what_is_asked_for() -> None:
    assert RealmCredit(WINDOW).grant(64, 0) == 64


@pytest.mark.spec("M4")
def test_in_answer_mode_no_second_poll_is_sent_before_the_answer() -> None:
    credit = RealmCredit(WINDOW)
    credit.grant(64, 0)
    assert [credit.grant(64, 0) for _ in range(10)] == [0] * 10


@pytest.mark.spec("M4")
@pytest.mark.parametrize("answer", [0, 1, 64])
def test_in_answer_mode_an_answer_frees_the_next_poll(answer: int) -> None:
    credit = RealmCredit(WINDOW)
    credit.grant(64, 0)
    credit.receive(answer)
    assert credit.grant(32, 0) == 32


@pytest.mark.spec("M4")
def test_a_streaming_realm_grants_one_window_and_is_then_silent() -> None:
    credit = streaming_realm()
    assert [credit.grant(1, 0) for _ in range(5)] == [WINDOW, 0, 0, 0, 0]


@pytest.mark.spec("M4")
def test_a_streaming_realm_renews_when_half_of_its_window_is_used() -> None:
    credit = streaming_realm()
    credit.grant(1, 0)
    credit.receive(WINDOW // 2 - 1)
    before = credit.grant(1, 0)
    credit.receive(1)
    assert (before, credit.grant(1, 0)) == (0, WINDOW // 2)


@pytest.mark.spec("M4", "S8")
def test_what_is_held_undelivered_is_not_asked_for_again() -> None:
    credit = streaming_realm()
    credit.grant(1, 0)
    credit.receive(WINDOW)
    assert credit.grant(1, WINDOW) == 0


@pytest.mark.spec("M4")
def test_a_window_of_one_is_renewed_after_each_event() -> None:
    credit = streaming_realm(1)
    first = credit.grant(1, 0)
    credit.receive(1)
    assert (first, credit.grant(1, 0)) == (1, 1)


@pytest.mark.spec("M4")
def test_the_answer_that_was_in_flight_at_the_switch_does_not_count_against_the_window() -> None:
    credit = RealmCredit(WINDOW)
    credit.grant(64, 0)
    credit.start_streaming()
    first = credit.grant(1, 0)
    credit.receive(5)
    assert (first, credit.outstanding) == (WINDOW, WINDOW)


@pytest.mark.spec("M5")
def test_a_host_that_sends_more_than_was_granted_leaves_no_negative_credit() -> None:
    credit = streaming_realm()
    credit.grant(1, 0)
    credit.receive(1000)
    assert credit.outstanding == 0


@pytest.mark.fault("R52", "R71")
@pytest.mark.spec("M4", "M5")
@given(grants=st.lists(st.integers(-(2**63), 2**63), max_size=20))
def test_a_flood_of_credit_is_clamped(grants: list[int]) -> None:
    credit = streaming_host()
    for grant in grants:
        credit.add(grant)
        assert 0 <= credit.available <= MAX_WINDOW_EVENTS


@pytest.mark.fault("R52")
@pytest.mark.spec("M5")
@pytest.mark.parametrize("grant", [0, -1, -(2**63)])
def test_what_is_no_positive_number_grants_and_takes_nothing(grant: int) -> None:
    credit = streaming_host()
    credit.add(3)
    credit.add(grant)
    assert credit.available == 3


class CreditOverAWire(RuleBasedStateMachine):
    """Both sides with two queues between them, as the binding and the client use them.

    A Host in answer mode answers each poll at once with what it has; in stream mode it spends what it was granted. Hellos
    travel in the same queues as all else, so that the switch comes at any moment.
    """

    def __init__(self) -> None:
        super().__init__()
        self.realm = RealmCredit(WINDOW)
        self.host = HostCredit()
        self.to_host: deque[str | int] = deque()
        self.to_realm: deque[str | int] = deque(["hello"])
        self.occurred = 0
        self.held = 0
        self.realm_streams = False
        self.granted = self.spent = 0
        self.answers_due = 0

    @rule(count=st.integers(1, 5))
    def something_occurs(self, count: int) -> None:
        self.occurred = min(self.occurred + count, 50)
        self.send_what_is_granted()

    @rule(max_events=st.integers(1, 2 * WINDOW))
    def the_realm_polls(self, max_events: int) -> None:
        self.held -= min(self.held, max_events)
        credit = self.realm.grant(max_events, self.held)
        if credit:
            self.to_host.append(credit)
            if not self.realm_streams:
                self.answers_due += 1
                assert self.answers_due == 1, "a second poll before the answer to the first"

    @precondition(lambda self: self.to_host)
    @rule()
    def the_host_receives(self) -> None:
        message = self.to_host.popleft()
        if message == "hello":
            self.host.start_streaming()
        elif self.host.streaming:
            assert isinstance(message, int)
            self.granted += message
            self.host.add(message)
            self.send_what_is_granted()
        else:
            assert isinstance(message, int)
            answer = min(message, self.occurred)
            self.occurred -= answer
            self.to_realm.append(answer)

    @precondition(lambda self: self.to_realm)
    @rule()
    def the_realm_receives(self) -> None:
        message = self.to_realm.popleft()
        if message == "hello":
            self.realm_streams = True
            self.realm.start_streaming()
            self.to_host.append("hello")
        else:
            assert isinstance(message, int)
            self.answers_due = 0
            self.held += message
            self.realm.receive(message)

    def send_what_is_granted(self) -> None:
        sendable = min(self.occurred, self.host.available)
        if self.host.streaming and sendable:
            self.occurred -= sendable
            self.spent += sendable
            self.host.spend(sendable)
            self.to_realm.append(sendable)

    @invariant()
    def never_more_is_sent_than_was_granted(self) -> None:
        assert self.spent <= self.granted

    @precondition(lambda self: self.realm_streams and not (self.to_host or self.to_realm))
    @rule()
    def once_all_has_arrived_and_is_polled_the_host_may_send(self) -> None:
        self.held = 0
        credit = self.realm.grant(1, self.held)
        self.granted += credit
        self.host.add(credit)
        assert self.host.available > 0
        self.send_what_is_granted()

    @invariant()
    def both_sides_count_the_same_once_the_wire_is_empty(self) -> None:
        if self.realm_streams and self.host.streaming and not (self.to_host or self.to_realm):
            assert self.realm.outstanding == self.host.available


@pytest.mark.spec("M4")
def test_the_switch_to_a_stream_may_come_at_any_moment_and_no_credit_is_lost_or_counted_twice() -> None:
    run_state_machine_as_test(
        CreditOverAWire, settings=settings(max_examples=150, stateful_step_count=40, deadline=None)
    )
