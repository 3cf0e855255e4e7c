"""The Host's end of a byte stream that carries several ports, on asyncio."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress

from engine_intelligence.contracts import PortEnded
from engine_intelligence.protocol.codec import (
    MessageDecoder,
    ProtocolError,
    encode_msgpack,
    realm_control_decoder,
    realm_message_decoder,
)
from engine_intelligence.protocol.framing import (
    CONTROL_CHANNEL,
    MAX_FRAME_BYTES,
    Frame,
    FrameReader,
    encode_frame,
    split_events,
)
from engine_intelligence.protocol.messages import Closed, Events, HostMessage, Introduction, RealmMessage

_log = logging.getLogger(__name__)

# A crowd: fifty characters on one Host is a large scene, and each port costs a few kilobytes.
MAX_PORTS = 1024

# What is kept for a realm that does not read. Credit bounds it to two windows of events an open port; past
# this the realm is frozen or hostile, and is dropped.
MAX_OUTBOX_BYTES = 16 * 1024 * 1024

# What is kept for a port that nobody reads, as while its provider closes. A port that is read keeps nothing.
MAX_UNREAD_BYTES = MAX_FRAME_BYTES

MAX_PROVIDER_ID_CHARS = 256


class HostStream(asyncio.Protocol):
    """One connection to a realm. It belongs to the event loop's thread.

    `opened` is called with each port that the realm opens and the provider that it asks for; `lost` once,
    with the reason, when the connection is over, be it by the realm or by a violation of the protocol.
    """

    def __init__(
        self,
        opened: Callable[[HostChannel, str], None],
        lost: Callable[[PortEnded], None],
        token: str | None = None,
    ) -> None:
        self._opened = opened
        self._lost = lost
        self._token = token
        self._transport: asyncio.Transport | None = None
        self._reader = FrameReader()
        self._control = realm_control_decoder()
        self._channels: dict[int, HostChannel] = {}
        self._last_channel = 0
        self._ended: PortEnded | None = None
        # What the system does not take yet, in one piece: asyncio adds up all the pieces that it keeps at every write.
        self._outbox = bytearray()
        self._paused = False
        self._flushed: asyncio.Future[None] | None = None
        self._gone: asyncio.Future[None] | None = None

    @property
    def ended(self) -> PortEnded | None:
        """Why the connection is over, or `None` while it is not."""
        return self._ended

    # asyncio.Protocol

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._gone = asyncio.get_running_loop().create_future()
        # Pause at the first byte that the system does not take, so that "flushed" means that all is under
        # way.
        transport.set_write_buffer_limits(high=0)
        if self._token is not None:
            self._write(CONTROL_CHANNEL, encode_msgpack(Introduction(self._token)))

    def data_received(self, data: bytes) -> None:
        if self._ended is not None:
            return  # what a realm goes on sending while the Host closes its providers is not even kept
        try:
            for frame in self._reader.feed(data):
                self._receive(frame)
        except ProtocolError as error:
            self._fail(error)

    def eof_received(self) -> bool:
        try:
            self._reader.end()
        except ProtocolError as error:
            self._end(error)
        self._end(PortEnded("realm-ended", "The realm ended."))
        return False  # which closes the transport: a realm that has ended reads nothing

    def connection_lost(self, exc: Exception | None) -> None:
        self._end(PortEnded("realm-ended", "The realm ended."))
        self._outbox.clear()
        self.resume_writing()
        if self._gone is not None and not self._gone.done():
            self._gone.set_result(None)

    def pause_writing(self) -> None:
        self._paused = True
        if self._flushed is None:
            self._flushed = asyncio.get_running_loop().create_future()

    def resume_writing(self) -> None:
        self._paused = False
        self._hand_over()
        if self._paused:
            return  # again, by what had waited meanwhile
        flushed, self._flushed = self._flushed, None
        if flushed is not None and not flushed.done():
            flushed.set_result(None)

    # Ports

    def send_frame(self, channel: int, body: bytes) -> None:
        """Send a frame. Raises `PortEnded` once the connection is over."""
        if self._ended is not None:
            raise self._ended
        self._write(channel, body)
        # Nothing is kept while the system takes all, which it has stopped to do when writing was paused.
        if self._paused and self._unsent_bytes() > MAX_OUTBOX_BYTES:
            self._fail(PortEnded("realm-not-reading", "The realm did not read what it was sent."))
            raise PortEnded("realm-not-reading", "The realm did not read what it was sent.")

    def flushed(self) -> Awaitable[None]:
        """Something to await until all that was sent is under way, or the connection is over."""
        if self._flushed is not None:
            return self._flushed
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        done.set_result(None)
        return done

    def drop(self, channel: int) -> None:
        """Forget a port; what still arrives for it is ignored."""
        self._channels.pop(channel, None)

    def close(self, notice: Closed) -> None:
        """Tell the realm why the connection ends, and send nothing more. Idempotent; `finish` comes after it."""
        if self._ended is None:
            self._write(CONTROL_CHANNEL, encode_msgpack(notice))
            self._end(
                PortEnded(notice.reason or "host-closed", notice.message or "The Host closed the connection.")
            )

    async def finish(self, timeout_s: float) -> None:
        """Release the connection once the realm has let go of its end, or after `timeout_s`.

        Waiting is what gets the last words through: a socket that is closed while something lies unread in it is
        reset, and a reset may overtake what was sent before.
        """
        if self._transport is None or self._gone is None:
            return
        self._hand_over()
        if self._transport.can_write_eof() and not self._transport.is_closing():
            with suppress(OSError):  # the realm has just let go of its end
                self._transport.write_eof()
        await asyncio.wait({self._gone}, timeout=timeout_s)
        self._transport.abort()

    def _write(self, channel: int, body: bytes) -> None:
        if self._transport is None:
            return
        frame = encode_frame(channel, body)
        if self._paused:
            self._outbox += frame
        else:
            self._transport.write(frame)

    def _hand_over(self) -> None:
        """Give what has waited to the transport, as one piece."""
        if self._outbox and self._transport is not None:
            waiting, self._outbox = self._outbox, bytearray()
            self._transport.write(waiting)

    def _unsent_bytes(self) -> int:
        kept = 0 if self._transport is None else self._transport.get_write_buffer_size()
        return kept + len(self._outbox)

    def _receive(self, frame: Frame) -> None:
        if self._ended is not None:
            return
        if frame.channel == CONTROL_CHANNEL:
            message = self._control.decode(frame.body)
            self._open(message.channel, message.provider_id)
            return
        channel = self._channels.get(frame.channel)
        if channel is not None:
            channel.arrived(frame.body)
        elif frame.channel > self._last_channel:
            raise ProtocolError("channel-invalid", "a channel was used that was never opened")

    def _open(self, number: int, provider_id: str) -> None:
        # Numbers rise, so that a port that was closed is never mistaken for a new one.
        if number != self._last_channel + 1 or number > MAX_PORTS or len(provider_id) > MAX_PROVIDER_ID_CHARS:
            raise ProtocolError(
                "channel-invalid", "a channel was opened out of order, too often or with too long a name"
            )
        self._last_channel = number
        channel = HostChannel(self, number)
        self._channels[number] = channel
        self._opened(channel, provider_id)

    def _fail(self, reason: PortEnded) -> None:
        """End a connection that cannot be trusted or served any more, telling the realm if it still listens."""
        if self._ended is None:
            _log.warning("the connection to the realm was ended: %s", reason.reason)
            self.close(Closed(reason.reason, reason.message))

    def _end(self, reason: PortEnded) -> None:
        if self._ended is not None:
            return
        self._ended = reason
        for channel in tuple(self._channels.values()):
            channel.connection_over()
        self._lost(reason)


class HostChannel:
    """A `MessagePort` of a Host: one channel of a `HostStream`."""

    def __init__(self, stream: HostStream, number: int) -> None:
        self._stream = stream
        self._number = number
        self._decoder: MessageDecoder[RealmMessage] = realm_message_decoder()
        self._inbox: list[RealmMessage] = []
        self._unread_bytes = 0
        self._ended: PortEnded | None = None
        self._closed = False
        self._wake: Callable[[], None] | None = None

    def send(self, message: HostMessage) -> None:
        if self._closed:
            raise PortEnded("port-closed", "This end of the port is closed.")
        # Also after the realm broke the protocol on this port: it is still told why the port ends.
        body = encode_msgpack(message)
        if len(body) <= MAX_FRAME_BYTES or not isinstance(message, Events):
            self._stream.send_frame(self._number, body)
            return
        for body in split_events(message.events):
            self._stream.send_frame(self._number, body)

    def receive(self) -> Sequence[RealmMessage]:
        if self._closed:
            raise PortEnded("port-closed", "This end of the port is closed.")
        if self._inbox:
            messages, self._inbox = self._inbox, []
            self._unread_bytes = 0
            return messages
        ended = self._ended or self._stream.ended
        if ended is not None:
            raise ended
        return ()

    def listen(self, wake: Callable[[], None] | None) -> None:
        self._wake = wake

    def idle(self, seconds: float) -> None:
        """A Host never waits on its event loop's thread."""
        raise RuntimeError("a Host's port is awaited, not waited for")

    def close(self) -> Awaitable[None]:
        if not self._closed:
            self._closed = True
            self._wake = None
            self._inbox.clear()
            self._stream.drop(self._number)
        return self._stream.flushed()

    def arrived(self, body: bytes) -> None:
        """A frame came for this port. One that is no message ends this port and no other (rule M3)."""
        if self._ended is not None:
            return
        self._unread_bytes += len(body)
        if self._unread_bytes > MAX_UNREAD_BYTES:
            self._ended = PortEnded("host-not-reading", "The Host did not read what this port was sent.")
        else:
            try:
                self._inbox.append(self._decoder.decode(body))
            except ProtocolError as error:
                self._ended = error
        self._woken()

    def connection_over(self) -> None:
        """The connection ended, and this port with it."""
        self._woken()

    def _woken(self) -> None:
        if self._wake is not None:
            self._wake()
