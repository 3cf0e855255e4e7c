"""In which way a service failed (rule E1), in one place for the SDKs of all vendors.

Texts are our own: what a service says may quote the request or the key (rule E2). So of its words only those codes are
looked at that are listed here.
"""

from __future__ import annotations

import email.utils
import json
import math
import time
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC
from types import ModuleType
from typing import Any, NamedTuple

from engine_intelligence.errors import ProviderError
from engine_intelligence.failure import FailureReason


class Meaning(NamedTuple):
    """What a status or a code says."""

    reason: FailureReason
    text: str
    transient: bool = False


_OVERLOADED = Meaning("unavailable", "is overloaded or failing", transient=True)
_LIMITED = Meaning("rate-limited", "wants fewer requests", transient=True)
_NO_CREDIT = Meaning("rate-limited", "says that the account's credit or quota is used up")
# Not "key": beside that word a text is told only in part (rule E2), as it may be one.
_BAD_KEY = Meaning("auth", "does not let this account in")
_FORBIDDEN = Meaning("auth", "does not allow this account to do that")
_UNKNOWN = Meaning("unavailable", "knows no such model or address")
_TOO_LONG = Meaning("refused", "finds the request too long for the model")
_FILTERED = Meaning("refused", "declined for its content policy")
_REFUSED = Meaning("refused", "cannot take this request")
_SLOW = Meaning("timeout", "did not answer in time", transient=True)

# RFC 9110, section 15, and 529 of Anthropic.
STATUSES: Mapping[int, Meaning] = {
    401: _BAD_KEY,
    402: _NO_CREDIT,
    403: _FORBIDDEN,
    404: _UNKNOWN,
    408: _SLOW,
    409: _OVERLOADED,
    413: _TOO_LONG,
    425: _OVERLOADED,
    429: _LIMITED,
    501: Meaning("unavailable", "does not offer this"),
    505: Meaning("unavailable", "does not offer this"),
}

# The codes and types of the errors of OpenAI and Anthropic, which compatible servers use too.
CODES: Mapping[str | int, Meaning] = {
    "insufficient_quota": _NO_CREDIT,
    "billing_error": _NO_CREDIT,
    "billing_hard_limit_reached": _NO_CREDIT,
    "rate_limit_error": _LIMITED,
    "rate_limit_exceeded": _LIMITED,
    "overloaded_error": _OVERLOADED,
    "api_error": _OVERLOADED,
    "server_error": _OVERLOADED,
    "vector_store_timeout": _OVERLOADED,
    "timeout_error": _SLOW,
    "authentication_error": _BAD_KEY,
    "invalid_api_key": _BAD_KEY,
    "permission_error": _FORBIDDEN,
    "model_not_found": _UNKNOWN,
    "not_found_error": _UNKNOWN,
    "context_length_exceeded": _TOO_LONG,
    "request_too_large": _TOO_LONG,
    "content_filter": _FILTERED,
    "content_policy_violation": _FILTERED,
    "invalid_request_error": _REFUSED,
    "invalid_prompt": _REFUSED,
    "bio_policy": _FILTERED,
    "misalignment_policy_violation": _FILTERED,
    "unavailable_error": _OVERLOADED,  # of llama.cpp, as the next
    "exceed_context_size_error": _TOO_LONG,
    # What an id of an earlier answer leads to that the vendor has dropped (rule P7).
    "previous_response_not_found": Meaning("session-lost", "does not know this conversation any more"),
}


@contextmanager
def failures_of(sdk: ModuleType, service: str) -> Generator[None]:
    """Turn what is raised inside by `sdk`, or by what it stands on, to a `ProviderError`. All else is left as it is."""
    try:
        yield
    except Exception as error:
        failure = vendor_failure(error, sdk, service)
        if failure is None:
            raise
        raise failure from None


def vendor_failure(error: Exception, sdk: ModuleType, service: str) -> ProviderError | None:
    """What `error` means, which was raised by `sdk` or by what it stands on; `None` for what is neither.

    `service` is how a person calls what failed, such as "OpenAI".
    """
    import httpx2

    raised: Any = error  # an SDK is known only when it is named, and so are its types
    match error:
        case sdk.APITimeoutError() | httpx2.TimeoutException():
            return ProviderError(f"{service} could not be reached in time", reason="network", transient=True)
        case sdk.APIResponseValidationError():
            return unreadable(service)
        case sdk.APIStatusError():
            return status_failure(service, raised.status_code, raised.body, raised.response.headers)
        case sdk.APIConnectionError() if isinstance(error.__cause__, httpx2.DecodingError):
            return unreadable(service)
        case sdk.APIConnectionError() | httpx2.TransportError() | httpx2.StreamError():
            return ProviderError(
                f"the connection to {service} could not be made or broke", reason="network", transient=True
            )
        case sdk.APIError():  # an error event in the middle of a stream
            return status_failure(service, None, raised.body)
        case httpx2.HTTPError() | json.JSONDecodeError() | UnicodeDecodeError() | RecursionError():
            return unreadable(service)
        case _ if type(error).__module__.partition(".")[0] in (sdk.__name__, "pydantic", "pydantic_core"):
            return unreadable(service)
        case _:
            return None


def status_failure(
    service: str, status: int | None, body: object, headers: Mapping[str, str] | None = None
) -> ProviderError:
    """What a response of this status and body means; `None` and 200 are for an error within a stream."""
    codes, types = list(_told(body, "code")), list(_told(body, "type"))
    codes += [
        type_ for type_ in types if CODES.get(type_) is _NO_CREDIT
    ]  # which the status of a limit would hide
    if status is None or status < 300:
        # Servers and gateways that pass the failure of another on tell its status as the code.
        status = next((code for code in codes if type(code) is int and 400 <= code < 600), None)
    meaning = (
        next((CODES[code] for code in codes if code in CODES), None)
        or (None if status is None else _of_status(status))
        or next((CODES[type_] for type_ in types if type_ in CODES), None)
        or Meaning("other", "failed in the middle of its answer")
    )
    where = "" if status is None else f" (status {status})"
    return ProviderError(
        f"{service} {meaning.text}{where}",
        reason=meaning.reason,
        retry_after_s=None if headers is None else retry_after_s(headers),
        transient=meaning.transient,
    )


def retry_after_s(headers: Mapping[str, str]) -> float | None:
    """How long the service asks to be left alone, in seconds, 0 or more (RFC 9110, section 10.2.3); `None` if it does not.

    `retry-after-ms` is an extension of OpenAI and Anthropic, and more exact.
    """
    for name, scale in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        text = headers.get(name)
        if text is not None:
            try:
                wait_s = float(text) * scale
            except ValueError:
                continue
            if math.isfinite(wait_s):
                return max(0.0, wait_s)
    try:
        until = email.utils.parsedate_to_datetime(headers["retry-after"])
        if until.tzinfo is None:
            until = until.replace(tzinfo=UTC)  # "-0000" says that much (RFC 5322, section 3.3)
        return max(0.0, until.timestamp() - time.time())
    except (KeyError, ValueError, OverflowError):
        return None


def declined(service: str) -> ProviderError:
    """The failure of an answer that the model or a filter of the service refused to give."""
    return ProviderError(f"{service} {_FILTERED.text}", reason=_FILTERED.reason)


def cut_off(service: str) -> ProviderError:
    """The failure of an answer that stopped without saying that this was its end."""
    return ProviderError(f"{service} stopped before the end of its answer", reason="truncated")


def _of_status(status: int) -> Meaning:
    if status in STATUSES:
        return STATUSES[status]
    if status >= 500:
        return _OVERLOADED
    return (
        _REFUSED if status >= 400 else Meaning("protocol", "answered with a redirect, which is not followed")
    )


def unreadable(service: str) -> ProviderError:
    """The failure of an answer that is not of the form that it has to have."""
    return ProviderError(f"the answer of {service} cannot be read", reason="protocol")


def _told(body: object, name: str) -> Iterator[str | int]:
    """The texts and numbers of that name in an error's body, which may be inside `error`."""
    tables: list[Any] = [body]
    if isinstance(body, dict):
        tables.insert(0, body.get("error"))  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType]
    for table in tables:
        if isinstance(table, dict) and isinstance(value := table.get(name), (str, int)):  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
            yield value
