"""Pending events of many Activities: bounded, fair, in order. The runtime and the port client deliver through
the same queue.

Theory of operation. Each Activity has a short list of pending texts and one place for its terminal.
Activities that have something pending stand in a line, and a poll serves them in turn (rule S9). Two things
keep this small whatever a game does:

- An Activity with `maxPendingEventsPerActivity - 1` pending texts has further text appended to the last one
  (rule S11).
- Where more is pending than a poll may return, each Activity gives all its text as one event (rule S9), so
  that the backlog is gone after one event and one terminal an Activity.

Sequence numbers are given at delivery, so merging leaves no gap (rule D3). Nothing here is thread-safe: the
owner locks.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import assert_never

from engine_intelligence.activity import Cancelled, Completed, Failed, IntelligenceEvent, Terminal, TextDelta

# Parts of a merged text are joined whenever this many have come: small enough for memory, large enough for
# speed.
_MAX_PARTS = 64


class PendingEvents:
    """What one Activity has pending, and the sequence number of what it delivered last."""

    __slots__ = ("activity_id", "in_line", "merged", "sequence", "terminal", "texts")

    def __init__(self, activity_id: str) -> None:
        self.activity_id = activity_id
        self.texts: list[str] = []
        self.merged: list[str] = []  # continues the last of `texts`
        self.terminal: Terminal | None = None
        self.sequence = 0
        self.in_line = False


class DeliveryQueue:
    """The pending events of one service.

    `on_terminal` is called with the id of an Activity whose terminal was taken.
    """

    __slots__ = ("_line", "_on_terminal", "_pending_events", "max_pending_events_per_activity")

    def __init__(self, max_pending_events_per_activity: int, on_terminal: Callable[[str], object]) -> None:
        self.max_pending_events_per_activity = max_pending_events_per_activity
        self._on_terminal = on_terminal
        self._line: deque[PendingEvents] = deque()
        self._pending_events = 0

    def __len__(self) -> int:
        """How many events are pending."""
        return self._pending_events

    def add_text(self, pending: PendingEvents, text: str) -> None:
        """Append text to what an Activity has pending."""
        if len(pending.texts) < self.max_pending_events_per_activity - 1:  # the last place is the terminal's
            pending.texts.append(text)
            self._pending_events += 1
            if not pending.in_line:
                # First: where there is no memory for it, the next event tries again.
                self._line.append(pending)
                pending.in_line = True
        else:
            merged = pending.merged
            merged.append(text)
            if len(merged) > _MAX_PARTS:
                merged[:] = ["".join(merged)]

    def add_terminal(self, pending: PendingEvents, terminal: Terminal) -> None:
        """Append the event that ends an Activity; its own sequence number does not matter."""
        pending.terminal = terminal
        self._pending_events += 1
        if not pending.in_line:
            self._line.append(pending)
            pending.in_line = True

    def discard(self, pending: PendingEvents) -> None:
        """Forget all that an Activity has pending."""
        if pending.in_line:
            self._line.remove(pending)
            pending.in_line = False
        self._pending_events -= len(pending.texts) + (pending.terminal is not None)
        pending.texts.clear()
        pending.merged.clear()
        pending.terminal = None

    def clear(self) -> None:
        """Forget all that is pending."""
        while self._line:
            pending = self._line.popleft()
            pending.in_line = False
            self.discard(pending)

    def take(self, max_events: int) -> list[IntelligenceEvent]:
        """Remove and return the next events, at most `max_events`, which is 1 or more."""
        events: list[IntelligenceEvent] = []
        line = self._line
        backlog = self._pending_events > max_events
        while line and len(events) < max_events:
            pending = line.popleft()
            texts = pending.texts
            if texts:
                self._pending_events -= len(texts)
                if pending.merged:
                    texts[-1] += "".join(pending.merged)
                    pending.merged.clear()
                if backlog:
                    texts = ["".join(texts)]
                for text in texts:
                    pending.sequence += 1
                    events.append(TextDelta(pending.activity_id, pending.sequence, text))
                pending.texts.clear()
                if pending.terminal is not None and backlog:
                    line.append(pending)  # its terminal comes after one event of each other Activity
                    continue
            pending.in_line = False
            if pending.terminal is not None:
                self._pending_events -= 1
                pending.sequence += 1
                events.append(numbered(pending.terminal, pending.sequence))
                pending.terminal = None
                self._on_terminal(pending.activity_id)
        return events


def numbered(terminal: Terminal, sequence: int) -> Terminal:
    """`terminal` with the given sequence number."""
    match terminal:
        case Completed():
            return Completed(
                terminal.activity_id,
                sequence,
                terminal.session,
                terminal.output,
                terminal.usage,
                terminal.finish,
            )
        case Failed():
            return Failed(terminal.activity_id, sequence, terminal.error)
        case Cancelled():
            return Cancelled(terminal.activity_id, sequence)
        case _:
            assert_never(terminal)
