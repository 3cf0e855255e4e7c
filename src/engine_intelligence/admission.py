"""The one admission policy: what is refused before an identity is made or a place taken (rules S2, S3, D1).

Pure functions that the runtime and the port client share, so that both sides of a port refuse the same things. Their
arguments may be anything that a game could pass; what they return is plain and checked.
"""

from __future__ import annotations

from collections.abc import Callable, Container

from engine_intelligence.activity import ActivityRequest, ActivitySubmission, SessionRef
from engine_intelligence.errors import (
    MAX_ID_CHARS,
    IntelligenceError,
    capacity_exceeded,
    invalid_request,
    session_provider_mismatch,
)
from engine_intelligence.limits import IntelligenceLimits
from engine_intelligence.result import Err, Ok, Result
from engine_intelligence.scrubbing import describe_exception, is_encodable


def admit(
    input: object, session: object, *, provider_id: str, limits: IntelligenceLimits, held_activities: int
) -> Result[ActivityRequest, IntelligenceError]:
    """The request, or why it is refused."""
    text = _plain(input)
    fault = _fault(text, "input", limits.max_input_chars)
    if text is None or fault is not None:
        return Err(invalid_request("input", fault or f"input is a {type(input).__name__}, not a str"))
    ref: SessionRef | None = None
    if session is not None:
        if not isinstance(session, SessionRef):
            return Err(invalid_request("session", f"session is a {type(session).__name__}, not a SessionRef"))
        owner, session_id = _plain(session.provider_id), _plain(session.id)
        fault = _fault(owner, "session.provider_id", MAX_ID_CHARS) or _fault(
            session_id, "session.id", MAX_ID_CHARS
        )
        if owner is None or session_id is None or fault is not None:
            return Err(invalid_request("session", fault or "session holds what is not a str"))
        if owner != provider_id:
            return Err(session_provider_mismatch(provider_id, owner))
        ref = SessionRef(owner, session_id)
    if held_activities >= limits.max_concurrent_activities:
        return Err(capacity_exceeded(limits.max_concurrent_activities))
    return Ok(ActivityRequest(text, ref))


def identify(
    request: ActivityRequest,
    *,
    provider_id: str,
    in_use: Container[str],
    create_activity_id: Callable[[], str],
    create_session_id: Callable[[], str],
) -> Result[ActivitySubmission, IntelligenceError]:
    """An admitted request with its identities, made by the given functions (rule S5), or why those cannot be used."""
    session = request.session
    if session is None:
        session_id = _made(create_session_id)
        fault = _fault(session_id, "session.id", MAX_ID_CHARS)
        if session_id is None or fault is not None:
            return Err(invalid_request("session", fault or "no session id could be made"))
        session = SessionRef(provider_id, session_id)
    return admit_id(_made(create_activity_id), session, request.input, in_use)


def admit_id(
    activity_id: object, session: SessionRef, input: str, in_use: Container[str]
) -> Result[ActivitySubmission, IntelligenceError]:
    """The submission of an admitted request under the given id, or why the id is refused. `in_use` are those held."""
    plain = _plain(activity_id)
    fault = _fault(plain, "id", MAX_ID_CHARS)
    if plain is None or fault is not None:
        return Err(invalid_request("id", fault or "no id could be made"))
    if plain in in_use:
        return Err(invalid_request("id", "id is already in use"))
    return Ok(ActivitySubmission(plain, session, input))


def poll_size(max_events: object, limits: IntelligenceLimits) -> int:
    """How many events a poll may return: 0 where `max_events` is not a positive int (rule S7)."""
    if max_events is None:
        return limits.max_poll_events
    # `type() is int`: True is no number of events.
    if type(max_events) is not int or max_events <= 0:
        return 0
    return min(max_events, limits.max_poll_events)


def _plain(text: object) -> str | None:
    """`text` as an exact `str`, or `None` if it is none. Subclasses may override anything, and do not encode."""
    if type(text) is str:
        return text
    return str.__str__(text) if isinstance(text, str) else None


def _fault(text: str | None, name: str, max_chars: int) -> str | None:
    """What is wrong with a text, as far as there is one."""
    if text is None or (0 < len(text) <= max_chars and (text.isascii() or is_encodable(text))):
        return None
    if not text:
        return f"{name} is empty"
    if len(text) > max_chars:
        return f"{name} exceeds {max_chars} characters"
    return f"{name} holds a lone surrogate, which UTF-8 cannot encode"


def _made(create: Callable[[], str]) -> str | None:
    """What `create` makes, or `None` if it raises: a submit raises for nobody's fault (rule D4)."""
    try:
        return _plain(create())
    except Exception as error:  # noqa: BLE001 - a border: the function is the game's
        import logging  # not at the top: a game loads it for this alone

        logging.getLogger(__name__).warning("a function that makes ids raised: %s", describe_exception(error))
        return None
