"""Strategies for Hypothesis that make what crosses the seam: texts, requests, events, limits, messages, chunks.

This module needs Hypothesis, and is the only one that does. What it makes is valid to the types and to the
decoders unless a strategy says otherwise; that events come in a sensible order, only `event_sequences` claims.
"""

from __future__ import annotations

from typing import get_args

import msgspec

from engine_intelligence.activity import (
    ActivityRequest,
    ActivitySubmission,
    Cancelled,
    Completed,
    Failed,
    FinishReason,
    IntelligenceEvent,
    SessionRef,
    Terminal,
    TextDelta,
    Usage,
)
from engine_intelligence.errors import IntelligenceError, intelligence_failure
from engine_intelligence.failure import ErrorCode, FailureDetail, IntelligenceFailure
from engine_intelligence.limits import IntelligenceLimits
from engine_intelligence.protocol.messages import (
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

try:
    from hypothesis import strategies as st
except ImportError as error:
    raise ImportError(
        "engine_intelligence.testing.strategies needs Hypothesis, which is not installed: pip install hypothesis"
    ) from error

# Outside the basic plane, combining, right to left, controls, and what ends a line or a C string.
_AWKWARD = "\U0001f9e0\U0001f6e1\U0010ffff\ufe0f\u0301\u0647\u2028\ufeff\ufffd\x00\x7f\r\n\t "

# The ends of both ranges: alone, and side by side the halves of a pair.
_SURROGATES = "\ud800\udbff\udc00\udfff"

# What MessagePack and JSON text both hold exactly.
_INT64 = st.integers(-(2**63), 2**63 - 1)
_COUNT = st.integers(0, 2**63 - 1)
_BOUND = st.integers(1, 2**53)


def texts(*, min_chars: int = 0, max_chars: int = 40, surrogates: bool = False) -> st.SearchStrategy[str]:
    """Texts, lengths in code points, with astral and other awkward characters more often than by chance.

    With `surrogates` also lone surrogates, which UTF-8 cannot encode: a realm refuses such a text, and what a
    provider says is repaired (rule D1).
    """
    # Two kinds of texts rather than two kinds of characters: Hypothesis makes one range of the latter, in which the
    # awkward ones are as rare as they are few.
    kinds = [st.characters(codec="utf-8"), st.sampled_from(_AWKWARD + "abc")]
    if surrogates:
        kinds.append(st.sampled_from(_SURROGATES + _AWKWARD + "abc"))
        kinds.append(st.characters(categories=["Cs", "Lu"]))
    return st.one_of([st.text(kind, min_size=min_chars, max_size=max_chars) for kind in kinds])


def ids() -> st.SearchStrategy[str]:
    """Ids of Activities, sessions and providers: 1 to 20 characters."""
    return texts(min_chars=1, max_chars=20)


def session_refs(provider_id: str | None = None) -> st.SearchStrategy[SessionRef]:
    """Sessions, of one provider or of any."""
    return st.builds(SessionRef, ids() if provider_id is None else st.just(provider_id), ids())


def requests(
    *, provider_id: str | None = None, limits: IntelligenceLimits | None = None
) -> st.SearchStrategy[ActivityRequest]:
    """Requests that a service of `provider_id` with `limits` admits."""
    longest = min(40, (limits or IntelligenceLimits()).max_input_chars)
    inputs = texts(min_chars=1, max_chars=longest)
    return st.builds(ActivityRequest, inputs, st.none() | session_refs(provider_id))


def submissions(provider_id: str | None = None) -> st.SearchStrategy[ActivitySubmission]:
    """Requests with their identities, as a provider is handed them."""
    return st.builds(ActivitySubmission, ids(), session_refs(provider_id), texts(min_chars=1))


def limits() -> st.SearchStrategy[IntelligenceLimits]:
    """Limits, from the least that there may be to larger than any memory."""
    return st.builds(
        IntelligenceLimits,
        max_input_chars=_BOUND,
        max_output_chars=_BOUND,
        max_concurrent_activities=_BOUND,
        max_pending_events_per_activity=st.integers(2, 2**53),
        max_poll_events=_BOUND,
    )


def usages() -> st.SearchStrategy[Usage]:
    """What an Activity consumed."""
    return st.builds(Usage, _COUNT, _COUNT)


def failures() -> st.SearchStrategy[IntelligenceFailure]:
    """Failures with any code and any detail, whether or not the two go together: what a decoder has to read."""
    text = st.none() | texts()
    detail = st.builds(
        FailureDetail,
        field=text,
        reason=text,
        message=text,
        expected_provider_id=text,
        received_provider_id=text,
        activity_id=text,
        provider_id=text,
        cause=text,
        retry_after_seconds=st.none() | st.floats(allow_nan=False, allow_infinity=False),
        bound=text,
        limit=st.none() | _INT64,
    )
    codes = st.sampled_from(get_args(ErrorCode))
    return st.builds(IntelligenceFailure, code=codes, expected=texts(), hint=texts(), detail=detail)


def events() -> st.SearchStrategy[IntelligenceEvent]:
    """Single events of any Activity, with any sequence number."""
    finishes = st.none() | st.sampled_from(get_args(FinishReason))
    sessions = st.builds(SessionRef, texts(), texts())
    return st.one_of(
        st.builds(TextDelta, texts(), _INT64, texts()),
        st.builds(Completed, texts(), _INT64, sessions, texts(), st.none() | usages(), finishes),
        st.builds(Failed, texts(), _INT64, failures()),
        st.builds(Cancelled, texts(), _INT64),
    )


def event_sequences(
    *, max_activities: int = 3, max_deltas: int = 5, ended: bool = True
) -> st.SearchStrategy[list[IntelligenceEvent]]:
    """All that a game may be told of 1 to `max_activities` Activities, in an order in which it may come.

    Of each Activity there are up to `max_deltas` deltas and one terminal, numbered from 1 without a gap, and
    the deltas joined are the output (rules S6, D3). Without `ended` some may still be running.
    """

    names = st.lists(ids(), min_size=1, max_size=max_activities, unique=True)
    said = st.lists(texts(min_chars=1), max_size=max_deltas)
    ends = _ends() if ended else st.none() | _ends()

    @st.composite
    def sequences(draw: st.DrawFn) -> list[IntelligenceEvent]:
        lines = [_line(name, draw(said), draw(ends)) for name in draw(names)]
        turns = [number for number, line in enumerate(lines) for _ in line]
        left = [iter(line) for line in lines]
        return [next(left[number]) for number in draw(st.permutations(turns))]

    return sequences()


_FAILURE = intelligence_failure(IntelligenceError("intelligence-provider-failed"))


def _ends() -> st.SearchStrategy[Terminal]:
    """How an Activity may end; the names, the number and the output are those of another one."""
    completed = st.builds(
        Completed, st.just(""), st.just(0), session_refs(), st.just(""), st.none() | usages()
    )
    return st.one_of(completed, st.just(Failed("", 0, _FAILURE)), st.just(Cancelled("", 0)))


def _line(activity_id: str, said: list[str], end: Terminal | None) -> list[IntelligenceEvent]:
    """What one Activity says, in order."""
    line: list[IntelligenceEvent] = [TextDelta(activity_id, at, text) for at, text in enumerate(said, 1)]
    if isinstance(end, Completed):
        end = msgspec.structs.replace(end, output="".join(said))
    if end is not None:
        line.append(msgspec.structs.replace(end, activity_id=activity_id, sequence=len(line) + 1))
    return line


def realm_messages() -> st.SearchStrategy[RealmMessage]:
    """What a realm may send on a port, well-formed and with any content."""
    any_submission = st.builds(ActivitySubmission, texts(), st.builds(SessionRef, texts(), texts()), texts())
    return st.one_of(
        st.builds(Submit, any_submission),
        st.builds(Poll, _INT64),
        st.builds(Cancel, texts()),
        st.just(Close()),
        _hellos(),
    )


def host_messages() -> st.SearchStrategy[HostMessage]:
    """What a Host may send on a port, well-formed and with any content."""
    return st.one_of(
        st.builds(Events, st.lists(events(), max_size=5).map(tuple)),
        st.builds(Rejected, texts(), failures()),
        st.builds(Closed, st.none() | texts(), st.none() | texts()),
        _hellos(),
        st.just(Heartbeat()),
    )


def _hellos() -> st.SearchStrategy[Hello]:
    return st.builds(Hello, _INT64, texts(), limits(), st.lists(texts(), max_size=4).map(tuple))


def chunkings(data: bytes, *, max_cuts: int = 20, empty: bool = False) -> st.SearchStrategy[list[bytes]]:
    """Ways to cut `data` into chunks, as a byte stream may; joined they are `data` again. With `empty` a chunk may be
    empty.
    """
    if empty:
        cuts = st.lists(st.integers(0, len(data)), max_size=max_cuts)
    elif len(data) < 2:
        return st.just([data] if data else [])
    else:
        cuts = st.lists(st.integers(1, len(data) - 1), max_size=max_cuts, unique=True)
    return cuts.map(lambda found: _cut(data, sorted(found)))


def _cut(data: bytes, places: list[int]) -> list[bytes]:
    starts, ends = [0, *places], [*places, len(data)]
    return [data[start:end] for start, end in zip(starts, ends, strict=True)]
