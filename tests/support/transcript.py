"""What a game has been told, held to rules S6 and D3 while it comes in."""

from collections.abc import Iterable

from engine_intelligence import Cancelled, Completed, Failed, IntelligenceEvent, TextDelta

Terminal = Completed | Failed | Cancelled


class Transcript:
    """Takes events as they are polled; fails at the first that is out of order."""

    def __init__(self) -> None:
        self._events: dict[str, list[IntelligenceEvent]] = {}

    def take(self, events: Iterable[IntelligenceEvent]) -> list[IntelligenceEvent]:
        """Note `events`, and return them."""
        taken = list(events)
        for event in taken:
            told = self._events.setdefault(event.activity_id, [])
            assert not told or isinstance(told[-1], TextDelta), f"{event!r} follows the terminal {told[-1]!r}"
            assert event.sequence == len(told) + 1, f"{event!r} is event {len(told) + 1} of its Activity"
            told.append(event)
        return taken

    @property
    def activities(self) -> list[str]:
        """The ids of all Activities that something was told of, in the order of their first event."""
        return list(self._events)

    def events(self, activity_id: str) -> list[IntelligenceEvent]:
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
