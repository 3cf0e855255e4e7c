"""Credit: how many events a realm has asked for (rule M4). Two modes, each with a side that grants and a side
that spends.

*Answer* mode is that of a port without `hello`: one poll is outstanding at most, and each is answered once,
be it with nothing. *Stream* mode, when both sides announced `stream-credit`: a poll grants that many more
events, and the Host sends them as they occur. The realm keeps what it has granted and what it holds
undelivered within one window, and renews when half of it is used, so that an idle realm sends nothing and an
event waits for no round trip.
"""

from __future__ import annotations

# A window of so many events is a second of a thousand fast models; a larger one would only defer a realm's
# bounds.
MAX_WINDOW_EVENTS = 65_536


class RealmCredit:
    """The granting side.

    `window` is how many events the realm is ready to hold, at most `MAX_WINDOW_EVENTS`.
    """

    def __init__(self, window: int) -> None:
        self.window = min(window, MAX_WINDOW_EVENTS)
        self._streaming = False
        self._answer_due = False
        self._granted = 0

    @property
    def outstanding(self) -> int:
        """How many more events the Host may send, as far as it is counted."""
        return self._granted

    def start_streaming(self) -> None:
        """Both sides have announced `stream-credit`.

        A poll that is still unanswered will be answered in the old mode.
        """
        self._streaming = True

    def grant(self, max_events: int, held_events: int) -> int:
        """The credit to send now, or 0.

        `held_events` have arrived and are not delivered; `max_events` is the game's poll.
        """
        if not self._streaming:
            if self._answer_due:
                return 0
            self._answer_due = True
            return max_events
        room = self.window - held_events - self._granted
        # Renew by halves: often enough never to run dry, seldom enough that a stream costs a message every so
        # many events.
        if room < max(1, self.window // 2):
            return 0
        self._granted += room
        return room

    def receive(self, events: int) -> None:
        """Events arrived in one message.

        It does not judge: what a Host may make a realm hold is bounded by the realm's limits, not by credit.
        """
        if self._answer_due:
            # The answer to the last poll of answer mode, which may still be on its way when streaming starts.
            self._answer_due = False
        elif self._streaming:
            self._granted = max(0, self._granted - events)


class HostCredit:
    """The spending side. It keeps at most `MAX_WINDOW_EVENTS` of a realm's credit, however much that grants
    (rule M5).

    The bound is that of an honest realm's window, and not one of this side's limits: a realm may have larger
    ones, and credit that is dropped here is never renewed there.
    """

    def __init__(self) -> None:
        self._streaming = False
        self._available = 0

    @property
    def streaming(self) -> bool:
        """Whether events are sent as they occur."""
        return self._streaming

    @property
    def available(self) -> int:
        """How many events may be sent now, in stream mode."""
        return self._available

    def start_streaming(self) -> None:
        """The realm has announced `stream-credit`."""
        self._streaming = True

    def add(self, max_events: int) -> None:
        """The realm grants more. What is no positive number grants nothing."""
        self._available = min(self._available + max(0, max_events), MAX_WINDOW_EVENTS)

    def spend(self, events: int) -> None:
        """Events are sent."""
        self._available -= events
