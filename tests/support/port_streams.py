"""Byte streams between two ends in one process and one thread: whole ports, or one port and a raw socket."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from engine_intelligence import PortEnded
from engine_intelligence.contracts import MessagePort
from engine_intelligence.ports.host_stream import HostChannel, HostStream
from engine_intelligence.ports.memory import memory_port_pair
from engine_intelligence.ports.realm_link import Link, LoopbackLink, SocketLink
from engine_intelligence.ports.realm_stream import RealmStream
from engine_intelligence.protocol.codec import encode_msgpack
from engine_intelligence.protocol.framing import CONTROL_CHANNEL, Frame, FrameReader, encode_frame
from engine_intelligence.protocol.messages import ChannelOpen, Closed, HostMessage, RealmMessage
from support.port_time import settle, until

TOKEN = "0123456789abcdef0123456789abcdef"
THE_END = PortEnded("test-ended", "the test ended the connection")


@dataclass
class HostEnd:
    """A `HostStream`, the ports that were opened on it, and why it was lost."""

    stream: HostStream
    opened: list[tuple[HostChannel, str]]
    lost: list[PortEnded]

    async def finish(self) -> None:
        """End the connection, whose other end has let go or is about to."""
        self.stream.close(Closed())
        await self.stream.finish(1.0)
        await until(lambda: bool(self.lost))

    async def finish_with(self, realm: RealmStream) -> None:
        """End the connection in order: the realm reads the Host's last words, and lets go."""
        finishing = asyncio.ensure_future(self.finish())

        def over() -> bool:
            realm.pump()
            return realm.ended is not None

        await until(over)
        realm.end(THE_END)
        await finishing

    @property
    def channels(self) -> list[HostChannel]:
        return [channel for channel, _ in self.opened]


def host_end(token: str | None = None) -> HostEnd:
    """A `HostStream` that is not connected yet."""
    opened: list[tuple[HostChannel, str]] = []
    lost: list[PortEnded] = []
    stream = HostStream(
        lambda channel, provider_id: opened.append((channel, provider_id)), lost.append, token
    )
    return HostEnd(stream, opened, lost)


async def connect_host(sock: socket.socket, token: str | None = None) -> HostEnd:
    """A `HostStream` on a connected socket, which it owns from now on."""
    end = host_end(token)
    sock.setblocking(False)
    await asyncio.get_running_loop().create_connection(lambda: end.stream, sock=sock)
    return end


@dataclass
class Ends:
    """Both ends of one port."""

    realm: MessagePort[HostMessage, RealmMessage]
    host: MessagePort[RealmMessage, HostMessage]
    realm_stream: RealmStream | None = None
    host_end: HostEnd | None = None
    realm_received: list[HostMessage] = field(default_factory=list[HostMessage])
    host_received: list[RealmMessage] = field(default_factory=list[RealmMessage])

    async def exchange(self, turns: int = 4) -> None:
        """Let both ends read what has arrived; the end of the channel is left to be raised to the test."""
        await settle(turns)
        self.realm_received += self.realm.receive()
        await settle(turns)
        self.host_received += self.host.receive()

    async def until_received(self, realm: int = 0, host: int = 0) -> None:
        for _ in range(20_000):
            await self.exchange(2)
            if len(self.realm_received) >= realm and len(self.host_received) >= host:
                return
        raise AssertionError("what was sent did not arrive")


async def ended(
    port: MessagePort[HostMessage, RealmMessage] | MessagePort[RealmMessage, HostMessage],
) -> PortEnded:
    """Read a port to its end."""
    for _ in range(5000):
        try:
            port.receive()
        except PortEnded as end:
            return end
        await asyncio.sleep(0)
    raise AssertionError("the port did not end")


@asynccontextmanager
async def memory_ends() -> AsyncGenerator[Ends]:
    realm, host = memory_port_pair()
    yield Ends(realm, host)


@asynccontextmanager
async def stream_ends(link: Link, connect: Callable[[], object]) -> AsyncGenerator[Ends]:
    """Ends over a link; `connect` gives the Host's side of it."""
    stream = RealmStream(link)
    channel = stream.open("p")
    end = await connect()  # type: ignore[misc]  # pyright: ignore[reportGeneralTypeIssues]
    assert isinstance(end, HostEnd)

    def open_on_both_sides() -> bool:
        stream.pump()
        return bool(end.opened)

    try:
        await until(open_on_both_sides)
        yield Ends(channel, end.channels[0], stream, end)
    finally:
        await end.finish_with(stream)


@asynccontextmanager
async def socketpair_ends() -> AsyncGenerator[Ends]:
    ours, theirs = socket.socketpair()

    async def connect() -> HostEnd:
        return await connect_host(theirs)

    async with stream_ends(SocketLink(ours), connect) as ends:
        yield ends


@asynccontextmanager
async def loopback_ends() -> AsyncGenerator[Ends]:
    link = LoopbackLink(TOKEN)

    async def connect() -> HostEnd:
        sock = socket.create_connection(("127.0.0.1", link.port))
        return await connect_host(sock, TOKEN)

    async with stream_ends(link, connect) as ends:
        yield ends


@dataclass
class RawHost:
    """A `RealmStream`, and a raw socket in the place of its Host."""

    stream: RealmStream
    sock: socket.socket
    _reader: FrameReader = field(default_factory=FrameReader)

    def send(self, channel: int, message: object) -> None:
        self.sock.sendall(encode_frame(channel, encode_msgpack(message)))

    def frames(self) -> list[Frame]:
        """What the realm has sent."""
        self.sock.setblocking(False)
        try:
            return list(self._reader.feed(self.sock.recv(1 << 20)))
        except BlockingIOError:
            return []
        finally:
            self.sock.setblocking(True)

    def close(self) -> None:
        self.sock.close()
        self.stream.end(THE_END)


def raw_host(pair: tuple[socket.socket, socket.socket] | None = None) -> RawHost:
    ours, theirs = socket.socketpair() if pair is None else pair
    return RawHost(RealmStream(SocketLink(ours)), theirs)


@dataclass
class RawRealm:
    """A `HostStream`, and a raw socket in the place of its realm."""

    end: HostEnd
    sock: socket.socket
    _reader: FrameReader = field(default_factory=FrameReader)
    _frames: list[Frame] = field(default_factory=list[Frame])

    def open(self, channel: int, provider_id: str = "p") -> None:
        self.send(CONTROL_CHANNEL, ChannelOpen(channel, provider_id))

    def send(self, channel: int, message: object) -> None:
        self.sock.sendall(encode_frame(channel, encode_msgpack(message)))

    def frames(self) -> Sequence[Frame]:
        """All that the Host has sent so far."""
        while True:
            try:
                data = self.sock.recv(1 << 20)
            except OSError:
                return self._frames
            if not data:
                return self._frames
            self._frames += self._reader.feed(data)

    async def close(self) -> None:
        self.sock.close()
        await self.end.finish()


async def raw_realm(pair: tuple[socket.socket, socket.socket] | None = None) -> RawRealm:
    """The raw end is not blocking, so that one thread can drive both."""
    ours, theirs = socket.socketpair() if pair is None else pair
    ours.setblocking(False)
    return RawRealm(await connect_host(theirs), ours)


def tcp_pair() -> tuple[socket.socket, socket.socket]:
    """Two connected sockets of 127.0.0.1."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        ours = socket.create_connection(server.getsockname())
        theirs, _ = server.accept()
    return ours, theirs


def reset(sock: socket.socket) -> None:
    """Close a TCP socket so that the other end sees a reset instead of an end."""
    import struct

    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    sock.close()
