"""`IntelligenceRuntime`: the service that stands beside its provider (sections 3 and 4 of the contract).

Theory of operation. Two sides meet here. The *service side* is the one thread that calls `submit`, `poll`,
`cancel` and `turn`; it alone touches the table of Activities, the sessions and the deadlines, and it alone calls
the provider. The *sink side* is whatever thread the provider answers from. They meet in a `SignalBox`, which
keeps the events that come of it and the errands that the service side has to run.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import Never

from engine_intelligence.activity import (
    ActivityRef,
    ActivityRequest,
    ActivitySubmission,
    IntelligenceEvent,
    SessionRef,
)
from engine_intelligence.admission import admit, admit_id, identify, poll_size
from engine_intelligence.closing import PolledClose, TaskClose, running_loop
from engine_intelligence.contracts import Clock, CloseTask, IntelligenceProvider
from engine_intelligence.errors import (
    IntelligenceError,
    activity_not_found,
    closed,
    provider_failed,
    refused_by_provider,
)
from engine_intelligence.expiries import Expiries
from engine_intelligence.identity import new_activity_id, new_session_id
from engine_intelligence.lifecycle import Phase, Signal
from engine_intelligence.limits import Deadlines, IntelligenceLimits
from engine_intelligence.result import Err, Ok, Result
from engine_intelligence.scrubbing import describe_exception
from engine_intelligence.signals import Activity, SignalBox
from engine_intelligence.sink import Sink

_log = logging.getLogger(__name__)

_ENDED = Phase.ENDED  # a name of this module: a member of an enumeration is looked up in two steps


def create_intelligence_runtime(
    provider: IntelligenceProvider,
    *,
    limits: IntelligenceLimits | None = None,
    deadlines: Deadlines | None = None,
    clock: Clock = time.monotonic,
    create_activity_id: Callable[[], str] = new_activity_id,
    create_session_id: Callable[[], str] = new_session_id,
) -> IntelligenceRuntime:
    """A service over `provider` in this process: for a Host, for tests, and for providers that cannot block.

    `clock` must be monotonic; deadlines are judged by it whenever the service is polled. The two
    `create_..._id` functions make the identities of Activities and of new sessions (rule S5). Raises nothing;
    the provider is not called before a submit.
    """
    return IntelligenceRuntime(
        provider,
        limits=IntelligenceLimits() if limits is None else limits,
        deadlines=Deadlines() if deadlines is None else deadlines,
        clock=clock,
        create_activity_id=create_activity_id,
        create_session_id=create_session_id,
    )


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
        self._max_poll_events = limits.max_poll_events
        self._deadlines = deadlines
        self._clock = clock
        self._create_activity_id = create_activity_id
        self._create_session_id = create_session_id
        self._activities: dict[str, Activity] = {}
        # The first one of each runs, the others wait (rule P6).
        self._sessions: dict[str, list[Activity]] = {}
        self._expiries = Expiries(deadlines)
        self._box = SignalBox(provider.id, limits, clock, self._forget)
        self._close_task: CloseTask | None = None

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
        return self._box.pending_events

    @property
    def ignored_signals(self) -> int:
        """How many sink calls were ignored because the contract does not allow them (rule P2)."""
        self._box.apply()
        return self._box.ignored

    # The service

    def submit(self, input: str, session: SessionRef | None = None) -> Result[ActivityRef, IntelligenceError]:
        """See `IntelligenceService.submit`."""
        admitted = self._admit(input, session)
        if isinstance(admitted, Err):
            return admitted
        identified = identify(
            admitted.value,
            provider_id=self._provider_id,
            in_use=self._activities,
            create_activity_id=self._create_activity_id,
            create_session_id=self._create_session_id,
        )
        return identified if isinstance(identified, Err) else self._accept(identified.value)

    def accept(self, submission: ActivitySubmission) -> Result[ActivityRef, IntelligenceError]:
        """Like `submit`, for a request that has its identities already: what a binding receives from a realm."""
        admitted = self._admit(submission.input, submission.session)
        if isinstance(admitted, Err):
            return admitted
        identified = admit_id(submission.id, submission.session, submission.input, self._activities)
        return identified if isinstance(identified, Err) else self._accept(identified.value)

    def poll(self, max_events: int | None = None) -> list[IntelligenceEvent]:
        """See `IntelligenceService.poll`."""
        if max_events is None:
            size = self._max_poll_events
        elif not (size := poll_size(max_events, self._limits)):
            return []
        if self._close_task is not None:
            return []
        box, due = self._box, self._expiries.next
        if due is not None:
            clock = self._clock
            if due <= clock():
                self.turn()
        if box.errands:
            self.turn()
        if not box.inbox and not box.line:
            return []
        events = box.take(size)
        if box.errands:
            self._run_errands()
        return events

    def cancel(self, activity_id: str) -> Result[None, IntelligenceError]:
        """See `IntelligenceService.cancel`."""
        if self._close_task is not None:
            return Err(closed())
        self.turn()
        activity = self._held(activity_id)
        if activity is None or activity.phase is Phase.ENDED:
            return Err(activity_not_found(activity_id))
        if activity.phase is not Phase.CANCELLING:
            activity.cancelled_at = self._clock()
            self._box.signal(activity, Signal.CANCEL)
            self._watch(activity, activity.cancelled_at)
            self.turn()
        return Ok(None)

    def close(self) -> CloseTask:
        """Close the provider and drop all that is running. Idempotent; every call returns the same close task.

        Inside a running event loop the task needs that loop, and ends within `close_grace_s` whatever the
        provider does. Without one, the provider's `close` is run as far as it goes without waiting.
        """
        if self._close_task is None:
            self._box.close()
            self._activities.clear()
            self._sessions.clear()
            self._expiries.clear()
            self._close_task = self._close_provider()
        return self._close_task

    # What a Host needs besides

    def listen(self, wake: Callable[[], None] | None) -> None:
        """Have `wake` called, from any thread, whenever there may be something to poll or a `turn` to do."""
        self._box.wake = wake

    def turn(self) -> None:
        """Do what is due on the service side: deadlines, starts of waiting Activities, cancels. Never waits.

        `submit`, `poll` and `cancel` do it too. A Host calls it when woken, and at `next_deadline`.
        """
        box = self._box
        if box.inbox:
            box.apply()
        due = self._expiries.next
        if due is not None and due <= self._clock():
            self._expire()
        if box.errands:
            self._run_errands()

    def _run_errands(self) -> None:
        errands = self._box.errands
        while errands:
            activity, to_cancel = errands.popleft()
            if to_cancel and activity.known_to_provider:
                self._cancel_provider(activity)
            if activity.phase is _ENDED:
                self._leave_session(activity)

    @property
    def next_deadline(self) -> float | None:
        """When `turn` has to be called at the latest, by `now()`; `None` if nothing is running."""
        return self._expiries.next

    def now(self) -> float:
        """The time by the clock of this runtime, to compare `next_deadline` with."""
        return self._clock()

    # Activities

    def _admit(self, input: object, session: object) -> Result[ActivityRequest, IntelligenceError]:
        if self._close_task is not None:
            return Err(closed())
        self.turn()
        return admit(
            input,
            session,
            provider_id=self._provider_id,
            limits=self._limits,
            held_activities=len(self._activities),
        )

    def _accept(self, submission: ActivitySubmission) -> Result[ActivityRef, IntelligenceError]:
        session_id = submission.session.id
        line = self._sessions.get(session_id)
        now = self._clock()
        activity = Activity(submission, Phase.RUNNING if line is None else Phase.WAITING, now)
        self._activities[submission.id] = activity
        if line is not None:
            line.append(activity)
            self._watch(activity, now)
        else:
            self._sessions[session_id] = [activity]
            error = self._start(activity, now)
            if error is not None:
                # Rule S14: nothing of it is left, neither its place nor what was said before it was refused.
                self._box.signal(activity, Signal.REFUSE)
                self._forget(submission.id)
                self._leave_session(activity)
                return Err(error)
        return Ok(ActivityRef(submission.id, submission.session))

    def _start(self, activity: Activity, now: float) -> IntelligenceError | None:
        activity.started_at = now
        activity.known_to_provider = True
        self._expiries.watch(activity, now, len(self._activities))
        try:
            result = self._provider.start(activity.submission, Sink(self._box, activity))
        except BaseException as error:  # noqa: BLE001 - a border: nothing a provider raises breaks the service
            return provider_failed(self._provider_id, error)
        return self._refusal(result)

    def _start_waiting(self, activity: Activity) -> None:
        """Start an Activity that has waited for its turn in its session (rule P6)."""
        self._box.signal(activity, Signal.START)
        error = self._start(activity, self._clock())
        if error is not None:
            # Its end is an errand of its own, which then starts the one after it.
            self._box.signal(activity, Signal.BREACH, terminal=activity.failed(error))

    def _leave_session(self, ended: Activity) -> None:
        """Take an ended Activity out of its session, and start the next one if it was running (rule P6)."""
        session_id = ended.submission.session.id
        line = self._sessions.get(session_id)
        if line is None:
            return
        if len(line) == 1 and line[0] is ended:
            del self._sessions[session_id]
            return
        if ended not in line:
            return
        was_running = line[0] is ended
        line.remove(ended)
        while was_running and line and line[0].phase is Phase.ENDED:
            del line[0]  # cancelled while it waited
        if not line:
            del self._sessions[session_id]
        elif was_running:
            self._start_waiting(line[0])

    def _held(self, activity_id: object) -> Activity | None:
        return self._activities.get(str.__str__(activity_id)) if isinstance(activity_id, str) else None

    def _forget(self, activity_id: str) -> None:
        self._activities.pop(activity_id, None)

    # Deadlines

    def _watch(self, activity: Activity, now: float) -> None:
        self._expiries.watch(activity, now, len(self._activities))

    def _expire(self) -> None:
        for activity, failure in self._expiries.expired(self._clock(), len(self._activities)):
            error = None if failure is None else provider_failed(self._provider_id, failure)
            terminal = None if error is None else activity.failed(error)
            self._box.signal(activity, Signal.EXPIRE, terminal=terminal)

    # The provider

    def _cancel_provider(self, activity: Activity) -> None:
        try:
            result = self._provider.cancel(activity.submission.id)
        except BaseException as raised:  # noqa: BLE001 - a border: nothing a provider raises breaks the service
            error: IntelligenceError | None = provider_failed(self._provider_id, raised)
        else:
            error = self._refusal(result)
        if error is not None:
            self._box.signal(activity, Signal.BREACH, terminal=activity.failed(error))

    def _refusal(self, result: object) -> IntelligenceError | None:
        """What a provider returned, as an error where it is not `Ok` (rule S14). It may be anything."""
        match result:
            case Ok():
                return None
            case Err(IntelligenceError() as refusal):
                return refused_by_provider(self._provider_id, refusal)
            case _:
                pass
        cause = f"the provider returned {type(result).__name__}, not Ok or Err"
        return provider_failed(self._provider_id, cause, reason="protocol")

    def _close_provider(self) -> CloseTask:
        loop = running_loop()
        if loop is not None:
            return TaskClose(loop.create_task(self._close_provider_bounded()))
        closing = self._close_provider_contained()
        try:
            closing.send(None)
        except StopIteration:
            pass
        else:
            _log.warning("provider %r needs an event loop to close and was left behind", self._provider_id)
            closing.close()
        return PolledClose(lambda: True)

    async def _close_provider_bounded(self) -> None:
        import asyncio  # not at the top: a realm without an event loop does not load it (rule H7)

        task = asyncio.ensure_future(self._close_provider_contained())
        # Not asyncio.wait_for: a task that ignores its cancellation outlives that (rule B4).
        _, late = await asyncio.wait({task}, timeout=self._deadlines.close_grace_s)
        for abandoned in late:
            abandoned.cancel()
            _log.warning("provider %r did not close in time and was left behind", self._provider_id)

    async def _close_provider_contained(self) -> None:
        try:
            await self._provider.close()
        except GeneratorExit:
            raise  # this coroutine itself is closed
        except BaseException as error:  # noqa: BLE001 - a border: a provider that fails to close is left behind
            _log.warning("provider %r failed to close: %s", self._provider_id, describe_exception(error))

    def __reduce__(self) -> Never:
        raise TypeError(
            "a service cannot be pickled or copied: save the SessionRef of a completed Activity instead"
        )
