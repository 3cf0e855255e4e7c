"""`IntelligencePortClient`: the service of a realm, across a port (section 6 of the contract).

Theory of operation. The client admits by the same policy as the runtime, before it sends. There is no reader
thread and no callback: every public call first takes what has arrived at the port. Events go through the same
delivery queue as on the Host, so a game that polls late finds them merged rather than queued. An Activity is
*running* until its terminal has arrived, and holds its place until that has been polled. Once closed the
client holds nothing and sends nothing.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any, Never, assert_never

from engine_intelligence.activity import (
    ActivityRef,
    IntelligenceEvent,
    SessionRef,
)
from engine_intelligence.admission import admit, identify, poll_size
from engine_intelligence.closing import PolledClose
from engine_intelligence.contracts import Clock, CloseTask, MessagePort, PortEnded
from engine_intelligence.errors import (
    IntelligenceError,
    activity_not_found,
    closed,
    output_overflow,
    provider_failed,
)
from engine_intelligence.identity import new_activity_id, new_session_id
from engine_intelligence.limits import Deadlines, IntelligenceLimits
from engine_intelligence.protocol.codec import ProtocolError
from engine_intelligence.protocol.credit import MAX_WINDOW_EVENTS, RealmCredit
from engine_intelligence.protocol.messages import (
    FEATURES,
    HEARTBEAT,
    PROTOCOL_VERSION,
    STREAM_CREDIT,
    Cancel,
    Close,
    Closed,
    Events,
    Heartbeat,
    Hello,
    HostMessage,
    Poll,
    RealmMessage,
    Rejected,
    Submit,
)
from engine_intelligence.realm.held import HeldActivities, HeldActivity
from engine_intelligence.realm.silence import Silence
from engine_intelligence.result import Err, Ok, Result

RealmPort = MessagePort[HostMessage, RealmMessage]


def create_intelligence_port_client(
    provider_id: str,
    port: RealmPort,
    *,
    limits: IntelligenceLimits | None = None,
    deadlines: Deadlines | None = None,
    clock: Clock = time.monotonic,
    create_activity_id: Callable[[], str] = new_activity_id,
    create_session_id: Callable[[], str] = new_session_id,
    when_closed: Callable[[], None] | None = None,
) -> IntelligencePortClient:
    """A service for the provider `provider_id` at the other end of `port`, which from now on belongs to the
    client.

    It sends nothing before it is called. Without `limits` it takes those that the Host announces, and the
    defaults until then. Of `deadlines` it uses `first_text_s` while the Host has not spoken yet, `activity_s` and
    `close_grace_s` for what the Host has forgotten, `unresponsive_s` once the Host announced heartbeats, and
    `close_grace_s` for its own close. `when_closed` is for whoever made the port: it is called whenever the closed client
    is looked at, and must not wait or raise.
    """
    return IntelligencePortClient(
        provider_id,
        port,
        limits=limits,
        deadlines=Deadlines() if deadlines is None else deadlines,
        clock=clock,
        create_activity_id=create_activity_id,
        create_session_id=create_session_id,
        when_closed=when_closed,
    )


class IntelligencePortClient:
    """An `IntelligenceService` across a port. Make one with `create_intelligence_port_client`, or
    `connection.client(...)`.

    It belongs to one thread at a time.
    """

    def __init__(
        self,
        provider_id: str,
        port: RealmPort,
        *,
        limits: IntelligenceLimits | None,
        deadlines: Deadlines,
        clock: Clock,
        create_activity_id: Callable[[], str],
        create_session_id: Callable[[], str],
        when_closed: Callable[[], None] | None,
    ) -> None:
        self._when_closed = when_closed
        self._provider_id = provider_id
        self._port = port
        self._port_released = False
        self._adopts_limits = limits is None
        self._limits = limits = IntelligenceLimits() if limits is None else limits
        self._deadlines = deadlines
        self._clock = clock
        self._create_activity_id = create_activity_id
        self._create_session_id = create_session_id
        self._held = HeldActivities(limits)
        self._credit = RealmCredit(limits.max_poll_events)
        self._closed: IntelligenceError | None = None
        self._close_task: CloseTask | None = None
        self._close_by = 0.0
        self._host_spoke = False
        self._greeted = False
        self._heartbeats = False
        self._credit_settled = False  # nothing has happened since no credit was due
        self._looking: Any = port if hasattr(port, "quick_look") else None  # a LookingPort
        self._idle = False  # a poll found nothing to do, and nothing has been done since
        self._idle_until = 0.0  # when there will be something to do though nothing comes
        self._silence = Silence(clock(), deadlines.unresponsive_s)

    @property
    def provider_id(self) -> str:
        """The provider at the other end of the port."""
        return self._provider_id

    @property
    def limits(self) -> IntelligenceLimits:
        """The bounds that requests and output are held to."""
        return self._limits

    @property
    def held_activities(self) -> int:
        """How many Activities hold a place: submitted, and their terminal not polled yet (rule S8)."""
        return len(self._held)

    @property
    def pending_events(self) -> int:
        """How many events have arrived and not been polled."""
        return self._held.pending_events

    @property
    def closed(self) -> bool:
        """Whether the service is closed, by whichever side (rule C7).

        Looking takes what has arrived, and never waits.
        """
        self._take_arrived()
        return self._closed is not None

    @property
    def close_reason(self) -> str | None:
        """Why the service is closed, in a sentence for a log, or `None` while it is open (rule C7).

        It looks like `closed`.
        """
        self._take_arrived()
        return None if self._closed is None else self._closed.detail.message or "The service was closed."

    def submit(self, input: str, session: SessionRef | None = None) -> Result[ActivityRef, IntelligenceError]:
        """See `IntelligenceService.submit`."""
        self._take_arrived()
        if self._closed is not None:
            return Err(self._closed)
        admitted = admit(
            input,
            session,
            provider_id=self._provider_id,
            limits=self._limits,
            held_activities=len(self._held),
        )
        if isinstance(admitted, Err):
            return admitted
        identified = identify(
            admitted.value,
            provider_id=self._provider_id,
            in_use=self._held,
            create_activity_id=self._create_activity_id,
            create_session_id=self._create_session_id,
        )
        if isinstance(identified, Err):
            return identified
        submission = identified.value
        try:
            self._held.add(submission.id, self._clock())
            if not self._send(Submit(submission)):
                return Err(self._reason())
        except BaseException:
            self._interrupted()
            raise
        return Ok(ActivityRef(submission.id, submission.session))

    def poll(self, max_events: int | None = None) -> list[IntelligenceEvent]:
        """See `IntelligenceService.poll`.

        Where nothing has arrived it makes no message and at most one system call (C3).
        """
        if self._idle:
            # The same as below, for most polls of a game: one system call, the time, and nothing.
            try:
                look = self._looking.quick_look
                if not look(0):
                    clock, silence = self._clock, self._silence
                    now = clock()
                    if now < self._idle_until and now <= silence.calm_until:
                        silence.calm_until = now + silence.away_s
                        return []
            except Exception:  # noqa: BLE001 - a border: what a port raises is looked at below
                pass
        if max_events is None:
            size = self._limits.max_poll_events
        elif not (size := poll_size(max_events, self._limits)):
            return []
        self._take_arrived()
        if self._credit_settled and not self._held.line:
            self._rest()
            return []
        if self._closed is not None:
            return []
        try:
            events = self._held.take(size)
            credit = self._credit.grant(size, self._held.pending_events)
            if credit and not self._send(Poll(credit)):
                return []  # rule C5: the events of this poll go with everything else
        except BaseException:
            self._interrupted()
            raise
        self._credit_settled = not credit and not self._held.line
        return events

    def cancel(self, activity_id: str) -> Result[None, IntelligenceError]:
        """See `IntelligenceService.cancel`."""
        self._take_arrived()
        if self._closed is not None:
            return Err(self._closed)
        activity = self._held.running(activity_id)
        if activity is None:
            return Err(activity_not_found(activity_id))
        try:
            if not activity.cancel_sent:
                activity.cancel_sent = True
                if not self._send(Cancel(activity.activity_id)):
                    return Err(self._reason())
        except BaseException:
            self._interrupted()
            raise
        return Ok(None)

    def close(self) -> CloseTask:
        """End the service. Idempotent: every call returns the same task, also when the Host closed first
        (rule C6).

        The task is done when the Host has confirmed, the port has ended or `close_grace_s` have passed.
        """
        if self._close_task is None:
            if self._closed is None:
                self._close_by = self._clock() + self._deadlines.close_grace_s
                self._end(closed("realm-closed", "The game closed the service."), release=False)
                try:
                    self._port.send(Close())
                except Exception:  # noqa: BLE001 - a border: whatever a port raises, the client is terminal (rule C6)
                    self._release_port()
            self._close_task = PolledClose(self._closing_step, self._closing_idle)
        else:
            self._closing_step()
        return self._close_task

    # The port

    def _rest(self) -> None:
        """Nothing is to be done until something comes, or a time."""
        if self._closed is not None or self._looking is None:
            return
        by_age = self._held.by_age
        self._idle_until = min(
            self._silence.over_at if self._heartbeats else math.inf,
            by_age[0].submitted_at + self._overdue_after()[0] if by_age else math.inf,
        )
        self._idle = True

    def _take_arrived(self) -> None:
        """Act on what has arrived at the port. It waits for nothing and raises nothing."""
        self._idle = False
        if self._closed is not None:
            if self._close_task is not None:
                self._closing_step()  # whatever a game calls meanwhile moves its close on
            if self._when_closed is not None:
                self._when_closed()
            return
        try:
            try:
                messages = self._port.receive()
            except PortEnded as ended:
                self._end(closed(ended.reason, ended.message))
                return
            except Exception as error:  # noqa: BLE001 - a border: a port that breaks is a port that has ended (rule C5)
                self._end(closed("port-failed", f"The port failed ({type(error).__name__})."))
                return
            now = self._clock()
            if messages:
                self._host_spoke = True
                self._credit_settled = False
                self._silence.heard(now)
                for message in messages:
                    self._receive(message)
            elif self._heartbeats and self._silence.looked(now):
                text = f"The Host was silent for {self._deadlines.unresponsive_s:g} seconds."
                self._end(closed("unresponsive", text))
            if self._held.by_age:
                self._expire(now)
        except BaseException:
            self._interrupted()
            raise

    def _receive(self, message: HostMessage) -> None:
        if self._closed is not None:
            return  # by a message before this one (rule C4)
        match message:
            case Events(events=events):
                self._credit.receive(len(events))
                for event in events:
                    self._receive_event(event)
            case Rejected(activity_id=activity_id, error=error):
                self._held.reject(activity_id, error)
            case Closed(reason=reason, message=text):
                self._end(closed(reason, text))
            case Hello():
                if not self._greeted:
                    self._receive_hello(message)
            case Heartbeat():
                pass
            case _:
                assert_never(message)

    def _receive_event(self, event: IntelligenceEvent) -> None:
        try:
            too_long = self._held.receive(event)
        except ProtocolError as error:
            self._end(closed(error.reason, error.message))
            return
        if too_long is not None:
            # The Host's bound is larger than ours. Ours is what this process has room for (rule S10).
            self._abandon(too_long, output_overflow(too_long.activity_id, self._limits.max_output_chars))

    def _receive_hello(self, hello: Hello) -> None:
        self._greeted = True
        if hello.protocol != PROTOCOL_VERSION:
            versions = f"The Host speaks protocol {hello.protocol}, and this side {PROTOCOL_VERSION}"
            self._end(closed("protocol-version", f"{versions}: install the same version on both."))
        elif hello.provider_id != self._provider_id:
            self._end(closed("provider-mismatch", "The Host opened the port for another provider."))
        elif self._send(self._own_hello(hello)):
            if self._adopts_limits:
                self._limits = hello.limits
                self._held.bound_by(hello.limits)
                self._credit.window = min(hello.limits.max_poll_events, MAX_WINDOW_EVENTS)
            self._heartbeats = HEARTBEAT in hello.features
            if STREAM_CREDIT in hello.features:
                self._credit.start_streaming()

    def _own_hello(self, hello: Hello) -> Hello:
        limits = hello.limits if self._adopts_limits else self._limits
        return Hello(PROTOCOL_VERSION, self._provider_id, limits, FEATURES)

    def _expire(self, now: float) -> None:
        """Give up what the Host does not end.

        While it is still starting it keeps no deadlines, so this side keeps `first_text_s` for it. Later it keeps
        them itself, and this side only gives up what is overdue by more than any grace: so every Activity ends,
        whatever the Host has lost or forgotten (rule S6).
        """
        most_s, what = self._overdue_after()
        for activity in self._held.overdue(now, most_s):
            cause = f"the Host did not {what} within {most_s:g} seconds"
            self._abandon(activity, provider_failed(self._provider_id, cause, reason="timeout"))

    def _overdue_after(self) -> tuple[float, str]:
        """How long after its submission an Activity is given up, and what the Host has not done by then."""
        deadlines = self._deadlines
        if self._host_spoke:
            return deadlines.activity_s + deadlines.close_grace_s, "end this"
        return deadlines.first_text_s, "start"

    def _abandon(self, activity: HeldActivity, error: IntelligenceError) -> None:
        """End an Activity on this side, and have the Host stop it."""
        self._held.fail(activity, error)
        if not activity.cancel_sent:
            activity.cancel_sent = True
            self._send(Cancel(activity.activity_id))

    def _send(self, message: RealmMessage) -> bool:
        """Send, and return whether this worked. Where it did not, the client is terminal (rule C5)."""
        try:
            self._port.send(message)
        except PortEnded as ended:
            self._end(closed(ended.reason, ended.message))
            return False
        except Exception as error:  # noqa: BLE001 - a border: whatever a port raises, the client is terminal (rule C5)
            self._end(closed("port-failed", f"The port failed ({type(error).__name__})."))
            return False
        return True

    # The end

    def _reason(self) -> IntelligenceError:
        return closed() if self._closed is None else self._closed

    def _end(self, reason: IntelligenceError, *, release: bool = True) -> None:
        """Become terminal: everything is cleared, and the port is released unless its close is still to be
        confirmed.
        """
        self._idle = False
        if self._closed is None:
            self._held.clear()  # first, so that an interrupt in between leaves something to end
            self._closed = reason
        if release:
            self._release_port()

    def _interrupted(self) -> None:
        """A signal handler raised in the middle of a call, as that of Ctrl-C does, or memory ran out.

        What that call had begun cannot be told any more, and half of it must not stay.
        """
        self._end(closed("interrupted", "The game was interrupted in the middle of a call."))

    def _release_port(self) -> None:
        if not self._port_released:
            try:
                self._port_released = True
                self._port.close()
            except Exception:  # noqa: BLE001 - a border: it is released all the same (rule C4)
                pass
            except BaseException:
                self._port_released = False  # the next look tries again
                raise

    def _closing_step(self) -> bool:
        if self._port_released:
            return True
        try:
            # Whatever else arrives is ignored (rule C4).
            confirmed = any(isinstance(message, Closed) for message in self._port.receive())
        except Exception:  # noqa: BLE001 - a border: a port that ends or breaks has nothing to confirm any more (rule C6)
            confirmed = True
        if confirmed or self._clock() >= self._close_by:
            self._release_port()
        return self._port_released

    def _closing_idle(self, seconds: float) -> None:
        self._port.idle(seconds)

    def __reduce__(self) -> Never:
        raise TypeError(
            "a service cannot be pickled or copied: save the SessionRef of a completed Activity instead"
        )
