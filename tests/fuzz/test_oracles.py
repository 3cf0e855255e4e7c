"""What fuzzing asks of a reader fails for each reader that is broken in the way that it is there to find."""

from collections.abc import Callable, Iterator, Sequence

import pytest
from campaign.fuzz.oracles import (
    BYTES_AT_ONCE,
    Broken,
    check_chunkings,
    check_memory,
    check_message,
    check_value,
)
from campaign.fuzz.seeds import FROM_A_HOST, FROM_A_REALM, stream
from campaign.fuzz.streams import cut_into_frames, slow_cut
from campaign.fuzz.targets import TARGETS

from engine_intelligence.protocol.codec import ProtocolError, encode_msgpack, realm_message_decoder
from engine_intelligence.protocol.framing import Frame, FrameReader
from engine_intelligence.protocol.messages import Cancel, Close, Poll

GOOD = encode_msgpack(Cancel("a"))
STREAM = stream((1, Close()), (2, Poll(1)), (1, Cancel("abc")))


def always(result: object) -> Callable[[bytes], object]:
    def decode(data: bytes) -> object:
        if isinstance(result, BaseException):
            raise result
        return result

    return decode


@pytest.mark.parametrize(
    "error",
    [
        KeyError("x"),
        RecursionError(),
        MemoryError(),
        UnicodeDecodeError("utf-8", b"", 0, 1, ""),
        SystemExit(),
    ],
    ids=lambda error: type(error).__name__,
)
def test_a_decoder_that_raises_another_error_is_found(error: BaseException) -> None:
    with pytest.raises(Broken, match=type(error).__name__):
        check_message(always(error), encode_msgpack, GOOD)


def test_a_decoder_that_quotes_what_was_sent_is_found() -> None:
    error = ProtocolError("message-invalid", "there is no kind 'sk-CANARY'")
    with pytest.raises(Broken, match="constant"):
        check_message(always(error), encode_msgpack, GOOD)


def test_a_decoder_that_makes_up_a_reason_is_found() -> None:
    error = ProtocolError("oops", "a frame arrived that is not a message")
    with pytest.raises(Broken, match="oops"):
        check_message(always(error), encode_msgpack, GOOD)


def test_a_decoder_that_gives_what_cannot_be_written_is_found() -> None:
    with pytest.raises(Broken, match="cannot be written"):
        check_message(always(object()), encode_msgpack, GOOD)


def test_a_decoder_that_changes_what_it_reads_is_found() -> None:
    reads: list[int] = []

    def decode(data: bytes) -> object:
        reads.append(0)
        return Poll(len(reads))

    with pytest.raises(Broken, match="another value"):
        check_message(decode, encode_msgpack, GOOD)


def test_a_decoder_that_refuses_what_it_gave_is_found() -> None:
    def decode(data: bytes) -> object:
        if data != GOOD:
            raise ProtocolError("frame-garbled", "a frame arrived that is not a message")
        return Cancel("b")

    with pytest.raises(Broken, match="refused"):
        check_message(decode, encode_msgpack, GOOD)


def test_a_text_whose_error_is_a_subclass_of_the_documented_one_is_found() -> None:
    with pytest.raises(Broken, match="UnicodeEncodeError"):
        check_value(lambda text: text.encode(), lambda data: data, "\ud800")


def test_a_decoder_that_believes_an_announced_size_is_found() -> None:
    with pytest.raises(Broken, match="memory"):
        check_memory(lambda data: bytearray(data[0] << 20), b"\x7f", 1)


def test_a_decoder_that_allocates_more_than_in_proportion_is_found() -> None:
    with pytest.raises(Broken, match="memory"):
        check_memory(lambda data: bytes(len(data) ** 2), bytes(1000), 1000)


def test_a_decoder_that_allocates_in_proportion_is_none_too_many() -> None:
    assert check_memory(lambda data: bytes(len(data)), bytes(1000), 1000) < BYTES_AT_ONCE


class TakesChunksForFrames(FrameReader):
    """Forgets what it keeps of an unfinished frame."""

    def feed(self, data: bytes) -> Iterator[Frame]:
        self._buffer.clear()
        return super().feed(data)


class KeepsEverything(FrameReader):
    """Hands out frames, and never lets go of their bytes."""

    kept = 0

    def feed(self, data: bytes) -> Iterator[Frame]:
        self.kept += len(data)
        return super().feed(data)

    @property
    def buffered_bytes(self) -> int:
        return self.kept


class SwapsChannels(FrameReader):
    """Reads a channel in the wrong order of bytes, whatever the chunks."""

    def feed(self, data: bytes) -> Iterator[Frame]:
        for channel, body in super().feed(data):
            yield Frame(int.from_bytes(channel.to_bytes(2, "big"), "little"), body)


class Overlooks(FrameReader):
    """Takes the end of a stream inside a frame for an end."""

    def end(self) -> None:
        return


def test_a_reader_that_takes_chunks_for_frames_is_found() -> None:
    with pytest.raises(Broken, match="whole"):
        check_chunkings(
            lambda chunks: cut_into_frames(chunks, 64, TakesChunksForFrames), STREAM, every_split=False
        )


def test_a_reader_that_keeps_what_it_handed_out_is_found() -> None:
    with pytest.raises(Broken, match="are kept"):
        check_chunkings(lambda chunks: cut_into_frames(chunks, 64, KeepsEverything), STREAM, every_split=True)


@pytest.mark.parametrize(("reader", "data"), [(SwapsChannels, STREAM), (Overlooks, STREAM[:-1])])
def test_a_reader_that_is_wrong_in_every_chunking_is_found_by_the_letter_of_the_format(
    reader: Callable[[int], FrameReader], data: bytes
) -> None:
    assert cut_into_frames([data], 64, reader) != slow_cut(data, 64)
    assert cut_into_frames([data], 64) == slow_cut(data, 64)


def test_a_player_that_differs_at_one_place_alone_is_found() -> None:
    def play(chunks: Sequence[bytes]) -> object:
        return len(chunks[0]) != 7 or len(chunks) != 3

    check_chunkings(play, STREAM, every_split=False)
    with pytest.raises(Broken, match="cut at"):
        check_chunkings(play, STREAM, every_split=True)


def test_every_good_message_is_read_by_its_target_and_none_by_the_other() -> None:
    """An oracle that refused everything would be content."""
    for message in FROM_A_REALM:
        assert TARGETS["realm-msgpack"].check(encode_msgpack(message)) == message
    for message in FROM_A_HOST:
        assert TARGETS["host-msgpack"].check(encode_msgpack(message)) == message
    assert isinstance(TARGETS["host-msgpack"].check(encode_msgpack(Close())), ProtocolError)


def test_a_decoder_with_nothing_wrong_passes() -> None:
    assert check_message(realm_message_decoder().decode, encode_msgpack, GOOD) == Cancel("a")
