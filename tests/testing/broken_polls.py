"""Services that break the contract by what they hand out."""

from __future__ import annotations

from typing import Any

import msgspec
from testing.good_providers import Released
from testing.good_services import runtime

from engine_intelligence import (
    Completed,
    TextDelta,
)


class Service:
    """A runtime, handed on to. Nothing here is typed: what is broken need not be of the right type."""

    def __init__(self) -> None:
        self.inner: Any = runtime()

    @property
    def provider_id(self) -> str:
        return str(self.inner.provider_id)

    @property
    def limits(self) -> Any:
        return self.inner.limits

    def submit(self, input: Any, session: Any = None) -> Any:
        return self.inner.submit(input, session)

    def poll(self, max_events: Any = None) -> Any:
        return self.inner.poll(max_events)

    def cancel(self, activity_id: Any) -> Any:
        return self.inner.cancel(activity_id)

    def close(self) -> Any:
        return self.inner.close()

    def __reduce__(self) -> Any:
        return self.inner.__reduce__()


class Rewrites(Service):
    """A service that changes the events that it hands out."""

    def poll(self, max_events: Any = None) -> Any:
        return [self.changed(event) for event in super().poll(max_events)]

    def changed(self, event: Any) -> Any:
        return event


class BlocksInPoll(Service):
    def poll(self, max_events: Any = None) -> Any:
        Released.event.wait(30)
        return super().poll(max_events)


class EndsTwice(Service):
    def poll(self, max_events: Any = None) -> Any:
        events = super().poll(max_events)
        return events + [event for event in events if isinstance(event, Completed)]


class CountsFromZero(Rewrites):
    def changed(self, event: Any) -> Any:
        if isinstance(event, TextDelta):
            return TextDelta(event.activity_id, event.sequence - 1, event.text)
        return event


class LosesTerminals(Service):
    def poll(self, max_events: Any = None) -> Any:
        return [event for event in super().poll(max_events) if isinstance(event, TextDelta)]


class SpeaksOfOthers(Rewrites):
    def changed(self, event: Any) -> Any:
        return TextDelta("another", 1, "x") if isinstance(event, TextDelta) else event


class PrefersTheFirst(Service):
    """Hands out only what is of the Activity that it was asked first, as long as that is not all."""

    def __init__(self) -> None:
        super().__init__()
        self.first: str | None = None

    def submit(self, input: Any, session: Any = None) -> Any:
        result = super().submit(input, session)
        if result.ok and self.inner.held_activities == 2:
            self.first = result.value.id
        return result

    def poll(self, max_events: Any = None) -> Any:
        return [event for event in super().poll(max_events) if event.activity_id != self.first]


class DropsWhatIsLate(Service):
    """Keeps only the newest text of a game that did not poll."""

    def poll(self, max_events: Any = None) -> Any:
        events = super().poll(max_events)
        last = events[-2:-1] if len(events) > 2 else events[:-1]
        return [
            Completed(each.activity_id, 2, each.session, each.output)
            if isinstance(each, Completed) and len(events) > 2
            else TextDelta(each.activity_id, 1, each.text)
            if isinstance(each, TextDelta) and len(events) > 2
            else each
            for each in [*last, *events[-1:]]
        ]


class PollsAll(Service):
    def poll(self, max_events: Any = None) -> Any:
        return super().poll(None if isinstance(max_events, int) and max_events > 0 else max_events)


class PollsForTrue(Service):
    def poll(self, max_events: Any = None) -> Any:
        return super().poll(1 if max_events is True else max_events)


class RaisesForOddSizes(Service):
    def poll(self, max_events: Any = None) -> Any:
        if max_events is not None and max_events < 0:
            raise ValueError("max_events must not be negative")
        return super().poll(max_events)


class PollsATuple(Service):
    def poll(self, max_events: Any = None) -> Any:
        return tuple(super().poll(max_events))


class CutsOverflows(Rewrites):
    """Completes with what fits, and tells nobody."""

    def __init__(self) -> None:
        super().__init__()
        self.sessions: dict[str, Any] = {}

    def submit(self, input: Any, session: Any = None) -> Any:
        result = super().submit(input, session)
        if result.ok:
            self.sessions[result.value.id] = result.value.session
        return result

    def changed(self, event: Any) -> Any:
        error = getattr(event, "error", None)
        if error is not None and error.code == "intelligence-output-overflow":
            return Completed(event.activity_id, event.sequence, self.sessions[event.activity_id], "and more")
        return event


class SecondGoesFirst(Service):
    """Puts every Activity into a session of its own, and ends the last one first."""

    def __init__(self) -> None:
        super().__init__()
        self.kept: list[Any] = []

    def poll(self, max_events: Any = None) -> Any:
        self.kept += super().poll(max_events)
        if self.inner.held_activities:
            return []
        ids = list(dict.fromkeys(event.activity_id for event in self.kept))
        events = [event for id in reversed(ids) for event in self.kept if event.activity_id == id]
        self.kept.clear()
        return events


class BlamesAnother(Rewrites):
    def changed(self, event: Any) -> Any:
        error = getattr(event, "error", None)
        if error is None:
            return event
        detail = msgspec.structs.replace(error.detail, provider_id="another")
        return msgspec.structs.replace(event, error=msgspec.structs.replace(error, detail=detail))
