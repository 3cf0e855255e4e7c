"""What providers say of their Activities, applied one at a time, from whatever thread it comes.

Theory of operation. A sink call puts a signal into an inbox, which is atomic. Signals are applied by whoever has the
*turn*: an object in a list, which a call deletes from there, which is atomic too, or finds the list empty. Whoever has
the turn applies signals until the inbox is empty; whoever does not get it leaves, because the holder looks into the
inbox again after putting the turn back. So signals are applied in order and never two at once, also when a call
re-enters from a finaliser or a signal handler, and the frame's thread never waits for a provider's (rule S1). Only
`complete` may have to wait, for another thread's call.

Text stays in the inbox until something else happens or a poll takes it, but no more of it than one Activity may have
pending: then it is applied, and merged, by the sink call itself (rule S11). Its time goes with it. So text that is
polled as fast as it comes is an event at once, without having been queued.

The turn is put back in a `finally`, whose `try` follows the `del` at once. Between the two Python handles no signal,
which it does only where something is called or a loop begins anew, so that a Ctrl-C cannot lose the turn.

No provider code, callback or I/O runs while the turn is taken. What a signal asks of the service side, such as
telling the provider to cancel, is left in `errands`, which the runtime works off at its next turn.
"""

from __future__ import annotations

import logging
import sys
import time
from collections import deque
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any, TypeAlias

from engine_intelligence.activity import (
    ActivitySubmission,
    Cancelled,
    Completed,
    Failed,
    FinishReason,
    IntelligenceEvent,
    Terminal,
    TextDelta,
    Usage,
)
from engine_intelligence.contracts import Clock
from engine_intelligence.delivery import DeliveryQueue, PendingEvents
from engine_intelligence.errors import (
    IntelligenceError,
    intelligence_failure,
    output_overflow,
    provider_failed,
)
from engine_intelligence.lifecycle import TRANSITIONS, Ending, Phase, Signal
from engine_intelligence.limits import IntelligenceLimits
from engine_intelligence.scrubbing import describe_exception, encodable

_log = logging.getLogger(__name__)

# How often a completion that waits for another thread looks again, in seconds: a turn takes microseconds.
_LOOK_AGAIN_S = 0.00005

# Names of this module: a member of an enumeration is looked up in two steps.
_WAITING = Phase.WAITING
_RUNNING = Phase.RUNNING
_CANCELLING = Phase.CANCELLING
_TEXT = Signal.TEXT
_REFUSE = Signal.REFUSE
# The provider does not know of an end that it did not bring about.
_UNKNOWN_TO_PROVIDER = (Signal.OVERFLOW, Signal.EXPIRE)


_Said: TypeAlias = "tuple[Activity, Signal, str, Terminal | None, float]"
"""A signal in the inbox: of which Activity, which, and with it the text, the terminal and the time of a text."""


class Activity(PendingEvents):
    """One Activity that holds a place, and the events of it that are pending.

    Its phase, text and terminal are changed only by the call that has the turn of its `SignalBox`. It begins in `phase`
    at the time `now`.
    """

    __slots__ = (
        "accepted_at",
        "cancelled_at",
        "known_to_provider",
        "last_text_at",
        "phase",
        "started_at",
        "streamed_chars",
        "submission",
        "terminal",
    )

    def __init__(self, submission: ActivitySubmission, phase: Phase, now: float) -> None:
        super().__init__(submission.id)
        self.submission = submission
        self.phase = phase
        self.terminal: Terminal | None = None
        self.streamed_chars = 0
        self.known_to_provider = False  # changed by the service side alone
        self.accepted_at = now
        self.started_at = now
        self.last_text_at: float | None = None
        self.cancelled_at = now

    def failed(self, error: IntelligenceError) -> Failed:
        """The terminal for that error. Its sequence number is given at delivery."""
        return Failed(self.submission.id, 0, intelligence_failure(error))


Errand: TypeAlias = tuple[Activity, bool]
"""An Activity for the service side to look at: it may have ended, and where the second is true the provider has to be
told to cancel, if it knows of the Activity."""


class SignalBox:
    """The inbox of one service, and the events that come of it.

    `wake` is called, from any thread, after each signal. `on_terminal` is called from `take` with the id of an
    Activity whose terminal was taken.
    """

    __slots__ = (
        "_closed",
        "_limits",
        "_max_output_chars",
        "_provider_id",
        "_queue",
        "_turn",
        "clock",
        "errands",
        "ignored",
        "inbox",
        "line",
        "max_waiting_texts",
        "wake",
    )

    def __init__(
        self, provider_id: str, limits: IntelligenceLimits, clock: Clock, on_terminal: Callable[[str], object]
    ) -> None:
        self._provider_id = provider_id
        self._limits = limits
        self._max_output_chars = limits.max_output_chars
        self.max_waiting_texts = (
            limits.max_pending_events_per_activity - 1
        )  # the last place is the terminal's
        self.clock = clock
        self._queue = DeliveryQueue(limits.max_pending_events_per_activity, on_terminal)
        self.line = self._queue.line
        """What waits to be taken. Other threads change it, so from outside it may only be tested for being empty."""
        # Only appended to and popped from, which is atomic.
        self.inbox: deque[_Said] = deque()
        """What waits to be applied. From outside it may only be tested for being empty."""
        self.errands: deque[Errand] = deque()
        self._turn = [None]  # empty while somebody is between entering and leaving
        self._closed = False
        self.wake: Callable[[], None] | None = None
        self.ignored = 0
        """How many signals were ignored because the contract does not allow them (rule P2)."""

    @property
    def pending_events(self) -> int:
        """How many events are pending."""
        self.apply()
        return len(self._queue)

    def signal(
        self,
        activity: Activity,
        signal: Signal,
        text: str = "",
        terminal: Terminal | None = None,
    ) -> None:
        """Something happened to an Activity. Any thread may call this; it does not wait."""
        self.inbox.append((activity, signal, text, terminal, self.clock()))
        self.apply()
        if self.wake is not None:
            self._wake_service()

    def apply(self) -> None:
        """Apply what is in the inbox, unless another call is at it. Any thread may call this; it does not wait."""
        turn = self._turn
        # Looked at again after each turn: what came during that has nobody else to apply it.
        while self.inbox:
            try:
                del turn[0]
            except IndexError:
                return
            try:
                self._empty_inbox()
            finally:
                turn.append(None)

    def text_came(self) -> None:
        """There is more text in the inbox. Any thread may call this; it does not wait."""
        if len(self.inbox) > self.max_waiting_texts:
            self.apply()
        if self.wake is not None:
            self._wake_service()

    def complete(self, activity: Activity, completed: Completed) -> bool:
        """An Activity completed. Returns whether that stands. For the provider's threads: it may wait for another one."""
        turn = self._turn
        while True:
            try:
                del turn[0]
            except IndexError:
                if _entered_above(sys._getframe(1)):  # pyright: ignore[reportPrivateUsage]  # documented, in sys
                    return self._complete_inside(activity)
                time.sleep(_LOOK_AGAIN_S)  # another thread's call, which is soon over
                continue
            try:
                if self.inbox:
                    self._empty_inbox()
                self._apply(activity, Signal.COMPLETE, "", completed, 0.0)
            finally:
                turn.append(None)
            break
        if self.inbox:
            self.apply()
        if self.wake is not None:
            self._wake_service()
        return activity.terminal is completed and not self._closed

    def _complete_inside(self, activity: Activity) -> bool:
        """A completion by a finaliser or a signal handler inside this thread's own call, which cannot be waited for.

        An answer is due now, and it has to be true: a turn is kept or not by it (rule P5). So it is a failure.
        """
        error = provider_failed(self._provider_id, "the provider completed inside a call of its own service")
        self.signal(activity, Signal.FAIL, terminal=activity.failed(error))
        return False

    def take(self, max_events: int) -> list[IntelligenceEvent]:
        """The next events, at most `max_events`.

        It does not wait: while another thread applies signals it returns nothing, and the events come next time.
        """
        inbox, turn = self.inbox, self._turn
        events: list[IntelligenceEvent] = []
        try:
            del turn[0]
        except IndexError:
            return events
        try:
            waiting = len(inbox)
            if self.line or waiting > max_events or waiting > self.max_waiting_texts:
                self._empty_inbox()
                waiting = 0
            max_chars = self._max_output_chars
            for _ in range(waiting):  # nothing is queued: what is text becomes an event at once
                activity, signal, text, terminal, at = inbox.popleft()
                chars = activity.streamed_chars + len(text)
                if signal is _TEXT and activity.phase is _RUNNING and chars <= max_chars:
                    activity.streamed_chars = chars
                    activity.last_text_at = at
                    activity.sequence = sequence = activity.sequence + 1
                    events.append(TextDelta(activity.activity_id, sequence, text))
                else:
                    self._apply(activity, signal, text, terminal, at)
            if self.line and len(events) < max_events:
                events += self._queue.take(max_events - len(events))
        finally:
            turn.append(None)
        return events

    def close(self) -> None:
        """From here on every signal is ignored (rule B5), and nothing is handed out."""
        self._closed = True
        self.wake = None
        self.errands.clear()
        turn = self._turn
        try:
            del turn[0]
        except IndexError:
            return  # where a sink call is just at it, on another thread, the rest goes with this object
        try:
            self._queue.clear()
        finally:
            turn.append(None)

    def overflowed(self, activity: Activity) -> Failed:
        """The terminal of an Activity that passed the output bound (rule S10)."""
        return activity.failed(output_overflow(activity.submission.id, self._limits.max_output_chars))

    def _empty_inbox(self) -> None:
        """Apply what is in the inbox. The caller has the turn."""
        inbox = self.inbox
        while inbox:
            self._apply(*inbox.popleft())

    def _wake_service(self) -> None:
        wake = self.wake
        if wake is not None:
            try:
                wake()
            except Exception as error:  # noqa: BLE001 - a border: a sink raises for nobody's fault (rule P2)
                _log.warning("a service could not be woken: %s", describe_exception(error))

    def _apply(
        self, activity: Activity, signal: Signal, text: str, terminal: Terminal | None, at: float
    ) -> None:
        transition = None if self._closed else TRANSITIONS[activity.phase].get(signal)
        if transition is None:
            self.ignored += 1
            return
        if signal is _TEXT:
            # Counted cumulatively, whatever of it was delivered already (rule S10).
            activity.streamed_chars += len(text)
            if activity.streamed_chars <= self._max_output_chars:
                activity.last_text_at = at
                self._queue.add_text(activity, text)
            else:
                self._apply(activity, Signal.OVERFLOW, "", self.overflowed(activity), at)
            return
        # One that waits may be started by the service side while its end lies in the inbox.
        to_cancel = activity.phase is _WAITING or (
            activity.phase is _RUNNING and signal in _UNKNOWN_TO_PROVIDER
        )
        activity.phase, ending = transition
        if signal is _REFUSE:
            self._queue.discard(activity)
        elif activity.phase is _CANCELLING:
            self.errands.append((activity, True))
        if ending is None:
            return
        if ending is not Ending.AS_SIGNALLED or terminal is None:
            terminal = Cancelled(activity.submission.id, 0)
        activity.terminal = terminal
        self._queue.add_terminal(activity, terminal)
        self.errands.append((activity, to_cancel))

    # Bounds and repairs of what a sink is handed

    def plain_text(self, text: object) -> str:
        """A text as it may be passed on; nothing of what is none, which is counted."""
        if isinstance(text, str):
            return encodable(str.__str__(text))  # a subclass may override anything
        self.ignored += 1
        return ""

    def completion_said(self, activity: Activity, output: Any, usage: Any, finish: Any) -> bool:
        """See `ActivitySink.complete`."""
        if type(output) is not str and not isinstance(output, str):
            cause = f"the provider completed with {type(output).__name__}, not text"
            error = provider_failed(self._provider_id, cause, reason="protocol")
            self.signal(activity, Signal.BREACH, terminal=activity.failed(error))
            return False
        plain = output if type(output) is str else str.__str__(output)  # a subclass may override anything
        if len(plain) > self._max_output_chars:
            self.signal(activity, Signal.OVERFLOW, terminal=self.overflowed(activity))
            return False
        submission = activity.submission
        completed = Completed(
            submission.id,
            0,
            submission.session,
            plain if plain.isascii() else encodable(plain),
            None if usage is None or not isinstance(usage, Usage) else usage,
            None if finish is None else _finish_reason(finish),
        )
        return self.complete(activity, completed)

    def failure_said(self, activity: Activity, cause: object) -> None:
        """See `ActivitySink.fail`."""
        if not isinstance(cause, str | BaseException):
            cause = f"the provider failed with {type(cause).__name__}"
        self.signal(
            activity, Signal.FAIL, terminal=activity.failed(provider_failed(self._provider_id, cause))
        )


def _finish_reason(given: object) -> FinishReason | None:
    if type(given) is not str:
        return None
    match given:
        case "stop" | "length":
            return given
        case _:
            return None


_ENTERING: frozenset[CodeType] = frozenset(
    function.__code__ for function in (SignalBox.apply, SignalBox.complete, SignalBox.take, SignalBox.close)
)
"""The functions that take a turn. All that runs while it is taken is called by one of them."""


def _entered_above(frame: FrameType | None) -> bool:
    """Whether `frame`, or one that it was called from, may have the turn: then this thread cannot wait for it.

    A mark of the owner would not do. It could only be set after taking the turn, and a finaliser may run in between.
    """
    while frame is not None:
        if frame.f_code in _ENTERING:
            return True
        frame = frame.f_back
    return False
