"""A client whose every event is checked by the oracles of the simulation."""

import time
from collections.abc import Callable

from simulation.ledger import RealmLedger, Violation
from support.process_marks import PATIENCE_S

from engine_intelligence import (
    ActivityRef,
    IntelligenceEvent,
    IntelligencePortClient,
    Ok,
    SessionRef,
    TextDelta,
)


class Watched:
    """A client, and what it did that it must not do, in words."""

    def __init__(self, client: IntelligencePortClient) -> None:
        self.client = client
        self.ledger = RealmLedger(client.limits)
        self.wrong: list[str] = []

    def submit(self, input: str, session: SessionRef | None = None) -> ActivityRef | None:
        """Submit. What is refused is wrong, and gives `None`."""
        result = self.client.submit(input, session)
        if not isinstance(result, Ok):
            self.wrong.append(f"refused: {result.error.code}")
            return None
        self._checked(lambda: self.ledger.accept(result.value.id, time.monotonic()))
        return result.value

    def poll(self) -> list[IntelligenceEvent]:
        """Poll, and check what came."""
        events = self.client.poll()
        self._checked(lambda: self.ledger.polled(events, self.client.limits.max_poll_events))
        return events

    def forget(self, activity_id: str) -> None:
        """Keep nothing of what has ended. Whatever still comes of it is wrong, as it is of what was never accepted."""
        for kept in (self.ledger.accepted, self.ledger.accepted_at, self.ledger.cancelled):
            kept.pop(activity_id, None)

    def play(self, seconds: float, *, pause_s: float) -> None:
        """Poll until there is text, and for so long after it. Text that never comes is wrong."""
        end = time.monotonic() + PATIENCE_S
        while not any(isinstance(event, TextDelta) for event in self.poll()):
            if time.monotonic() > end:
                self.wrong.append("no text came")
                return
            time.sleep(pause_s)
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.poll()
            time.sleep(pause_s)

    def _checked(self, check: Callable[[], None]) -> None:
        try:
            check()
        except Violation as violation:
            self.wrong.append(str(violation))
