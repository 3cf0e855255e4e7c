"""The one admission policy: what is refused before an identity is made or a place taken (rules S2, S3, D1).

Pure functions that the runtime and the port client share, so that both sides of a port refuse the same
things.
"""

from __future__ import annotations

from collections.abc import Container

from engine_intelligence.activity import SessionRef
from engine_intelligence.errors import (
    IntelligenceError,
    capacity_exceeded,
    invalid_request,
    session_provider_mismatch,
)
from engine_intelligence.limits import IntelligenceLimits
from engine_intelligence.scrubbing import is_encodable

MAX_ID_CHARS = 256
"""Bound of an id, in characters: twice what the longest usual kind, a path-like name, takes."""


def admit(
    *,
    input: object,
    session: object,
    provider_id: str,
    limits: IntelligenceLimits,
    held_activities: int,
) -> IntelligenceError | None:
    """Why a request is refused, or `None` if it is admitted.

    The arguments may be anything that a game could pass.
    """
    reason = _text_fault(input, "input", limits.max_input_chars)
    if reason is not None:
        return invalid_request("input", reason)
    if session is not None:
        if not isinstance(session, SessionRef):
            return invalid_request("session", f"session is a {type(session).__name__}, not a SessionRef")
        if session.provider_id != provider_id:
            # A foreign id is quoted, so it has to be one that can be sent on.
            received = session.provider_id
            fault = _text_fault(received, "session", MAX_ID_CHARS)
            return (
                session_provider_mismatch(provider_id, received)
                if fault is None
                else invalid_request("session", fault)
            )
        reason = _text_fault(session.id, "session", MAX_ID_CHARS)
        if reason is not None:
            return invalid_request("session", reason)
    if held_activities >= limits.max_concurrent_activities:
        return capacity_exceeded(limits.max_concurrent_activities)
    return None


def admit_ids(activity_id: object, session_id: object, in_use: Container[object]) -> IntelligenceError | None:
    """Why the identities of a request are refused, or `None` if they are admitted.

    `in_use` are the ids that are held.
    """
    reason = _text_fault(activity_id, "id", MAX_ID_CHARS)
    if reason is None and activity_id in in_use:
        reason = "id is already in use"
    if reason is not None:
        return invalid_request("id", reason)
    reason = _text_fault(session_id, "session", MAX_ID_CHARS)
    return None if reason is None else invalid_request("session", reason)


def poll_size(max_events: object, limits: IntelligenceLimits) -> int:
    """How many events a poll may return: 0 where `max_events` is not a positive int (rule S7)."""
    if max_events is None:
        return limits.max_poll_events
    # `type() is int`: True is no number of events.
    if type(max_events) is not int or max_events <= 0:
        return 0
    return min(max_events, limits.max_poll_events)


def _text_fault(text: object, name: str, max_chars: int) -> str | None:
    if not isinstance(text, str):
        return f"{name} is a {type(text).__name__}, not a str"
    if not text:
        return f"{name} is empty"
    if len(text) > max_chars:
        return f"{name} exceeds {max_chars} characters"
    if not is_encodable(text):
        return f"{name} holds a lone surrogate, which UTF-8 cannot encode"
    return None
