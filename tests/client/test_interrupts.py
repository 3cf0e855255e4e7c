"""A signal handler that raises, as Ctrl-C does, or memory that runs out, at every line of every call of a realm.

The call in hand raises, or ends the client. What must not be: a client that cannot be closed any more, a place that is
never free again, or bytes sent to the Host that mean something else than what was submitted.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest
from support.port_messages import PROVIDER
from support.port_rigs import accepted, client_on
from support.port_streams import THE_END, RawHost, raw_host
from support.raising import lines_of, raised_at

from engine_intelligence import Completed, Deadlines, Err, IntelligencePortClient, SessionRef, TextDelta
from engine_intelligence.protocol.codec import realm_control_decoder, realm_message_decoder
from engine_intelligence.protocol.framing import Frame, FrameReader
from engine_intelligence.protocol.messages import Cancel, Events, RealmMessage, Submit
from engine_intelligence.testing import ManualClock

DEADLINES = Deadlines(activity_s=60.0, close_grace_s=5.0)
SESSION = SessionRef(PROVIDER, "s-1")


@dataclass
class Realm:
    """A client in the middle of its work: an Activity that runs, and one whose end has just arrived."""

    client: IntelligencePortClient
    host: RawHost
    clock: ManualClock
    running: str
    sent: list[Frame]


def realm() -> Realm:
    host, clock = raw_host(), ManualClock()
    client = client_on(host.stream.open(PROVIDER), clock=clock, deadlines=DEADLINES)
    running, ending = accepted(client.submit("one")).id, accepted(client.submit("two")).id
    text = TextDelta(running, 1, "Halt! ")
    host.send(1, Events((text, TextDelta(ending, 1, "Who "), Completed(ending, 2, SESSION, "Who "))))
    return Realm(client, host, clock, running, host.frames())


def until_end(host: RawHost) -> bytes:
    """What the realm still sends, up to the end of the stream, which has to come."""
    host.sock.settimeout(5.0)
    said = b""
    try:
        while data := host.sock.recv(1 << 16):
            said += data
    except ConnectionResetError:
        pass  # an end like any other: the realm had not read everything
    return said


Call = Callable[[Realm], object]

CALLS: dict[str, Call] = {
    "submit": lambda realm: realm.client.submit("three"),
    "poll": lambda realm: realm.client.poll(),
    "cancel": lambda realm: realm.client.cancel(realm.running),
    "a look": lambda realm: realm.client.closed,
    "close": lambda realm: realm.client.close(),
    "a look at a close": lambda realm: realm.client.close().done,
    "the end of the connection": lambda realm: realm.host.stream.end(THE_END),
}

every_call = pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
every_error = pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])


def interrupted_at_every_line(call: Call, error: type[BaseException]) -> Iterator[Realm]:
    """A realm for each line of `call`, at which that was interrupted."""
    whole = realm()
    lines = lines_of(lambda: call(whole))
    whole.host.close()
    assert lines > 5
    for line in range(1, lines + 1):
        each = realm()
        raised_at(line, error(f"at line {line}"), lambda realm=each: call(realm))  # type: ignore[misc]
        yield each
        each.host.close()


@pytest.mark.fault("R54", "R59")
@pytest.mark.spec("C6")
@every_error
@every_call
def test_a_client_that_was_interrupted_anywhere_can_be_closed(call: Call, error: type[BaseException]) -> None:
    for each in interrupted_at_every_line(call, error):
        task = each.client.close()
        each.clock.advance(DEADLINES.close_grace_s)
        assert task.done
        assert each.client.closed
        assert each.client.held_activities == 0


@pytest.mark.fault("R54", "R59")
@pytest.mark.spec("C6", "H6")
@every_error
@every_call
def test_a_connection_that_was_interrupted_anywhere_can_be_ended(
    call: Call, error: type[BaseException]
) -> None:
    for each in interrupted_at_every_line(call, error):
        each.host.stream.end(THE_END)
        assert until_end(each.host) is not None


@pytest.mark.fault("R54", "R59")
@pytest.mark.spec("S6", "S8")
@every_error
@every_call
def test_no_place_is_lost_for_good_by_an_interrupt(call: Call, error: type[BaseException]) -> None:
    for each in interrupted_at_every_line(call, error):
        each.clock.advance(DEADLINES.activity_s + DEADLINES.close_grace_s)
        for _ in range(4):
            each.client.poll()
        assert each.client.held_activities == 0


@pytest.mark.fault("R54", "R59")
@pytest.mark.spec("M3", "S6")
@every_error
@every_call
def test_a_host_reads_nothing_twice_and_nothing_garbled_after_an_interrupt(
    call: Call, error: type[BaseException]
) -> None:
    decoder, control = realm_message_decoder(), realm_control_decoder()
    for each in interrupted_at_every_line(call, error):
        later = each.client.submit("later")
        each.client.poll()
        each.host.stream.end(THE_END)
        frames = each.sent + list(FrameReader().feed(until_end(each.host)))
        messages: list[RealmMessage] = []
        for frame in frames:
            if frame.channel:
                messages.append(decoder.decode(frame.body))
            else:
                control.decode(frame.body)
        submitted = [message.submission.id for message in messages if isinstance(message, Submit)]
        cancelled = [message.activity_id for message in messages if isinstance(message, Cancel)]
        assert len(set(submitted)) == len(submitted)
        assert set(cancelled) <= {each.running}
        assert isinstance(later, Err) or later.value.id in submitted


@pytest.mark.fault("R54", "R59")
@pytest.mark.spec("S6", "D3")
@every_error
@pytest.mark.parametrize(
    "call", [CALLS["submit"], CALLS["cancel"], CALLS["a look"]], ids=["submit", "cancel", "a look"]
)
def test_what_arrived_is_delivered_or_the_client_is_closed_but_nothing_is_left_out(
    call: Call, error: type[BaseException]
) -> None:
    for each in interrupted_at_every_line(call, error):
        try:
            each.host.send(1, Events((TextDelta(each.running, 2, "there"),)))
        except BrokenPipeError:
            assert each.client.closed
            continue
        events = [event for _ in range(4) for event in each.client.poll()]
        text = "".join(e.text for e in events if isinstance(e, TextDelta) and e.activity_id == each.running)
        assert text == "Halt! there" or each.client.closed
