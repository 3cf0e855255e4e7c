"""What providers say of their Activities, applied one at a time, from whatever thread it comes.

Theory of operation. A sink call appends a signal to an inbox and then tries to take the lock. Whoever holds
the lock applies signals until the inbox is empty; whoever does not get it leaves, because the holder looks
again after releasing. So signals are applied in order and never two at once, also when a call re-enters from
a finaliser or a signal handler, and the frame's thread never waits for a provider's (rule S1).

No provider code, callback or I/O runs under the lock. What a signal asks of the service side, such as telling
the provider to cancel, is left in `errands`, which the runtime works off at its next turn.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable
from typing import Any, NamedTuple

from engine_intelligence.activity import (
    ActivitySubmission,
    Cancelled,
    Completed,
    Failed,
    FinishReason,
    IntelligenceEvent,
    Terminal,
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


class Activity:
    """One Activity that holds a place.

    Its phase, text and terminal change under the lock of its `SignalBox` only.
    """

    __slots__ = (
        "accepted_at",
        "cancelled_at",
        "last_text_at",
        "pending",
        "phase",
        "started_at",
        "streamed_chars",
        "submission",
        "terminal",
    )

    def __init__(self, submission: ActivitySubmission, now: float) -> None:
        self.submission = submission
        self.phase = Phase.WAITING
        self.pending = PendingEvents(submission.id)
        self.terminal: Terminal | None = None
        self.streamed_chars = 0
        self.accepted_at = now
        self.started_at = now
        self.last_text_at: float | None = None
        self.cancelled_at = now

    def failed(self, error: IntelligenceError) -> Failed:
        """The terminal for that error. Its sequence number is given at delivery."""
        return Failed(self.submission.id, 0, intelligence_failure(error))


class Errand(NamedTuple):
    """Something for the service side to do: tell the provider to cancel, or note that an Activity has ended."""

    activity: Activity
    to_cancel: bool


class SignalBox:
    """The inbox of one service, and the events that come of it.

    `wake` is called, from any thread, when signals were applied. `on_terminal` is called from `take` with the
    id of an Activity whose terminal was taken.
    """

    def __init__(
        self, provider_id: str, limits: IntelligenceLimits, clock: Clock, on_terminal: Callable[[str], object]
    ) -> None:
        self._provider_id = provider_id
        self._limits = limits
        self._clock = clock
        self._queue = DeliveryQueue(limits.max_pending_events_per_activity, on_terminal)
        # Only appended to and popped from, which is atomic.
        self._inbox: deque[tuple[Activity, Signal, str, Terminal | None]] = deque()
        self.errands: deque[Errand] = deque()
        self._lock = threading.RLock()
        self._busy = False  # somebody is between entering and leaving
        self._closed = False
        self.wake: Callable[[], None] | None = None
        self.ignored = 0
        """How many signals were ignored because the contract does not allow them (rule P2)."""

    def __len__(self) -> int:
        """How many events are pending."""
        return len(self._queue)

    def signal(
        self, activity: Activity, signal: Signal, text: str = "", terminal: Terminal | None = None
    ) -> None:
        """Something happened to an Activity. Any thread may call this; it does not wait."""
        self._inbox.append((activity, signal, text, terminal))
        self.apply()

    def apply(self) -> None:
        """Apply what is in the inbox, unless another call is at it. Any thread may call this; it does not wait."""
        applied = False
        # Looked at again after each release: what came while the lock was held has nobody else to apply it.
        while self._inbox and self._enter():
            applied |= self._drain()
        if applied:
            self._wake_service()

    def complete(self, activity: Activity, completed: Completed) -> bool:
        """An Activity completed. Returns whether that stands. For the provider's threads: it may wait for another one."""
        with (
            self._lock
        ):  # held by this thread, it is entered again; by another, that one is in and soon out of it
            entered = self._enter()
            if entered:
                self._inbox.append((activity, Signal.COMPLETE, "", completed))
                self._drain()
        if entered:
            self._wake_service()
            return activity.terminal is completed and not self._closed
        # A finaliser or a signal handler inside this thread's own call, which cannot be waited for. An answer is due
        # now, and it has to be true: a turn is kept or not by it (rule P5).
        error = provider_failed(self._provider_id, "the provider completed inside a call of its own service")
        self.signal(activity, Signal.FAIL, terminal=activity.failed(error))
        return False

    def take(self, max_events: int) -> list[IntelligenceEvent]:
        """The next events, at most `max_events`.

        It does not wait: while another thread applies signals it returns nothing, and the events come next time.
        """
        self.apply()
        if not self._queue or not self._enter():
            return []
        try:
            return self._queue.take(max_events)
        finally:
            self._leave()

    def close(self) -> None:
        """From here on every signal is ignored (rule B5), and nothing is handed out."""
        self._closed = True
        self.wake = None
        self.errands.clear()
        if self._enter():
            # Where a sink call is just at it, on another thread, the rest goes with this object.
            self._queue.clear()
            self._leave()

    def overflowed(self, activity: Activity) -> Failed:
        """The terminal of an Activity that passed the output bound (rule S10)."""
        return activity.failed(output_overflow(activity.submission.id, self._limits.max_output_chars))

    def _enter(self) -> bool:
        """Take the lock if it is free, and return whether this call may change what it guards.

        Not inside a call of the same thread that is changing it: such a call is refused. The lock is a reentrant one
        because it knows its owner at every moment, also between the lines of this method.
        """
        if not self._lock.acquire(blocking=False):
            return False
        if self._busy:
            self._lock.release()
            return False
        self._busy = True
        return True

    def _leave(self) -> None:
        self._busy = False
        self._lock.release()

    def _drain(self) -> bool:
        """Apply what is in the inbox, and return whether that was anything. The caller has entered; this leaves."""
        applied = False
        try:
            while self._inbox:
                self._apply(*self._inbox.popleft())
                applied = True
        finally:
            self._leave()
        return applied

    def _wake_service(self) -> None:
        wake = self.wake
        if wake is not None:
            try:
                wake()
            except Exception as error:  # noqa: BLE001 - a border: a sink raises for nobody's fault (rule P2)
                _log.warning("a service could not be woken: %s", describe_exception(error))

    def _apply(self, activity: Activity, signal: Signal, text: str, terminal: Terminal | None) -> None:
        transition = None if self._closed else TRANSITIONS[activity.phase].get(signal)
        if transition is None:
            self.ignored += 1
            return
        if signal is Signal.TEXT:
            # Counted cumulatively, whatever of it was delivered already (rule S10).
            activity.streamed_chars += len(text)
            if activity.streamed_chars <= self._limits.max_output_chars:
                activity.last_text_at = self._clock()
                self._queue.add_text(activity.pending, text)
            else:
                self._apply(activity, Signal.OVERFLOW, "", self.overflowed(activity))
            return
        known_to_provider = activity.phase is Phase.RUNNING
        activity.phase = transition.phase
        if signal is Signal.REFUSE:
            self._queue.discard(activity.pending)
        elif transition.phase is Phase.CANCELLING:
            self.errands.append(Errand(activity, to_cancel=True))
        if transition.ending is None:
            return
        if transition.ending is Ending.CANCELLED or terminal is None:
            terminal = Cancelled(activity.submission.id, 0)
        activity.terminal = terminal
        self._queue.add_terminal(activity.pending, terminal)
        # The provider does not know of an end that it did not bring about.
        to_cancel = known_to_provider and signal in (Signal.OVERFLOW, Signal.EXPIRE)
        self.errands.append(Errand(activity, to_cancel))

    # Bounds and repairs of what a sink is handed

    def text_said(self, activity: Activity, text: object) -> None:
        """See `ActivitySink.text`."""
        if not isinstance(text, str):
            self.ignored += 1
            return
        plain = str.__str__(text)  # a subclass may override anything
        if plain:
            self.signal(activity, Signal.TEXT, encodable(plain))

    def completion_said(self, activity: Activity, output: Any, usage: Any, finish: Any) -> bool:
        """See `ActivitySink.complete`."""
        if not isinstance(output, str):
            cause = f"the provider completed with {type(output).__name__}, not text"
            error = provider_failed(self._provider_id, cause, reason="protocol")
            self.signal(activity, Signal.BREACH, terminal=activity.failed(error))
            return False
        plain = str.__str__(output)  # a subclass may override anything
        if len(plain) > self._limits.max_output_chars:
            self.signal(activity, Signal.OVERFLOW, terminal=self.overflowed(activity))
            return False
        submission = activity.submission
        completed = Completed(
            submission.id,
            0,
            submission.session,
            encodable(plain),
            usage if isinstance(usage, Usage) else None,
            _finish_reason(finish),
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


class Sink:
    """The `ActivitySink` of one Activity: all that a provider is given of the service (rule P1)."""

    __slots__ = ("_activity", "_box")

    def __init__(self, box: SignalBox, activity: Activity) -> None:
        self._box = box
        self._activity = activity

    def text(self, text: str) -> None:
        """See `ActivitySink.text`."""
        self._box.text_said(self._activity, text)

    def complete(self, output: str, usage: Usage | None = None, finish: FinishReason | None = None) -> bool:
        """See `ActivitySink.complete`."""
        return self._box.completion_said(self._activity, output, usage, finish)

    def fail(self, cause: str | BaseException) -> None:
        """See `ActivitySink.fail`."""
        self._box.failure_said(self._activity, cause)

    def cancelled(self) -> None:
        """See `ActivitySink.cancelled`."""
        self._box.signal(self._activity, Signal.CANCELLED)
