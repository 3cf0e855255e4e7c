"""What has to hold for every input of a decoder or of a stream (rules M2, M3 and M5).

None of this knows a fuzzer: the tests ask the same of every entry of the corpus.
"""

from __future__ import annotations

import tracemalloc
import zlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias, TypeVar

from engine_intelligence.protocol.codec import ProtocolError

ValueT = TypeVar("ValueT")

Encoding: TypeAlias = Callable[[Any], bytes]
Player: TypeAlias = Callable[[Sequence[bytes]], object]

# Reason and text of each refusal of a body. The texts are constant: a refusal quotes nothing that was sent (E2).
REFUSALS = {
    ("frame-garbled", "a frame arrived that is not a message"),
    ("message-invalid", "a message of an unknown shape arrived"),
    ("message-invalid", "a message arrived that is nested too deeply"),
}

# What one byte of a body may cost while it is read. The dearest is a list of empty texts: one byte for each, a
# place in a growing list and one in the tuple that is made of it, 8 bytes each and some to spare. Texts of one
# character cost about 60 bytes for two.
BYTES_PER_BYTE = 64

# What is paid once: an exception and its traceback, and the objects of a short message.
BYTES_AT_ONCE = 32 * 1024


class Broken(AssertionError):
    """Something that has to hold for every input did not."""


def check_message(decode: Callable[[bytes], Any], encode: Encoding, data: bytes) -> Any:
    """A body is read, or refused with the one documented error; what is read is written and read again alike.

    Returns the message, or the refusal.
    """
    try:
        message = decode(data)
    except ProtocolError as error:
        if (error.reason, error.message) not in REFUSALS:
            raise Broken(f"refused in words that are not constant: {error.reason}: {error.message}") from None
        return error
    except BaseException as error:
        raise Broken(f"raised {type(error).__name__}, which nobody is told to expect") from error
    check_round_trip(message, encode, decode)
    return message


def check_value(decode: Callable[[Any], ValueT], encode: Callable[[ValueT], Any], data: Any) -> ValueT | None:
    """A text is read, or refused with `ValueError` itself; what is read is written and read again alike."""
    try:
        value = decode(data)
    except ValueError as error:
        if type(error) is not ValueError:
            raise Broken(f"raised {type(error).__name__}, whose text nobody chose") from error
        return None
    except BaseException as error:
        raise Broken(f"raised {type(error).__name__}, which nobody is told to expect") from error
    check_round_trip(value, encode, decode)
    return value


def check_round_trip(value: Any, encode: Callable[[Any], Any], decode: Callable[[Any], Any]) -> None:
    """What was read can be written, and is then read as the same value."""
    try:
        written = encode(value)
    except Exception as error:
        raise Broken(f"what was read cannot be written again: {type(error).__name__}") from error
    try:
        again = decode(written)
    except Exception as error:
        raise Broken("what was read and written again is refused") from error
    # By their bytes where they differ: NaN is not equal to itself.
    if again != value and encode(again) != written:
        raise Broken("what was read, written and read again is another value")


def check_memory(decode: Callable[[Any], object], data: Any, size: int) -> int:
    """Reading `size` bytes allocates in proportion to them, whatever sizes they announce. Returns the peak in bytes."""
    tracemalloc.start()
    try:
        try:
            decode(data)
        except Exception:  # noqa: BLE001 - judged by the other oracles
            pass
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    if peak > BYTES_AT_ONCE + BYTES_PER_BYTE * size:
        raise Broken(f"reading {size} bytes took {peak} bytes of memory")
    return peak


def check_chunkings(play: Player, data: bytes, *, every_split: bool) -> object:
    """Every chunking of a stream gives the same. Returns what the whole of it gives."""
    whole = played(play, [data])
    for chunks in chunkings(data, every_split=every_split):
        if (cut := played(play, chunks)) != whole:
            raise Broken(f"cut at {[len(chunk) for chunk in chunks]}: {cut!r}, whole: {whole!r}")
    return whole


def played(play: Player, chunks: Sequence[bytes]) -> object:
    try:
        return play(chunks)
    except Broken:
        raise
    except BaseException as error:
        raise Broken(f"raised {type(error).__name__}, which nobody is told to expect") from error


def chunkings(data: bytes, *, every_split: bool) -> Iterator[list[bytes]]:
    """In pieces whose size follows from the data; with `every_split` also a byte at a time, and in two at every place."""
    step = 2 + zlib.crc32(data) % 13
    yield [data[place : place + step] for place in range(0, len(data), step)]
    if every_split:
        yield [data[place : place + 1] for place in range(len(data))]
        for place in range(1, len(data)):
            yield [data[:place], b"", data[place:]]


def sampled(data: bytes, one_in: int) -> bool:
    """Whether an input is one of those that an expensive oracle looks at: always the same ones."""
    return zlib.crc32(data) % one_in == 0
