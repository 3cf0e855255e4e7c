"""Rule M3: frames on a byte stream, however it is cut, and what is no frame."""

import struct
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.port_messages import events, events_in, submit

from engine_intelligence import Completed, IntelligenceEvent, IntelligenceLimits, SessionRef, TextDelta, Usage
from engine_intelligence.protocol.codec import (
    ProtocolError,
    encode_json,
    encode_msgpack,
    host_message_decoder,
    realm_message_decoder,
)
from engine_intelligence.protocol.framing import (
    MAX_CHANNEL,
    MAX_FRAME_BYTES,
    Frame,
    FrameReader,
    check_frame_bound,
    encode_frame,
    split_events,
)
from engine_intelligence.protocol.messages import HostMessage, RealmMessage
from engine_intelligence.testing import strategies

HEADER_BYTES = 6

frames = st.builds(Frame, st.integers(0, MAX_CHANNEL), st.binary(min_size=1, max_size=40))


def encoded(items: list[Frame]) -> bytes:
    return b"".join(encode_frame(frame.channel, frame.body) for frame in items)


@pytest.mark.spec("M3")
def test_a_frame_is_length_channel_and_body_big_endian() -> None:
    assert encode_frame(0x0102, b"abc") == b"\x00\x00\x00\x03" + b"\x01\x02" + b"abc"


@pytest.mark.fault("R24")
@pytest.mark.spec("M3")
@given(items=st.lists(frames, max_size=6))
def test_every_split_point_of_every_frame_decodes_alike(items: list[Frame]) -> None:
    data = encoded(items)
    for split in range(len(data) + 1):
        reader = FrameReader()
        assert [*reader.feed(data[:split]), *reader.feed(data[split:])] == items
        reader.end()


@pytest.mark.spec("M3")
@given(items=st.lists(frames, max_size=4))
def test_a_byte_at_a_time_decodes_alike(items: list[Frame]) -> None:
    reader = FrameReader()
    read = [frame for byte in encoded(items) for frame in reader.feed(bytes([byte]))]
    assert read == items


@pytest.mark.fault("R25")
@pytest.mark.spec("M3")
@given(items=st.lists(frames, max_size=8), data=st.data())
def test_every_chunking_decodes_alike(items: list[Frame], data: st.DataObject) -> None:
    reader = FrameReader()
    chunks = data.draw(strategies.chunkings(encoded(items), empty=True))
    assert [frame for chunk in chunks for frame in reader.feed(chunk)] == items


@pytest.mark.fault("R25")
@pytest.mark.spec("M3")
def test_many_frames_in_one_chunk_come_in_order() -> None:
    items = [Frame(number % 7, str(number).encode()) for number in range(10_000)]
    assert list(FrameReader().feed(encoded(items))) == items


@pytest.mark.spec("M2", "M3")
@given(message=strategies.realm_messages())
def test_a_realm_message_survives_its_frame(message: RealmMessage) -> None:
    (frame,) = FrameReader().feed(encode_frame(3, encode_msgpack(message)))
    assert (frame.channel, realm_message_decoder().decode(frame.body)) == (3, message)


@pytest.mark.spec("M2", "M3")
@given(message=strategies.host_messages())
def test_a_host_message_survives_its_frame(message: HostMessage) -> None:
    (frame,) = FrameReader().feed(encode_frame(3, encode_msgpack(message)))
    assert (frame.channel, host_message_decoder().decode(frame.body)) == (3, message)


def refusal(data: bytes, max_frame_bytes: int = MAX_FRAME_BYTES) -> str:
    with pytest.raises(ProtocolError) as caught:
        list(FrameReader(max_frame_bytes).feed(data))
    return caught.value.reason


@pytest.mark.fault("R29")
@pytest.mark.spec("M3")
def test_a_frame_without_a_body_is_refused() -> None:
    assert refusal(struct.pack(">IH", 0, 1)) == "frame-empty"


@pytest.mark.fault("R29")
@pytest.mark.spec("M3")
@pytest.mark.parametrize("length", [101, 2**31, 2**32 - 1])
def test_a_frame_over_the_bound_is_refused_at_its_header(length: int) -> None:
    assert refusal(struct.pack(">IH", length, 1), max_frame_bytes=100) == "frame-too-large"


@pytest.mark.spec("M3")
def test_a_frame_of_exactly_the_bound_passes() -> None:
    body = bytes(100)
    assert list(FrameReader(100).feed(encode_frame(1, body, 100))) == [Frame(1, body)]


@pytest.mark.spec("M3")
def test_frames_before_a_bad_one_are_handed_out() -> None:
    feed = FrameReader().feed(encode_frame(1, b"good") + struct.pack(">IH", 0, 1))
    assert next(feed) == Frame(1, b"good")
    with pytest.raises(ProtocolError):
        next(feed)


@pytest.mark.fault("R29")
@pytest.mark.spec("M3", "M5")
def test_nothing_is_allocated_for_a_length_that_was_only_announced() -> None:
    reader = FrameReader()
    header = struct.pack(">IH", 2**32 - 1, 1)
    tracemalloc.start()
    try:
        with pytest.raises(ProtocolError):
            list(reader.feed(header))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 64 * 1024


@pytest.mark.spec("M3", "M5")
def test_nothing_is_allocated_ahead_for_a_length_within_the_bound() -> None:
    reader = FrameReader()
    header = struct.pack(">IH", MAX_FRAME_BYTES, 1)
    tracemalloc.start()
    try:
        assert list(reader.feed(header)) == []
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 64 * 1024


@pytest.mark.fault("R27")
@pytest.mark.spec("M3", "M5")
def test_what_is_kept_of_an_unfinished_frame_stays_within_the_bound_and_a_chunk() -> None:
    reader, chunk = FrameReader(1000), encode_frame(1, bytes(1000), 1000)
    most = 0
    for start in range(0, len(chunk) * 20, 64):
        stream = chunk * 20
        list(reader.feed(stream[start : start + 64]))
        most = max(most, reader.buffered_bytes)
    assert most <= HEADER_BYTES + 1000 + 64


@pytest.mark.spec("M3")
def test_a_stream_that_ends_inside_a_frame_is_truncated_wherever_it_ends() -> None:
    data = encode_frame(1, b"abcd")
    for cut in range(1, len(data)):
        reader = FrameReader()
        assert list(reader.feed(data[:cut])) == []
        with pytest.raises(ProtocolError) as caught:
            reader.end()
        assert caught.value.reason == "frame-truncated"


@pytest.mark.spec("M3")
def test_a_stream_that_ends_between_frames_is_whole() -> None:
    reader = FrameReader()
    assert len(list(reader.feed(encode_frame(1, b"abcd")))) == 1
    reader.end()


@pytest.mark.fault("R28")
@pytest.mark.spec("M3", "M5")
@given(chunks=st.lists(st.binary(max_size=50), max_size=10))
def test_garbage_is_cut_into_frames_or_raises_the_one_error(chunks: list[bytes]) -> None:
    assert cut(FrameReader(64), chunks) in (None, "frame-too-large", "frame-empty", "frame-truncated")


def cut(reader: FrameReader, chunks: list[bytes]) -> str | None:
    """The reason for which a stream is refused, or `None` if it is all frames."""
    try:
        for chunk in chunks:
            for frame in reader.feed(chunk):
                assert 0 < len(frame.body) <= 64
        reader.end()
    except ProtocolError as error:
        return error.reason
    return None


@pytest.mark.spec("M3")
@pytest.mark.parametrize("body", [b"", bytes(101)], ids=["empty", "too large"])
def test_a_sender_never_builds_a_frame_that_would_be_refused(body: bytes) -> None:
    with pytest.raises(ValueError, match="100"):
        encode_frame(1, body, 100)


def read_events(bodies: list[bytes]) -> list[IntelligenceEvent]:
    return events_in(host_message_decoder().decode(body) for body in bodies)


@pytest.mark.spec("M3")
@given(items=st.lists(strategies.events(), max_size=12), bound=st.integers(1, 2000))
def test_a_split_list_of_events_keeps_every_event_in_order(
    items: list[IntelligenceEvent], bound: int
) -> None:
    assert read_events(list(split_events(items, bound))) == items


@pytest.mark.spec("M3")
@given(items=st.lists(strategies.events(), max_size=12), extra=st.integers(0, 1000))
def test_a_split_list_of_events_keeps_the_bound_where_each_event_does(
    items: list[IntelligenceEvent], extra: int
) -> None:
    bound = max((len(encode_msgpack(events(item))) for item in items), default=1000) + extra
    assert all(len(body) <= bound for body in split_events(items, bound))


@pytest.mark.spec("M3")
def test_events_that_fit_one_frame_are_not_split() -> None:
    assert len(list(split_events([TextDelta("a", n, "x") for n in range(1, 100)]))) == 1


@pytest.mark.spec("M3")
def test_events_are_split_by_the_encoding_that_sends_them() -> None:
    items = [
        TextDelta("a", n, "\x01" * 50) for n in range(1, 20)
    ]  # six bytes each in JSON text, one in MessagePack
    bodies = list(split_events(items, 1000, encode_json))
    assert max(map(len, bodies)) <= 1000
    assert events_in(host_message_decoder("json").decode(body) for body in bodies) == items


BOUND = 40_000
WIDE = "\U0001f9e0"  # four bytes, as wide as a character is


def largest_limits(name: str, accepted_below: int) -> IntelligenceLimits:
    """The largest limits that the frame bound accepts, found by halving."""
    low, high = 1, accepted_below
    while high - low > 1:
        middle = (low + high) // 2
        try:
            check_frame_bound(
                IntelligenceLimits(**{"max_input_chars": 1, "max_output_chars": 1, name: middle}), BOUND
            )
        except ValueError:
            high = middle
        else:
            low = middle
    return IntelligenceLimits(**{"max_input_chars": 1, "max_output_chars": 1, name: low})


@pytest.mark.fault("R61")
@pytest.mark.spec("M3")
def test_an_output_as_long_as_the_accepted_limits_allow_fits_its_frame() -> None:
    limits = largest_limits("max_output_chars", BOUND)
    id = WIDE * 256
    end = Completed(
        id,
        2**53,
        SessionRef(WIDE * 256, WIDE * 256),
        WIDE * limits.max_output_chars,
        Usage(2**53, 2**53),
        "length",
    )
    (body,) = split_events([end], BOUND)
    encode_frame(1, body, BOUND)


@pytest.mark.fault("R61")
@pytest.mark.spec("M3")
def test_an_input_as_long_as_the_accepted_limits_allow_fits_its_frame() -> None:
    limits = largest_limits("max_input_chars", BOUND)
    message = submit(WIDE * 256, WIDE * limits.max_input_chars, SessionRef(WIDE * 256, WIDE * 256))
    encode_frame(1, encode_msgpack(message), BOUND)


@pytest.mark.spec("M3")
def test_the_default_limits_fit_the_default_frame() -> None:
    check_frame_bound(IntelligenceLimits())


@pytest.mark.spec("D2", "M3")
@pytest.mark.parametrize("name", ["max_input_chars", "max_output_chars"])
def test_limits_whose_messages_cannot_fit_a_frame_are_refused_by_name_and_value(name: str) -> None:
    limits = IntelligenceLimits(**{name: MAX_FRAME_BYTES})
    with pytest.raises(ValueError, match=rf"{name}.*{MAX_FRAME_BYTES}"):
        check_frame_bound(limits)
