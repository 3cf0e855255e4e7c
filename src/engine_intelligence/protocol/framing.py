"""Frames on a byte stream: a length, a channel and a body.

    +----------------+-------------+------------------+
    | length, 4 bytes| channel, 2  | body, length     |
    +----------------+-------------+------------------+

Both numbers are unsigned and big-endian. The length is that of the body, 1 to `max_frame_bytes`, and is
checked before anything is kept for it (rule M3). Channel 0 is for control; each other channel is a port for
one provider.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from engine_intelligence.activity import IntelligenceEvent
from engine_intelligence.limits import IntelligenceLimits
from engine_intelligence.protocol.codec import ProtocolError, encode_msgpack
from engine_intelligence.protocol.messages import Events

CONTROL_CHANNEL = 0

MAX_CHANNEL = 0xFFFF

# The largest message is an event that carries a whole output: with the default limits 4 bytes * 65,536
# characters. The bound leaves room for limits sixteen times as large.
MAX_FRAME_BYTES = 4 * 1024 * 1024

# What a message needs beside its text: kind, tags, two ids and a session, each id of at most 256 characters
# of 4 bytes, and usage.
_ENVELOPE_BYTES = 8192

_HEADER = struct.Struct(">IH")


class Frame(NamedTuple):
    """One body, and the channel that it belongs to."""

    channel: int
    body: bytes


def encode_frame(channel: int, body: bytes, max_frame_bytes: int = MAX_FRAME_BYTES) -> bytes:
    """The bytes of one frame.

    Raises `ValueError` if the body is empty or too large: a sender never builds such a frame.
    """
    if not 0 < len(body) <= max_frame_bytes:
        raise ValueError(f"a frame holds 1 to {max_frame_bytes} bytes, not {len(body)}")
    return _HEADER.pack(len(body), channel) + body


class FrameReader:
    """Cuts a byte stream into frames, however it is chunked."""

    def __init__(self, max_frame_bytes: int = MAX_FRAME_BYTES) -> None:
        self._max_frame_bytes = max_frame_bytes
        self._buffer = bytearray()

    @property
    def buffered_bytes(self) -> int:
        """How many bytes of an unfinished frame are kept; at most a header and `max_frame_bytes`, plus one
        chunk.
        """
        return len(self._buffer)

    def feed(self, data: bytes) -> Iterator[Frame]:
        """The frames that `data` completes, in order. Raises `ProtocolError` at a frame that is empty or too
        large.

        After that the stream cannot be trusted, and the reader is not to be fed again.
        """
        buffer = self._buffer
        buffer += data
        start = 0
        try:
            while len(buffer) - start >= _HEADER.size:
                length, channel = _HEADER.unpack_from(buffer, start)
                if length > self._max_frame_bytes:
                    raise ProtocolError(
                        "frame-too-large", f"a frame of more than {self._max_frame_bytes} bytes was announced"
                    )
                if length == 0:
                    raise ProtocolError("frame-empty", "a frame without a body arrived")
                body_start = start + _HEADER.size
                if len(buffer) < body_start + length:
                    break
                start = body_start + length
                yield Frame(channel, bytes(buffer[body_start:start]))
        finally:
            if start:
                del buffer[:start]

    def end(self) -> None:
        """The stream has ended. Raises `ProtocolError` if it ended inside a frame."""
        if self._buffer:
            raise ProtocolError("frame-truncated", "the connection ended inside a frame")


def split_events(
    events: Sequence[IntelligenceEvent],
    max_frame_bytes: int = MAX_FRAME_BYTES,
    encode: Callable[[object], bytes] = encode_msgpack,
) -> Iterator[bytes]:
    """The bodies of as few `Events` messages as `max_frame_bytes` allows, holding `events` in order (rule
    M3).

    One event always fits if `check_frame_bound` accepted the limits that it was made under.
    """
    body = encode(Events(tuple(events)))
    if len(body) <= max_frame_bytes or len(events) <= 1:
        yield body
        return
    middle = len(events) // 2
    yield from split_events(events[:middle], max_frame_bytes, encode)
    yield from split_events(events[middle:], max_frame_bytes, encode)


def check_frame_bound(limits: IntelligenceLimits, max_frame_bytes: int = MAX_FRAME_BYTES) -> None:
    """Raise `ValueError` unless the largest message that `limits` allow fits a frame, in the worst case of 4
    bytes a character.
    """
    most = (max_frame_bytes - _ENVELOPE_BYTES) // 4
    for name in ("max_input_chars", "max_output_chars"):
        if getattr(limits, name) > most:
            raise ValueError(
                f"{name} must be at most {most} to cross a process boundary, not {getattr(limits, name)}"
            )
