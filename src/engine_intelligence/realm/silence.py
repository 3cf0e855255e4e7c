"""How long the other side has been silent, as far as this side was there to hear (rule C5)."""

from __future__ import annotations


class Silence:
    """Times are in seconds by one monotonic clock. Call `looked` at every look at the port."""

    __slots__ = ("_patience_s", "away_s", "calm_until", "over_at")

    def __init__(self, now: float, patience_s: float) -> None:
        self._patience_s = patience_s
        self.away_s = patience_s / 2
        """A longer gap between two looks means that this side was away itself."""
        self.heard(now)

    def heard(self, now: float) -> None:
        """Something arrived."""
        self.over_at = now + self._patience_s
        """When the patience is over."""
        self.calm_until = now + self.away_s
        """The end of what is no gap yet."""

    def looked(self, now: float) -> bool:
        """Nothing has arrived. Returns whether that has been so for the whole of the patience.

        A gap of more than half of it between two looks starts the silence anew: this side was away itself (a
        loading screen, a suspended machine), and that nothing was heard meanwhile proves nothing.
        """
        if now > self.calm_until:
            self.over_at = now + self._patience_s
        self.calm_until = now + self.away_s
        return now >= self.over_at
