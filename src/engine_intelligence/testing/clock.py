"""Time that passes when a test says so."""

from __future__ import annotations


class ManualClock:
    """A monotonic clock that stands still between two `advance`, for every `clock=` of the package."""

    def __init__(self, start: float = 1000.0) -> None:
        """`start` is the first reading, in seconds. It is not 0, so that a forgotten reading shows."""
        self._now = start
        self.calls = 0
        """How often the time was asked for."""

    def __call__(self) -> float:
        """The time, in seconds."""
        self.calls += 1
        return self._now

    def advance(self, seconds: float) -> None:
        """Let `seconds` pass, 0 or more. Raises `ValueError` for less: a monotonic clock does not go back."""
        if not seconds >= 0:
            raise ValueError(f"a monotonic clock does not go back, so not by {seconds!r} seconds")
        self._now += seconds
