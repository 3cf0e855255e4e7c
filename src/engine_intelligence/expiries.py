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

# Names of this module: a member of an enumeration is looked up in two steps.
_CANCELLING = Phase.CANCELLING
_WAITING = Phase.WAITING


class Expiries:
    """When to look at which Activity. An entry may be early, never late: then the Activity is looked at again later."""

    def __init__(self, deadlines: Deadlines) -> None:
        self._deadlines = deadlines
        self._entries: list[tuple[float, int, Activity]] = []
        self._made = 0
        self.next: float | None = None
        """The time of the next look, or `None` if there is nothing to look at."""

    def watch(self, activity: Activity, now: float, held_activities: int) -> None:
        """Look at an Activity when it is due. Call it when it starts to wait, to run, or to be cancelled.

        `held_activities` bounds what is kept of Activities that ended before they were due.
        """
        entries = self._entries
        if len(entries) > _MIN_ENTRIES and len(entries) > 4 * held_activities:
            entries[:] = [entry for entry in entries if entry[2].phase is not Phase.ENDED]
            heapq.heapify(entries)
        # Text that comes in between can only bring the time forward to `stall_s` from its arrival, so a look by
        # then is never late, and text itself need not touch the heap.
        due, soon = expiry(activity, self._deadlines), now + self._deadlines.stall_s
        if soon < due:
            due = soon
        self._made += 1  # orders entries of equal time, and keeps the heap from comparing Activities
        heapq.heappush(entries, (due, self._made, activity))
        self.next = entries[0][0]

    def expired(self, now: float, held_activities: int) -> Iterator[tuple[Activity, ProviderError | None]]:
        """The Activities whose time is over, and what the failure is, or `None` where it is a cancel's grace."""
        entries = self._entries
        while entries and entries[0][0] <= now:
            activity = heapq.heappop(entries)[2]
            self.next = entries[0][0] if entries else None
            if activity.phase is Phase.ENDED:
                continue
            if expiry(activity, self._deadlines) <= now:
                yield activity, lateness(activity, self._deadlines)
            else:
                self.watch(activity, now, held_activities)

    def clear(self) -> None:
        """Forget everything."""
        self._entries.clear()
        self.next = None


def expiry(activity: Activity, deadlines: Deadlines) -> float:
    """When an Activity expires if nothing more happens (rules S12, S15)."""
    phase = activity.phase
    if phase is _CANCELLING:
        return activity.cancelled_at + deadlines.cancel_grace_s
    end = activity.accepted_at + deadlines.activity_s
    if phase is _WAITING:
        return end
    heard_at = activity.last_text_at
    silent = (
        activity.started_at + deadlines.first_text_s if heard_at is None else heard_at + deadlines.stall_s
    )
    return silent if silent < end else end


def lateness(activity: Activity, deadlines: Deadlines) -> ProviderError | None:
    """The failure of an Activity that has expired, or `None` where that is a cancel's grace."""
    if activity.phase is _CANCELLING:
        return None
    due = expiry(activity, deadlines)
    if activity.phase is not _WAITING:
        if activity.last_text_at is None and due == activity.started_at + deadlines.first_text_s:
            return ProviderError(f"no text within {deadlines.first_text_s:g} seconds", reason="timeout")
        if activity.last_text_at is not None and due == activity.last_text_at + deadlines.stall_s:
            return ProviderError(f"silent for {deadlines.stall_s:g} seconds", reason="stalled")
    return ProviderError(f"no end within {deadlines.activity_s:g} seconds", reason="timeout")
