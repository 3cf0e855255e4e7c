"""Messages and events, made shortly, and strategies that make all of them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import get_args

from hypothesis import strategies as st

from engine_intelligence import (
    ActivitySubmission,
    Cancelled,
    Completed,
    ErrorCode,
    Failed,
    FailureDetail,
    IntelligenceEvent,
    IntelligenceFailure,
    IntelligenceLimits,
    SessionRef,
    TextDelta,
    Usage,
)
from engine_intelligence.protocol.messages import (
    FEATURES,
    PROTOCOL_VERSION,
    Cancel,
    Close,
    Closed,
    Events,
    Heartbeat,
    Hello,
    HostMessage,
    Poll,
    RealmMessage,
    Rejected,
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


texts = st.text(max_size=40)
ids = st.text(min_size=1, max_size=20)
# What both encodings hold exactly.
numbers = st.integers(-(2**63), 2**63 - 1)
counts = st.integers(0, 2**63 - 1)
bounds = st.integers(1, 2**53)

session_refs = st.builds(SessionRef, texts, texts)
submissions = st.builds(ActivitySubmission, texts, session_refs, texts)
usages = st.builds(Usage, counts, counts)
details = st.builds(
    FailureDetail,
    field=st.none() | texts,
    reason=st.none() | texts,
    message=st.none() | texts,
    expected_provider_id=st.none() | texts,
    received_provider_id=st.none() | texts,
    activity_id=st.none() | texts,
    provider_id=st.none() | texts,
    cause=st.none() | texts,
    retry_after_seconds=st.none() | st.floats(allow_nan=False, allow_infinity=False),
    bound=st.none() | texts,
    limit=st.none() | numbers,
)
failures = st.builds(
    IntelligenceFailure,
    code=st.sampled_from(get_args(ErrorCode)),
    expected=texts,
    hint=texts,
    detail=details,
)
event_items: st.SearchStrategy[IntelligenceEvent] = st.one_of(
    st.builds(TextDelta, texts, numbers, texts),
    st.builds(
        Completed,
        texts,
        numbers,
        session_refs,
        texts,
        st.none() | usages,
        st.none() | st.sampled_from(["stop", "length"]),
    ),
    st.builds(Failed, texts, numbers, failures),
    st.builds(Cancelled, texts, numbers),
)
limits = st.builds(
    IntelligenceLimits,
    max_input_chars=bounds,
    max_output_chars=bounds,
    max_concurrent_activities=bounds,
    max_pending_events_per_activity=st.integers(2, 2**53),
    max_poll_events=bounds,
)
hellos = st.builds(Hello, numbers, texts, limits, st.lists(texts, max_size=4).map(tuple))
realm_messages: st.SearchStrategy[RealmMessage] = st.one_of(
    st.builds(Submit, submissions),
    st.builds(Poll, numbers),
    st.builds(Cancel, texts),
    st.just(Close()),
    hellos,
)
host_messages: st.SearchStrategy[HostMessage] = st.one_of(
    st.builds(Events, st.lists(event_items, max_size=5).map(tuple)),
    st.builds(Rejected, texts, failures),
    st.builds(Closed, st.none() | texts, st.none() | texts),
    hellos,
    st.just(Heartbeat()),
)
