"""What is fuzzed: everything that reads bytes which another process wrote."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from campaign.fuzz.oracles import Broken, check_chunkings, check_memory, check_message, check_value, sampled
from campaign.fuzz.shapes import shape_of
from campaign.fuzz.streams import cut_into_frames, slow_cut, through_host_stream, through_realm_stream
from engine_intelligence.activity import SessionRef
from engine_intelligence.protocol.bootstrap import decode_bootstrap, encode_bootstrap
from engine_intelligence.protocol.codec import (
    MessageDecoder,
    encode_json,
    encode_msgpack,
    host_control_decoder,
    host_message_decoder,
    realm_control_decoder,
    realm_message_decoder,
)

# Tracing every allocation makes a run some ten times as slow; so does cutting a stream at every place.
MEMORY_ONE_IN = 64
EVERY_SPLIT_ONE_IN = 64


class Target(NamedTuple):
    """One reader of bytes."""

    check: Callable[[bytes], object]
    """Raises `Broken` if something does not hold for an input."""
    share: int
    """How many of a thousand runs it gets: the more, the faster it is and the less it is told by others."""
    max_bytes: int
    """How long its inputs get. A stream is cut at every place, so its inputs are short."""


def message_check(decoder: MessageDecoder[Any], encode: Callable[[Any], bytes]) -> Callable[[bytes], object]:
    """The check of one decoder of bodies."""

    def check(data: bytes) -> object:
        found = check_message(decoder.decode, encode, data)
        shape_of(found)
        if sampled(data, MEMORY_ONE_IN):
            check_memory(decoder.decode, data, len(data))
        return found

    return check


def check_framing(data: bytes) -> object:
    """The first byte is the bound of a frame, the others are the stream."""
    bound, stream = 1 + data[0] if data else 1, data[1:]
    cut = check_chunkings(
        lambda chunks: cut_into_frames(chunks, bound),
        stream,
        every_split=sampled(data, EVERY_SPLIT_ONE_IN),
    )
    if cut != slow_cut(stream, bound):
        raise Broken(f"cut into {cut!r}, by the letter of the format into {slow_cut(stream, bound)!r}")
    return cut


def check_host_stream(data: bytes) -> object:
    return check_chunkings(through_host_stream, data, every_split=sampled(data, EVERY_SPLIT_ONE_IN))


def check_realm_stream(data: bytes) -> object:
    return check_chunkings(through_realm_stream, data, every_split=sampled(data, EVERY_SPLIT_ONE_IN))


def check_bootstrap(data: bytes) -> object:
    """As text, the way an environment variable is read: what is no UTF-8 becomes lone surrogates."""
    text = data.decode("utf-8", "surrogateescape")
    if sampled(data, MEMORY_ONE_IN):
        check_memory(decode_bootstrap, text, len(data))
    return check_value(decode_bootstrap, encode_bootstrap, text)


def check_saved_session(data: bytes) -> object:
    """What a save-game holds, as bytes and as text."""
    if sampled(data, MEMORY_ONE_IN):
        check_memory(SessionRef.from_json, data, len(data))
    found = check_value(SessionRef.from_json, SessionRef.to_json, data)
    as_text = check_value(SessionRef.from_json, SessionRef.to_json, data.decode("utf-8", "surrogateescape"))
    if found != as_text:
        raise Broken(f"{found!r} as bytes, {as_text!r} as text")
    return found


TARGETS = {
    "realm-msgpack": Target(message_check(realm_message_decoder(), encode_msgpack), 180, 1024),
    "realm-json": Target(message_check(realm_message_decoder("json"), encode_json), 150, 1024),
    "host-msgpack": Target(message_check(host_message_decoder(), encode_msgpack), 180, 1024),
    "host-json": Target(message_check(host_message_decoder("json"), encode_json), 150, 1024),
    "realm-control": Target(message_check(realm_control_decoder(), encode_msgpack), 80, 1024),
    "host-control": Target(message_check(host_control_decoder(), encode_msgpack), 80, 1024),
    "framing": Target(check_framing, 60, 256),
    "host-stream": Target(check_host_stream, 30, 256),
    "realm-stream": Target(check_realm_stream, 10, 256),
    "bootstrap": Target(check_bootstrap, 40, 1024),
    "saved-session": Target(check_saved_session, 40, 512),
}
