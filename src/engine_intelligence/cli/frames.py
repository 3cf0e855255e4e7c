"""What the frames of a loop took, and whose time it was."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection
from typing import NamedTuple

FRAMES_PER_SECOND = 60
FRAME_NS = 1_000_000_000 // FRAMES_PER_SECOND

GRAPH_FRAMES = 240
"""Four seconds at 60 frames a second: what the graph shows."""

# Ten minutes. Percentiles are over these; counts are over everything.
KEPT_FRAMES = 36_000


class Frame(NamedTuple):
    """One frame, in nanoseconds."""

    work_ns: int
    """From its start to where the loop goes to sleep."""
    ours_ns: int
    """Of that, inside `submit`, `poll` and `cancel`."""
    poll_ns: int
    """Of that, inside `poll`."""
    interval_ns: int | None
    """From the start of the frame before to the start of this one; `None` for the first."""


class Spread(NamedTuple):
    """Percentiles by nearest rank, in nanoseconds."""

    p50_ns: int
    p99_ns: int
    max_ns: int


class FrameMeter:
    """Counts frames, and keeps what is needed for a graph and for percentiles."""

    def __init__(self) -> None:
        self._kept: deque[Frame] = deque(maxlen=KEPT_FRAMES)
        self.recent_ns: deque[int] = deque(maxlen=GRAPH_FRAMES)
        """The work of the last frames, oldest first."""
        self.frames = 0
        self.missed = 0
        """Frames whose work took longer than a frame lasts."""
        self.missed_by_us = 0
        """Of these, the ones where our own calls took more than a frame, or more than half of the work."""
        self.woken_late = 0
        """Frames that began half a frame late or more though the one before was done in time: the system woke us late."""

    def record(self, frame: Frame) -> None:
        """Count one frame."""
        former = self._kept[-1] if self._kept else None
        self._kept.append(frame)
        self.recent_ns.append(frame.work_ns)
        self.frames += 1
        if frame.work_ns > FRAME_NS:
            self.missed += 1
            if frame.ours_ns > FRAME_NS or frame.ours_ns * 2 > frame.work_ns:
                self.missed_by_us += 1
        in_time = former is None or former.work_ns <= FRAME_NS
        if frame.interval_ns is not None and in_time and frame.interval_ns * 2 > FRAME_NS * 3:
            self.woken_late += 1

    def work(self) -> Spread:
        """How long the frames' work took."""
        return spread([frame.work_ns for frame in self._kept])

    def intervals(self) -> Spread:
        """How long it was from frame to frame."""
        return spread([frame.interval_ns for frame in self._kept if frame.interval_ns is not None])

    def poll_cost(self) -> Spread:
        """How long `poll` took."""
        return spread([frame.poll_ns for frame in self._kept])

    def our_cost(self) -> Spread:
        """How long `submit`, `poll` and `cancel` took together."""
        return spread([frame.ours_ns for frame in self._kept])


def spread(values: Collection[int]) -> Spread:
    """The percentiles of `values`; zeros where there are none."""
    if not values:
        return Spread(0, 0, 0)
    ordered = sorted(values)
    last = len(ordered) - 1

    def rank(percent: int) -> int:
        # Nearest rank: the smallest value that so many per cent of them do not exceed.
        return ordered[min(last, max(0, -(-percent * len(ordered) // 100) - 1))]

    return Spread(rank(50), rank(99), ordered[-1])
