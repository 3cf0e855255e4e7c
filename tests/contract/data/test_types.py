import copy
import json
import pickle
from typing import Any, cast

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine_intelligence import (
    ActivityRef,
    ActivityRequest,
    ActivitySubmission,
    Cancelled,
    Completed,
    Deadlines,
    Failed,
    FailureDetail,
    IntelligenceError,
    IntelligenceEvent,
    IntelligenceFailure,
    IntelligenceLimits,
    SessionRef,
    TextDelta,
    Usage,
)
from engine_intelligence.conversation import Turn
from engine_intelligence.protocol import messages

SESSION = SessionRef("gatekeeper", "s-1")
FAILURE = IntelligenceFailure(
    code="intelligence-provider-failed",
    expected="A.",
    hint="B.",
    detail=FailureDetail(
        provider_id="gatekeeper", cause="too busy", reason="rate-limited", retry_after_seconds=7.5
    ),
)
DELTA = TextDelta("a-1", 1, "Halt! 🛡️")
COMPLETED = Completed("a-1", 2, SESSION, "Halt! 🛡️", Usage(3, 4), "length")
FAILED = Failed("a-1", 2, FAILURE)
CANCELLED = Cancelled("a-1", 2)
SUBMISSION = ActivitySubmission("a-1", SESSION, "May I pass?")

# Each with how it looks on the wire, where section 1 says so.
WIRE: list[tuple[object, object]] = [
    (SESSION, {"providerId": "gatekeeper", "id": "s-1"}),
    (ActivityRef("a-1", SESSION), {"id": "a-1", "session": {"providerId": "gatekeeper", "id": "s-1"}}),
    (ActivityRequest("hello"), {"input": "hello"}),
    (
        ActivityRequest("hello", SESSION),
        {"input": "hello", "session": {"providerId": "gatekeeper", "id": "s-1"}},
    ),
    (
        SUBMISSION,
        {"id": "a-1", "session": {"providerId": "gatekeeper", "id": "s-1"}, "input": "May I pass?"},
    ),
    (DELTA, {"type": "text-delta", "activityId": "a-1", "sequence": 1, "text": "Halt! 🛡️"}),
    (
        COMPLETED,
        {
            "type": "completed",
            "activityId": "a-1",
            "sequence": 2,
            "session": {"providerId": "gatekeeper", "id": "s-1"},
            "output": "Halt! 🛡️",
            "usage": {"inputTokens": 3, "outputTokens": 4},
            "finish": "length",
        },
    ),
    (
        Completed("a-1", 1, SESSION, "x"),
        {
            "type": "completed",
            "activityId": "a-1",
            "sequence": 1,
            "session": {"providerId": "gatekeeper", "id": "s-1"},
            "output": "x",
        },
    ),
    (
        FAILED,
        {
            "type": "failed",
            "activityId": "a-1",
            "sequence": 2,
            "error": {
                "code": "intelligence-provider-failed",
                "expected": "A.",
                "hint": "B.",
                "detail": {
                    "providerId": "gatekeeper",
                    "cause": "too busy",
                    "reason": "rate-limited",
                    "retryAfterSeconds": 7.5,
                },
            },
        },
    ),
    (CANCELLED, {"type": "cancelled", "activityId": "a-1", "sequence": 2}),
    (
        IntelligenceLimits(),
        {
            "maxInputChars": 16384,
            "maxOutputChars": 65536,
            "maxConcurrentActivities": 8,
            "maxPendingEventsPerActivity": 32,
            "maxPollEvents": 256,
        },
    ),
]
DATA: list[object] = [value for value, _ in WIRE] + [
    FAILURE,
    FAILURE.detail,
    Usage(3, 4),
    Deadlines(stall_s=1.5),
    Turn("May I pass?", "No."),
    IntelligenceError("intelligence-capacity-exceeded", FailureDetail(limit=8)),
    messages.Hello(1, "gatekeeper", IntelligenceLimits(), ("stream-credit",)),
    messages.Submit(SUBMISSION),
    messages.Poll(8),
    messages.Cancel("a-1"),
    messages.Close(),
    messages.Events((DELTA, COMPLETED, FAILED, CANCELLED)),
    messages.Rejected("a-1", FAILURE),
    messages.Closed("host-shutdown", "The Host was told to end."),
    messages.Heartbeat(),
]


def name(value: object) -> str:
    return type(value).__name__


def kind(event: IntelligenceEvent) -> str:
    match event:
        case TextDelta():
            return "text-delta"
        case Completed():
            return "completed"
        case Failed():
            return "failed"
        case Cancelled():
            return "cancelled"


@pytest.mark.spec("D5")
@pytest.mark.parametrize("event", [DELTA, COMPLETED, FAILED, CANCELLED], ids=name)
def test_an_event_is_told_by_class_and_by_type_alike(event: IntelligenceEvent) -> None:
    assert event.type == kind(event)


@pytest.mark.spec("D5")
@pytest.mark.parametrize("value", DATA, ids=name)
def test_data_pickles_with_every_protocol(value: object) -> None:
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        assert pickle.loads(pickle.dumps(value, protocol)) == value


@pytest.mark.spec("D5")
@pytest.mark.parametrize("value", DATA, ids=name)
def test_data_copies_to_an_equal_of_the_same_class(value: object) -> None:
    for other in (copy.copy(value), copy.deepcopy(value)):
        assert other == value
        assert type(other) is type(value)


@pytest.mark.spec("D5")
@pytest.mark.parametrize("value", DATA, ids=name)
def test_equal_data_hash_alike(value: object) -> None:
    assert len({value, copy.deepcopy(value)}) == 1


@pytest.mark.spec("D5")
def test_data_of_different_content_differ() -> None:
    assert len(set(DATA)) == len(DATA)


@pytest.mark.fault("R80")
@pytest.mark.spec("D5")
@pytest.mark.parametrize("value", [value for value in DATA if isinstance(value, msgspec.Struct)], ids=name)
def test_data_cannot_be_changed(value: msgspec.Struct) -> None:
    for field in value.__struct_fields__:
        with pytest.raises(AttributeError):
            setattr(value, field, None)


@pytest.mark.spec("M1")
@pytest.mark.parametrize(("value", "wire"), WIRE, ids=[name(value) for value, _ in WIRE])
def test_data_has_the_wire_form_of_section_1(value: object, wire: object) -> None:
    assert msgspec.to_builtins(value) == wire


@pytest.mark.spec("D5")
@pytest.mark.parametrize(("value", "wire"), WIRE, ids=[name(value) for value, _ in WIRE])
def test_data_comes_back_from_its_wire_form(value: object, wire: object) -> None:
    assert msgspec.convert(wire, type(value)) == value


@pytest.mark.spec("D5")
def test_an_error_keeps_its_code_and_detail_when_it_is_pickled() -> None:
    error = IntelligenceError("intelligence-capacity-exceeded", FailureDetail(limit=8))
    other = pickle.loads(pickle.dumps(error))
    assert isinstance(other, IntelligenceError)
    assert (other.code, other.detail.limit, other.expected, other.hint) == (
        "intelligence-capacity-exceeded",
        8,
        error.expected,
        error.hint,
    )


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)


@pytest.mark.spec("D5")
@given(texts, texts)
def test_a_session_ref_goes_through_a_save_game(provider_id: str, id: str) -> None:
    session = SessionRef(provider_id, id)
    assert SessionRef.from_json(session.to_json()) == session


@pytest.mark.spec("D5")
def test_a_saved_session_ref_is_plain_json() -> None:
    assert json.loads(SESSION.to_json()) == {"providerId": "gatekeeper", "id": "s-1"}


@pytest.mark.spec("D5")
def test_a_session_ref_is_read_from_json_that_another_program_wrote() -> None:
    text = json.dumps({"id": "s-1 é 🛡️", "providerId": "gatekeeper"}, indent=2)
    assert SessionRef.from_json(text.encode()) == SessionRef("gatekeeper", "s-1 é 🛡️")


@pytest.mark.spec("D5")
@pytest.mark.parametrize(
    "text",
    [
        "",
        "null",
        "[]",
        "7",
        '"s-1"',
        "{}",
        '{"providerId": "gatekeeper"}',
        '{"providerId": "gatekeeper", "id": 1}',
        '{"providerId": null, "id": "s-1"}',
        '{"providerId": "gatekeeper", "id": "s-1", "model": "big"}',
        '{"providerId": "gatekeeper", "id": "s-1"',
        b"\xff\xfe",
        "[" * 100_000,
    ],
    ids=lambda text: repr(text)[:40],
)
def test_another_text_is_no_saved_session_ref(text: str | bytes) -> None:
    with pytest.raises(ValueError, match="SessionRef"):
        SessionRef.from_json(text)


@pytest.mark.spec("D5")
@given(st.binary(max_size=60) | st.text(max_size=60))
def test_reading_a_session_ref_raises_nothing_but_value_error(text: str | bytes) -> None:
    try:
        session = SessionRef.from_json(text)
    except ValueError:
        return
    assert isinstance(cast(Any, session).id, str)
