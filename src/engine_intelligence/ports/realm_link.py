"""How a realm comes by the socket to its Host, and finds out whether that can be read."""

from __future__ import annotations

import select
import socket
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Protocol

from engine_intelligence.protocol.codec import encode_msgpack
from engine_intelligence.protocol.framing import CONTROL_CHANNEL, encode_frame
from engine_intelligence.protocol.messages import Introduction


class Link(Protocol):
    """How a realm comes by the socket to its Host."""

    def connect(self) -> socket.socket | None:
        """The connected socket, which is handed over, or `None` if it is not there yet. Never waits."""
        ...

    def close(self) -> None:
        """Give up waiting for the socket. Idempotent."""
        ...


class SocketLink:
    """A socket that is connected already, such as one of a pair."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock: socket.socket | None = sock

    def connect(self) -> socket.socket | None:
        sock, self._sock = self._sock, None
        return sock

    def close(self) -> None:
        if self._sock is not None:
            self._sock.close()
            self._sock = None


class LoopbackLink:
    """A listening socket on 127.0.0.1 that waits for the one connection that knows the token (threat T27).

    Others may connect too, since any process of the machine can. Each is dropped as soon as what it says is
    not the token.
    """

    # An honest Host connects once. More strangers than this at a time are dropped, oldest first.
    _MAX_STRANGERS = 8

    def __init__(self, token: str) -> None:
        import hmac  # not at the top: it loads a library for cryptography, which no other link needs

        self._is_same = hmac.compare_digest
        self._listener = above_standard_streams(socket.socket(socket.AF_INET, socket.SOCK_STREAM))
        try:
            self._listener.bind(("127.0.0.1", 0))
            self._listener.listen(self._MAX_STRANGERS)
            self._listener.setblocking(False)
        except OSError:
            self._listener.close()
            raise
        self._strangers: deque[tuple[socket.socket, bytearray]] = deque()
        self._introduction = encode_frame(CONTROL_CHANNEL, encode_msgpack(Introduction(token)))

    @property
    def port(self) -> int:
        """The port that the Host has to connect to."""
        port: int = self._listener.getsockname()[1]
        return port

    def connect(self) -> socket.socket | None:
        self._accept()
        for stranger in tuple(self._strangers):
            sock, said = stranger
            try:
                data = sock.recv(len(self._introduction) - len(said))
            except (BlockingIOError, InterruptedError):
                continue
            except OSError:
                data = b""
            said += data
            if len(said) == len(self._introduction) and self._is_same(said, self._introduction):
                self._strangers.remove(stranger)
                self.close()
                with suppress(OSError):  # it may be over already, which reading from it will show
                    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                return sock
            if not data or not self._introduction.startswith(said):
                self._strangers.remove(stranger)
                sock.close()
        return None

    def close(self) -> None:
        self._listener.close()
        while self._strangers:
            self._strangers.popleft()[0].close()

    def _accept(self) -> None:
        try:
            for _ in range(self._MAX_STRANGERS):  # as many as wait at once; a flood does not hold a frame up
                sock = self._listener.accept()[0]
                sock = above_standard_streams(sock)
                sock.setblocking(False)
                self._strangers.append((sock, bytearray()))
                if len(self._strangers) > self._MAX_STRANGERS:
                    self._strangers.popleft()[0].close()
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            return  # the system is short of something; the next call tries again


def above_standard_streams(sock: socket.socket) -> socket.socket:
    """The same socket under a descriptor that is none of the standard streams'.

    A game that was started without standard streams gets their numbers for whatever it opens first; but
    native code goes on printing to them, and a child process gets streams of its own under them.
    """
    held: list[socket.socket] = []
    while 0 <= sock.fileno() <= 2:
        held.append(sock)
        sock = sock.dup()
    for low in held:
        low.close()
    return sock


class Readiness:
    """Whether a socket can be read or written, found out with one system call."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._poll = select.poll() if hasattr(select, "poll") else None
        self._writing = False
        if self._poll is not None:
            self._poll.register(sock, select.POLLIN)

    def quick_look(self) -> Callable[[int], object]:
        """A function of a time-out in milliseconds that says whether there may be something to read.

        It is the system's own where that has `poll`: most looks find nothing, and this is the shortest way to that.
        """
        if self._poll is not None:
            return self._poll.poll
        return lambda timeout_ms: select.select([self._sock], [], [], timeout_ms / 1000)[0]

    def look(self, writing: bool, timeout_s: float = 0.0) -> tuple[bool, bool]:
        """Whether it is readable (or over), and whether it is writable.

        Only asks about the latter with `writing`.
        """
        if self._poll is None:
            readable, writable, _ = select.select(
                [self._sock], [self._sock] if writing else [], [], timeout_s
            )
            return bool(readable), bool(writable)
        if writing is not self._writing:
            self._writing = writing
            self._poll.modify(self._sock, select.POLLIN | select.POLLOUT if writing else select.POLLIN)
        found = self._poll.poll(timeout_s * 1000)
        if not found:
            return False, False
        mask = found[0][1]
        return bool(mask & ~select.POLLOUT), bool(mask & select.POLLOUT)
