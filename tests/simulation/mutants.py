"""Builds that are broken on purpose, one rule each. A simulation is worth what it finds of them."""

# They replace private parts of the package by one-line functions of whatever the parts are called with.
# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false

from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

import pytest

from engine_intelligence import IntelligenceRuntime, Ok
from engine_intelligence.activity import ActivityRequest, Cancelled, Completed, TextDelta
from engine_intelligence.delivery import DeliveryQueue, PendingEvents
from engine_intelligence.expiries import Expiries
from engine_intelligence.host.binding import IntelligencePortBinding
from engine_intelligence.lifecycle import TRANSITIONS, Phase, Signal
from engine_intelligence.protocol.credit import HostCredit, RealmCredit
from engine_intelligence.protocol.framing import FrameReader
from engine_intelligence.realm.exchange import Exchange
from engine_intelligence.realm.held import HeldActivities
from engine_intelligence.signals import SignalBox

Patch = pytest.MonkeyPatch
MUTANTS: dict[str, Callable[[Patch], None]] = {}


def mutant(break_it: Callable[[Patch], None]) -> Callable[[Patch], None]:
    MUTANTS[break_it.__name__] = break_it
    return break_it


@contextmanager
def broken(name: str) -> Generator[None]:
    with pytest.MonkeyPatch.context() as patch:
        MUTANTS[name](patch)
        yield


def wrapped(
    patch: Patch, owner: type, name: str, wrap: Callable[[Callable[..., Any]], Callable[..., Any]]
) -> None:
    patch.setattr(owner, name, wrap(getattr(owner, name)))


@mutant
def a_cancelled_terminal_is_dropped(patch: Patch) -> None:
    def wrap(add: Callable[..., Any]) -> Callable[..., Any]:
        return lambda queue, pending, terminal: (
            None if isinstance(terminal, Cancelled) else add(queue, pending, terminal)
        )

    wrapped(patch, DeliveryQueue, "add_terminal", wrap)


@mutant
def a_second_terminal_passes(patch: Patch) -> None:
    patch.setitem(TRANSITIONS, Phase.ENDED, TRANSITIONS[Phase.RUNNING])


@mutant
def late_text_passes(patch: Patch) -> None:
    table = {**TRANSITIONS[Phase.ENDED], Signal.TEXT: TRANSITIONS[Phase.RUNNING][Signal.TEXT]}
    patch.setitem(TRANSITIONS, Phase.ENDED, table)


@mutant
def credit_is_ignored(patch: Patch) -> None:
    patch.setattr(HostCredit, "available", property(lambda credit: 100 if credit.streaming else 0))


@mutant
def credit_is_never_renewed(patch: Patch) -> None:
    granted: set[int] = set()

    def grant(credit: Any, max_events: int, held_events: int) -> int:
        if not credit._streaming:
            return original(credit, max_events, held_events)
        if id(credit) in granted:
            return 0
        granted.add(id(credit))
        return original(credit, max_events, held_events)

    original = RealmCredit.grant
    patch.setattr(RealmCredit, "grant", grant)


@mutant
def a_close_waits_for_ever(patch: Patch) -> None:
    def wrap(step: Callable[..., Any]) -> Callable[..., Any]:
        def stuck(exchange: Any) -> bool:
            exchange._close_by = float("inf")
            return bool(step(exchange))

        return stuck

    wrapped(patch, Exchange, "_closing_step", wrap)


@mutant
def a_place_is_never_freed(patch: Patch) -> None:
    patch.setattr(HeldActivities, "_forget", lambda held, activity_id: None)


@mutant
def a_place_of_the_host_is_never_freed(patch: Patch) -> None:
    patch.setattr(IntelligenceRuntime, "_forget", lambda runtime, activity_id: None)


@mutant
def a_session_is_written_whatever_became_of_the_activity(patch: Patch) -> None:
    def wrap(complete: Callable[..., Any]) -> Callable[..., Any]:
        return lambda box, *said: complete(box, *said) or True

    wrapped(patch, SignalBox, "completion_said", wrap)


@mutant
def a_completed_turn_is_not_written(patch: Patch) -> None:
    def wrap(complete: Callable[..., Any]) -> Callable[..., Any]:
        return lambda box, *said: complete(box, *said) and False

    wrapped(patch, SignalBox, "completion_said", wrap)


@mutant
def merged_text_is_lost(patch: Patch) -> None:
    def add_text(queue: DeliveryQueue, pending: PendingEvents, text: str) -> None:
        if pending.pending_events < queue.max_pending_events_per_activity - 1:
            original(queue, pending, text)

    original = DeliveryQueue.add_text
    patch.setattr(DeliveryQueue, "add_text", add_text)


@mutant
def nothing_is_merged(patch: Patch) -> None:
    def wrap(add: Callable[..., Any]) -> Callable[..., Any]:
        def grow(queue: DeliveryQueue, pending: PendingEvents, text: str) -> None:
            most, queue.max_pending_events_per_activity = queue.max_pending_events_per_activity, 10_000
            add(queue, pending, text)
            queue.max_pending_events_per_activity = most

        return grow

    wrapped(patch, DeliveryQueue, "add_text", wrap)


@mutant
def numbers_have_gaps(patch: Patch) -> None:
    def wrap(take: Callable[..., Any]) -> Callable[..., Any]:
        def skip(queue: DeliveryQueue, max_events: int) -> list[Any]:
            events: list[Any] = take(queue, max_events)
            for event in events:
                if isinstance(event, TextDelta) and len(event.text) > 4:
                    return [TextDelta(event.activity_id, event.sequence + 1, event.text), *events[1:]]
            return events

        return skip

    wrapped(patch, DeliveryQueue, "take", wrap)


@mutant
def text_is_delivered_backwards(patch: Patch) -> None:
    def wrap(take: Callable[..., Any]) -> Callable[..., Any]:
        def turned(queue: Any, max_events: int) -> list[Any]:
            for pending in queue.line:
                if pending.texts:
                    pending.first_text, *pending.texts = [pending.first_text, *pending.texts][::-1]
            events: list[Any] = take(queue, max_events)
            return events

        return turned

    wrapped(patch, DeliveryQueue, "take", wrap)


@mutant
def a_poll_returns_more_than_it_may(patch: Patch) -> None:
    def wrap(take: Callable[..., Any]) -> Callable[..., Any]:
        return lambda queue, max_events: take(queue, max_events + 1)

    wrapped(patch, DeliveryQueue, "take", wrap)


@mutant
def activities_of_a_session_interleave(patch: Patch) -> None:
    def wrap(accept: Callable[..., Any]) -> Callable[..., Any]:
        def at_once(runtime: Any, submission: Any) -> Any:
            line = runtime._sessions.pop(submission.session.id, None)
            result = accept(runtime, submission)
            if line is not None:
                runtime._sessions[submission.session.id][:0] = line
            return result

        return at_once

    wrapped(patch, IntelligenceRuntime, "_accept", wrap)


@mutant
def a_waiting_activity_is_forgotten(patch: Patch) -> None:
    patch.setattr(IntelligenceRuntime, "_leave_session", lambda runtime, ended: None)


@mutant
def deadlines_are_not_kept(patch: Patch) -> None:
    patch.setattr(Expiries, "expired", lambda expiries, now, held: iter(()))


@mutant
def the_host_forgets_to_look_at_deadlines(patch: Patch) -> None:
    patch.setattr(IntelligencePortBinding, "_watch_deadline", lambda binding: None)


@mutant
def an_activity_is_started_twice(patch: Patch) -> None:
    def wrap(start: Callable[..., Any]) -> Callable[..., Any]:
        def twice(runtime: Any, activity: Any) -> Any:
            start(runtime, activity)
            return start(runtime, activity)

        return twice

    wrapped(patch, IntelligenceRuntime, "_start", wrap)


@mutant
def capacity_is_not_checked(patch: Patch) -> None:
    def admit(input: Any, session: Any, **_: Any) -> Ok[ActivityRequest]:
        return Ok(ActivityRequest(input, session))

    patch.setattr("engine_intelligence.realm.client.admit", admit)
    patch.setattr("engine_intelligence.runtime.admit", admit)


@mutant
def output_is_not_bounded(patch: Patch) -> None:
    def wrap(initialise: Callable[..., Any]) -> Callable[..., Any]:
        def unbounded(box: Any, *arguments: Any) -> None:
            initialise(box, *arguments)
            box._max_output_chars = 10**9

        return unbounded

    wrapped(patch, SignalBox, "__init__", wrap)


@mutant
def a_closed_client_goes_on(patch: Patch) -> None:
    def wrap(end: Callable[..., Any]) -> Callable[..., Any]:
        def keep(exchange: Any, reason: Any, *, release: bool = True) -> None:
            end(exchange, reason, release=release)
            exchange.ended = None

        return keep

    wrapped(patch, Exchange, "_end", wrap)


@mutant
def a_dead_realm_does_not_close_the_binding(patch: Patch) -> None:
    patch.setattr("engine_intelligence.host.server.HostServer._lost", lambda server, reason: None)


@mutant
def a_hanging_provider_holds_the_close_up(patch: Patch) -> None:
    async def unbounded(runtime: Any) -> None:
        await runtime._close_provider_contained()

    patch.setattr(IntelligenceRuntime, "_close_provider_bounded", unbounded)


@mutant
def chunks_are_taken_for_frames(patch: Patch) -> None:
    def feed(reader: Any, data: bytes) -> Any:
        reader._buffer.clear()
        return original(reader, data)

    original = FrameReader.feed
    patch.setattr(FrameReader, "feed", feed)


@mutant
def a_cancel_is_not_passed_on(patch: Patch) -> None:
    patch.setattr(IntelligenceRuntime, "cancel", lambda runtime, activity_id: Ok(None))


@mutant
def output_differs_from_what_was_streamed(patch: Patch) -> None:
    def wrap(add: Callable[..., Any]) -> Callable[..., Any]:
        def altered(queue: Any, pending: Any, terminal: Any) -> None:
            if isinstance(terminal, Completed):
                terminal = Completed(
                    terminal.activity_id,
                    0,
                    terminal.session,
                    terminal.output[1:],
                    terminal.usage,
                    terminal.finish,
                )
            add(queue, pending, terminal)

        return altered

    wrapped(patch, DeliveryQueue, "add_terminal", wrap)
