"""An idle client takes a short way through `poll`. Whatever happens meanwhile, it has to find its way back."""

import socket
from collections.abc import Generator
from dataclasses import dataclass, field

import pytest
from support.port_doubles import PortDouble
from support.port_rigs import accepted, client_on
from support.port_streams import THE_END

from engine_intelligence import Deadlines, Failed, IntelligencePortClient, TextDelta
from engine_intelligence.ports.realm_link import SocketLink
from engine_intelligence.ports.realm_stream import RealmStream
from engine_intelligence.protocol.codec import encode_msgpack
from engine_intelligence.protocol.framing import encode_frame
from engine_intelligence.protocol.messages import FEATURES, Closed, Events, Hello, HostMessage, RealmMessage
from engine_intelligence.realm.client import create_intelligence_port_client
from engine_intelligence.testing import ManualClock


@dataclass
class Idle:
    """Two clients on one connection, both idle, and the Host's end of it."""

    theirs: socket.socket
    stream: RealmStream
    clock: ManualClock = field(default_factory=ManualClock)
    clients: list[IntelligencePortClient] = field(default_factory=list[IntelligencePortClient])

    def say(self, channel: int, message: HostMessage) -> None:
        self.theirs.sendall(encode_frame(channel, encode_msgpack(message)))

    def open(self, provider_id: str) -> None:
        client = create_intelligence_port_client(
            provider_id,
            self.stream.open(provider_id),
            clock=self.clock,
            deadlines=Deadlines(unresponsive_s=10, activity_s=100, close_grace_s=5),
            create_activity_id=iter(["a-1", "a-2"]).__next__,
        )
        self.clients.append(client)
        self.say(len(self.clients), Hello(1, provider_id, client.limits, FEATURES))
        for _ in range(5):
            assert client.poll() == []


@pytest.fixture
def idle() -> Generator[Idle]:
    ours, theirs = socket.socketpair()
    with theirs:
        idle = Idle(theirs, RealmStream(SocketLink(ours)))
        idle.open("p")
        idle.open("q")
        yield idle
        idle.stream.end(THE_END)


def submitted(client: IntelligencePortClient) -> str:
    id = accepted(client.submit("hello")).id
    assert client.poll() == client.poll() == []
    return id


@pytest.mark.spec("C3")
def test_an_idle_client_finds_what_has_come(idle: Idle) -> None:
    first = idle.clients[0]
    id = submitted(first)
    idle.say(1, Events((TextDelta(id, 1, "Halt!"),)))
    assert first.poll() == [TextDelta(id, 1, "Halt!")]


@pytest.mark.spec("C3", "H3")
def test_an_idle_client_finds_what_was_read_when_another_one_was_polled(idle: Idle) -> None:
    first, second = idle.clients
    id = submitted(first)
    idle.say(1, Events((TextDelta(id, 1, "Halt!"),)))
    assert second.poll() == []
    assert first.poll() == [TextDelta(id, 1, "Halt!")]


@pytest.mark.spec("C4")
def test_an_idle_client_finds_that_its_port_was_closed_when_another_one_was_polled(idle: Idle) -> None:
    first, second = idle.clients
    idle.say(1, Closed("host-stopped", "The Host is ending."))
    assert second.poll() == []
    assert first.poll() == []
    assert first.close_reason == "The Host is ending."


@pytest.mark.spec("C5")
def test_an_idle_client_finds_that_the_connection_ended(idle: Idle) -> None:
    idle.theirs.close()
    assert [client.poll() for client in idle.clients] == [[], []]
    assert [client.closed for client in idle.clients] == [True, True]


@pytest.mark.spec("C5")
def test_an_idle_client_finds_that_the_connection_was_given_up(idle: Idle) -> None:
    idle.stream.end(THE_END)
    assert [client.poll() for client in idle.clients] == [[], []]
    assert [client.closed for client in idle.clients] == [True, True]


@pytest.mark.spec("C5")
def test_an_idle_client_notices_that_the_host_is_silent(idle: Idle) -> None:
    first = idle.clients[0]
    for _ in range(11):
        idle.clock.advance(1)
        first.poll()
    assert first.close_reason == "The Host was silent for 10 seconds."


@pytest.mark.spec("C5")
def test_an_idle_client_that_was_away_itself_does_not_blame_the_host(idle: Idle) -> None:
    first = idle.clients[0]
    idle.clock.advance(4)
    first.poll()
    idle.clock.advance(9)
    first.poll()
    idle.clock.advance(4)
    first.poll()
    assert not first.closed


@pytest.mark.spec("S6")
def test_an_idle_client_gives_up_what_the_host_has_forgotten(idle: Idle) -> None:
    first = idle.clients[0]
    id = submitted(first)
    events: list[object] = []
    for _ in range(106):
        idle.clock.advance(1)
        idle.say(1, Events(()))
        events += first.poll()
    assert [type(event) for event in events] == [Failed]
    assert accepted(first.submit("again")).id != id


@pytest.mark.spec("C6")
def test_a_client_that_was_idle_when_it_was_closed_releases_its_port_as_it_goes_on_being_polled() -> None:
    class Quiet(PortDouble[HostMessage, RealmMessage]):
        looks = 0

        def quick_look(self, timeout_ms: int) -> bool:
            self.looks += 1
            return False

    port, clock = Quiet(), ManualClock()
    client = client_on(port, clock=clock, deadlines=Deadlines(close_grace_s=5))
    for _ in range(5):
        client.poll()
    assert port.looks > 0
    client.close()
    client.poll()
    assert port.closes == 0
    clock.advance(5)
    client.poll()
    assert port.closes == 1


@pytest.mark.spec("S7")
def test_an_idle_client_returns_nothing_for_a_number_that_is_none(idle: Idle) -> None:
    assert [idle.clients[0].poll(number) for number in (0, -1, True)] == [[], [], []]


@pytest.mark.spec("C3")
def test_a_client_on_a_port_that_offers_no_quick_look_receives_each_time() -> None:
    class Plain:
        received = 0

        def send(self, message: object) -> None:
            """Taken by nobody."""

        def receive(self) -> tuple[()]:
            self.received += 1
            return ()

        def listen(self, wake: object) -> None:
            """Never woken."""

        def idle(self, seconds: float) -> None:
            """Not waited for."""

        def close(self) -> None:
            """Nothing to release."""

    port = Plain()
    client = client_on(port)
    for _ in range(5):
        client.poll()
    assert port.received == 5
