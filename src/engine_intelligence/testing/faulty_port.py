"""A message port on which something goes wrong where a test says so."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import Any, Generic, TypeAlias, TypeVar, cast

import msgspec

from engine_intelligence.contracts import MessagePort, PortEnded
from engine_intelligence.protocol.codec import MessageDecoder, ProtocolError, encode_msgpack
from engine_intelligence.protocol.messages import HostMessage, RealmMessage

ReceivedT = TypeVar("ReceivedT")
SentT = TypeVar("SentT")
MessageT = TypeVar("MessageT")

_decoder: MessageDecoder[Any] = MessageDecoder(RealmMessage | HostMessage)


def cut_in_half(data: bytes) -> bytes:
    """The first half of a message, which no decoder reads."""
    return data[: len(data) // 2]


class Raise(msgspec.Struct, frozen=True):
    """The call raises `error`, and nothing is sent or handed out."""

    error: Exception


class Drop(msgspec.Struct, frozen=True):
    """The messages are lost, and nobody is told."""


class Delay(msgspec.Struct, frozen=True):
    """The messages, and in order all that come after them, are held until `calls` more calls of `send` or `receive`.

    Nobody is woken when they are due: this is for the end that is read once a frame.
    """

    calls: int = 1


class End(msgspec.Struct, frozen=True):
    """The channel is over for both ends, after what had arrived."""

    reason: str = "peer-closed"
    message: str = "The other end is gone."


class Garble(msgspec.Struct, frozen=True):
    """The messages, as MessagePack, are damaged on their way by `damage`.

    What a strict decoder still reads arrives changed; anything else ends the channel, as on a byte stream
    (rule M3).
    """

    damage: Callable[[bytes], bytes] = cut_in_half


PortFault: TypeAlias = Raise | Drop | Delay | End | Garble
PortFaultPlace: TypeAlias = int | type | None
"""Where a fault happens: at the n-th call, counted from 1; at the messages of a class; or everywhere (`None`)."""


class _Place(Generic[MessageT]):
    """A fault, and where it happens."""

    def __init__(
        self, fault: PortFault, when: PortFaultPlace, that: Callable[[MessageT], bool] | None
    ) -> None:
        self.fault = fault
        self._when = when
        self._that = that

    def at_call(self, number: int) -> bool:
        """Whether it is at the n-th call, whatever is sent or received by that."""
        whole = self._when is None or self._when == number
        return whole and self._that is None and not isinstance(self._when, type)

    def at_message(self, number: int, message: MessageT) -> bool:
        """Whether it is at this message of the n-th call."""
        if isinstance(self._when, type):
            return isinstance(message, self._when) and self._holds(message)
        return self._when in (None, number) and self._holds(message)

    def _holds(self, message: MessageT) -> bool:
        return self._that is None or self._that(message)


class _Held(Generic[SentT]):
    """Messages that are held back, in order."""

    def __init__(self) -> None:
        self._messages: deque[tuple[int, SentT]] = deque()

    def hold(self, message: SentT, until: int) -> None:
        last = self._messages[-1][0] if self._messages else 0
        self._messages.append((max(last, until), message))

    def due(self, now: int) -> list[SentT]:
        due: list[SentT] = []
        while self._messages and self._messages[0][0] <= now:
            due.append(self._messages.popleft()[1])
        return due


class FaultyPort(Generic[ReceivedT, SentT]):
    """A `MessagePort` around another one, with faults at the places that a test names.

    It is used from one thread, like every port. Of several faults for one place the first that was named
    happens. Without any it does what the port inside does.
    """

    def __init__(self, port: MessagePort[ReceivedT, SentT]) -> None:
        """`port` belongs to this one from now on."""
        self._port = port
        self._at_send: list[_Place[SentT]] = []
        self._at_receive: list[_Place[ReceivedT]] = []
        self._at_close: Exception | None = None
        self._going: _Held[SentT] = _Held()
        self._coming: _Held[ReceivedT] = _Held()
        self._calls = 0
        self._ended: PortEnded | None = None
        self._inner_closed = False
        self._released: Awaitable[None] | None = None
        self._wake: Callable[[], None] | None = None
        self.sends = 0
        """How often `send` was called."""
        self.receives = 0
        """How often `receive` was called."""

    # What a test says

    def at_send(
        self,
        fault: PortFault,
        *,
        when: PortFaultPlace = None,
        that: Callable[[SentT], bool] | None = None,
    ) -> None:
        """Have `fault` happen at a send: `when=2` is the second call, `when=Poll` every message of that class.

        With `that` it only happens to messages for which that holds.
        """
        self._at_send.append(_Place(fault, when, that))

    def at_receive(
        self,
        fault: PortFault,
        *,
        when: PortFaultPlace = None,
        that: Callable[[ReceivedT], bool] | None = None,
    ) -> None:
        """Have `fault` happen at a receive: `when=2` is the second call, and all that it would hand out.

        `when=Events` is every message of that class. With `that` it only happens to messages for which that
        holds.
        """
        self._at_receive.append(_Place(fault, when, that))

    def at_close(self, error: Exception) -> None:
        """Have every `close` raise `error`, after it has released the port inside."""
        self._at_close = error

    def heal(self) -> None:
        """Forget the faults that have been named: from here on nothing goes wrong any more."""
        self._at_send.clear()
        self._at_receive.clear()
        self._at_close = None

    def end(self, reason: str = "peer-closed", message: str = "The other end is gone.") -> None:
        """End the channel now, for both ends; what had arrived is still handed out."""
        self._end(PortEnded(reason, message))

    # What the code under test does

    def send(self, message: SentT) -> None:
        """See `MessagePort.send`."""
        self.sends += 1
        self._calls += 1
        fault = _first(place for place in self._at_send if place.at_message(self.sends, message))
        if isinstance(fault, Raise):
            raise fault.error
        if isinstance(fault, End):
            self.end(fault.reason, fault.message)
        if self._ended is not None:
            raise self._ended
        wait = 0
        match fault:
            case Drop():
                return
            case Delay(calls=calls):
                wait = calls
            case Garble(damage=damage):
                damaged = _garbled(message, damage)
                if isinstance(damaged, ProtocolError):
                    # The other end finds it unreadable and lets go of the port, which is all that this end sees.
                    self.end("peer-closed", "The other end could not read a message.")
                    return
                message = cast("SentT", damaged)
            case _:
                pass
        self._going.hold(message, self._calls + wait)
        self._send_due()

    def receive(self) -> Sequence[ReceivedT]:
        """See `MessagePort.receive`."""
        self.receives += 1
        self._calls += 1
        if self._ended is None:
            try:
                self._send_due()
            except PortEnded:
                pass  # what had arrived before is handed out first
            self._take_in()
        due = self._coming.due(self._calls if self._ended is None else sys.maxsize)
        if not due and self._ended is not None:
            raise self._ended
        return due

    def listen(self, wake: Callable[[], None] | None) -> None:
        """See `MessagePort.listen`."""
        self._wake = wake
        self._port.listen(wake)

    def idle(self, seconds: float) -> None:
        """See `MessagePort.idle`."""
        self._port.idle(seconds)

    def close(self) -> Awaitable[None] | None:
        """See `MessagePort.close`."""
        self._close_inner()
        if self._ended is None:
            self._ended = PortEnded("port-closed", "This end of the port is closed.")
        self._coming = _Held()
        if self._at_close is not None:
            raise self._at_close
        return self._released

    # Inside

    def _send_due(self) -> None:
        for message in self._going.due(self._calls):
            self._port.send(message)

    def _take_in(self) -> None:
        """Take what has arrived at the port inside, with the faults of this call."""
        fault = _first(place for place in self._at_receive if place.at_call(self.receives))
        if isinstance(fault, Raise):
            raise fault.error
        if isinstance(fault, End):
            self.end(fault.reason, fault.message)
            return
        try:
            messages = self._port.receive()
        except PortEnded as ended:
            self._ended = ended
            return
        for message in messages:
            if isinstance(self._ended, ProtocolError):
                break  # nothing that comes after a violation is read
            over = self._ended is not None
            self._arrive(message, None if over else fault or self._fault_of(message))

    def _fault_of(self, message: ReceivedT) -> PortFault | None:
        return _first(place for place in self._at_receive if place.at_message(self.receives, message))

    def _arrive(self, message: ReceivedT, fault: PortFault | None) -> None:
        wait = 0
        match fault:
            case Raise(error=error):
                raise error
            case Drop():
                return
            case Delay(calls=calls):
                wait = calls
            case End(reason=reason, message=text):
                self._coming.hold(message, self._calls)
                self.end(reason, text)
                return
            case Garble(damage=damage):
                damaged = _garbled(message, damage)
                if isinstance(damaged, ProtocolError):
                    self._end(damaged)
                    return
                message = cast("ReceivedT", damaged)
            case None:
                pass
        self._coming.hold(message, self._calls + wait)

    def _end(self, ended: PortEnded) -> None:
        if self._ended is not None:
            return
        self._ended = ended
        if not self._inner_closed and not isinstance(ended, ProtocolError):
            try:
                for message in self._port.receive():
                    self._coming.hold(message, self._calls)
            except PortEnded:
                pass  # over already, which is what was asked for
        self._close_inner()
        if self._wake is not None:
            self._wake()

    def _close_inner(self) -> None:
        if not self._inner_closed:
            self._inner_closed = True
            self._released = self._port.close()


def _first(places: Iterator[_Place[Any]]) -> PortFault | None:
    """The fault of the first of these places."""
    place = next(places, None)
    return None if place is None else place.fault


def _garbled(message: object, damage: Callable[[bytes], bytes]) -> object:
    """What arrives of a damaged message: another one, or the error of the decoder."""
    try:
        return _decoder.decode(damage(encode_msgpack(message)))
    except ProtocolError as error:
        return error
