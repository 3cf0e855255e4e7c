"""What must hold at every step, whatever a schedule does. Each broken rule is one `Violation`, which names its oracle."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from engine_intelligence import (
    Completed,
    IntelligenceEvent,
    IntelligenceLimits,
    TextDelta,
)
from engine_intelligence.protocol.codec import ProtocolError, host_message_decoder, realm_message_decoder
from engine_intelligence.protocol.framing import CONTROL_CHANNEL, FrameReader
from engine_intelligence.protocol.messages import STREAM_CREDIT, Events, Hello, Poll, Rejected, Submit


class Violation(AssertionError):
    """A rule of the contract does not hold."""

    def __init__(self, oracle: str, what: str) -> None:
        super().__init__(f"{oracle}: {what}")
        self.oracle = oracle


def require(holds: bool, oracle: str, what: str) -> None:
    if not holds:
        raise Violation(oracle, what)


@dataclass
class Story:
    """The events of one Activity, as one observer saw them."""

    id: str
    text: str = ""
    sequence: int = 0
    terminal: IntelligenceEvent | None = None

    def add(self, event: IntelligenceEvent, limits: IntelligenceLimits) -> None:
        require(self.terminal is None, "I2", f"{event.type} of {self.id} after its terminal")
        self.sequence += 1
        require(
            event.sequence == self.sequence,
            "I3",
            f"{self.id} came with {event.sequence}, not {self.sequence}",
        )
        if isinstance(event, TextDelta):
            require(bool(event.text), "I3", f"an empty text of {self.id}")
            self.text += event.text
            require(len(self.text) <= limits.max_output_chars, "S10", f"{self.id} passed the output bound")
        else:
            self.terminal = event
        if isinstance(event, Completed):
            require(
                event.output.startswith(self.text),
                "S6",
                f"{self.id}: the text is not that of the output",
            )
            require(len(event.output) <= limits.max_output_chars, "S10", f"{self.id} passed the output bound")


@dataclass
class RealmLedger:
    """What a game saw of one client."""

    limits: IntelligenceLimits
    accepted: dict[str, Story] = field(default_factory=dict[str, Story])
    garbled: bool = False
    """Something was changed on the wire: what arrives may be another text, but still in order and once."""
    accepted_at: dict[str, float] = field(default_factory=dict[str, float])
    cancelled: dict[str, float] = field(default_factory=dict[str, float])
    """When a running Activity was cancelled."""

    def accept(self, activity_id: str, now: float) -> None:
        require(activity_id not in self.accepted, "I1", f"{activity_id} was accepted twice")
        self.accepted[activity_id] = Story(activity_id)
        self.accepted_at[activity_id] = now

    def polled(self, events: Iterable[IntelligenceEvent], asked: int) -> None:
        events = list(events)
        require(len(events) <= asked, "S7", f"{len(events)} events for a poll of {asked}")
        if self.garbled:
            # Texts, numbers and ids may be others than were sent; what still has to hold is that all comes to an end.
            for event in events:
                if not isinstance(event, TextDelta) and event.activity_id in self.accepted:
                    self.accepted[event.activity_id].terminal = event
            return
        for event in events:
            require(
                event.activity_id in self.accepted,
                "I2",
                f"{event.type} of {event.activity_id}, never accepted",
            )
            story = self.accepted[event.activity_id]
            story.add(event, self.limits)
            if isinstance(event, Completed) and event.activity_id not in self.cancelled:
                require(event.output == story.text, "S11", f"{event.activity_id}: text is lost")

    @property
    def open_ids(self) -> list[str]:
        return [story.id for story in self.accepted.values() if story.terminal is None]


@dataclass
class WireTap:
    """What crossed the wire, read by the decoders of the package. It stops at the first garbled byte."""

    limits: IntelligenceLimits
    stories: dict[str, Story] = field(default_factory=dict[str, Story])
    submitted: list[str] = field(default_factory=list[str])
    rejected: dict[str, str] = field(default_factory=dict[str, str])
    """The codes of what the Host refused."""
    _granted: dict[int, int] = field(default_factory=dict[int, int])
    _streaming: set[int] = field(default_factory=set[int])
    _answers_due: dict[int, int] = field(default_factory=dict[int, int])
    _from_host: FrameReader = field(default_factory=FrameReader)
    _from_realm: FrameReader = field(default_factory=FrameReader)
    garbled: bool = False
    violation: Violation | None = None

    def host_wrote(self, data: bytes) -> None:
        """The Host wrote. A violation is kept rather than raised: the Host's own borders would take it for a broken port."""
        try:
            self._read(data)
        except Violation as violation:
            self.violation = self.violation or violation

    def _read(self, data: bytes) -> None:
        if self.garbled:
            return
        for frame in self._from_host.feed(data):
            if frame.channel == CONTROL_CHANNEL:
                continue
            message = _HOST.decode(frame.body)
            if isinstance(message, Rejected):
                self.rejected[message.activity_id] = message.error.code
            if not isinstance(message, Events):
                continue
            for event in message.events:
                self.stories.setdefault(event.activity_id, Story(event.activity_id)).add(event, self.limits)
            if self._answers_due.get(frame.channel):
                self._answers_due[frame.channel] -= 1  # to a poll that came before the realm's hello
            elif frame.channel in self._streaming:
                left = self._granted[frame.channel] - len(message.events)
                require(left >= 0, "I6", f"{-left} events more than were granted")
                self._granted[frame.channel] = left

    def host_heard(self, data: bytes) -> None:
        if self.garbled:
            return
        try:
            for frame in self._from_realm.feed(data):
                if frame.channel != CONTROL_CHANNEL:
                    self._heard(frame.channel, frame.body)
        except ProtocolError:
            self.garbled = True

    def _heard(self, channel: int, body: bytes) -> None:
        message = _REALM.decode(body)
        if isinstance(message, Submit):
            self.submitted.append(message.submission.id)
        elif isinstance(message, Hello) and STREAM_CREDIT in message.features:
            self._streaming.add(channel)
            self._granted[channel] = 0
        elif isinstance(message, Poll) and channel in self._streaming:
            self._granted[channel] += max(0, message.max_events)
        elif isinstance(message, Poll):
            self._answers_due[channel] = self._answers_due.get(channel, 0) + 1

    @property
    def completed(self) -> list[str]:
        return [story.id for story in self.stories.values() if isinstance(story.terminal, Completed)]


_HOST = host_message_decoder()
_REALM = realm_message_decoder()
