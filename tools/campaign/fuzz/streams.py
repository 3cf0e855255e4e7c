"""Byte streams played through the real readers, in any chunks; what came of it is returned, to be compared."""

from __future__ import annotations

import socket
import struct
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from campaign.fuzz.oracles import Broken
from engine_intelligence.contracts import PortEnded
from engine_intelligence.ports.host_stream import HostChannel, HostStream
from engine_intelligence.ports.realm_link import SocketLink
from engine_intelligence.ports.realm_stream import RealmChannel, RealmStream
from engine_intelligence.protocol.codec import ProtocolError
from engine_intelligence.protocol.framing import Frame, FrameReader

HEADER_BYTES = 6


class Cut(NamedTuple):
    """What a stream was cut into, and why it was refused, if it was."""

    frames: list[Frame]
    reason: str | None


def cut_into_frames(
    chunks: Sequence[bytes], max_frame_bytes: int, make: Callable[[int], FrameReader] = FrameReader
) -> Cut:
    """What `FrameReader` makes of a stream. It never keeps more than one unfinished frame."""
    reader = make(max_frame_bytes)
    frames: list[Frame] = []
    try:
        for chunk in chunks:
            for frame in reader.feed(chunk):
                frames.append(frame)  # each at once: those before a fault are handed out too
            if reader.buffered_bytes >= HEADER_BYTES + max_frame_bytes:
                raise Broken(f"{reader.buffered_bytes} bytes are kept of frames of {max_frame_bytes}")
        reader.end()
    except ProtocolError as error:
        return Cut(frames, error.reason)
    return Cut(frames, None)


def slow_cut(data: bytes, max_frame_bytes: int) -> Cut:
    """The same by the letter of the format, without a buffer or chunks."""
    frames: list[Frame] = []
    while len(data) >= HEADER_BYTES:
        length, channel = struct.unpack(">IH", data[:HEADER_BYTES])
        if length > max_frame_bytes:
            return Cut(frames, "frame-too-large")
        if length == 0:
            return Cut(frames, "frame-empty")
        if len(data) < HEADER_BYTES + length:
            break
        frames.append(Frame(channel, data[HEADER_BYTES : HEADER_BYTES + length]))
        data = data[HEADER_BYTES + length :]
    return Cut(frames, "frame-truncated" if data else None)


def through_host_stream(chunks: Sequence[bytes]) -> list[object]:
    """What a Host makes of a realm's bytes: ports that are opened, messages, and how each port and the connection end."""
    log: list[object] = []

    def opened(channel: HostChannel, provider_id: str) -> None:
        number = sum(isinstance(entry, str) for entry in log)
        log.append(f"opened {provider_id}")
        channel.listen(lambda: log.extend((number, item) for item in received(channel)))

    stream = HostStream(opened, lambda ended: log.append(("lost", ended.reason)))
    for chunk in chunks:
        stream.data_received(chunk)
    stream.eof_received()
    if stream.ended is None:
        raise Broken("a connection that has ended goes on")
    return log


def through_realm_stream(chunks: Sequence[bytes]) -> list[object]:
    """What a realm with two ports makes of a Host's bytes, over a real socket."""
    ours, theirs = socket.socketpair()
    try:
        stream = RealmStream(SocketLink(ours))
        channels = [stream.open("p"), stream.open("q")]
        logs: list[list[object]] = [[], []]
        for chunk in chunks:
            if stream.ended is None:
                theirs.sendall(chunk)
            hear(stream, channels, logs)
        theirs.shutdown(socket.SHUT_WR)
        hear(stream, channels, logs)
        if stream.ended is None:
            raise Broken("a connection that has ended goes on")
        return [logs, stream.ended.reason]
    finally:
        theirs.close()
        ours.close()


def hear(stream: RealmStream, channels: Sequence[RealmChannel], logs: Sequence[list[object]]) -> None:
    stream.pump()  # also where every port is over and asks for nothing more
    for channel, log in zip(channels, logs, strict=True):
        if not (log and isinstance(log[-1], tuple)):
            log += received(channel)


def received(channel: Any) -> list[object]:
    """The messages that wait at a port, and then, if it is over, why."""
    found: list[object] = []
    try:
        while messages := channel.receive():
            found += messages
    except PortEnded as ended:
        found.append(("ended", ended.reason))
    return found
