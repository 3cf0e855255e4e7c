"""A loopback connection: any process of the machine may connect, and one that knows the token gets through."""

import socket
from collections.abc import Generator
from contextlib import contextmanager

import pytest
from support.port_messages import hello
from support.port_streams import THE_END, TOKEN

from engine_intelligence.ports.realm_link import LoopbackLink
from engine_intelligence.ports.realm_stream import RealmStream
from engine_intelligence.protocol.codec import encode_msgpack
from engine_intelligence.protocol.framing import CONTROL_CHANNEL, encode_frame
from engine_intelligence.protocol.messages import Introduction


def introduction(token: str, channel: int = CONTROL_CHANNEL) -> bytes:
    return encode_frame(channel, encode_msgpack(Introduction(token)))


@contextmanager
def waiting_link() -> Generator[LoopbackLink]:
    link = LoopbackLink(TOKEN)
    try:
        yield link
    finally:
        link.close()


def stranger(link: LoopbackLink, data: bytes = b"") -> socket.socket:
    sock = socket.create_connection(("127.0.0.1", link.port), timeout=5)
    sock.sendall(data)
    return sock


def connected(link: LoopbackLink, looks: int = 200) -> socket.socket | None:
    """Look as often as some seconds of frames do; a connection within one machine needs a few."""
    for _ in range(looks):
        sock = link.connect()
        if sock is not None:
            return sock
    return None


def assert_through(link: LoopbackLink, honest: socket.socket) -> None:
    sock = connected(link)
    assert sock is not None
    with sock:
        sock.sendall(b"ping")
        honest.setblocking(True)
        assert honest.recv(4) == b"ping"


@pytest.mark.spec("H1", "M5")
def test_one_that_knows_the_token_gets_through() -> None:
    with waiting_link() as link, stranger(link, introduction(TOKEN)) as honest:
        assert_through(link, honest)


@pytest.mark.spec("H1", "S1")
def test_while_nobody_connects_there_is_nothing_yet_and_nothing_waits() -> None:
    with waiting_link() as link:
        assert connected(link) is None


WRONG = {
    "another token": introduction("f" * len(TOKEN)),
    "a beginning of the token": introduction(TOKEN[:-1]),
    "more than the token": introduction(TOKEN + "0"),
    "an empty token": introduction(""),
    "the token in capitals": introduction(TOKEN.upper()),
    "a long token": introduction("0" * 100_000),
    "the token on another channel": introduction(TOKEN, channel=1),
    "another message": encode_frame(CONTROL_CHANNEL, encode_msgpack(hello())),
    "the bare token": TOKEN.encode(),
    "no frame": b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "a frame of no bytes": bytes(6),
    "a huge frame": b"\xff" * 6,
    "a garbled frame": encode_frame(CONTROL_CHANNEL, b"\xc1"),
}


@pytest.mark.spec("M5")
@pytest.mark.parametrize("data", WRONG.values(), ids=WRONG.keys())
def test_a_stranger_does_not_get_through(data: bytes) -> None:
    with waiting_link() as link, stranger(link, data):
        assert connected(link) is None


@pytest.mark.fault("R76")
@pytest.mark.spec("M5")
@pytest.mark.parametrize("data", WRONG.values(), ids=WRONG.keys())
def test_a_stranger_does_not_keep_the_honest_one_out(data: bytes) -> None:
    with waiting_link() as link, stranger(link, data):
        link.connect()
        with stranger(link, introduction(TOKEN)) as honest:
            assert_through(link, honest)


@pytest.mark.spec("M5")
@pytest.mark.parametrize("name", ["another token", "an empty token", "no frame", "a garbled frame"])
def test_a_stranger_is_dropped_as_soon_as_it_is_one(name: str) -> None:
    with waiting_link() as link, stranger(link, WRONG[name]) as other:
        connected(link, 50)
        other.settimeout(5)
        try:
            assert other.recv(1) == b""
        except ConnectionResetError:
            pass


@pytest.mark.fault("R76")
@pytest.mark.spec("M5")
@pytest.mark.parametrize("strangers", [1, 8, 30])
@pytest.mark.parametrize("data", [b"", introduction(TOKEN)[:9]], ids=["silent", "slow"])
def test_strangers_who_take_their_time_do_not_keep_the_honest_one_out(strangers: int, data: bytes) -> None:
    with waiting_link() as link:
        others: list[socket.socket] = []
        for _ in range(strangers):
            others.append(stranger(link, data))
            assert connected(link, 5) is None
        with stranger(link, introduction(TOKEN)) as honest:
            assert_through(link, honest)
        for other in others:
            other.close()


@pytest.mark.spec("M5")
def test_a_token_that_comes_a_byte_at_a_time_is_a_token() -> None:
    with waiting_link() as link, stranger(link) as honest:
        for byte in introduction(TOKEN)[:-1]:
            honest.sendall(bytes([byte]))
            assert link.connect() is None
        honest.sendall(introduction(TOKEN)[-1:])
        assert_through(link, honest)


@pytest.mark.spec("M3", "H1")
def test_what_follows_the_introduction_at_once_is_not_lost() -> None:
    link = LoopbackLink(TOKEN)
    stream = RealmStream(link)
    channel = stream.open("p")
    with stranger(link, introduction(TOKEN) + encode_frame(1, encode_msgpack(hello()))):
        got = [message for _ in range(200) for message in channel.receive()]
        channel.close()
        stream.end(THE_END)
    assert got == [hello()]


@pytest.mark.spec("M5")
def test_only_one_gets_through() -> None:
    with waiting_link() as link, stranger(link, introduction(TOKEN)) as honest:
        assert_through(link, honest)
        with pytest.raises(OSError, match=r".*"):
            stranger(link, introduction(TOKEN)).close()


@pytest.mark.spec("H6")
def test_giving_up_releases_the_listening_socket_and_everyone_who_waits() -> None:
    link = LoopbackLink(TOKEN)
    with stranger(link) as waiting:
        link.connect()
        link.close()
        link.close()
        waiting.settimeout(5)
        try:
            assert waiting.recv(1) == b""
        except ConnectionResetError:
            pass


@pytest.mark.spec("M5")
def test_nobody_outside_this_machine_can_connect() -> None:
    with waiting_link() as link:
        for family, address in ((socket.AF_INET, "127.0.0.2"), (socket.AF_INET6, "::1")):
            with socket.socket(family) as sock:
                sock.settimeout(1)
                with pytest.raises(OSError, match=r".*"):
                    sock.connect((address, link.port))
