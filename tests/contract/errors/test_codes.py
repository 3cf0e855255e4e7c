"""Section 2: the closed codes, each brought about through the service."""

import asyncio
from collections.abc import Callable
from typing import get_args

import msgspec
import pytest
from support.scene import Scene, make_scene

from engine_intelligence import (
    Err,
    ErrorCode,
    FailureReason,
    IntelligenceFailure,
    Ok,
    ProviderError,
    SessionRef,
    intelligence_failure,
)


def refusal(
    scene: Scene, input: str = "May I pass?", session: SessionRef | None = None
) -> IntelligenceFailure:
    result = scene.runtime.submit(input, session)
    assert isinstance(result, Err)
    return intelligence_failure(result.error)


def invalid_request() -> IntelligenceFailure:
    return refusal(make_scene(), "")


def invalid_request_too_long() -> IntelligenceFailure:
    return refusal(make_scene(max_input_chars=4), "May I pass?")


def invalid_request_same_id() -> IntelligenceFailure:
    scene = make_scene(create_activity_id=lambda: "same")
    scene.submit()
    return refusal(scene)


def session_provider_mismatch() -> IntelligenceFailure:
    return refusal(make_scene(), session=SessionRef("other.provider", "s-1"))


def capacity_exceeded() -> IntelligenceFailure:
    scene = make_scene(max_concurrent_activities=2)
    scene.submit()
    scene.submit()
    return refusal(scene)


def activity_not_found() -> IntelligenceFailure:
    result = make_scene().runtime.cancel("a-9")
    assert isinstance(result, Err)
    return intelligence_failure(result.error)


def provider_failed() -> IntelligenceFailure:
    scene = make_scene()
    id, sink = scene.begin()
    sink.fail("too busy")
    return scene.failure(id).error


def provider_failed_with_a_wait() -> IntelligenceFailure:
    scene = make_scene()
    id, sink = scene.begin()
    sink.fail(ProviderError("too busy", reason="rate-limited", retry_after_s=30))
    return scene.failure(id).error


def provider_refused_to_start() -> IntelligenceFailure:
    def refuse(*_: object) -> Ok[None]:
        raise OSError("too busy")

    scene = make_scene()
    scene.provider.on_start = refuse
    return refusal(scene)


def output_overflow() -> IntelligenceFailure:
    scene = make_scene(max_output_chars=3)
    id, sink = scene.begin()
    sink.text("Halt!")
    return scene.failure(id).error


def closed() -> IntelligenceFailure:
    scene = make_scene()

    async def close() -> None:
        await scene.runtime.close()

    asyncio.run(close())
    return refusal(scene)


CASES: list[tuple[Callable[[], IntelligenceFailure], ErrorCode, dict[str, object]]] = [
    (invalid_request, "intelligence-invalid-request", {"field": "input", "reason": "input is empty"}),
    (
        invalid_request_too_long,
        "intelligence-invalid-request",
        {"field": "input", "reason": "input exceeds 4 characters"},
    ),
    (
        session_provider_mismatch,
        "intelligence-session-provider-mismatch",
        {"expectedProviderId": "test.provider", "receivedProviderId": "other.provider"},
    ),
    (capacity_exceeded, "intelligence-capacity-exceeded", {"limit": 2}),
    (activity_not_found, "intelligence-activity-not-found", {"activityId": "a-9"}),
    (
        provider_failed,
        "intelligence-provider-failed",
        {"providerId": "test.provider", "cause": "too busy", "reason": "other"},
    ),
    (
        provider_failed_with_a_wait,
        "intelligence-provider-failed",
        {
            "providerId": "test.provider",
            "cause": "too busy",
            "reason": "rate-limited",
            "retryAfterSeconds": 30,
        },
    ),
    (
        output_overflow,
        "intelligence-output-overflow",
        {"activityId": "a-1", "bound": "output-chars", "limit": 3},
    ),
]
WAYS: list[tuple[Callable[[], IntelligenceFailure], ErrorCode, set[str]]] = [
    *((make, code, set(detail)) for make, code, detail in CASES),
    (invalid_request_same_id, "intelligence-invalid-request", {"field", "reason"}),
    (provider_refused_to_start, "intelligence-provider-failed", {"providerId", "cause", "reason"}),
]
codes = pytest.mark.parametrize(
    ("make", "code", "detail"), CASES, ids=[make.__name__ for make, _, _ in CASES]
)


@codes
@pytest.mark.spec("E1")
def test_an_error_has_the_code_of_the_table(
    make: Callable[[], IntelligenceFailure], code: ErrorCode, detail: dict[str, object]
) -> None:
    assert make().code == code


@codes
@pytest.mark.spec("E1")
def test_the_detail_of_an_error_is_that_of_the_table(
    make: Callable[[], IntelligenceFailure], code: ErrorCode, detail: dict[str, object]
) -> None:
    assert msgspec.to_builtins(make().detail) == detail


@pytest.mark.parametrize(("make", "code", "fields"), WAYS, ids=[make.__name__ for make, _, _ in WAYS])
@pytest.mark.spec("E1")
def test_a_code_has_the_same_fields_however_it_came_about(
    make: Callable[[], IntelligenceFailure], code: ErrorCode, fields: set[str]
) -> None:
    failure = make()
    assert (failure.code, set(msgspec.to_builtins(failure.detail))) == (code, fields)


@pytest.mark.spec("E1")
def test_an_id_that_is_running_is_an_invalid_request_about_the_id() -> None:
    assert invalid_request_same_id().detail.field == "id"


@pytest.mark.spec("E1")
def test_a_closed_service_says_nothing_but_why() -> None:
    failure = closed()
    assert failure.code == "intelligence-closed"
    assert set(msgspec.to_builtins(failure.detail)) <= {"reason", "message"}


@pytest.mark.spec("E1")
def test_the_ways_tried_here_cover_all_codes() -> None:
    assert {code for _, code, _ in WAYS} | {activity_not_found().code, closed().code} == set(
        get_args(ErrorCode)
    )


@pytest.mark.spec("E1")
def test_expected_and_hint_are_constant_for_a_code() -> None:
    texts: dict[str, set[tuple[str, str]]] = {}
    for make in [*(way[0] for way in WAYS), closed]:
        failure = make()
        texts.setdefault(failure.code, set()).add((failure.expected, failure.hint))
    assert {code: len(found) for code, found in texts.items()} == dict.fromkeys(get_args(ErrorCode), 1)


@pytest.mark.spec("E1")
def test_expected_and_hint_differ_from_code_to_code() -> None:
    texts = {(way[0]().expected, way[0]().hint) for way in WAYS} | {(closed().expected, closed().hint)}
    assert len(texts) == len(get_args(ErrorCode))


@pytest.mark.parametrize("make", [*(way[0] for way in WAYS), closed])
@pytest.mark.spec("E1")
def test_expected_and_hint_are_one_sentence_each(make: Callable[[], IntelligenceFailure]) -> None:
    failure = make()
    for text in (failure.expected, failure.hint):
        assert text.endswith(".")
        assert ". " not in text


@pytest.mark.spec("E1")
def test_an_error_and_its_plain_form_agree() -> None:
    result = make_scene().runtime.submit("")
    assert isinstance(result, Err)
    error, failure = result.error, intelligence_failure(result.error)
    assert isinstance(error, Exception)
    assert (error.code, error.expected, error.hint, error.detail) == (
        failure.code,
        failure.expected,
        failure.hint,
        failure.detail,
    )


@pytest.mark.spec("E1")
def test_the_text_of_an_error_names_its_code() -> None:
    result = make_scene().runtime.submit("")
    assert isinstance(result, Err)
    assert "intelligence-invalid-request" in str(result.error)


@pytest.mark.parametrize("reason", get_args(FailureReason))
@pytest.mark.spec("E1")
def test_a_provider_says_in_which_way_it_failed(reason: FailureReason) -> None:
    scene = make_scene()
    id, sink = scene.begin()
    sink.fail(ProviderError("It did not work", reason=reason))
    assert scene.failure(id).error.detail.reason == reason


@pytest.mark.spec("E1")
def test_the_reasons_are_those_of_the_contract() -> None:
    assert set(get_args(FailureReason)) == {
        "auth",
        "rate-limited",
        "network",
        "timeout",
        "stalled",
        "truncated",
        "empty",
        "refused",
        "session-lost",
        "crashed",
        "unavailable",
        "protocol",
        "other",
    }


@pytest.mark.parametrize("reason", ["made-up", "", None, 7, b"auth"], ids=repr)
@pytest.mark.spec("E1")
def test_a_reason_that_is_none_of_the_list_becomes_other(reason: object) -> None:
    scene = make_scene()
    id, sink = scene.begin()
    sink.fail(ProviderError("It did not work", reason=reason))  # type: ignore[arg-type]  # the subject
    assert scene.failure(id).error.detail.reason == "other"


@pytest.mark.fault("C16")
@pytest.mark.spec("E1")
def test_a_wait_of_days_is_handed_on_as_data() -> None:
    scene = make_scene()
    id, sink = scene.begin()
    sink.fail(ProviderError("Too many requests", reason="rate-limited", retry_after_s=1_209_600))
    assert scene.failure(id).error.detail.retry_after_seconds == 1_209_600


@pytest.mark.parametrize(
    "wait", [float("nan"), float("inf"), -1.0, 10**400, "soon", True], ids=lambda wait: repr(wait)[:8]
)
@pytest.mark.spec("E1")
def test_a_wait_that_is_no_number_of_seconds_is_left_off(wait: object) -> None:
    scene = make_scene()
    id, sink = scene.begin()
    sink.fail(ProviderError("Too many requests", reason="rate-limited", retry_after_s=wait))  # type: ignore[arg-type]  # the subject
    assert scene.failure(id).error.detail.retry_after_seconds is None
