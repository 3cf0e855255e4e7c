"""Services that break the contract by how they take a request, a cancel and a close."""

from __future__ import annotations

from typing import Any

import msgspec
from testing.broken_polls import Rewrites, Service
from testing.good_providers import Released

from engine_intelligence import (
    Completed,
    Err,
    IntelligenceError,
    Ok,
    SessionRef,
    TextDelta,
)
from engine_intelligence.errors import activity_not_found, invalid_request


class AcceptsEmptyTexts(Service):
    def submit(self, input: Any, session: Any = None) -> Any:
        return super().submit(input or "x", session)


class BlamesTheSession(Service):
    def submit(self, input: Any, session: Any = None) -> Any:
        result = super().submit(input, session)
        if not result.ok and input == "":
            return Err(invalid_request("session", "it is empty"))
        return result


class TakesPlacesForRefusals(Service):
    def submit(self, input: Any, session: Any = None) -> Any:
        result = super().submit(input, session)
        if not result.ok and result.error.code == "intelligence-invalid-request":
            super().submit("x")
        return result


class RaisesForNone(Service):
    def submit(self, input: Any, session: Any = None) -> Any:
        if input is None:
            raise TypeError("input must be a str")
        return super().submit(input, session)


class RepairsTexts(Service):
    def submit(self, input: Any, session: Any = None) -> Any:
        text = input.encode(errors="replace").decode() if isinstance(input, str) else input
        return super().submit(text, session)


class AdoptsSessions(Service):
    def submit(self, input: Any, session: Any = None) -> Any:
        if isinstance(session, SessionRef) and session.provider_id != self.provider_id:
            session = SessionRef(self.provider_id, session.id)
        return super().submit(input, session)


class BeginsAnew(Service):
    def submit(self, input: Any, session: Any = None) -> Any:
        result = super().submit(input, session)
        if result.ok and session is not None:
            return super().submit(input)
        return result


class CompletesElsewhere(Rewrites):
    def changed(self, event: Any) -> Any:
        if isinstance(event, Completed):
            other = SessionRef(self.provider_id, "s-0")
            return Completed(event.activity_id, event.sequence, other, event.output)
        return event


class OneSessionForAll(Service):
    def submit(self, input: Any, session: Any = None) -> Any:
        return super().submit(input, SessionRef(self.provider_id, "s-1") if session is None else session)


class NoBounds(Service):
    """Says that it has fewer places than it has."""

    @property
    def limits(self) -> Any:
        return msgspec.structs.replace(self.inner.limits, max_concurrent_activities=2)


class IgnoresCancel(Service):
    def cancel(self, activity_id: Any) -> Any:
        return Ok(None) if activity_id in self.inner._activities else super().cancel(activity_id)


class SecondCancelIsCapacity(Service):
    def __init__(self) -> None:
        super().__init__()
        self.cancels: list[Any] = []

    def cancel(self, activity_id: Any) -> Any:
        if activity_id in self.cancels:
            return Err(IntelligenceError("intelligence-capacity-exceeded"))
        self.cancels.append(activity_id)
        return super().cancel(activity_id)


class CancelOfAnythingIsFine(Service):
    def cancel(self, activity_id: Any) -> Any:
        super().cancel(activity_id)
        return Ok(None)


class NamesAnotherId(Service):
    def cancel(self, activity_id: Any) -> Any:
        result = super().cancel(activity_id)
        return Err(activity_not_found("a-1")) if not result.ok else result


class RaisesForOddIds(Service):
    def cancel(self, activity_id: Any) -> Any:
        return super().cancel(activity_id[:])


class TrueResults(Service):
    def submit(self, input: Any, session: Any = None) -> Any:
        return Truthy(super().submit(input, session).error)

    def cancel(self, activity_id: Any) -> Any:
        return Truthy(super().cancel(activity_id).error)


class Truthy(Err[Any], frozen=True):
    """A result that is true, as anything is that does not say otherwise."""

    def __bool__(self) -> Any:
        return True


class ReturnsNone(Service):
    def submit(self, input: Any, session: Any = None) -> Any:
        result = super().submit(input, session)
        return result if result.ok else None


class CanBeCopied(Service):
    def __reduce__(self) -> Any:
        return (type(self), ())


class RefusesWithoutAWord(Service):
    def __reduce__(self) -> Any:
        raise TypeError("cannot pickle")


class ANewTaskEachTime(Service):
    def close(self) -> Any:
        return ClosedAlready(super().close())


class ClosedAlready:
    """A close task around another."""

    def __init__(self, task: Any) -> None:
        self.task = task

    @property
    def done(self) -> Any:
        return self.task.done

    def __await__(self) -> Any:
        return self.task.__await__()


class NeverDone(Service):
    """Its close task can be awaited, and says for ever that it is not done."""

    def __init__(self) -> None:
        super().__init__()
        self.task: Any = None

    def close(self) -> Any:
        self.task = self.task or self.made(super().close())
        return self.task

    def made(self, task: Any) -> Any:
        made = ClosedAlready(task)
        made.__class__ = NotDone
        return made


class NotDone(ClosedAlready):
    @property
    def done(self) -> Any:
        return False


class BlocksInClose(Service):
    def close(self) -> Any:
        Released.event.wait(30)
        return super().close()


class SubmitsOn(Service):
    """Accepts after its close what nobody carries out."""

    def __init__(self) -> None:
        super().__init__()
        self.last: Any = None

    def submit(self, input: Any, session: Any = None) -> Any:
        result = super().submit(input, session)
        self.last = result if result.ok else self.last
        return self.last if not result.ok and result.error.code == "intelligence-closed" else result


class LastWords(Service):
    """Hands out after its close what it had kept."""

    def __init__(self) -> None:
        super().__init__()
        self.started: Any = None
        self.closed = False

    def submit(self, input: Any, session: Any = None) -> Any:
        result = super().submit(input, session)
        self.started = result.value if result.ok else self.started
        return result

    def close(self) -> Any:
        self.closed = True
        return super().close()

    def poll(self, max_events: Any = None) -> Any:
        if self.closed and self.started is not None:
            started, self.started = self.started, None
            return [TextDelta(started.id, 1, "and ")]
        return super().poll(max_events)


class RaisesAfterClose(Service):
    closed = False

    def close(self) -> Any:
        self.closed = True
        return super().close()

    def poll(self, max_events: Any = None) -> Any:
        if self.closed:
            raise RuntimeError("the service is closed")
        return super().poll(max_events)
