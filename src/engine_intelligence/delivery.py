"""Pending events of many Activities: bounded, fair, in order. The runtime and the port client deliver through
the same queue.

Theory of operation. Each Activity has a place for the first pending text, which is usually the only one, a short
list for further ones, and a place for its terminal.
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
    """What one Activity has pending, and the sequence number of what it delivered last.

    Whoever holds Activities derives its own kind from this one, so that there is one object for each.
    """

    __slots__ = ("activity_id", "end", "first_text", "in_line", "merged", "sequence", "texts")

    def __init__(self, activity_id: str) -> None:
        self.activity_id = activity_id
        self.first_text: str | None = None
        self.texts: list[str] = []  # those after the first
        self.merged: list[str] = []  # continues the last of `texts`
        self.end: Terminal | None = None
        self.sequence = 0
        self.in_line = False

    @property
    def pending_events(self) -> int:
        """How many events these are."""
        return (self.first_text is not None) + len(self.texts) + (self.end is not None)

    def take_texts(self) -> list[str]:
        """Remove and return the pending texts."""
        if self.first_text is None:
            return []
        texts = [self.first_text, *self.texts]
        texts[-1] += "".join(self.merged)
        self.first_text = None
        self.texts.clear()
        self.merged.clear()
        return texts


class DeliveryQueue:
    """The pending events of one service.

    `on_terminal` is called with the id of an Activity whose terminal was taken.
    """

    __slots__ = ("_on_terminal", "line", "max_pending_events_per_activity")

    def __init__(self, max_pending_events_per_activity: int, on_terminal: Callable[[str], object]) -> None:
        self.max_pending_events_per_activity = max_pending_events_per_activity
        self._on_terminal = on_terminal
        self.line: deque[PendingEvents] = deque()
        """Those that have something pending, in the order in which they are served; empty when nothing is pending."""

    def __len__(self) -> int:
        """How many events are pending."""
        return sum(pending.pending_events for pending in tuple(self.line))

    def holds_more_than(self, events: int) -> bool:
        """Whether more than so many events are pending. It looks at no more than so many Activities."""
        line = self.line
        if len(line) * self.max_pending_events_per_activity <= events:
            return False
        return len(line) > events or len(self) > events

    def add_text(self, pending: PendingEvents, text: str) -> None:
        """Append text to what an Activity has pending."""
        if not pending.in_line:
            self.line.append(pending)  # first: where there is no memory for it, the next event tries again
            pending.first_text = text
            pending.in_line = True
        elif len(pending.texts) < self.max_pending_events_per_activity - 2:
            # The last place is the terminal's, and the first text has one of its own.
            pending.texts.append(text)
        else:
            merged = pending.merged
            merged.append(text)
            if len(merged) > _MAX_PARTS:
                merged[:] = ["".join(merged)]

    def add_terminal(self, pending: PendingEvents, terminal: Terminal) -> None:
        """Append the event that ends an Activity; its own sequence number does not matter."""
        pending.end = terminal
        if not pending.in_line:
            self.line.append(pending)
            pending.in_line = True

    def discard(self, pending: PendingEvents) -> None:
        """Forget all that an Activity has pending."""
        if pending.in_line:
            self.line.remove(pending)
            pending.in_line = False
        pending.take_texts()
        pending.end = None

    def clear(self) -> None:
        """Forget all that is pending."""
        while self.line:
            pending = self.line.popleft()
            pending.in_line = False
            self.discard(pending)

    def take(self, max_events: int) -> list[IntelligenceEvent]:
        """Remove and return the next events, at most `max_events`, which is 1 or more."""
        if self.holds_more_than(max_events):
            return self._take_of_backlog(max_events)
        events: list[IntelligenceEvent] = []
        line = self.line
        while line:
            pending = line.popleft()
            pending.in_line = False
            text = pending.first_text
            if text is None:
                pass  # only a terminal
            elif pending.texts or pending.merged:
                events += [_delta(pending, text) for text in pending.take_texts()]
            else:
                pending.first_text = None
                pending.sequence = sequence = pending.sequence + 1
                events.append(TextDelta(pending.activity_id, sequence, text))
            if pending.end is not None:
                events.append(self._end(pending))
        return events

    def _take_of_backlog(self, max_events: int) -> list[IntelligenceEvent]:
        """The same where more is pending than that: one event of each Activity in turn."""
        events: list[IntelligenceEvent] = []
        line = self.line
        while line and len(events) < max_events:
            pending = line.popleft()
            pending.in_line = False
            texts = pending.take_texts()
            if texts:
                events.append(_delta(pending, "".join(texts)))
                if pending.end is not None:
                    pending.in_line = True
                    line.append(pending)  # its terminal comes after one event of each other Activity
            elif pending.end is not None:
                events.append(self._end(pending))
        return events

    def _end(self, pending: PendingEvents) -> Terminal:
        """Remove and return the terminal of an Activity, which has one."""
        terminal = pending.end
        assert terminal is not None
        pending.end = None
        pending.sequence += 1
        self._on_terminal(pending.activity_id)
        return numbered(terminal, pending.sequence)


def _delta(pending: PendingEvents, text: str) -> TextDelta:
    pending.sequence += 1
    return TextDelta(pending.activity_id, pending.sequence, text)


def numbered(terminal: Terminal, sequence: int) -> Terminal:
    """`terminal` with the given sequence number."""
    if terminal.sequence == sequence:
        return terminal  # as it came over a port, where nothing was merged
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
