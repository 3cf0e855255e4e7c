"""How long the other side has been silent, as far as this side was there to hear (rule C5)."""

from __future__ import annotations


class Silence:
    """Times are in seconds by one monotonic clock. Call `looked` at every look at the port."""

    def __init__(self, now: float, patience_s: float) -> None:
        self._patience_s = patience_s
        self._heard_at = now
        self._looked_at = now

    def heard(self, now: float) -> None:
        """Something arrived."""
        self._heard_at = self._looked_at = now

    def looked(self, now: float) -> bool:
        """Nothing has arrived. Returns whether that has been so for the whole of the patience.

        A gap of more than half of it between two looks starts the silence anew: this side was away itself (a
        loading screen, a suspended machine), and that nothing was heard meanwhile proves nothing.
        """
        if now - self._looked_at > self._patience_s / 2:
            self._heard_at = now
        self._looked_at = now
        return now - self._heard_at >= self._patience_s
