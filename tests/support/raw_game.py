"""A realm that is no client of ours: what it writes on the socket of a Host is up to the test, byte for byte."""

from __future__ import annotations

import itertools
import select
import socket
import time
from collections import defaultdict
from collections.abc import Callable

import msgspec
import psutil
import pytest

from engine_intelligence import Completed, Deadlines, HostConnection, IntelligenceEvent, SessionRef, TextDelta
from engine_intelligence.ports.realm_link import SocketLink
from engine_intelligence.protocol.codec import encode_msgpack, host_control_decoder, host_message_decoder
from engine_intelligence.protocol.framing import CONTROL_CHANNEL, FrameReader, encode_frame
from engine_intelligence.protocol.messages import ChannelOpen, Closed, Events, Hello, Poll
from support.port_messages import events_in, hello, submit
from support.process_marks import PATIENCE_S
from support.process_start import Starter

_READ_BYTES = 1 << 20


class Census(msgspec.Struct, frozen=True):
    """What a Host holds: inside, as its provider counts it, and outside, as the system does."""

    tasks: int
    threads: int
    descriptors: int


class RawGame:
    """Both ends of every message are in plain sight: nothing is read or written but what the test asks for."""

    def __init__(self, connection: HostConnection, sock: socket.socket) -> None:
        self.host = psutil.Process(connection.pid)
        self.sock = sock
        self.heard: dict[int, list[object]] = defaultdict(list)
        self.over = False
        self._connection = connection
        self._reader = FrameReader()
        self._numbers = itertools.count(1)
        self._ids = itertools.count(1)
        self._ports: dict[str, int] = {}

    # Writing

    def open(self, provider_id: str) -> int:
        """Open the next channel for that provider."""
        number = next(self._numbers)
        self.tell(CONTROL_CHANNEL, ChannelOpen(number, provider_id))
        self._ports[provider_id] = number
        return number

    def tell(self, channel: int, *messages: object) -> None:
        self.write(b"".join(encode_frame(channel, encode_msgpack(message)) for message in messages))

    def body(self, channel: int, body: bytes) -> None:
        self.write(encode_frame(channel, body))

    def write(self, data: bytes, *, reading: bool = True) -> None:
        """Write all of it; `reading` meanwhile, so that a flood of answers does not wait for its reader.

        What a Host that has let go no longer takes is dropped.
        """
        left, end = memoryview(data), time.monotonic() + PATIENCE_S
        while left and not self.over:
            assert time.monotonic() < end, "the Host takes nothing any more"
            readable, writable, _ = select.select([self.sock] if reading else [], [self.sock], [], 1.0)
            if readable:
                self._read()
            if writable:
                try:
                    left = left[self.sock.send(left) :]
                except BlockingIOError:
                    continue
                except OSError:
                    return

    # Reading

    def hear(self, condition: Callable[[], bool], what: str) -> None:
        """Read until `condition` holds, and fail the test if it never does."""
        end = time.monotonic() + PATIENCE_S
        while not condition():
            if self.over or time.monotonic() > end:
                pytest.fail(
                    f"this never came: {what}; over: {self.over}, heard: {str(dict(self.heard))[-500:]}"
                )
            if select.select([self.sock], [], [], 0.2)[0]:
                self._read()

    def why_closed(self, channel: int) -> str | None:
        """Read until the Host has closed a channel, and return the reason."""
        self.hear(lambda: bool(self._closes(channel)), f"the close of channel {channel}")
        (closed,) = self._closes(channel)
        return closed.reason

    def closing_message(self, channel: int) -> str:
        """The sentence that the Host closed a channel with."""
        self.why_closed(channel)
        return self._closes(channel)[0].message or ""

    def events(self, channel: int, activity_id: str | None = None) -> list[IntelligenceEvent]:
        """What has been heard of an Activity, or of all."""
        found = events_in(self.heard[channel])
        return [event for event in found if activity_id in (None, event.activity_id)]

    def answers(self, channel: int) -> int:
        """How many messages with events have been heard."""
        return sum(isinstance(message, Events) for message in self.heard[channel])

    def until_end(self, channel: int, activity_id: str) -> IntelligenceEvent:
        """Read until an Activity has ended."""

        def ended() -> bool:
            events = self.events(channel, activity_id)
            return bool(events) and not isinstance(events[-1], TextDelta)

        self.hear(ended, f"the end of {activity_id}")
        return self.events(channel, activity_id)[-1]

    def until_over(self) -> None:
        """Read until the Host has let go of the connection."""
        end = time.monotonic() + PATIENCE_S
        while not self.over:
            assert time.monotonic() < end, "the connection goes on"
            if select.select([self.sock], [], [], 0.2)[0]:
                self._read()

    # Honest work

    def stream(self, provider_id: str) -> int:
        """Open a port the way that an honest client does, in stream mode."""
        channel = self.open(provider_id)
        self.hear(lambda: any(isinstance(m, Hello) for m in self.heard[channel]), "a hello")
        self.tell(channel, hello(provider_id))
        return channel

    def ask(self, provider_id: str, input: str) -> str:
        """Have an Activity carried out on a port that streams, opened where it is not, and return the output."""
        channel = self._ports.get(provider_id) or self.stream(provider_id)
        id = f"honest-{next(self._ids)}"
        self.tell(channel, submit(id, input, SessionRef(provider_id, id)), Poll(64))
        end = self.until_end(channel, id)
        if not isinstance(end, Completed):
            pytest.fail(f"an honest Activity ended with {end}")
        self.heard[channel].clear()
        return end.output

    def census(self, provider_id: str) -> Census:
        """What the Host holds now."""
        inside = msgspec.json.decode(self.ask(provider_id, "census"), type=dict[str, int])
        return Census(inside["tasks"], inside["threads"], self.host.num_fds())

    def close(self) -> None:
        self.sock.close()
        self._connection.close()

    def _closes(self, channel: int) -> list[Closed]:
        return [message for message in self.heard[channel] if isinstance(message, Closed)]

    def _read(self) -> None:
        try:
            data = self.sock.recv(_READ_BYTES)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        self.over = not data
        for channel, body in self._reader.feed(data):
            decode = _CONTROL.decode if channel == CONTROL_CHANNEL else _PORT.decode
            self.heard[channel].append(decode(body))


_CONTROL = host_control_decoder()
_PORT = host_message_decoder()


def start_raw(start: Starter, source: str, patch: pytest.MonkeyPatch, close_grace_s: float) -> RawGame:
    """Start a Host with `spawn_host`, and take its socket in the place of our client, which never gets to look at it."""
    taken: list[socket.socket] = []

    class Taken(SocketLink):
        def __init__(self, sock: socket.socket) -> None:
            taken.append(sock.dup())
            super().__init__(sock)

    with patch.context() as during:
        during.setattr("engine_intelligence.realm.spawning.SocketLink", Taken)
        connection = start(source, deadlines=Deadlines(close_grace_s=close_grace_s))
    (sock,) = taken
    sock.setblocking(False)
    return RawGame(connection, sock)
