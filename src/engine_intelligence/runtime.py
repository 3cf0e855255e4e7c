"""`IntelligenceRuntime`: the service that stands beside its provider (sections 3 and 4 of the contract).

Theory of operation. Two sides meet here. The *service side* is the one thread that calls `submit`, `poll`, `cancel` and
`turn`; it alone touches the table of Activities, the sessions and the deadlines, and it alone calls the provider. The *sink
side* is whatever thread the provider answers from. The two meet in an inbox:

- A sink call appends a signal to the inbox and then tries to take the lock. Whoever holds the lock applies signals until the
  inbox is empty; whoever does not get it leaves, because the holder looks again after releasing. So signals are applied one at
  a time, in order, also when a call re-enters from a finaliser or a signal handler.
- The service side never waits for that lock (rule S1). A poll that does not get it returns nothing; the events come a frame later.
- No provider code, callback or I/O runs under the lock. What a signal asks of the service side, such as telling the provider to
  cancel, is left in a list that the next `turn` works off. `listen` has a Host woken for that.

Deadlines are kept in a heap and looked at only when the earliest is due, so that idle Activities cost nothing (rule S8).
"""

from __future__ import annotations

import heapq
import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Never

from engine_intelligence.activity import (
    ActivityRef,
    ActivitySubmission,
    Cancelled,
    Completed,
    Failed,
    FinishReason,
    IntelligenceEvent,
    SessionRef,
    Terminal,
    Usage,
)
from engine_intelligence.admission import admit, admit_ids, poll_size
from engine_intelligence.closing import PolledClose, TaskClose, running_loop
from engine_intelligence.contracts import Clock, CloseTask, IntelligenceProvider
from engine_intelligence.delivery import DeliveryQueue, PendingEvents
from engine_intelligence.errors import (
    IntelligenceError,
    ProviderError,
    activity_not_found,
    closed,
    intelligence_failure,
    output_overflow,
    provider_failed,
)
from engine_intelligence.identity import made_id, new_activity_id, new_session_id
from engine_intelligence.lifecycle import TRANSITIONS, Ending, Phase, Signal
from engine_intelligence.limits import Deadlines, IntelligenceLimits
from engine_intelligence.result import Err, Ok, Result
from engine_intelligence.scrubbing import describe_exception, encodable

_log = logging.getLogger(__name__)

# Below this many entries it is not worth looking for those of ended Activities.
_MIN_EXPIRIES = 64


def create_intelligence_runtime(
    provider: IntelligenceProvider,
    *,
    limits: IntelligenceLimits | None = None,
    deadlines: Deadlines | None = None,
    clock: Clock = time.monotonic,
    create_activity_id: Callable[[], str] = new_activity_id,
    create_session_id: Callable[[], str] = new_session_id,
) -> IntelligenceRuntime:
    """A service over `provider` in this process: for a Host, for tests, and for providers that cannot block or crash.

    `clock` must be monotonic; deadlines are judged by it whenever the service is polled. The two `create_..._id` functions make
    the identities of Activities and of new sessions (rule S5). Raises nothing; the provider is not called before a submit.
    """
    return IntelligenceRuntime(
        provider,
        limits=IntelligenceLimits() if limits is None else limits,
        deadlines=Deadlines() if deadlines is None else deadlines,
        clock=clock,
        create_activity_id=create_activity_id,
        create_session_id=create_session_id,
    )


class _Activity:
    """One Activity that holds a place."""

    __slots__ = (
        "accepted_at",
        "cancelled_at",
        "expiry",
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

    def due(self, deadlines: Deadlines) -> tuple[float, ProviderError | None]:
        """When this Activity expires if nothing more happens, and what the failure is then (rules S12, S15)."""
        total = self.accepted_at + deadlines.activity_s
        timed_out = ProviderError(f"no end within {deadlines.activity_s:g} seconds", reason="timeout")
        match self.phase:
            case Phase.WAITING:
                return total, timed_out
            case Phase.CANCELLING:
                return self.cancelled_at + deadlines.cancel_grace_s, None
            case _ if self.last_text_at is None:
                first = self.started_at + deadlines.first_text_s
                return min(
                    (
                        first,
                        ProviderError(f"no text within {deadlines.first_text_s:g} seconds", reason="timeout"),
                    ),
                    (total, timed_out),
                    key=lambda candidate: candidate[0],
                )
            case _:
                stall = self.last_text_at + deadlines.stall_s
                return min(
                    (stall, ProviderError(f"silent for {deadlines.stall_s:g} seconds", reason="stalled")),
                    (total, timed_out),
                    key=lambda candidate: candidate[0],
                )


class _Sink:
    """The `ActivitySink` of one Activity."""

    __slots__ = ("_activity", "_runtime")

    def __init__(self, runtime: IntelligenceRuntime, activity: _Activity) -> None:
        self._runtime = runtime
        self._activity = activity

    def text(self, text: str) -> None:
        self._runtime._text(self._activity, text)

    def complete(self, output: str, usage: Usage | None = None, finish: FinishReason | None = None) -> bool:
        return self._runtime._complete(self._activity, output, usage, finish)

    def fail(self, cause: str | BaseException) -> None:
        self._runtime._fail(self._activity, cause)

    def cancelled(self) -> None:
        self._runtime._signal(self._activity, Signal.CANCELLED)


class IntelligenceRuntime:
    """An `IntelligenceService` beside its provider. Make one with `create_intelligence_runtime`.

    `submit`, `poll`, `cancel`, `turn` and `close` belong to one thread at a time; sinks may be called from any.
    """

    def __init__(
        self,
        provider: IntelligenceProvider,
        *,
        limits: IntelligenceLimits,
        deadlines: Deadlines,
        clock: Clock,
        create_activity_id: Callable[[], str],
        create_session_id: Callable[[], str],
    ) -> None:
        self._provider = provider
        self._provider_id = provider.id
        self._limits = limits
        self._deadlines = deadlines
        self._clock = clock
        self._create_activity_id = create_activity_id
        self._create_session_id = create_session_id
        # The service side's alone.
        self._activities: dict[str, _Activity] = {}
        self._sessions: dict[
            str, deque[_Activity]
        ] = {}  # the first one of each runs, the others wait (rule P6)
        self._expiries: list[tuple[float, int, _Activity]] = []
        self._expiries_made = 0
        self._wake: Callable[[], None] | None = None
        self._close_task: CloseTask | None = None
        self._closed = False
        # Shared: both deques are only appended to and popped from, which is atomic; the queue is under the lock.
        self._inbox: deque[tuple[_Activity, Signal, str, Terminal | None]] = deque()
        self._tasks: deque[tuple[_Activity, bool]] = (
            deque()
        )  # for the service side: an Activity, and whether to cancel it
        self._lock = threading.Lock()
        self._holder = 0  # the thread that took the lock last
        self._queue = DeliveryQueue(limits.max_pending_events_per_activity, self._forget)
        self._ignored_signals = 0

    @property
    def provider_id(self) -> str:
        """The id of the provider, as it was when the runtime was made."""
        return self._provider_id

    @property
    def limits(self) -> IntelligenceLimits:
        """The bounds that requests and output are held to."""
        return self._limits

    @property
    def deadlines(self) -> Deadlines:
        """The deadlines that Activities are held to."""
        return self._deadlines

    @property
    def held_activities(self) -> int:
        """How many Activities hold a place: accepted, and their terminal not polled yet (rule S8)."""
        return len(self._activities)

    @property
    def pending_events(self) -> int:
        """How many events are pending."""
        return len(self._queue)

    @property
    def ignored_signals(self) -> int:
        """How many sink calls were ignored because the contract does not allow them (rule P2)."""
        return self._ignored_signals

    # The service

    def submit(self, input: str, session: SessionRef | None = None) -> Result[ActivityRef, IntelligenceError]:
        """See `IntelligenceService.submit`."""
        if self._closed:
            return Err(closed())
        refusal = self._admit(input, session)
        if refusal is not None:
            return Err(refusal)
        if session is None:
            session = SessionRef(self._provider_id, made_id(self._create_session_id))
        return self._accept(ActivitySubmission(made_id(self._create_activity_id), session, input))

    def accept(self, submission: ActivitySubmission) -> Result[ActivityRef, IntelligenceError]:
        """Like `submit`, for a request that already has its identities: what a binding receives from a realm."""
        if self._closed:
            return Err(closed())
        refusal = self._admit(submission.input, submission.session)
        return self._accept(submission) if refusal is None else Err(refusal)

    def poll(self, max_events: int | None = None) -> list[IntelligenceEvent]:
        """See `IntelligenceService.poll`."""
        size = poll_size(max_events, self._limits)
        if not size or self._closed:
            return []
        self.turn()
        # Rule S1: a provider's thread may be applying a signal just now. Then its events come with the next poll.
        if not self._queue or not self._lock.acquire(blocking=False):
            return []
        try:
            self._holder = threading.get_ident()
            return self._queue.take(size)
        finally:
            self._lock.release()

    def cancel(self, activity_id: str) -> Result[None, IntelligenceError]:
        """See `IntelligenceService.cancel`."""
        if self._closed:
            return Err(closed())
        self.turn()
        activity = self._activities.get(activity_id) if isinstance(activity_id, str) else None  # pyright: ignore[reportUnnecessaryIsInstance] - D4
        if activity is None or activity.phase is Phase.ENDED:
            return Err(activity_not_found(str(activity_id)))
        if activity.phase is not Phase.CANCELLING:
            activity.cancelled_at = self._clock()
            self._watch(activity, activity.cancelled_at + self._deadlines.cancel_grace_s)
            self._signal(activity, Signal.CANCEL)
            self.turn()
        return Ok(None)

    def close(self) -> CloseTask:
        """Close the provider and drop all that is running. Idempotent; every call returns the same close task.

        Inside a running event loop the task needs that loop, and ends within `close_grace_s` whatever the provider does. Without
        one, the provider's `close` is run as far as it goes without waiting.
        """
        if self._close_task is None:
            self._closed = True  # from here on whatever a sink says is ignored (rule B5)
            self._wake = None
            self._activities.clear()
            self._sessions.clear()
            self._expiries.clear()
            self._tasks.clear()
            self._close_task = self._close_provider()
        return self._close_task

    # What a Host needs besides

    def listen(self, wake: Callable[[], None] | None) -> None:
        """Have `wake` called, from any thread, whenever there may be something to poll or a `turn` to do."""
        self._wake = wake

    def turn(self) -> None:
        """Do what is due on the service side: deadlines, starts of waiting Activities, cancels. Never waits.

        `submit`, `poll` and `cancel` do it too. A Host calls it when woken, and at `next_deadline`.
        """
        if self._inbox:
            self._apply_signals()
        if self._expiries and not self._closed:
            self._expire()
        while self._tasks:
            activity, to_cancel = self._tasks.popleft()
            if to_cancel:
                self._cancel_provider(activity)
            if activity.phase is Phase.ENDED:
                self._start_next(activity)

    @property
    def next_deadline(self) -> float | None:
        """When `turn` has to be called at the latest, by the clock of this runtime; `None` if nothing is running."""
        return self._expiries[0][0] if self._expiries else None

    def now(self) -> float:
        """The time by the clock of this runtime, to compare `next_deadline` with."""
        return self._clock()

    # Service side

    def _admit(self, input: object, session: object) -> IntelligenceError | None:
        self.turn()
        return admit(
            input=input,
            session=session,
            provider_id=self._provider_id,
            limits=self._limits,
            held_activities=len(self._activities),
        )

    def _accept(self, submission: ActivitySubmission) -> Result[ActivityRef, IntelligenceError]:
        refusal = admit_ids(submission.id, submission.session.id, self._activities)
        if refusal is not None:
            return Err(refusal)
        activity = _Activity(submission, self._clock())
        self._activities[submission.id] = activity
        line = self._sessions.setdefault(submission.session.id, deque())
        line.append(activity)
        if len(line) == 1:
            error = self._start(activity)
            if error is not None:
                # Rule S14: refused, so nothing of it is left: neither its place nor what it said before it refused.
                self._signal(activity, Signal.REFUSE)
                self._forget(submission.id)
                self._start_next(activity)
                return Err(error)
        else:
            self._watch(activity, activity.accepted_at + self._deadlines.activity_s)
        return Ok(ActivityRef(submission.id, submission.session))

    def _start(self, activity: _Activity) -> IntelligenceError | None:
        self._signal(activity, Signal.START)
        activity.started_at = self._clock()
        self._watch(activity, self._look_again_at(activity, activity.started_at))
        sink = _Sink(self, activity)
        return self._called(lambda: self._provider.start(activity.submission, sink))

    def _cancel_provider(self, activity: _Activity) -> None:
        error = self._called(lambda: self._provider.cancel(activity.submission.id))
        if error is not None:
            self._signal(activity, Signal.BREACH, terminal=self._failed(activity, error))

    def _called(self, call: Callable[[], Result[None, IntelligenceError]]) -> IntelligenceError | None:
        """Call the provider; its exceptions and its `Err` become an error (rule S14)."""
        try:
            result: object = call()
        except BaseException as error:  # noqa: BLE001 - a border: nothing that a provider raises may break the service
            return provider_failed(self._provider_id, error)
        match result:
            case Ok():
                return None
            case Err(error=IntelligenceError() as error):
                return error
            case _:
                cause = f"the provider returned {type(result).__name__}, not Ok or Err"
                return provider_failed(self._provider_id, cause, reason="protocol")

    def _start_next(self, ended: _Activity) -> None:
        """Give the session of an ended Activity to the next one that waits for it (rule P6)."""
        session_id = ended.submission.session.id
        line = self._sessions.get(session_id)
        if line is None or ended not in line:
            return
        running = line[0]
        line.remove(ended)
        while line and ended is running:
            if line[0].phase is Phase.WAITING:
                activity = line[0]
                error = self._start(activity)
                if error is not None:
                    self._signal(activity, Signal.BREACH, terminal=self._failed(activity, error))
                return
            line.popleft()
        if not line:
            del self._sessions[session_id]

    def _forget(self, activity_id: str) -> None:
        self._activities.pop(activity_id, None)

    def _watch(self, activity: _Activity, at: float) -> None:
        if len(self._expiries) > _MIN_EXPIRIES and len(self._expiries) > 4 * len(self._activities):
            # Most entries are of Activities that ended long before they were due: keep the heap bounded by what runs.
            self._expiries = [entry for entry in self._expiries if entry[2].phase is not Phase.ENDED]
            heapq.heapify(self._expiries)
        self._expiries_made += 1  # orders entries of equal time, and keeps the heap from comparing Activities
        heapq.heappush(self._expiries, (at, self._expiries_made, activity))

    def _look_again_at(self, activity: _Activity, now: float) -> float:
        """When to look whether an Activity has expired. Text that comes in between can only bring that forward to `stall_s`."""
        return min(activity.due(self._deadlines)[0], now + self._deadlines.stall_s)

    def _expire(self) -> None:
        now = self._clock()
        expiries = self._expiries
        while expiries and expiries[0][0] <= now:
            _, _, activity = heapq.heappop(expiries)
            if activity.phase is Phase.ENDED:
                continue
            due, cause = activity.due(self._deadlines)
            if due > now:
                self._watch(activity, self._look_again_at(activity, now))
                continue
            terminal: Terminal
            if cause is None:
                terminal = Cancelled(activity.submission.id, 0)
            else:
                terminal = self._failed(activity, provider_failed(self._provider_id, cause))
            self._signal(activity, Signal.EXPIRE, terminal=terminal)

    def _close_provider(self) -> CloseTask:
        loop = running_loop()
        if loop is not None:
            return TaskClose(loop.create_task(self._close_provider_bounded()))
        closing = self._provider.close()
        try:
            closing.send(None)
        except StopIteration:
            pass
        except BaseException as error:  # noqa: BLE001 - a border: a provider that cannot close is left behind (rule L2)
            _log.warning("provider %r failed to close: %s", self._provider_id, describe_exception(error))
        else:
            _log.warning("provider %r needs an event loop to close and was left behind", self._provider_id)
            closing.close()
        return PolledClose(lambda: True)

    async def _close_provider_bounded(self) -> None:
        import asyncio

        task = asyncio.ensure_future(self._close_provider_contained())
        # Not asyncio.wait_for: a task that ignores its cancellation outlives that (rule B4).
        _, late = await asyncio.wait({task}, timeout=self._deadlines.close_grace_s)
        for abandoned in late:
            abandoned.cancel()
            _log.warning("provider %r did not close in time and was left behind", self._provider_id)

    async def _close_provider_contained(self) -> None:
        try:
            await self._provider.close()
        except BaseException as error:  # noqa: BLE001 - a border: a provider that cannot close is left behind (rule L2)
            _log.warning("provider %r failed to close: %s", self._provider_id, describe_exception(error))

    # Sink side: any thread

    def _text(self, activity: _Activity, text: object) -> None:
        if type(text) is not str:
            if not isinstance(text, str):
                self._ignored_signals += 1
                return
            text = str(text)
        if text:
            self._signal(activity, Signal.TEXT, encodable(text))

    def _complete(self, activity: _Activity, output: object, usage: object, finish: object) -> bool:
        if not isinstance(output, str):
            cause = f"the provider completed with {type(output).__name__}, not text"
            error = provider_failed(self._provider_id, cause, reason="protocol")
            self._signal(activity, Signal.BREACH, terminal=self._failed(activity, error))
            return False
        if len(output) > self._limits.max_output_chars:
            self._signal(activity, Signal.OVERFLOW, terminal=self._overflowed(activity))
            return False
        completed = Completed(
            activity.submission.id,
            0,
            activity.submission.session,
            encodable(output),
            usage if isinstance(usage, Usage) else None,
            finish if finish in ("stop", "length") else None,
        )
        self._signal(activity, Signal.COMPLETE, terminal=completed)
        if self._inbox and self._holder != threading.get_ident():
            # Another thread holds the lock. This one is the provider's, so it may wait for it; then its signal is applied.
            with self._lock:
                pass
            self._apply_signals()
        return activity.terminal is completed and not self._closed

    def _fail(self, activity: _Activity, cause: object) -> None:
        if not isinstance(cause, str | BaseException):
            cause = f"the provider failed with {type(cause).__name__}"
        self._signal(
            activity, Signal.FAIL, terminal=self._failed(activity, provider_failed(self._provider_id, cause))
        )

    def _failed(self, activity: _Activity, error: IntelligenceError) -> Failed:
        return Failed(activity.submission.id, 0, intelligence_failure(error))

    def _overflowed(self, activity: _Activity) -> Failed:
        return self._failed(activity, output_overflow(activity.submission.id, self._limits.max_output_chars))

    def _signal(
        self, activity: _Activity, signal: Signal, text: str = "", terminal: Terminal | None = None
    ) -> None:
        self._inbox.append((activity, signal, text, terminal))
        self._apply_signals()

    def _apply_signals(self) -> None:
        applied = False
        # Looked at again after each release: a signal that came while the lock was held has nobody else to apply it.
        while self._inbox and self._lock.acquire(blocking=False):
            try:
                self._holder = threading.get_ident()
                while self._inbox:
                    self._apply(*self._inbox.popleft())
                    applied = True
            finally:
                self._lock.release()
        if applied and (wake := self._wake) is not None:
            wake()

    def _apply(self, activity: _Activity, signal: Signal, text: str, terminal: Terminal | None) -> None:
        transition = None if self._closed else TRANSITIONS[activity.phase].get(signal)
        if transition is None:
            self._ignored_signals += 1
            return
        if signal is Signal.TEXT:
            # Counted cumulatively, whatever of it was delivered already (rule S10).
            activity.streamed_chars += len(text)
            if activity.streamed_chars <= self._limits.max_output_chars:
                activity.last_text_at = self._clock()
                self._queue.add_text(activity.pending, text)
            else:
                self._apply(activity, Signal.OVERFLOW, "", self._overflowed(activity))
            return
        known_to_provider = activity.phase is Phase.RUNNING
        activity.phase = transition.phase
        if signal is Signal.REFUSE:
            self._queue.discard(activity.pending)
        elif transition.phase is Phase.CANCELLING:
            self._tasks.append((activity, True))
        if transition.ending is None:
            return
        if transition.ending is Ending.CANCELLED or terminal is None:
            terminal = Cancelled(activity.submission.id, 0)
        activity.terminal = terminal
        self._queue.add_terminal(activity.pending, terminal)
        # The provider does not know of an end that it did not bring about.
        self._tasks.append((activity, known_to_provider and signal in (Signal.OVERFLOW, Signal.EXPIRE)))

    def __reduce__(self) -> Never:
        raise TypeError(
            "a service cannot be pickled or copied: save the SessionRef of a completed Activity instead"
        )
