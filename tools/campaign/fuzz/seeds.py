"""Where fuzzing starts: one good input of each shape for each target, and the words of the formats."""

from __future__ import annotations

from typing import Any, get_args

import msgspec

from engine_intelligence.activity import (
    ActivitySubmission,
    Cancelled,
    Completed,
    Failed,
    IntelligenceEvent,
    SessionRef,
    TextDelta,
    Usage,
)
from engine_intelligence.failure import ErrorCode, FailureDetail, IntelligenceFailure
from engine_intelligence.limits import Deadlines, IntelligenceLimits
from engine_intelligence.protocol.bootstrap import (
    FactorySource,
    FileSource,
    HostBootstrap,
    HostSource,
    InheritedSocket,
    LoopbackSocket,
    ProviderSource,
    encode_bootstrap,
)
from engine_intelligence.protocol.codec import encode_json, encode_msgpack
from engine_intelligence.protocol.framing import encode_frame
from engine_intelligence.protocol.messages import (
    FEATURES,
    Cancel,
    ChannelOpen,
    Close,
    Closed,
    Events,
    Heartbeat,
    Hello,
    Introduction,
    Poll,
    Rejected,
    Submit,
)

SESSION = SessionRef("p", "s")
HELLO = Hello(1, "p", IntelligenceLimits(), FEATURES)

FAILURES = [
    IntelligenceFailure(code="intelligence-closed", expected="e", hint="h"),
    IntelligenceFailure(
        code="intelligence-provider-failed",
        expected="e",
        hint="h",
        detail=FailureDetail(provider_id="p", cause="c", reason="rate-limited", retry_after_seconds=1.5),
    ),
    IntelligenceFailure(
        code="intelligence-output-overflow",
        expected="",
        hint="",
        detail=FailureDetail(activity_id="a", bound="output-chars", limit=8, field="input", message="m"),
    ),
]

EVENTS: list[IntelligenceEvent] = [
    TextDelta("a", 1, "x\U0001f9e0"),
    Completed("a", 2, SESSION, "xy", Usage(1, 2), "stop"),
    Completed("a", 2**40, SESSION, ""),
    Failed("a", 1, FAILURES[1]),
    Cancelled("b", 1),
]

FROM_A_REALM: list[Any] = [
    Submit(ActivitySubmission("a", SESSION, "May I pass?")),
    Poll(256),
    Cancel("a"),
    Close(),
    HELLO,
]
FROM_A_HOST: list[Any] = [
    HELLO,
    Heartbeat(),
    Events(()),
    *(Events((event,)) for event in EVENTS),
    Events((EVENTS[0], TextDelta("a", 2, "y"), EVENTS[4])),
    *(Rejected("a", failure) for failure in FAILURES),
    Closed(),
    Closed("host-stopped", "The Host was told to stop."),
]
CONTROL_OF_A_REALM: list[Any] = [ChannelOpen(1, "p"), ChannelOpen(1024, "gatekeeper")]
CONTROL_OF_A_HOST: list[Any] = [Introduction("0123abcd"), Closed(), Closed("host-stopped", "m")]


def stream(*frames: tuple[int, Any]) -> bytes:
    """A byte stream of messages on channels."""
    return b"".join(encode_frame(channel, encode_msgpack(message)) for channel, message in frames)


def bootstraps() -> list[bytes]:
    """What three games tell their Hosts."""
    told: list[tuple[InheritedSocket | LoopbackSocket, HostSource]] = [
        (InheritedSocket(3), FileSource("/h.toml")),
        (LoopbackSocket(4242, "t"), FactorySource("a:b")),
        (InheritedSocket(3), ProviderSource("llama", "p", {"a": [1, {"b": None}], "c": 1.5})),
    ]
    return [
        encode_bootstrap(
            HostBootstrap(
                connection=connection,
                source=source,
                parent_pid=1,
                import_paths=("/a",),
                limits=IntelligenceLimits(),
                deadlines=Deadlines(),
            )
        ).encode()
        for connection, source in told
    ]


def seeds() -> dict[str, list[bytes]]:
    """Good inputs for each target."""
    opened = (0, ChannelOpen(1, "p"))
    return {
        "realm-msgpack": [encode_msgpack(message) for message in FROM_A_REALM],
        "realm-json": [
            *(encode_json(message) for message in FROM_A_REALM),
            b'{"kind":"intelligence-poll","maxEvents":1,"maxEvents":2}',
        ],
        "host-msgpack": [encode_msgpack(message) for message in FROM_A_HOST],
        "host-json": [encode_json(message) for message in FROM_A_HOST],
        "realm-control": [encode_msgpack(message) for message in CONTROL_OF_A_REALM],
        "host-control": [encode_msgpack(message) for message in CONTROL_OF_A_HOST],
        "framing": [b"\x40" + stream((1, Close()), (2, Poll(1))), b"\x00\x00\x00\x00\x01\x00\x01x"],
        "host-stream": [
            *(stream(opened, (1, message)) for message in FROM_A_REALM),
            stream(opened, (0, ChannelOpen(2, "q")), (2, Poll(1)), (1, Cancel("a")), (2, Close())),
        ],
        "realm-stream": [
            *(stream((1, message)) for message in FROM_A_HOST),
            stream((1, HELLO), (2, HELLO), (2, Events((EVENTS[0],))), (1, Closed())),
            stream((2, Heartbeat()), (0, Closed("host-stopped", "m"))),
        ],
        "bootstrap": bootstraps(),
        "saved-session": [SESSION.to_json().encode(), b'{"id":"a","providerId":"p","id":"s"}'],
    }


def words(name: str) -> list[bytes]:
    """Pieces that inputs of a target are made of: names and tags as they are written, and values at the edges."""
    json_text = name in ("realm-json", "host-json", "bootstrap", "saved-session")
    encode = msgspec.json.encode if json_text else msgspec.msgpack.encode
    numbers = [0, -1, 2**31, 2**63 - 1, 2**64 - 1, -(2**63)]
    return [encode(each) for each in [*names(), *numbers]] + (_JSON_EDGES if json_text else _MSGPACK_EDGES)


_JSON_EDGES = [
    *(b"NaN", b"1e999", b"-0", b"9" * 60, b"null", b"true", b'"\\ud800"', b'"\\udc00"', b'"\\u0000"'),
    *(b"\xff", b"\xed\xa0\x80", b"[" * 32, b"]" * 32, b'{"a":' * 16, b"\xef\xbb\xbf", b"/*", b"\\"),
]
_MSGPACK_EDGES = [
    *(b"\xc0", b"\xc1", b"\xc2", b"\xc3", b"\xcb\x7f\xf8\0\0\0\0\0\0", b"\xcb\x7f\xf0\0\0\0\0\0\0"),
    *(b"\xdb\xff\xff\xff\xff", b"\xdd\xff\xff\xff\xff", b"\xdf\xff\xff\xff\xff", b"\xc6\xff\xff\xff\xff"),
    *(b"\xc9\xff\xff\xff\xff\x01", b"\xd6\xff\0\0\0\0", b"\xa3\xed\xa0\x80", b"\x91" * 32, b"\x81\xa1a" * 16),
    *(b"\0\0\0\0\0\x01", b"\xff\xff\xff\xff\0\x01", b"\0\x40\0\0\0\x01", b"\0\x40\0\x01\0\x01"),
]


def names() -> list[str]:
    """The names of fields and the short texts of messages, as they are on the wire."""
    found: set[str] = {*get_args(ErrorCode)}

    def look(value: Any) -> None:
        if isinstance(value, str):
            if value.isascii():
                found.add(value)
        elif hasattr(value, "items"):
            for key, each in value.items():
                look(key)
                look(each)
        elif hasattr(value, "__iter__"):
            for each in value:
                look(each)

    for value in FROM_A_REALM + FROM_A_HOST + CONTROL_OF_A_REALM:
        look(msgspec.json.decode(msgspec.json.encode(value)))
    return sorted(found)
