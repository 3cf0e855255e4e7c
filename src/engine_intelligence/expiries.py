"""Deadlines of Activities, looked at only when the earliest is due, so that idle ones cost nothing (rules S8, S15)."""

from __future__ import annotations

import heapq
from collections.abc import Iterator

from engine_intelligence.errors import ProviderError
from engine_intelligence.lifecycle import Phase
from engine_intelligence.limits import Deadlines
from engine_intelligence.signals import Activity

# Below this many entries it is not worth looking for those of ended Activities.
_MIN_ENTRIES = 64


class Expiries:
    """When to look at which Activity. An entry may be early, never late: then the Activity is looked at again later."""

    def __init__(self, deadlines: Deadlines) -> None:
        self._deadlines = deadlines
        self._entries: list[tuple[float, int, Activity]] = []
        self._made = 0

    @property
    def next(self) -> float | None:
        """The time of the next look, or `None` if there is nothing to look at."""
        return self._entries[0][0] if self._entries else None

    def watch(self, activity: Activity, now: float, held_activities: int) -> None:
        """Look at an Activity when it is due. Call it when it starts to wait, to run, or to be cancelled.

        `held_activities` bounds what is kept of Activities that ended before they were due.
        """
        entries = self._entries
        if len(entries) > max(_MIN_ENTRIES, 4 * held_activities):
            entries[:] = [entry for entry in entries if entry[2].phase is not Phase.ENDED]
            heapq.heapify(entries)
        # Text that comes in between can only bring the time forward to `stall_s` from its arrival, so a look by
        # then is never late, and text itself need not touch the heap.
        due = min(expiry(activity, self._deadlines)[0], now + self._deadlines.stall_s)
        self._made += 1  # orders entries of equal time, and keeps the heap from comparing Activities
        heapq.heappush(entries, (due, self._made, activity))

    def expired(self, now: float, held_activities: int) -> Iterator[tuple[Activity, ProviderError | None]]:
        """The Activities whose time is over, and what the failure is, or `None` where it is a cancel's grace."""
        entries = self._entries
        while entries and entries[0][0] <= now:
            activity = heapq.heappop(entries)[2]
            if activity.phase is Phase.ENDED:
                continue
            due, failure = expiry(activity, self._deadlines)
            if due <= now:
                yield activity, failure
            else:
                self.watch(activity, now, held_activities)

    def clear(self) -> None:
        """Forget everything."""
        self._entries.clear()


def expiry(activity: Activity, deadlines: Deadlines) -> tuple[float, ProviderError | None]:
    """When an Activity expires if nothing more happens, and what the failure is then (rules S12, S15)."""
    if activity.phase is Phase.CANCELLING:
        return activity.cancelled_at + deadlines.cancel_grace_s, None
    end = activity.accepted_at + deadlines.activity_s
    late = ProviderError(f"no end within {deadlines.activity_s:g} seconds", reason="timeout")
    if activity.phase is Phase.WAITING:
        return end, late
    if activity.last_text_at is None:
        silent_until = activity.started_at + deadlines.first_text_s
        silent = ProviderError(f"no text within {deadlines.first_text_s:g} seconds", reason="timeout")
    else:
        silent_until = activity.last_text_at + deadlines.stall_s
        silent = ProviderError(f"silent for {deadlines.stall_s:g} seconds", reason="stalled")
    return (silent_until, silent) if silent_until <= end else (end, late)
