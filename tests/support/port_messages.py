"""Messages and events, made shortly."""

from __future__ import annotations

from collections.abc import Iterable

from engine_intelligence import (
    ActivitySubmission,
    Completed,
    ErrorCode,
    FailureDetail,
    IntelligenceEvent,
    IntelligenceFailure,
    IntelligenceLimits,
    SessionRef,
    TextDelta,
)
from engine_intelligence.protocol.messages import (
    FEATURES,
    PROTOCOL_VERSION,
    Events,
    Hello,
    Poll,
    Submit,
)

PROVIDER = "p"
SESSION = SessionRef(PROVIDER, "s-1")


def submit(id: str = "a-1", input: str = "hello", session: SessionRef = SESSION) -> Submit:
    return Submit(ActivitySubmission(id, session, input))


def delta(sequence: int, text: str = "x", id: str = "a-1") -> TextDelta:
    return TextDelta(id, sequence, text)


def completed(sequence: int, output: str = "x", id: str = "a-1", session: SessionRef = SESSION) -> Completed:
    return Completed(id, sequence, session, output)


def events(*items: IntelligenceEvent) -> Events:
    return Events(items)


def failure(code: ErrorCode = "intelligence-capacity-exceeded", **detail: str) -> IntelligenceFailure:
    return IntelligenceFailure(code=code, expected="expected", hint="hint", detail=FailureDetail(**detail))  # type: ignore[arg-type]


def hello(
    provider_id: str = PROVIDER,
    *,
    protocol: int = PROTOCOL_VERSION,
    limits: IntelligenceLimits | None = None,
    features: tuple[str, ...] = FEATURES,
) -> Hello:
    return Hello(protocol, provider_id, IntelligenceLimits() if limits is None else limits, features)


def events_in(messages: Iterable[object]) -> list[IntelligenceEvent]:
    """All events that messages hold, in order."""
    return [event for message in messages if isinstance(message, Events) for event in message.events]


def text_of(items: Iterable[IntelligenceEvent], id: str = "a-1") -> str:
    """The deltas of one Activity, joined."""
    return "".join(item.text for item in items if isinstance(item, TextDelta) and item.activity_id == id)


def granted(messages: Iterable[object]) -> int:
    """How many events the polls among some messages grant."""
    return sum(message.max_events for message in messages if isinstance(message, Poll))
