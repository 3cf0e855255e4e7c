"""What the errors of both vendors' SDKs mean, and what is told of them."""

import email.utils
import json
import math
import sys
import time
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import anthropic
import httpx2
import openai
import pytest

from engine_intelligence.errors import ProviderError
from engine_intelligence.providers.failures import (
    CODES,
    STATUSES,
    Meaning,
    failures_of,
    retry_after_s,
    status_failure,
    vendor_failure,
)
from engine_intelligence.scrubbing import scrub

REQUEST = httpx2.Request(
    "POST", "https://service.example/v1/x", headers={"Authorization": "Bearer sk-s3cr3t"}
)
SECRET = "sk-proj-Zk81Qm4TtX9bWvR2nLpY"

SDKS = pytest.mark.parametrize("sdk", [openai, anthropic], ids=["openai", "anthropic"])


def status_error(
    sdk: Any, status: int, body: object = None, headers: dict[str, str] | None = None
) -> Exception:
    response = httpx2.Response(status, headers=headers, request=REQUEST)
    error: Exception = sdk.APIStatusError("said", response=response, body=body)
    return error


def failure_of(error: Exception, sdk: ModuleType = openai) -> ProviderError:
    failure = vendor_failure(error, sdk, "the service")
    assert failure is not None
    return failure


@SDKS
@pytest.mark.spec("E1")
@pytest.mark.parametrize(
    ("status", "reason", "transient"),
    [
        (301, "protocol", False),
        (400, "refused", False),
        (401, "auth", False),
        (402, "rate-limited", False),
        (403, "auth", False),
        (404, "unavailable", False),
        (408, "timeout", True),
        (409, "unavailable", True),
        (413, "refused", False),
        (418, "refused", False),
        (422, "refused", False),
        (425, "unavailable", True),
        (429, "rate-limited", True),
        (500, "unavailable", True),
        (501, "unavailable", False),
        (502, "unavailable", True),
        (503, "unavailable", True),
        (504, "unavailable", True),
        (505, "unavailable", False),
        (529, "unavailable", True),
        (599, "unavailable", True),
    ],
)
def test_a_status_has_its_reason_and_is_named(sdk: Any, status: int, reason: str, transient: bool) -> None:
    failure = failure_of(status_error(sdk, status), sdk)
    assert (failure.reason, failure.transient) == (reason, transient)
    assert failure.cause.startswith("the service ")
    assert failure.cause.endswith(f"(status {status})")


@SDKS
@pytest.mark.spec("E1")
@pytest.mark.parametrize("code", CODES)
def test_a_known_code_says_more_than_the_status(sdk: Any, code: str) -> None:
    for body in ({"code": code}, {"error": {"code": code}}, {"error": {"code": code}, "code": "other"}):
        failure = failure_of(status_error(sdk, 429, body), sdk)
        assert (failure.reason, failure.transient) == (CODES[code].reason, CODES[code].transient)


@SDKS
@pytest.mark.parametrize("code", CODES)
def test_a_known_type_is_what_an_error_within_a_stream_tells(sdk: Any, code: str) -> None:
    for body in ({"type": code}, {"type": "error", "error": {"type": code}}):
        failure = failure_of(sdk.APIError("said", REQUEST, body=body), sdk)
        assert (failure.reason, failure.transient) == (CODES[code].reason, CODES[code].transient)


@pytest.mark.parametrize("status", STATUSES)
def test_a_status_as_the_code_of_an_error_within_a_stream_is_that_status(status: int) -> None:
    failure = status_failure("the service", None, {"error": {"code": status, "message": "x"}})
    assert (failure.reason, failure.transient) == (STATUSES[status].reason, STATUSES[status].transient)


@pytest.mark.parametrize(
    "body",
    [
        None,
        "text",
        5,
        [],
        {},
        {"error": "text"},
        {"error": None},
        {"error": {"code": True}},
        {"code": 200},
        {"code": 10**400},
        {"error": {"code": ["server_error"]}},
        {"type": {"a": 1}},
        {"code": "\ud800"},
    ],
)
def test_a_body_that_tells_nothing_is_a_failure_all_the_same(body: object) -> None:
    assert status_failure("the service", None, body).reason == "other"
    assert status_failure("the service", 503, body).reason == "unavailable"


@SDKS
@pytest.mark.spec("E1")
def test_an_sdk_that_reaches_nobody_or_understands_nothing_fails_so(sdk: Any) -> None:
    for error, reason, transient in (
        (sdk.APITimeoutError(REQUEST), "network", True),
        (sdk.APIConnectionError(request=REQUEST), "network", True),
        (
            sdk.APIResponseValidationError(httpx2.Response(200, request=REQUEST), None),
            "protocol",
            False,
        ),
    ):
        failure = failure_of(error, sdk)
        assert (failure.reason, failure.transient) == (reason, transient)


@pytest.mark.spec("E1")
@pytest.mark.parametrize(
    ("error", "reason", "transient"),
    [
        (httpx2.ReadError("x"), "network", True),
        (httpx2.ConnectTimeout("x"), "network", True),
        (httpx2.RemoteProtocolError("x"), "network", True),
        (httpx2.StreamClosed(), "network", True),
        (httpx2.DecodingError("x"), "protocol", False),
        (httpx2.TooManyRedirects("x"), "protocol", False),
        (json.JSONDecodeError("x", "y", 0), "protocol", False),
        (UnicodeDecodeError("utf-8", b"\xff", 0, 1, "x"), "protocol", False),
        (RecursionError(), "protocol", False),
    ],
)
def test_what_an_sdk_stands_on_fails_in_its_own_ways(error: Exception, reason: str, transient: bool) -> None:
    failure = failure_of(error)
    assert (failure.reason, failure.transient) == (reason, transient)


@SDKS
def test_a_body_that_cannot_be_unpacked_is_no_broken_connection(sdk: Any) -> None:
    error = sdk.APIConnectionError(request=REQUEST)
    error.__cause__ = httpx2.DecodingError("x")
    assert failure_of(error, sdk).reason == "protocol"


@pytest.mark.parametrize("error", [LookupError("x"), ProviderError("x"), ValueError("x"), OSError("x")])
def test_what_is_no_fault_of_the_vendors_is_raised_on(error: Exception) -> None:
    assert vendor_failure(error, openai, "the service") is None
    with pytest.raises(type(error)) as raised, failures_of(openai, "the service"):
        raise error
    assert raised.value is error


def test_within_failures_of_an_sdks_error_is_a_failure_and_nothing_of_it_is_kept() -> None:
    with pytest.raises(ProviderError) as raised, failures_of(openai, "the service"):
        raise openai.APIConnectionError(request=REQUEST)
    assert raised.value.reason == "network"
    assert raised.value.__suppress_context__


@SDKS
@pytest.mark.spec("E2")
@pytest.mark.fault("C32")
def test_nothing_that_the_service_says_is_told(sdk: Any) -> None:
    said = {"message": SECRET, "code": SECRET, "type": SECRET, "param": SECRET}
    for body in (said, {"error": said}, SECRET, [SECRET]):
        for error in (
            status_error(sdk, 401, body, {"x-key": SECRET}),
            sdk.APIError(SECRET, REQUEST, body=body),
        ):
            failure = failure_of(error, sdk)
            assert SECRET not in failure.cause + str(failure) + repr(failure)


@pytest.mark.parametrize(
    ("headers", "wait_s"),
    [
        ({}, None),
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": " 7 "}, 7.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after": "0"}, 0.0),
        ({"retry-after": "-7"}, 0.0),
        ({"retry-after": "1209600"}, 1_209_600.0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": ""}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "1" * 400}, None),
        ({"retry-after-ms": "250"}, 0.25),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"retry-after-ms": "x", "retry-after": "9"}, 9.0),
        ({"retry-after-ms": "nan"}, None),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0.0),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:00 -0000"}, 0.0),
        ({"retry-after": "Wed, 21 Oct 2015 99:99:99 GMT"}, None),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:00 +99999999999"}, None),
        ({"retry-after": "Wed, 21 Oct 99999999 07:28:00 GMT"}, None),
        ({"retry-after": "Mon, 01 Jan 0001 00:00:00 +2359"}, 0.0),
        ({"retry-after": "Mon, 01 Jan 0001 00:00:00 -0000"}, 0.0),
    ],
)
def test_the_wait_that_is_asked_for_is_read(headers: dict[str, str], wait_s: float | None) -> None:
    assert retry_after_s(headers) == wait_s


@pytest.fixture
def far_from_greenwich() -> Iterator[None]:
    if sys.platform == "win32":
        pytest.skip("a process has no time zone of its own there")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TZ", "XXX-05:30")
        time.tzset()
        yield
    time.tzset()


@pytest.mark.usefixtures("far_from_greenwich")
@pytest.mark.parametrize("usegmt", [True, False])
def test_a_date_is_as_far_as_it_is_from_now(usegmt: bool) -> None:
    text = email.utils.formatdate(time.time() + 3600, usegmt=usegmt)
    wait_s = retry_after_s({"retry-after": text})
    assert wait_s is not None
    assert math.isclose(wait_s, 3600, abs_tol=600)


def test_the_wait_is_told_with_the_failure() -> None:
    failure = failure_of(status_error(openai, 429, headers={"Retry-After": "7"}))
    assert failure.retry_after_s == 7.0


@pytest.mark.spec("E2")
@pytest.mark.parametrize("service", ["OpenAI", "Anthropic", "the service"])
@pytest.mark.parametrize("meaning", sorted({*STATUSES.values(), *CODES.values()}), ids=lambda each: each.text)
def test_a_text_of_our_own_is_told_whole(meaning: Meaning, service: str) -> None:
    text = f"{service} {meaning.text} (status 429)"
    assert scrub(text) == text
