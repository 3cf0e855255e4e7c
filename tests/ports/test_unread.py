"""Rule M5: what a Host keeps of what it does not read, while it closes or after the realm broke the framing."""

import struct
import tracemalloc

import pytest
from support.port_messages import submit
from support.port_streams import HostEnd, host_end

from engine_intelligence import PortEnded
from engine_intelligence.ports.host_stream import MAX_UNREAD_BYTES
from engine_intelligence.protocol.codec import encode_msgpack
from engine_intelligence.protocol.framing import CONTROL_CHANNEL, MAX_FRAME_BYTES, encode_frame
from engine_intelligence.protocol.messages import ChannelOpen

LARGE = submit("a", "x" * 1_000_000)
FRAME = encode_frame(1, encode_msgpack(LARGE))


def opened() -> HostEnd:
    """A stream with one port, that nobody listens to."""
    end = host_end()
    end.stream.data_received(encode_frame(CONTROL_CHANNEL, encode_msgpack(ChannelOpen(1, "p"))))
    return end


def grown(end: HostEnd, data: bytes, times: int) -> int:
    """How much more memory is in use after data has arrived that often."""
    tracemalloc.start()
    try:
        for _ in range(times):
            end.stream.data_received(data)
        return tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()


@pytest.mark.spec("M3", "M5")
def test_nothing_is_kept_of_what_follows_a_violation_of_the_framing() -> None:
    end = opened()
    end.stream.data_received(struct.pack(">IH", MAX_FRAME_BYTES + 1, 1))
    assert [lost.reason for lost in end.lost] == ["frame-too-large"]
    assert grown(end, bytes(1_000_000), 20) < 100_000


@pytest.mark.spec("M5")
def test_a_port_that_nobody_reads_keeps_so_much_and_is_then_over_by_name() -> None:
    end = opened()
    assert grown(end, FRAME, 20) < MAX_UNREAD_BYTES + 2 * len(FRAME)
    (channel,) = end.channels
    assert channel.receive() == [LARGE] * (MAX_UNREAD_BYTES // len(FRAME))
    with pytest.raises(PortEnded) as caught:
        channel.receive()
    assert caught.value.reason == "host-not-reading"


@pytest.mark.spec("M5")
def test_a_port_that_is_read_takes_any_number_of_messages() -> None:
    end = opened()
    (channel,) = end.channels
    for _ in range(20):
        end.stream.data_received(FRAME)
        assert channel.receive() == [LARGE]


@pytest.mark.spec("M3")
def test_a_port_that_nobody_reads_takes_one_message_that_fills_a_frame() -> None:
    end = opened()
    (channel,) = end.channels
    largest = submit("a", "x" * (MAX_FRAME_BYTES - len(encode_msgpack(submit("a", ""))) - 4))
    body = encode_msgpack(largest)
    assert len(body) == MAX_FRAME_BYTES
    end.stream.data_received(encode_frame(1, body))
    assert channel.receive() == [largest]
