"""Errors as data: the closed codes, and the plain form that may cross a port (section 2 of the contract)."""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

ErrorCode: TypeAlias = Literal[
    "intelligence-invalid-request",
    "intelligence-session-provider-mismatch",
    "intelligence-capacity-exceeded",
    "intelligence-activity-not-found",
    "intelligence-provider-failed",
    "intelligence-output-overflow",
    "intelligence-closed",
]

FailureReason: TypeAlias = Literal[
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
]


class FailureDetail(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, repr_omit_defaults=True, rename="camel"
):
    """What is particular about one error. Which fields are set follows from the code; the others are `None`.

    The fields are listed, rather than being a free mapping, so that nothing unforeseen can travel in them
    (rule E2). On the wire a field that is not set is left off, and one that this version does not know is
    ignored.
    """

    field: str | None = None
    """The part of a request that was refused: `input`, `id` or `session`."""
    reason: str | None = None
    """`intelligence-invalid-request` and `intelligence-closed`: why, in words or as a name.
    `intelligence-provider-failed`: one of `FailureReason`."""
    message: str | None = None
    """`intelligence-closed`: why, in a sentence for a log."""
    expected_provider_id: str | None = None
    received_provider_id: str | None = None
    activity_id: str | None = None
    provider_id: str | None = None
    cause: str | None = None
    """`intelligence-provider-failed`: a short, scrubbed text for a person."""
    retry_after_seconds: float | None = None
    """`intelligence-provider-failed`: how long the provider asked to be left alone, in seconds, if it said
    so.
    """
    bound: str | None = None
    limit: int | None = None


class IntelligenceFailure(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The plain form of an error, safe to show to a realm: it pickles, compares, hashes and crosses a port.

    `expected` says what should have held and `hint` what to do next; both are constant for a `code`.
    """

    code: ErrorCode
    expected: str
    hint: str
    detail: FailureDetail = FailureDetail()
