"""The wire between a real realm and a real Host: bytes that are split, delayed, garbled or cut as a schedule decides."""

import asyncio
import socket
from random import Random
from typing import Any

from simulation.ledger import WireTap

from engine_intelligence.ports.host_stream import HostStream


class HostTransport(asyncio.Transport):
    """The Host's end: what is written lies in `outgoing` until the wire takes it."""

    def __init__(self, tap: WireTap) -> None:
        super().__init__()
        self._tap = tap
        self.outgoing = bytearray()
        self.closing = False
        self.ended_writing = False

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        pass

    def get_write_buffer_size(self) -> int:
        return len(self.outgoing)

    def write(self, data: Any) -> None:
        if not self.closing and not self.ended_writing:
            self.outgoing += data
            self._tap.host_wrote(bytes(data))

    def can_write_eof(self) -> bool:
        return True

    def write_eof(self) -> None:
        self.ended_writing = True

    def is_closing(self) -> bool:
        return self.closing

    def close(self) -> None:
        self.closing = True

    def abort(self) -> None:
        self.closing = True
        self.outgoing.clear()


class Wire:
    """Moves bytes between the realm's socket, which is a real one, and the Host's protocol, which is driven directly.

    Everything happens when it is told to. `cut` is the end of the connection for both sides, wherever a frame happens to be.
    """

    def __init__(self, random: Random, stream: HostStream, tap: WireTap) -> None:
        self._random = random
        self._stream = stream
        self._tap = tap
        self.transport = HostTransport(tap)
        self.realm_end, self._end = socket.socketpair()
        self._end.setblocking(False)
        self._to_host = bytearray()
        self._realm_gone = False
        self.host_gone = False
        self._end_closed = False
        self.frozen = False
        stream.connection_made(self.transport)

    def carry_to_host(self) -> None:
        """Give the Host some of what the realm sent."""
        self._collect()
        if self.host_gone or self.frozen:
            return
        if self._to_host:
            part = self._part(self._to_host)
            self._tap.host_heard(part)
            self._stream.data_received(part)
        elif self._realm_gone:
            self._host_sees_the_end()

    def carry_to_realm(self) -> None:
        """Give the realm some of what the Host wrote."""
        if self._end_closed or self.frozen:
            return
        outgoing = self.transport.outgoing
        if outgoing:
            part = self._part(outgoing)
            try:
                sent = self._end.send(part)
            except BlockingIOError:
                sent = 0
            except OSError:
                sent = len(part)  # the realm has let go of its end
            outgoing[:0] = part[sent:]
        elif self.transport.closing or self.transport.ended_writing:
            self._close_end()

    def garble(self) -> None:
        """Change one byte that is under way, if any is."""
        self._collect()
        ways = [way for way in (self._to_host, self.transport.outgoing) if way]
        if ways:
            way = self._random.choice(ways)
            way[self._random.randrange(len(way))] ^= 1 << self._random.randrange(8)

    def cut(self, *, lose: bool) -> None:
        """End the connection for both sides, now; with `lose`, what was under way is lost."""
        if lose:
            self.transport.outgoing.clear()
            self._to_host.clear()
        else:
            while self.transport.outgoing and not self._end_closed:
                before = len(self.transport.outgoing)
                self.carry_to_realm()
                if len(self.transport.outgoing) == before:
                    break
        self._close_end()
        self._host_sees_the_end()

    def close(self) -> None:
        """Release what is left of both ends."""
        self._close_end()
        self._host_sees_the_end()
        self.realm_end.close()

    def _part(self, buffer: bytearray) -> bytes:
        whole = self._random.random() < 0.6
        size = len(buffer) if whole else self._random.randint(1, len(buffer))
        part = bytes(buffer[:size])
        del buffer[:size]
        return part

    def _collect(self) -> None:
        while not self._end_closed and not self._realm_gone:
            try:
                data = self._end.recv(65536)
            except BlockingIOError:
                return
            except OSError:
                data = b""
            if not data:
                self._realm_gone = True
            self._to_host += data

    def _host_sees_the_end(self) -> None:
        if not self.host_gone:
            self.host_gone = True
            self._stream.eof_received()
            self.transport.closing = True
            self._stream.connection_lost(None)

    def _close_end(self) -> None:
        if not self._end_closed:
            self._end_closed = True
            self._end.close()
