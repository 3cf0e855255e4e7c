"""A server on loopback in the place of a vendor, in which a test has every byte and the moment of each write in hand.

    async with VendorDouble() as double:
        double.will(says("The gate ", "is open."))
        ...

What it does with a request is a *behaviour*: an async function of one `Exchange`. It shares the event loop with what is
tested, so that each write is read before the next if the behaviour gives the loop its turns between them.
"""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self, TypeAlias

import msgspec

# A linger time of zero makes a close a reset: RFC 9293, section 3.6, "abort".
_ABORT = struct.pack("ii", 1, 0)

_REASONS = {200: "OK", 307: "Temporary Redirect", 429: "Too Many Requests", 503: "Service Unavailable"}


class ClientLeft(Exception):
    """The client closed the connection. A behaviour that lets it pass ends quietly."""


@dataclass(frozen=True)
class Request:
    """What a client sent."""

    method: str
    target: str
    headers: Mapping[str, str]
    """By their names in small letters."""
    body: bytes

    @property
    def key(self) -> str:
        """The key in it; empty if there is none."""
        bearer = self.headers.get("authorization", "").removeprefix("Bearer ")
        return self.headers.get("x-api-key") or bearer

    @property
    def json(self) -> Any:
        return msgspec.json.decode(self.body)


@dataclass
class Exchange:
    """One request, and what is sent for it."""

    request: Request
    connection: Connection
    elsewhere: str
    """The address of another server, if the double was told one."""
    left: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when the client has closed the connection."""
    ended: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when the behaviour is done with it."""
    said: str = ""
    """The text of the answer so far."""
    generated_for_nobody: int = 0
    """Pieces of text that a behaviour generated after the client had left."""

    async def send(self, data: bytes) -> None:
        """Write bytes as they are, and give the loop its turns until the other side can have read them."""
        if self.left.is_set():
            raise ClientLeft
        self.connection.transport.write(data)
        await self.connection.writable.wait()
        for _ in range(2):  # one turn in which the socket is found readable, one in which it was read
            await asyncio.sleep(0)

    async def head(self, status: int = 200, headers: Mapping[str, str] | None = None) -> None:
        """The status and the headers; by default those of a stream of events."""
        lines = [f"HTTP/1.1 {status} {_REASONS.get(status, 'Status')}"]
        given = STREAM_HEADERS if headers is None else headers
        lines += [f"{name}: {value}" for name, value in given.items()]
        await self.send("\r\n".join([*lines, "", ""]).encode())

    async def piece(self, data: bytes) -> None:
        """A chunk of the body of a stream (RFC 9112, section 7.1); nothing for no bytes, whose chunk would be the end."""
        if data:
            await self.send(b"%x\r\n%b\r\n" % (len(data), data))

    async def end(self) -> None:
        """The end of the body of a stream."""
        await self.send(b"0\r\n\r\n")

    async def whole(self, status: int, body: bytes, headers: Mapping[str, str] | None = None) -> None:
        """A response in one piece."""
        told = {"content-type": "application/json", "content-length": str(len(body)), **(headers or {})}
        await self.head(status, told)
        await self.send(body)

    def close(self) -> None:
        """Close the connection when all is written."""
        self.connection.transport.close()

    def reset(self) -> None:
        """Break the connection off."""
        self.connection.transport.get_extra_info("socket").setsockopt(
            socket.SOL_SOCKET, socket.SO_LINGER, _ABORT
        )
        self.connection.transport.abort()


STREAM_HEADERS = {"content-type": "text/event-stream; charset=utf-8", "transfer-encoding": "chunked"}

Behaviour: TypeAlias = Callable[[Exchange], Awaitable[None]]


class VendorDouble:
    """The server. It listens from its entry on, or with `listening=False` from `listen` on: until then it refuses."""

    def __init__(self, *, listening: bool = True) -> None:
        self.exchanges: list[Exchange] = []
        """All requests in the order in which they came."""
        self.raised: list[BaseException] = []
        """What behaviours raised, which is a fault of the double."""
        self.connections: set[Connection] = set()
        self.deserted = asyncio.Event()
        """Set while no client has a connection."""
        self.deserted.set()
        self.elsewhere = ""
        self._listening = listening
        self._behaviours: list[Behaviour] = []
        self._begun = 0
        self._tasks: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None
        self._socket = socket.socket()

    def will(self, *behaviours: Behaviour) -> None:
        """What it does with the requests from now on, one after another; the last goes on."""
        self._behaviours = list(behaviours)
        self._begun = 0

    @property
    def address(self) -> str:
        host, port = self._socket.getsockname()
        return f"http://{host}:{port}"

    @property
    def idle(self) -> bool:
        """Whether each behaviour has come to its end."""
        return not self._tasks

    async def listen(self) -> None:
        """Take connections from now on."""
        if self._server is None:
            loop = asyncio.get_running_loop()
            self._server = await loop.create_server(lambda: Connection(self), sock=self._socket)

    async def __aenter__(self) -> Self:
        self._socket.bind(("127.0.0.1", 0))
        if self._listening:
            await self.listen()
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._server is not None:
            self._server.close()
        self._socket.close()
        for connection in list(self.connections):
            connection.transport.abort()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self.deserted.wait()
        if self._server is not None:
            await self._server.wait_closed()

    def begin(self, exchange: Exchange) -> None:
        """Called by a connection that has read a request."""
        behaviour = self._behaviours[min(self._begun, len(self._behaviours) - 1)]
        self._begun += 1
        self.exchanges.append(exchange)
        task = asyncio.get_running_loop().create_task(self._behave(behaviour, exchange))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _behave(self, behaviour: Behaviour, exchange: Exchange) -> None:
        try:
            await behaviour(exchange)
        except ClientLeft:
            pass
        except Exception as error:  # noqa: BLE001 - a border: whoever made the double looks at them
            self.raised.append(error)
            exchange.connection.transport.abort()
        finally:
            exchange.ended.set()


class Connection(asyncio.Protocol):
    """Reads one request after another. The next one is looked at when the behaviour of the one before has ended."""

    transport: asyncio.Transport

    def __init__(self, double: VendorDouble) -> None:
        self.writable = asyncio.Event()
        self.writable.set()
        self._double = double
        self._received = bytearray()
        self._exchange: Exchange | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self._double.connections.add(self)
        self._double.deserted.clear()

    def data_received(self, data: bytes) -> None:
        self._received += data
        self._look()

    def pause_writing(self) -> None:
        self.writable.clear()

    def resume_writing(self) -> None:
        self.writable.set()

    def eof_received(self) -> bool:
        self._leave()
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        self._leave()
        self._double.connections.discard(self)
        if not self._double.connections:
            self._double.deserted.set()

    def _leave(self) -> None:
        self.writable.set()
        if self._exchange is not None:
            self._exchange.left.set()

    def _look(self) -> None:
        if self._exchange is not None and not self._exchange.ended.is_set():
            return  # a client that does not wait for its answer; none of those that are tested does that
        request, taken = _request(self._received)
        if request is None:
            return
        del self._received[:taken]
        self._exchange = Exchange(request, self, self._double.elsewhere)
        self._double.begin(self._exchange)


def _request(received: bytearray) -> tuple[Request | None, int]:
    """The request at the beginning of what was received, and its length; `None` if it is not all there."""
    head, found, rest = bytes(received).partition(b"\r\n\r\n")
    if not found:
        return None, 0
    first, *lines = head.decode("latin-1").split("\r\n")
    headers = dict(_header(line) for line in lines)
    length = int(headers.get("content-length", "0"))
    if len(rest) < length:
        return None, 0
    method, target, _ = first.split(" ", 2)
    return Request(method, target, headers, rest[:length]), len(head) + 4 + length


def _header(line: str) -> tuple[str, str]:
    name, _, value = line.partition(":")
    return name.strip().lower(), value.strip()


def keys_sent(exchanges: Sequence[Exchange]) -> list[str]:
    """The keys that came with the requests."""
    return [exchange.request.key for exchange in exchanges]
