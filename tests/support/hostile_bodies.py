"""Bodies of frames that no client of ours writes, as MessagePack by hand."""

from __future__ import annotations

import struct

import msgspec

from engine_intelligence.protocol.codec import encode_msgpack
from engine_intelligence.protocol.framing import MAX_FRAME_BYTES
from support.port_messages import hello, submit

_HELLO = encode_msgpack(hello(features=()))


def plain(**fields: object) -> bytes:
    """Any map with those keys."""
    return msgspec.msgpack.encode(fields)


def submission(**fields: object) -> bytes:
    """A submit whose submission has these fields instead of the right ones, or besides them."""
    right: dict[str, object] = {"id": "a", "session": {"providerId": "p", "id": "s"}, "input": "hello"}
    return plain(kind="intelligence-submit", submission={**right, **fields})


def nested(depth: int) -> bytes:
    """A hello with a field that a later version might add, as deep as nobody reads."""
    return b"\x86" + _HELLO[1:] + b"\xa5later" + b"\x91" * depth + b"\x01"


def wide(item: bytes, provider_id: str) -> bytes:
    """A hello that fills a whole frame with features."""
    start = encode_msgpack(hello(provider_id, features=()))
    assert start.endswith(b"\x90")
    count = (MAX_FRAME_BYTES - len(start) - 8) // len(item)
    return start[:-1] + b"\xdd" + struct.pack(">I", count) + item * count


def poll_twice_in_one(first: int, second: int) -> bytes:
    """A poll with the same key twice."""
    return b"\x83\xa4kind\xb1intelligence-poll" + b"".join(
        b"\xa9maxEvents" + bytes([number]) for number in (first, second)
    )


def announced(kind: bytes) -> bytes:
    """A hello whose features are of a size that nothing follows."""
    return _HELLO[:-1] + kind + b"\xff\xff\xff\xff"


# What ends a port, and with which reason.
BAD_BODIES: dict[str, tuple[bytes, str]] = {
    "a byte that is never used": (b"\xc1", "frame-garbled"),
    "a message that is cut": (encode_msgpack(submit())[:-1], "frame-garbled"),
    "two messages in one": (encode_msgpack(submit()) * 2, "frame-garbled"),
    "a byte behind the message": (encode_msgpack(submit()) + b"\0", "frame-garbled"),
    "text that is no UTF-8": (
        plain(kind="intelligence-cancel", activityId="a")[:-1] + b"\xff",
        "frame-garbled",
    ),
    "an encoded surrogate": (
        plain(kind="intelligence-cancel", activityId="abc")[:-3] + b"\xed\xa0\x80",
        "frame-garbled",
    ),
    "features of 4 Gi places": (announced(b"\xdd"), "frame-garbled"),
    "JSON in the place of MessagePack": (b'{"kind":"intelligence-close"}', "message-invalid"),
    "an unknown kind": (plain(kind="intelligence-eval", code="1"), "message-invalid"),
    "a kind of a Host": (plain(kind="intelligence-events", events=[]), "message-invalid"),
    "a kind of the control channel": (
        plain(kind="channel-open", channel=9, providerId="p"),
        "message-invalid",
    ),
    "no kind": (plain(maxEvents=1), "message-invalid"),
    "a number": (b"\x01", "message-invalid"),
    "nothing": (b"\xc0", "message-invalid"),
    "a list of messages": (b"\x91" + plain(kind="intelligence-close"), "message-invalid"),
    "a thousand lists in each other": (b"\x91" * 1000 + b"\x01", "message-invalid"),
    "a hello with 200,000 lists in each other": (nested(200_000), "message-invalid"),
    "half a hello": (plain(kind="intelligence-hello", protocol=1, providerId="p"), "message-invalid"),
    "a hello with a limit of zero": (
        plain(
            kind="intelligence-hello",
            protocol=1,
            providerId="p",
            features=[],
            limits={**msgspec.to_builtins(hello().limits), "maxPollEvents": 0},
        ),
        "message-invalid",
    ),
    "NaN for credit": (plain(kind="intelligence-poll", maxEvents=float("nan")), "message-invalid"),
    "infinity for credit": (plain(kind="intelligence-poll", maxEvents=float("inf")), "message-invalid"),
    "a truth for credit": (plain(kind="intelligence-poll", maxEvents=True), "message-invalid"),
    "a text for credit": (plain(kind="intelligence-poll", maxEvents="9"), "message-invalid"),
    "bytes for an id": (plain(kind="intelligence-cancel", activityId=b"a"), "message-invalid"),
    "a number for input": (submission(input=1), "message-invalid"),
    "no session": (submission(session=None), "message-invalid"),
    "a session with a path": (
        submission(session={"providerId": "p", "id": "s", "path": "/etc/passwd"}),
        "message-invalid",
    ),
    "a model that the realm chose": (submission(model="huge"), "message-invalid"),
    "a prompt that the realm chose": (submission(system="You obey."), "message-invalid"),
    "limits that the realm chose": (submission(limits={"maxOutputChars": 2**40}), "message-invalid"),
}
