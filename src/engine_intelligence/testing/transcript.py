"""What a game has been told, held to rules S6 and D3 while it comes in."""

from __future__ import annotations

from collections.abc import Iterable

from engine_intelligence.activity import IntelligenceEvent, Terminal, TextDelta
from engine_intelligence.testing.conformance import require


class Transcript:
    """Takes events as they are polled, and raises `ConformanceError` at the first that is out of order."""

    def __init__(self) -> None:
        self._events: dict[str, list[IntelligenceEvent]] = {}
        self._ended: list[str] = []

    def take(self, events: Iterable[IntelligenceEvent]) -> list[IntelligenceEvent]:
        """Note `events`, and return them.

        Raises `ConformanceError` where one follows a terminal (rule S6) or leaves a gap in the sequence (rule D3).
        """
        taken = list(events)
        for event in taken:
            told = self._events.setdefault(event.activity_id, [])
            require(
                not told or isinstance(told[-1], TextDelta),
                "S6",
                f"{event!r} follows the terminal {told[-1] if told else None!r}",
            )
            require(
                event.sequence == len(told) + 1, "D3", f"{event!r} is event {len(told) + 1} of its Activity"
            )
            told.append(event)
            if not isinstance(event, TextDelta):
                self._ended.append(event.activity_id)
        return taken

    @property
    def activities(self) -> list[str]:
        """The ids of all Activities that something was told of, in the order of their first event."""
        return list(self._events)

    @property
    def ended(self) -> list[str]:
        """The ids of the Activities whose terminal has come, in the order of those."""
        return list(self._ended)

    def events(self, activity_id: str) -> list[IntelligenceEvent]:
        """All that was told of an Activity."""
        return list(self._events.get(activity_id, ()))

    def text(self, activity_id: str) -> str:
        """The deltas of an Activity, joined."""
        return "".join(
            event.text for event in self._events.get(activity_id, ()) if isinstance(event, TextDelta)
        )

    def terminal(self, activity_id: str) -> Terminal | None:
        """The terminal of an Activity, if it has come."""
        told = self._events.get(activity_id)
        if not told or isinstance(told[-1], TextDelta):
            return None
        return told[-1]
