"""`IntelligenceError`, its texts, and one constructor for each way in which something can be refused or fail.

The codes are API and closed; `expected` and `hint` are for people, one sentence each and constant for a code;
what is particular to one error is in `detail` (section 2 of the contract).
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple, get_args

from engine_intelligence.failure import ErrorCode, FailureDetail, FailureReason, IntelligenceFailure
from engine_intelligence.scrubbing import describe_exception, encodable, presentable, scrub

MAX_ID_CHARS = 256
"""Bound of an id, in characters: twice what the longest usual kind, a path-like name, takes."""

_FAILURE_REASONS: tuple[FailureReason, ...] = get_args(FailureReason)


class ErrorText(NamedTuple):
    """The two constant sentences of an error code."""

    expected: str
    hint: str


ERROR_TEXTS: dict[ErrorCode, ErrorText] = {
    "intelligence-invalid-request": ErrorText(
        "A request holds text that is not empty, within the bound and encodable in UTF-8, and an id that is not in use.",
        "Correct the field that the detail names, for the reason that it gives, and submit again.",
    ),
    "intelligence-session-provider-mismatch": ErrorText(
        "A session is continued by the provider that began it.",
        "Submit without a session, or submit to the service of the provider that the session belongs to.",
    ),
    "intelligence-capacity-exceeded": ErrorText(
        "Only so many Activities are held at once, each until its terminal has been polled.",
        "Poll every frame and submit again after a terminal, or raise the limit of concurrent Activities on both sides.",
    ),
    "intelligence-activity-not-found": ErrorText(
        "Only an Activity that is still running can be cancelled.",
        "Nothing needs to be done: its terminal has come or is about to be polled.",
    ),
    "intelligence-provider-failed": ErrorText(
        "A provider carries an accepted Activity to its end within the deadlines.",
        "See the reason and the cause in the detail; the session is unchanged, so the same text can be submitted again.",
    ),
    "intelligence-output-overflow": ErrorText(
        "The output of an Activity stays within the bound of output characters.",
        "Ask for shorter answers in the Host's configuration, or raise the bound on both sides.",
    ),
    "intelligence-closed": ErrorText(
        "A service is used only until it is closed.",
        "See the message in the detail for the reason; open a new service and continue with the saved SessionRef.",
    ),
}


class IntelligenceError(Exception):
    """An error of this package. `submit` and `cancel` return it inside `Err`; nothing on the frame's path
    raises it.

    It compares, hashes, copies and pickles by its plain form, which is `intelligence_failure(error)`.
    """

    def __init__(self, code: ErrorCode, detail: FailureDetail | None = None) -> None:
        expected, hint = ERROR_TEXTS[code]
        self.failure = IntelligenceFailure(
            code=code, expected=expected, hint=hint, detail=FailureDetail() if detail is None else detail
        )
        super().__init__(code)

    @property
    def code(self) -> ErrorCode:
        """Which error this is: one of the seven codes of the contract."""
        return self.failure.code

    @property
    def expected(self) -> str:
        """What should have held, in one sentence that is constant for the code."""
        return self.failure.expected

    @property
    def hint(self) -> str:
        """What to do next, in one sentence that is constant for the code."""
        return self.failure.hint

    @property
    def detail(self) -> FailureDetail:
        """What is particular about this error."""
        return self.failure.detail

    def __str__(self) -> str:
        known = ", ".join(
            f"{name}={value!r}"
            for name in self.detail.__struct_fields__
            if (value := getattr(self.detail, name)) is not None
        )
        return f"{self.code}: {self.hint}" + (f" ({known})" if known else "")

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self)!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, IntelligenceError) and self.failure == other.failure

    def __hash__(self) -> int:
        return hash(self.failure)

    def __reduce__(self) -> tuple[type[IntelligenceError], tuple[ErrorCode, FailureDetail]]:
        return IntelligenceError, (self.code, self.detail)


def intelligence_failure(error: IntelligenceError) -> IntelligenceFailure:
    """The plain form of `error`: what may be pickled, compared and sent to a realm."""
    return error.failure


class ProviderError(Exception):
    """Raised by a provider, or handed to `ActivitySink.fail`, to say in which way it failed (rule E1).

    `cause` is a short text for a person; it is scrubbed and bounded before a realm sees it, and in `str` and `repr`.
    `retry_after_s` is how long the remote side asked to be left alone, in seconds, if it said so. `transient` says that the
    same request may well succeed in a moment: such an Activity is tried again while nothing of its answer was told, by
    providers that retry.
    """

    def __init__(
        self,
        cause: str,
        *,
        reason: FailureReason = "other",
        retry_after_s: float | None = None,
        transient: bool = False,
    ) -> None:
        # What `str`, `repr` and a traceback show is what a realm is told: an SDK's text may have been passed on (rule E2).
        told: Any = cause
        super().__init__(scrub(told) if isinstance(told, str) else type(told).__name__)
        self.cause = cause
        self.reason: FailureReason = reason
        self.retry_after_s = retry_after_s
        self.transient = transient


class SetupError(Exception):
    """Something that a person has to put right before a Host can start: a configuration, a package, a model,
    a key.

    `reason` is a name in kebab-case that programs may test, and the text says what is wrong and what to do
    about it. A Host that cannot start closes its port with both (rule H4); the command line prints the text.
    What in it looks like a key is replaced by `[...]`: the name that is wrong may be one (rule E2).
    """

    def __init__(self, reason: str, message: str) -> None:
        reason, message = presentable(reason), presentable(message)
        super().__init__(reason, message)
        self.reason = reason
        self.message = message

    def __str__(self) -> str:
        return self.message


def invalid_request(field: str, reason: str) -> IntelligenceError:
    """A request that was refused for what it holds; `field` is `input`, `id` or `session`."""
    return IntelligenceError("intelligence-invalid-request", FailureDetail(field=field, reason=reason))


def session_provider_mismatch(expected: str, received: str) -> IntelligenceError:
    """A session that belongs to provider `received` was submitted to provider `expected`."""
    return IntelligenceError(
        "intelligence-session-provider-mismatch",
        FailureDetail(expected_provider_id=expected, received_provider_id=received),
    )


def capacity_exceeded(limit: int) -> IntelligenceError:
    """`limit` Activities are held already."""
    return IntelligenceError("intelligence-capacity-exceeded", FailureDetail(limit=limit))


def activity_not_found(activity_id: object) -> IntelligenceError:
    """No Activity of that id is running.

    What no id could be is quoted in part, and not at all if it is no string.
    """
    quoted = encodable(str.__str__(activity_id)[:MAX_ID_CHARS]) if isinstance(activity_id, str) else None
    return IntelligenceError("intelligence-activity-not-found", FailureDetail(activity_id=quoted))


def output_overflow(activity_id: str, limit: int) -> IntelligenceError:
    """The output of an Activity passed `limit` characters."""
    return IntelligenceError(
        "intelligence-output-overflow",
        FailureDetail(activity_id=activity_id, bound="output-chars", limit=limit),
    )


def closed(reason: str | None = None, message: str | None = None) -> IntelligenceError:
    """The service is closed; `reason` is a name and `message` a sentence for a log, where they are known."""
    return IntelligenceError("intelligence-closed", FailureDetail(reason=reason, message=message))


def provider_failed(
    provider_id: str, cause: str | BaseException, *, reason: FailureReason = "other"
) -> IntelligenceError:
    """The provider refused, raised, timed out, crashed or broke the contract.

    A `ProviderError` brings its own reason; of any other exception only the class name and a scrubbed text
    are kept (E2).
    """
    retry_after_s = None
    if isinstance(cause, ProviderError):
        told: Any = cause  # its fields are the provider's, who may have put anything into them
        reason, retry_after_s = _reason(told.reason), _wait_s(told.retry_after_s)
        text = scrub(told.cause) if isinstance(told.cause, str) else describe_exception(cause)
    elif isinstance(cause, BaseException):
        text = describe_exception(cause)
    else:
        text = scrub(cause)
    return IntelligenceError(
        "intelligence-provider-failed",
        FailureDetail(provider_id=provider_id, cause=text, reason=reason, retry_after_seconds=retry_after_s),
    )


def refused_by_provider(provider_id: str, error: IntelligenceError) -> IntelligenceError:
    """The `Err` that a provider returned, with nothing in it that was not looked at (rule E2)."""
    detail = error.detail
    if error.code == "intelligence-provider-failed":
        wait_s = detail.retry_after_seconds
        cause = ProviderError(detail.cause or "", reason=_reason(detail.reason), retry_after_s=wait_s)
        return provider_failed(provider_id, cause)
    texts: dict[str, Any] = {
        name: scrub(value)
        for name in detail.__struct_fields__
        if isinstance(value := getattr(detail, name), str)
    }
    return IntelligenceError(error.code, FailureDetail(**texts, limit=detail.limit))


def _reason(given: object) -> FailureReason:
    """The reason that is given if it is one of the contract's, and otherwise the one for all others."""
    for known in _FAILURE_REASONS:
        if known == given:
            return known
    return "other"


def _wait_s(seconds: Any) -> float | None:
    """A time to wait, in seconds, if it is one."""
    if type(seconds) not in (int, float):
        return None
    try:
        wait_s = float(seconds)
    except OverflowError:
        return None
    return wait_s if math.isfinite(wait_s) and wait_s >= 0 else None
