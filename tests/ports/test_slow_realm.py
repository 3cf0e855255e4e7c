"""What a Host keeps for a realm that reads more slowly than it writes: one piece, in order, and bounded (rules M5, M3)."""

import asyncio
from typing import cast

import pytest
from support.port_time import run

from engine_intelligence import PortEnded
from engine_intelligence.ports.host_stream import MAX_OUTBOX_BYTES, HostStream
from engine_intelligence.protocol.framing import encode_frame

BODY = b"x" * 100


class Transport(asyncio.Transport):
    """One that keeps what it is given from the first byte on, as where a realm does not read."""

    def __init__(self, stream: HostStream) -> None:
        super().__init__()
        self._stream = stream
        self.kept: list[bytes] = []
        self.sent = b""

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        """It pauses at the first byte whatever is asked."""

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.kept.append(bytes(data))
        self._stream.pause_writing()

    def get_write_buffer_size(self) -> int:
        return sum(map(len, self.kept))

    def take_all(self) -> None:
        """The realm reads what is kept."""
        self.sent += b"".join(self.kept)
        self.kept.clear()
        self._stream.resume_writing()


def connected() -> tuple[HostStream, Transport, list[str]]:
    lost: list[str] = []
    stream = HostStream(lambda channel, provider_id: None, lambda reason: lost.append(reason.reason))
    transport = Transport(stream)
    stream.connection_made(cast(asyncio.BaseTransport, transport))
    return stream, transport, lost


@pytest.mark.spec("M5")
def test_what_a_slow_realm_has_not_read_costs_no_more_the_more_of_it_there_is() -> None:
    """asyncio counts all the pieces that it keeps at every write."""

    async def scene() -> None:
        stream, transport, _ = connected()
        for _ in range(1000):
            stream.send_frame(1, BODY)
            assert len(transport.kept) == 1

    run(scene())


@pytest.mark.spec("M3")
def test_a_slow_realm_gets_all_of_it_in_order_and_then_it_is_flushed() -> None:
    async def scene() -> None:
        stream, transport, _ = connected()
        frames = [encode_frame(1, str(number).encode()) for number in range(9)]
        for number in range(9):
            stream.send_frame(1, str(number).encode())
        flushed = asyncio.ensure_future(stream.flushed())
        transport.take_all()
        assert not flushed.done()
        transport.take_all()
        await flushed
        assert transport.sent == b"".join(frames)

    run(scene())


@pytest.mark.spec("M5")
def test_a_realm_that_reads_nothing_is_dropped_at_the_bound() -> None:
    async def scene() -> None:
        stream, _, lost = connected()
        frame_bytes = len(encode_frame(1, BODY))
        sent_bytes = 0
        with pytest.raises(PortEnded, match="did not read"):  # noqa: PT012 - the loop is what is bounded
            while sent_bytes <= 2 * MAX_OUTBOX_BYTES:
                stream.send_frame(1, BODY)
                sent_bytes += frame_bytes
        assert MAX_OUTBOX_BYTES - frame_bytes <= sent_bytes <= MAX_OUTBOX_BYTES + frame_bytes
        assert lost == ["realm-not-reading"]

    run(scene())


def test_nothing_is_written_after_the_connection_was_lost() -> None:
    async def scene() -> None:
        stream, transport, _ = connected()
        for _ in range(3):
            stream.send_frame(1, BODY)
        stream.connection_lost(None)
        assert len(transport.kept) == 1
        await stream.flushed()

    run(scene())
