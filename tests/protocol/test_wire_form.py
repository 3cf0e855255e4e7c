"""Rule M1: what stands on the wire, field for field, against literals of the contract."""

import json
from typing import Any

import msgspec
import pytest
from support.port_messages import SESSION, delta, events, submit

from engine_intelligence import (
    Cancelled,
    Completed,
    Failed,
    FailureDetail,
    IntelligenceFailure,
    IntelligenceLimits,
    TextDelta,
    Usage,
)
from engine_intelligence.protocol.codec import (
    encode_json,
    encode_msgpack,
    host_message_decoder,
    realm_message_decoder,
)
from engine_intelligence.protocol.messages import (
    FEATURES,
    Cancel,
    Close,
    Closed,
    Events,
    Heartbeat,
    Hello,
    Poll,
    Rejected,
)

CAPACITY = IntelligenceFailure(
    code="intelligence-capacity-exceeded",
    expected="What should have held.",
    hint="What to do.",
    detail=FailureDetail(limit=8),
)
CAPACITY_JSON = {
    "code": "intelligence-capacity-exceeded",
    "expected": "What should have held.",
    "hint": "What to do.",
    "detail": {"limit": 8},
}
SESSION_JSON = {"providerId": "p", "id": "s-1"}

REALM_MESSAGES: dict[str, tuple[Any, Any]] = {
    "submit": (
        submit("a-1", "hello"),
        {
            "kind": "intelligence-submit",
            "submission": {"id": "a-1", "session": SESSION_JSON, "input": "hello"},
        },
    ),
    "poll": (Poll(64), {"kind": "intelligence-poll", "maxEvents": 64}),
    "cancel": (Cancel("a-1"), {"kind": "intelligence-cancel", "activityId": "a-1"}),
    "close": (Close(), {"kind": "intelligence-close"}),
    "hello": (
        Hello(1, "p", IntelligenceLimits(), ("stream-credit", "heartbeat")),
        {
            "kind": "intelligence-hello",
            "protocol": 1,
            "providerId": "p",
            "limits": {
                "maxInputChars": 16384,
                "maxOutputChars": 65536,
                "maxConcurrentActivities": 8,
                "maxPendingEventsPerActivity": 32,
                "maxPollEvents": 256,
            },
            "features": ["stream-credit", "heartbeat"],
        },
    ),
}

HOST_MESSAGES: dict[str, tuple[Any, Any]] = {
    "events-none": (Events(()), {"kind": "intelligence-events", "events": []}),
    "events-text-delta": (
        events(TextDelta("a-1", 1, "hel")),
        {
            "kind": "intelligence-events",
            "events": [{"type": "text-delta", "activityId": "a-1", "sequence": 1, "text": "hel"}],
        },
    ),
    "events-completed": (
        events(Completed("a-1", 2, SESSION, "hello")),
        {
            "kind": "intelligence-events",
            "events": [
                {
                    "type": "completed",
                    "activityId": "a-1",
                    "sequence": 2,
                    "session": SESSION_JSON,
                    "output": "hello",
                }
            ],
        },
    ),
    "events-completed-with-usage-and-finish": (
        events(Completed("a-1", 2, SESSION, "hello", Usage(3, 4), "length")),
        {
            "kind": "intelligence-events",
            "events": [
                {
                    "type": "completed",
                    "activityId": "a-1",
                    "sequence": 2,
                    "session": SESSION_JSON,
                    "output": "hello",
                    "usage": {"inputTokens": 3, "outputTokens": 4},
                    "finish": "length",
                }
            ],
        },
    ),
    "events-failed": (
        events(Failed("a-1", 1, CAPACITY)),
        {
            "kind": "intelligence-events",
            "events": [{"type": "failed", "activityId": "a-1", "sequence": 1, "error": CAPACITY_JSON}],
        },
    ),
    "events-cancelled": (
        events(Cancelled("a-1", 1)),
        {
            "kind": "intelligence-events",
            "events": [{"type": "cancelled", "activityId": "a-1", "sequence": 1}],
        },
    ),
    "events-several": (
        events(delta(1, "a"), Cancelled("a-1", 2)),
        {
            "kind": "intelligence-events",
            "events": [
                {"type": "text-delta", "activityId": "a-1", "sequence": 1, "text": "a"},
                {"type": "cancelled", "activityId": "a-1", "sequence": 2},
            ],
        },
    ),
    "rejected": (
        Rejected("a-1", CAPACITY),
        {"kind": "intelligence-rejected", "activityId": "a-1", "error": CAPACITY_JSON},
    ),
    "closed": (Closed(), {"kind": "intelligence-closed"}),
    "closed-with-reason": (
        Closed("host-ended", "The Host ended."),
        {"kind": "intelligence-closed", "reason": "host-ended", "message": "The Host ended."},
    ),
    "hello": REALM_MESSAGES["hello"],
    "heartbeat": (Heartbeat(), {"kind": "intelligence-heartbeat"}),
}

ALL_MESSAGES = [
    *(pytest.param(*case, id=f"realm-{name}") for name, case in REALM_MESSAGES.items()),
    *(pytest.param(*case, id=f"host-{name}") for name, case in HOST_MESSAGES.items()),
]


@pytest.mark.spec("M1")
@pytest.mark.parametrize(("message", "literal"), ALL_MESSAGES)
def test_a_message_is_this_json_and_nothing_more(message: object, literal: object) -> None:
    assert json.loads(encode_json(message)) == literal


@pytest.mark.spec("M1")
@pytest.mark.parametrize(("message", "literal"), ALL_MESSAGES)
def test_as_messagepack_a_message_has_the_same_fields(message: object, literal: object) -> None:
    assert msgspec.msgpack.decode(encode_msgpack(message)) == literal


@pytest.mark.spec("M1")
@pytest.mark.parametrize(
    ("message", "literal"), [pytest.param(*case, id=name) for name, case in REALM_MESSAGES.items()]
)
def test_a_host_reads_the_literal_of_a_realm(message: object, literal: object) -> None:
    assert realm_message_decoder("json").decode(json.dumps(literal).encode()) == message


@pytest.mark.spec("M1")
@pytest.mark.parametrize(
    ("message", "literal"), [pytest.param(*case, id=name) for name, case in HOST_MESSAGES.items()]
)
def test_a_realm_reads_the_literal_of_a_host(message: object, literal: object) -> None:
    assert host_message_decoder("json").decode(json.dumps(literal).encode()) == message


@pytest.mark.spec("M1")
@pytest.mark.parametrize(
    "detail",
    [
        {"field": "input", "reason": "input is empty"},
        {"expectedProviderId": "p", "receivedProviderId": "q"},
        {"limit": 8},
        {"activityId": "a-1"},
        {"providerId": "p", "cause": "why", "reason": "rate-limited", "retryAfterSeconds": 1.5},
        {"activityId": "a-1", "bound": "output-chars", "limit": 4},
        {},
        {"reason": "host-ended", "message": "The Host ended."},
    ],
    ids=lambda detail: "-".join(detail) or "empty",
)
def test_each_detail_of_the_contract_passes_through_a_failed_event(detail: dict[str, object]) -> None:
    literal = {
        "kind": "intelligence-events",
        "events": [
            {
                "type": "failed",
                "activityId": "a-1",
                "sequence": 1,
                "error": {**CAPACITY_JSON, "detail": detail},
            }
        ],
    }
    read = host_message_decoder("json").decode(json.dumps(literal).encode())
    assert json.loads(encode_json(read)) == literal


@pytest.mark.spec("M1")
def test_the_features_are_named_as_the_contract_names_them() -> None:
    assert set(FEATURES) == {"stream-credit", "heartbeat"}


@pytest.mark.spec("M1")
@pytest.mark.parametrize("encoding", ["json", "msgpack"])
def test_what_a_later_version_adds_to_hello_is_ignored(encoding: str) -> None:
    literal = {**REALM_MESSAGES["hello"][1], "later": [1, {"deep": None}]}
    data = msgspec.json.encode(literal) if encoding == "json" else msgspec.msgpack.encode(literal)
    assert host_message_decoder(encoding).decode(data) == REALM_MESSAGES["hello"][0]


@pytest.mark.fault("R80")
@pytest.mark.spec("M2")
@pytest.mark.parametrize(("message", "literal"), ALL_MESSAGES)
def test_a_message_cannot_be_changed_after_it_was_sent(
    message: msgspec.Struct, literal: dict[str, object]
) -> None:
    hash(message)  # all the way down: what hashes here holds no list and no dict
    for name in message.__struct_fields__:
        with pytest.raises(AttributeError):
            setattr(message, name, None)
