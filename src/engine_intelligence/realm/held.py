"""The Activities that a port client holds, and the events that have arrived of them."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

from engine_intelligence.activity import Completed, Failed, IntelligenceEvent, Terminal, TextDelta
from engine_intelligence.delivery import DeliveryQueue, PendingEvents
from engine_intelligence.errors import IntelligenceError, intelligence_failure
from engine_intelligence.failure import IntelligenceFailure
from engine_intelligence.limits import IntelligenceLimits
from engine_intelligence.protocol.codec import ProtocolError

# Below this many it is not worth looking for those that have ended.
_MIN_BY_AGE = 64


class HeldActivity(PendingEvents):
    """One Activity that holds a place: until its terminal has been polled (rule S8)."""

    __slots__ = ("cancel_sent", "ended", "received_chars", "received_sequence", "submitted_at")

    def __init__(self, activity_id: str, now: float) -> None:
        super().__init__(activity_id)
        self.submitted_at = now
        self.received_sequence = 0
        self.received_chars = 0
        self.cancel_sent = False
        self.ended = False
        """Its terminal is pending: it is no longer running, and what still comes of it is late."""


class HeldActivities:
    """All of them, by id and by age. `limits` bounds their output; it may be replaced while nothing is held."""

    def __init__(self, limits: IntelligenceLimits) -> None:
        self._by_id: dict[str, HeldActivity] = {}
        self.by_age: deque[HeldActivity] = deque()
        """In order of their submission, and so of their deadlines; some of them may have ended."""
        self._queue = DeliveryQueue(limits.max_pending_events_per_activity, self._forget)
        self.line = self._queue.line
        """Those that have events to take. Empty where nothing is pending."""
        self._limits = limits

    def __len__(self) -> int:
        return len(self._by_id)

    def __contains__(self, activity_id: object) -> bool:
        return activity_id in self._by_id

    @property
    def pending_events(self) -> int:
        """How many events have arrived and not been taken."""
        return len(self._queue)

    def bound_by(self, limits: IntelligenceLimits) -> None:
        """Hold what arrives from here on to other limits."""
        self._limits = limits
        self._queue.max_pending_events_per_activity = limits.max_pending_events_per_activity

    def add(self, activity_id: str, now: float) -> None:
        """Hold a place for an Activity that is submitted now."""
        if len(self.by_age) > max(_MIN_BY_AGE, 4 * len(self._by_id)):
            # Ended ones behind one that runs for long: what is kept is bounded by what is held.
            running = [activity for activity in self.by_age if not activity.ended]
            self.by_age.clear()
            self.by_age.extend(running)
        activity = HeldActivity(activity_id, now)
        self._by_id[activity_id] = activity
        self.by_age.append(activity)

    def running(self, activity_id: object) -> HeldActivity | None:
        """The Activity of that id, if it is one that has not ended. The id may be anything that a game could pass."""
        activity = self._by_id.get(str.__str__(activity_id)) if isinstance(activity_id, str) else None
        return None if activity is None or activity.ended else activity

    def receive(self, event: IntelligenceEvent) -> HeldActivity | None:
        """An event arrived. Returns its Activity if that passes the bound of output, in which case it is not kept.

        Raises `ProtocolError` if the Host's events have a gap or come twice. An event of an Activity that is not running
        is late, and ignored.
        """
        activity = self.running(event.activity_id)
        if activity is None:
            return None
        activity.received_sequence += 1
        if event.sequence != activity.received_sequence:
            raise ProtocolError("sequence-broken", "The Host's events came with a gap or twice.")
        if isinstance(event, TextDelta):
            activity.received_chars += len(event.text)
            if activity.received_chars > self._limits.max_output_chars:
                return activity
            self._queue.add_text(activity, event.text)
        elif isinstance(event, Completed) and len(event.output) > self._limits.max_output_chars:
            return activity
        else:
            self._end(activity, event)
        return None

    def reject(self, activity_id: str, error: IntelligenceFailure) -> None:
        """The Host refused a submission. Nothing can have come of it, so that is delivered with sequence 1 (rule C2)."""
        activity = self.running(activity_id)
        if activity is not None:
            self._end(activity, Failed(activity_id, 0, error))

    def fail(self, activity: HeldActivity, error: IntelligenceError) -> None:
        """End an Activity on this side."""
        self._end(activity, Failed(activity.activity_id, 0, intelligence_failure(error)))

    def overdue(self, now: float, most_s: float) -> Iterator[HeldActivity]:
        """The running ones that were submitted `most_s` ago or earlier. What is not due costs nothing (rule S8)."""
        by_age = self.by_age
        while by_age and (by_age[0].ended or now - by_age[0].submitted_at >= most_s):
            activity = by_age.popleft()
            if not activity.ended:
                yield activity

    def take(self, max_events: int) -> list[IntelligenceEvent]:
        """The next events, at most `max_events`. The place of each whose terminal is among them is free."""
        return self._queue.take(max_events) if self._queue.line else []

    def clear(self) -> None:
        """Hold nothing any more."""
        self._by_id.clear()
        self.by_age.clear()
        self._queue.clear()

    def _end(self, activity: HeldActivity, terminal: Terminal) -> None:
        activity.ended = True
        self._queue.add_terminal(activity, terminal)

    def _forget(self, activity_id: str) -> None:
        self._by_id.pop(activity_id, None)
