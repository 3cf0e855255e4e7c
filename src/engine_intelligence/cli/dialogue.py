"""The state of a conversation as a game keeps it: what is being said, how it stands, and what to tell the player.

No I/O and no clock: input, events and the time come as arguments, and what has to be asked of the service is returned. The
terminal is accepted here before anything else changes: text that streams is only shown.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Literal, NamedTuple, assert_never

from engine_intelligence.activity import (
    ActivityRef,
    Cancelled,
    Completed,
    Failed,
    IntelligenceEvent,
    SessionRef,
    TextDelta,
)
from engine_intelligence.cli.text import clean, one_line
from engine_intelligence.errors import IntelligenceError
from engine_intelligence.failure import IntelligenceFailure
from engine_intelligence.result import Err, Result

Phase = Literal["idle", "waiting", "speaking", "cancelling", "ended"]

# Two or three sentences: longer than what a player types, and short enough for a small model.
MAX_LINE_CHARS = 300

# A person who presses twice on purpose does so within a second.
_QUIT_WINDOW_S = 2.0

_KEPT_ANSWERS = 256


class Words(NamedTuple):
    """What the player is told, in the words of the scene."""

    name: str
    """Whose answers these are."""
    busy: str
    stopping: str
    press_again: str | None
    """What an interrupt says when nothing runs, where a second one quits; `None` where the first one does."""
    forgotten: str


@dataclass
class Answer:
    """One question and what came of it. Times are in seconds of the loop's clock."""

    question: str
    activity_id: str
    asked_at: float
    text: str = ""
    """What has come so far, cleaned; once completed, the whole output."""
    deltas: int = 0
    events: int = 0
    first_text_at: float | None = None
    last_text_at: float | None = None
    outcome: str | None = None
    """`completed`, `cancelled` or `failed: ...`, in words; `None` while it runs."""
    failed: bool = False
    failure: IntelligenceFailure | None = None
    """In which way it failed, if it did by itself and not with its service."""

    @property
    def time_to_first_text_s(self) -> float | None:
        """Seconds from the question to the first text."""
        return None if self.first_text_at is None else self.first_text_at - self.asked_at

    @property
    def deltas_per_s(self) -> float | None:
        """Text deltas a second, from the first to the last; `None` where there are too few to tell."""
        if self.first_text_at is None or self.last_text_at is None or self.last_text_at <= self.first_text_at:
            return None
        return (self.deltas - 1) / (self.last_text_at - self.first_text_at)


class Dialogue:
    """One conversation with one speaker, one question at a time."""

    def __init__(self, words: Words, *, session: SessionRef | None = None) -> None:
        self.words = words
        self.session = session
        """The conversation to continue; the one to save once an answer was completed."""
        self.answers: deque[Answer] = deque(maxlen=_KEPT_ANSWERS)
        """The last answers, oldest first; the last one may be under way."""
        self.questions = 0
        """How many questions were accepted by the service."""
        self.events = 0
        """How many events came."""
        self.notice = ""
        """What the player is to be told now."""
        self.closed_reason: str | None = None
        """Why nothing can be asked any more, if so."""
        self.quitting = False
        self._raw = ""
        self._unsettled = False
        self._cancelling = False
        self._quit_armed_until = float("-inf")

    @property
    def answer(self) -> Answer | None:
        """The answer that is under way, or the last one."""
        return self.answers[-1] if self.answers else None

    @property
    def busy(self) -> bool:
        """Whether an answer is under way."""
        return bool(self.answers) and self.answers[-1].outcome is None

    @property
    def phase(self) -> Phase:
        """How the Activity stands."""
        answer = self.answer
        if answer is None:
            return "idle"
        if answer.outcome is not None:
            return "ended"
        if self._cancelling:
            return "cancelling"
        return "waiting" if answer.first_text_at is None else "speaking"

    @property
    def any_failed(self) -> bool:
        """Whether an answer failed, or the service closed by itself."""
        return self.closed_reason is not None or any(answer.failed for answer in self.answers)

    @property
    def notice_repeats_outcome(self) -> bool:
        """Whether the notice says no more than the outcome of the answer, for a face that shows both."""
        # Why the service closed is the outcome of the answer, and the last word of a command.
        if self.closed_reason is not None:
            return True
        failure = None if self.answer is None else self.answer.failure
        return failure is not None and self.notice == _did_not_work(failure)

    def may_ask(self, text: str) -> bool:
        """Whether `text` can be asked now. If not, the notice says why not."""
        if self.closed_reason is not None:
            self.notice = f"Nobody can answer any more: {self.closed_reason}"
        elif self.busy:
            self.notice = self.words.busy
        elif not text.strip():
            self.notice = "Type something to say, then press Enter."
        else:
            return True
        return False

    def asked(self, text: str, result: Result[ActivityRef, IntelligenceError], now: float) -> None:
        """`text` was submitted, with this result."""
        if isinstance(result, Err):
            self._refused(result.error.failure)
            return
        self.answers.append(Answer(clean(text), result.value.id, now))
        self.questions += 1
        self._raw = ""
        self._cancelling = False
        self.notice = ""

    def interrupt(self, now: float) -> str | None:
        """The player wants what is being said to stop. Returns the id of the Activity to cancel, if one runs."""
        answer = self.answer
        if answer is not None and answer.outcome is None and not self._cancelling:
            return answer.activity_id
        if self.words.press_again is None:
            self.quit()
        elif self.busy:
            self.notice = self.words.stopping
        elif now < self._quit_armed_until:
            self.quit()
        else:
            self._quit_armed_until = now + _QUIT_WINDOW_S
            self.notice = self.words.press_again
        return None

    def cancel_asked(self, result: Result[None, IntelligenceError]) -> None:
        """A cancel was asked for. An Activity that is not running any more has its terminal on the way: nothing changes."""
        if result.ok:
            self._cancelling = True
            self.notice = self.words.stopping

    def quit(self) -> None:
        """The loop is to end."""
        self.quitting = True

    def accept(self, event: IntelligenceEvent, now: float) -> None:
        """Take one event. Only a terminal changes more than what is shown."""
        self.events += 1
        answer = self.answer
        if answer is None or answer.activity_id != event.activity_id or answer.outcome is not None:
            return
        answer.events += 1
        match event:
            case TextDelta(text=text):
                self._raw += text
                self._unsettled = True
                answer.deltas += 1
                answer.last_text_at = now
                if answer.first_text_at is None:
                    answer.first_text_at = now
            case Completed():
                answer.text = clean(event.output)
                self._unsettled = False
                answer.outcome = "completed" if event.finish != "length" else "completed, cut at its length"
                self.session = event.session
                self.notice = ""
                self.completed(event, now)
            case Cancelled():
                answer.outcome = "cancelled"
                self.notice = "Interrupted. What was said does not count."
            case Failed(error=error):
                answer.failed, answer.failure = True, error
                answer.outcome = f"failed: {describe(error)}"
                self._refused(error)
            case _:
                assert_never(event)

    def settle(self) -> None:
        """All events of a frame were accepted: bring the text that is shown up to date, once."""
        answer = self.answer
        if answer is not None and self._unsettled:
            answer.text = clean(self._raw)
        self._unsettled = False

    def completed(self, event: Completed, now: float) -> None:
        """An answer was completed. For a scene with rules of its own."""

    def service_closed(self, reason: str) -> None:
        """The service closed by itself: nothing more can come."""
        if self.closed_reason is not None:
            return
        self.closed_reason = one_line(reason)
        answer = self.answer
        if answer is not None and answer.outcome is None:
            answer.failed = True
            answer.outcome = f"failed: {self.closed_reason}"
        self.notice = f"Nobody can answer any more: {self.closed_reason}"

    def _refused(self, failure: IntelligenceFailure) -> None:
        self.notice = _did_not_work(failure)
        detail = failure.detail
        lost = failure.code == "intelligence-provider-failed" and detail.reason == "session-lost"
        unusable = failure.code == "intelligence-session-provider-mismatch" or (
            failure.code == "intelligence-invalid-request" and detail.field == "session"
        )
        if lost or unusable:
            self.session = None
            self.notice = self.words.forgotten


def _did_not_work(failure: IntelligenceFailure) -> str:
    return f"That did not work: {describe(failure)}"


def describe(failure: IntelligenceFailure) -> str:
    """A failure in one line for a person."""
    detail = failure.detail
    match failure.code:
        case "intelligence-provider-failed":
            return one_line(f"{detail.cause or 'no cause was given'} ({detail.reason or 'other'})")
        case "intelligence-invalid-request":
            return one_line(detail.reason or failure.hint)
        case "intelligence-closed":
            return one_line(detail.message or failure.hint)
        case _:
            return one_line(failure.hint)
