"""The realm's end of a byte stream that carries several ports, read inside the game's own poll.

There is no reader thread: one that decodes in the game's process competes for the interpreter lock and shows
as frame hitches. So every receive looks at the socket first, with one system call that does not wait, and
reads only when something is there.
"""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from weakref import WeakSet

from engine_intelligence.contracts import PortEnded
from engine_intelligence.ports.realm_link import Link, Readiness
from engine_intelligence.protocol.codec import (
    MessageDecoder,
    ProtocolError,
    encode_msgpack,
    host_control_decoder,
    host_message_decoder,
)
from engine_intelligence.protocol.framing import (
    CONTROL_CHANNEL,
    MAX_CHANNEL,
    Frame,
    FrameReader,
    encode_frame,
)
from engine_intelligence.protocol.messages import (
    ChannelOpen,
    Close,
    Closed,
    HostMessage,
    RealmMessage,
)

_READ_BYTES = 64 * 1024

# What one call reads at most, so that a Host that floods cannot hold a frame up: 16 reads are under a
# millisecond.
_MAX_READS = 16

# What is kept for a Host that does not read. Eight Activities of the largest input are half a megabyte; more
# than this means that the Host has been frozen for long.
MAX_OUTBOX_BYTES = 16 * 1024 * 1024


class RealmStream:
    """One connection to a Host, and the ports on it. It belongs to one thread; nothing here waits, but for
    `idle`.

    `explain_end` is asked for the reason when the connection ends without the Host having given one;
    `explain_start` while there is no connection yet, whether there will be none.
    """

    def __init__(
        self,
        link: Link,
        *,
        explain_end: Callable[[], PortEnded] | None = None,
        explain_start: Callable[[], PortEnded | None] | None = None,
    ) -> None:
        self._link = link
        self._explain_end = explain_end
        self._explain_start = explain_start
        self._owner_pid = os.getpid()
        self._sock: socket.socket | None = None
        self._readiness: Readiness | None = None
        self._outbox = bytearray()
        self._broken = False  # nothing can be sent any more
        # One place to read into, kept: memory of this size that is taken and cut to a few bytes at each read leaves
        # holes that the C library's allocator does not fill, and a game that plays for hours grows by them.
        self._buffer = memoryview(bytearray(_READ_BYTES))
        self._reader = FrameReader()
        self._control = host_control_decoder()
        self._channels: dict[int, RealmChannel] = {}
        self._channels_opened = 0
        self._ended: PortEnded | None = None
        self.quick_look: Callable[[int], object] | None = None
        """Says whether there may be something to `read`; `None` while that alone would not do, and `pump` has to be
        called."""
        _disown_in_forks(self)

    @property
    def ended(self) -> PortEnded | None:
        """Why the connection is over, or `None` while it is not."""
        return self._ended

    def open(self, provider_id: str) -> RealmChannel:
        """A port for a provider.

        The Host hears of it as soon as it is connected; on a connection that is over the port is over too.
        """
        if self._channels_opened == MAX_CHANNEL:
            raise ValueError(f"one connection carries at most {MAX_CHANNEL} ports")
        self._channels_opened += 1
        channel = RealmChannel(self, self._channels_opened)
        self._channels[channel.number] = channel
        try:
            self.send_frame(CONTROL_CHANNEL, encode_msgpack(ChannelOpen(channel.number, provider_id)))
        except PortEnded:
            pass  # whoever receives from the port is told
        return channel

    def send_frame(self, channel: int, body: bytes) -> None:
        """Send a frame, or keep it until the Host reads. Raises `PortEnded` once the connection is over."""
        if self._ended is not None:
            raise self._ended
        if self._broken:
            return  # as lost as what was sent a moment before the Host ended
        self._outbox += encode_frame(channel, body)
        if self._connected():
            self._flush()
        if len(self._outbox) > MAX_OUTBOX_BYTES:
            self.end(PortEnded("host-not-reading", "The Host did not read what it was sent."))
        if self._ended is not None:
            raise self._ended

    def pump(self) -> None:
        """Read what has arrived, and send what was kept. One system call where there is nothing to do."""
        if self._ended is not None or not self._connected() or self._readiness is None:
            return
        readable, writable = self._readiness.look(bool(self._outbox))
        if writable:
            self._flush()
        if readable:
            self.read()

    def idle(self, seconds: float) -> None:
        """Wait until something may have arrived, for at most `seconds`."""
        if self._ended is None and self._connected() and self._readiness is not None:
            self._readiness.look(bool(self._outbox), seconds)
        else:
            time.sleep(seconds)

    def drop(self, channel: int) -> None:
        """Forget a port; what still arrives for it is ignored."""
        self._channels.pop(channel, None)

    def end(self, reason: PortEnded) -> None:
        """Release the connection.

        Every port hands out what had arrived and then raises `reason`. The reason of the first call counts; a later
        call does what is left where a signal handler that raised cut the first one short.
        """
        if self._ended is None:
            self._ended = reason
        self._link.close()
        if self._sock is not None:
            if os.getpid() == self._owner_pid:
                with suppress(OSError):
                    # Closing is not enough where native code has forked the game, which nothing here hears of. A fork
                    # itself only closes.
                    self._sock.shutdown(socket.SHUT_RDWR)
            self._sock.close()
            self._sock = None
            self._readiness = None
        self._no_quick_look()
        self._outbox.clear()
        # Connection, ports and clients refer to one another, so they may lie about for long until they are collected.
        self._buffer = memoryview(b"")

    def disown(self) -> None:
        """Let go of the connection in a fork of the process that it belongs to, without a word to the Host.

        What had arrived is that process's to read, so every port raises at once.
        """
        for channel in self._channels.values():
            channel.forget_arrived()
        self.end(PortEnded("forked", "This connection belongs to the process that opened it."))

    def _connected(self) -> bool:
        if self._sock is None and self._ended is None:
            self._sock = self._link.connect()
            if self._sock is not None:
                self._sock.setblocking(False)
                self._readiness = Readiness(self._sock)
                self._flush()
            elif self._explain_start is not None and (ended := self._explain_start()) is not None:
                self.end(ended)
        return self._sock is not None

    def _flush(self) -> None:
        while self._outbox and self._sock is not None:
            try:
                sent = self._sock.send(self._outbox)
                del self._outbox[:sent]
            except (BlockingIOError, InterruptedError):
                self._no_quick_look()
                return
            except OSError:
                # The Host is gone, but its last words may lie unread. Reading them comes to the end by
                # itself.
                self._broken = True
                self._outbox.clear()
                return
            except BaseException:
                self._interrupted()
                raise
        if self._readiness is not None:
            self.quick_look = self._readiness.quick_look()

    def _no_quick_look(self) -> None:
        self.quick_look = None
        for channel in self._channels.values():
            channel.quick_look = _look_closer

    def read(self) -> None:
        """Read what has arrived, of which there may be nothing."""
        try:
            for _ in range(_MAX_READS):
                if self._sock is None or self._read_once() < _READ_BYTES:
                    return
        except BaseException:
            self._interrupted()
            raise

    def _read_once(self) -> int:
        """Read what is there, and return how many bytes that were."""
        assert self._sock is not None
        try:
            data = bytes(self._buffer[: self._sock.recv_into(self._buffer)])
        except (BlockingIOError, InterruptedError):
            return 0
        except OSError:
            data = b""  # a reset is an end like any other; what had arrived was read before it
        try:
            if not data:
                self._reader.end()
                self._over()
            for frame in self._reader.feed(data):
                self._receive(frame)
        except ProtocolError as error:
            # Where frames end is not known any more, so no port of this connection can go on (rule M3).
            self.end(error)
        return len(data)

    def _interrupted(self) -> None:
        """Something was raised in the middle of a read or a write, by a signal handler or for want of memory.

        What was sent may be sent again and what was read is lost, so the bytes that follow would mean anything.
        """
        self.end(
            PortEnded("interrupted", "The game was interrupted while it read from the Host or wrote to it.")
        )

    def _receive(self, frame: Frame) -> None:
        if self._ended is not None:
            return  # nothing follows the end, also where it came in the same read
        if frame.channel == CONTROL_CHANNEL:
            message = self._control.decode(frame.body)
            if isinstance(message, Closed):
                reason = message.reason or "host-closed"
                self.end(PortEnded(reason, message.message or "The Host closed the connection."))
            return
        channel = self._channels.get(frame.channel)
        if channel is not None:
            channel.arrived(frame.body)
        elif frame.channel > self._channels_opened:
            raise ProtocolError("channel-invalid", "the Host used a channel that was never opened")

    def _over(self) -> None:
        ended = PortEnded("host-ended", "The Host ended.")
        self.end(ended if self._explain_end is None else self._explain_end())


def _look_closer(_timeout_ms: int) -> bool:
    """A quick look that cannot tell."""
    return True


class RealmChannel:
    """A `MessagePort` of a realm: one channel of a `RealmStream`."""

    def __init__(self, stream: RealmStream, number: int) -> None:
        self.number = number
        self._stream = stream
        self._decoder: MessageDecoder[HostMessage] = host_message_decoder()
        self._inbox: list[HostMessage] = []
        self._ended: PortEnded | None = None
        self._close_known = False  # the Host knows that this port is over, or has been told
        self.quick_look: Callable[[int], object] = _look_closer
        """See `LookingPort`."""

    def send(self, message: RealmMessage) -> None:
        if self._ended is not None:
            raise self._ended
        self._close_known |= isinstance(message, Close)
        self._stream.send_frame(self.number, encode_msgpack(message))

    def receive(self) -> Sequence[HostMessage]:
        if self._ended is None:
            stream = self._stream
            look = stream.quick_look
            if look is None:
                stream.pump()
            elif look(0):
                stream.read()
        if self._inbox:
            messages, self._inbox = self._inbox, []
            return messages
        ended = self._ended or self._stream.ended
        if ended is not None:
            raise ended
        self.quick_look = self._stream.quick_look or _look_closer
        return ()

    def listen(self, wake: Callable[[], None] | None) -> None:
        """A realm's port wakes nobody: it is read once a frame."""

    def idle(self, seconds: float) -> None:
        self._stream.idle(seconds)

    def forget_arrived(self) -> None:
        """Hand out nothing of what has arrived."""
        self._inbox.clear()

    def close(self) -> None:
        if not self._close_known and self._stream.ended is None:
            try:
                self.send_close()
            except PortEnded:
                pass  # over for everybody
        self._end(PortEnded("port-closed", "This end of the port is closed."))
        self._inbox.clear()

    def send_close(self) -> None:
        """Tell the Host that nobody listens here any more."""
        self._close_known = True
        self._stream.send_frame(self.number, encode_msgpack(Close()))

    def arrived(self, body: bytes) -> None:
        """A frame came for this port. One that is no message ends this port and no other (rule M3)."""
        if self._ended is not None:
            return
        self.quick_look = _look_closer  # it may come while another port is looked at
        try:
            message = self._decoder.decode(body)
        except ProtocolError as error:
            self._end(error)
            return
        self._close_known |= isinstance(message, Closed)
        self._inbox.append(message)

    def _end(self, reason: PortEnded) -> None:
        self.quick_look = _look_closer
        if self._ended is None:
            self._ended = reason
            self._stream.drop(self.number)


# The connections of this process. Held weakly: nothing lives longer for being listed here.
_streams: WeakSet[RealmStream] = WeakSet()
_watches_forks = False


def _disown_in_forks(stream: RealmStream) -> None:
    """Have `stream` disowned in every fork of this process. Asking for the process id at every call would cost a call
    of the system each.
    """
    global _watches_forks
    _streams.add(stream)
    # With the first connection, and not when this module is imported, which does nothing but define.
    if not _watches_forks and hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=_disown_all)
        _watches_forks = True


def _disown_all() -> None:
    for stream in tuple(_streams):
        stream.disown()
    _streams.clear()  # what the fork opens from here on is its own
