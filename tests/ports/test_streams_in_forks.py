"""A fork of the game sends no byte on the connection that it inherited, whatever of a frame is under way (rule C5)."""

import os
import socket
import weakref

import pytest
from support.forks import in_fork
from support.port_rigs import client_on
from support.port_streams import RawHost, raw_host, tcp_pair

from engine_intelligence.ports.realm_link import SocketLink
from engine_intelligence.ports.realm_stream import RealmChannel, RealmStream
from engine_intelligence.protocol.messages import Closed, Poll

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")

PAIRS = {"socket": socket.socketpair, "loopback": tcp_pair}


@pytest.fixture(params=PAIRS)
def host(request: pytest.FixtureRequest) -> RawHost:
    return raw_host(PAIRS[request.param]())


def everything(port: RealmChannel) -> object:
    """Whatever a fork could do with a port, and with a client on it."""
    client = client_on(port, provider_id="p")
    results = [client.submit("one").ok, len(client.poll()), client.cancel("a-1").ok, client.close().wait(5)]
    port.close()
    port._stream.pump()  # pyright: ignore[reportPrivateUsage]
    return results


@pytest.mark.fault("R57")
@pytest.mark.spec("C5")
def test_a_fork_sends_nothing_on_the_connection_of_its_game(host: RawHost) -> None:
    port = host.stream.open("p")
    host.frames()
    assert in_fork(lambda: everything(port)) == [False, 0, False, True]
    port.send(Poll(7))
    assert len(host.frames()) == 1
    host.close()


@pytest.mark.fault("R57")
@pytest.mark.spec("C5")
def test_a_fork_in_the_middle_of_a_frame_sends_nothing_of_it_twice(host: RawHost) -> None:
    port = host.stream.open("p")
    body = bytes(range(256)) * 8192  # 2 MiB: more than the system takes while nobody reads
    host.stream.send_frame(port.number, body)
    assert in_fork(lambda: everything(port)) == [False, 0, False, True]
    received = [frame for frame in host.frames() if frame.channel]
    while not received:
        host.stream.pump()
        received = [frame for frame in host.frames() if frame.channel]
    assert [frame.body == body for frame in received] == [True]
    host.close()


@pytest.mark.fault("R57")
@pytest.mark.spec("C5")
def test_a_fork_hands_out_nothing_of_what_had_arrived(host: RawHost) -> None:
    port = host.stream.open("p")
    host.send(1, Closed("test", "for the game"))
    host.stream.pump()
    assert in_fork(lambda: _end_of(port)) == "forked"
    assert port.receive() == [Closed("test", "for the game")]
    host.close()


def _end_of(port: RealmChannel) -> str:
    from engine_intelligence import PortEnded

    try:
        return f"received {port.receive()}"
    except PortEnded as ended:
        return ended.reason


@pytest.mark.fault("R57")
@pytest.mark.spec("H6")
def test_a_connection_is_not_kept_alive_for_the_sake_of_forks() -> None:
    ours, theirs = socket.socketpair()
    stream = RealmStream(SocketLink(ours))
    gone = weakref.ref(stream)
    del stream
    assert gone() is None
    ours.close()
    theirs.close()


@pytest.mark.fault("R57")
@pytest.mark.spec("H6")
def test_a_fork_of_a_fork_is_disowned_like_the_first(host: RawHost) -> None:
    port = host.stream.open("p")
    assert in_fork(lambda: in_fork(lambda: everything(port))) == [False, 0, False, True]
    host.close()
