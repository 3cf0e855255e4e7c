"""What a port client and its Host say to each other, from the first message to the end of the port.

Theory of operation. Nothing here is told that something has come: the client calls `take_arrived` at the start of
whatever a game calls. What a Host or a port does wrong is raised nowhere; it ends the exchange, and `ended` says why.
Once ended the exchange holds nothing and sends nothing, and the port is released exactly once. What a game may ask
for is the client's to judge.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import assert_never

from engine_intelligence.activity import IntelligenceEvent
from engine_intelligence.closing import PolledClose
from engine_intelligence.contracts import Clock, CloseTask, MessagePort, PortEnded
from engine_intelligence.errors import IntelligenceError, closed, output_overflow, provider_failed
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
    RealmMessage,
    Rejected,
)
from engine_intelligence.realm.held import HeldActivities, HeldActivity
from engine_intelligence.realm.silence import Silence

RealmPort = MessagePort[HostMessage, RealmMessage]


class Exchange:
    """The exchange of one client with its Host. The port belongs to it; it belongs to the client's thread.

    Without `limits` it takes those that the Host announces. `when_closed` is called at every look after the end.
    """

    def __init__(
        self,
        provider_id: str,
        port: RealmPort,
        *,
        limits: IntelligenceLimits | None,
        deadlines: Deadlines,
        clock: Clock,
        when_closed: Callable[[], None] | None,
    ) -> None:
        self._when_closed = when_closed
        self._provider_id = provider_id
        self._port = port
        self._port_released = False
        self._adopts_limits = limits is None
        self.limits = limits = IntelligenceLimits() if limits is None else limits
        """The bounds of this side. Those that the Host announces replace them once, where none were given."""
        self._deadlines = deadlines
        self._clock = clock
        self.held = HeldActivities(limits)
        """What has been submitted, and what has arrived of it."""
        self.credit = RealmCredit(limits.max_poll_events)
        """What the Host may send. The client grants it."""
        self.credit_settled = False
        """No credit was due when the client last asked, and nothing has arrived since. The client sets it."""
        self.silence = Silence(clock(), deadlines.unresponsive_s)
        """How long nothing has come. A client that looks at the port by itself keeps its `calm_until`."""
        self.ended: IntelligenceError | None = None
        """Why the exchange is over, or `None` while it is not."""
        self._close_task: CloseTask | None = None
        self._close_by = 0.0
        self._host_spoke = False
        self._greeted = False
        self._heartbeats = False

    def take_arrived(self) -> None:
        """Act on what has arrived at the port. It waits for nothing and raises nothing."""
        if self.ended is not None:
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
                self.credit_settled = False
                self.silence.heard(now)
                for message in messages:
                    self._receive(message)
            elif self._heartbeats and self.silence.looked(now):
                text = f"The Host was silent for {self._deadlines.unresponsive_s:g} seconds."
                self._end(closed("unresponsive", text))
            if self.held.by_age:
                self._expire(now)
        except BaseException:
            self.interrupted()
            raise

    def send(self, message: RealmMessage) -> bool:
        """Send, and return whether this worked. Where it did not, the exchange is over (rule C5)."""
        try:
            self._port.send(message)
        except PortEnded as ended:
            self._end(closed(ended.reason, ended.message))
            return False
        except Exception as error:  # noqa: BLE001 - a border: whatever a port raises, the exchange is over (rule C5)
            self._end(closed("port-failed", f"The port failed ({type(error).__name__})."))
            return False
        return True

    def reason(self) -> IntelligenceError:
        """The error for a call that could not send."""
        return closed() if self.ended is None else self.ended

    def interrupted(self) -> None:
        """A signal handler raised in the middle of a call, as that of Ctrl-C does, or memory ran out.

        What that call had begun cannot be told any more, and half of it must not stay.
        """
        self._end(closed("interrupted", "The game was interrupted in the middle of a call."))

    def next_due(self) -> float:
        """When there will be something to do though nothing comes, by the clock; infinite where that is never."""
        by_age = self.held.by_age
        return min(
            self.silence.over_at if self._heartbeats else math.inf,
            by_age[0].submitted_at + self._overdue_after()[0] if by_age else math.inf,
        )

    def close(self) -> CloseTask:
        """End the exchange from this side. Every call returns the same task, also where the Host ended it first
        (rule C6).
        """
        if self._close_task is None:
            if self.ended is None:
                self._close_by = self._clock() + self._deadlines.close_grace_s
                self._end(closed("realm-closed", "The game closed the service."), release=False)
                try:
                    self._port.send(Close())
                except Exception:  # noqa: BLE001 - a border: whatever a port raises, the exchange is over (rule C6)
                    self._release_port()
            self._close_task = PolledClose(self._closing_step, self._closing_idle)
        else:
            self._closing_step()
        return self._close_task

    # What has arrived

    def _receive(self, message: HostMessage) -> None:
        if self.ended is not None:
            return  # by a message before this one (rule C4)
        match message:
            case Events(events=events):
                self.credit.receive(len(events))
                for event in events:
                    self._receive_event(event)
            case Rejected(activity_id=activity_id, error=error):
                self.held.reject(activity_id, error)
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
            too_long = self.held.receive(event)
        except ProtocolError as error:
            self._end(closed(error.reason, error.message))
            return
        if too_long is not None:
            # The Host's bound is larger than ours. Ours is what this process has room for (rule S10).
            self._abandon(too_long, output_overflow(too_long.activity_id, self.limits.max_output_chars))

    def _receive_hello(self, hello: Hello) -> None:
        self._greeted = True
        if hello.protocol != PROTOCOL_VERSION:
            versions = f"The Host speaks protocol {hello.protocol}, and this side {PROTOCOL_VERSION}"
            self._end(closed("protocol-version", f"{versions}: install the same version on both."))
        elif hello.provider_id != self._provider_id:
            self._end(closed("provider-mismatch", "The Host opened the port for another provider."))
        elif self.send(self._own_hello(hello)):
            if self._adopts_limits:
                self.limits = hello.limits
                self.held.bound_by(hello.limits)
                self.credit.window = min(hello.limits.max_poll_events, MAX_WINDOW_EVENTS)
            self._heartbeats = HEARTBEAT in hello.features
            if STREAM_CREDIT in hello.features:
                self.credit.start_streaming()

    def _own_hello(self, hello: Hello) -> Hello:
        limits = hello.limits if self._adopts_limits else self.limits
        return Hello(PROTOCOL_VERSION, self._provider_id, limits, FEATURES)

    def _expire(self, now: float) -> None:
        """Give up what the Host does not end.

        While it is still starting it keeps no deadlines, so this side keeps `first_text_s` for it. Later it keeps
        them itself, and this side only gives up what is overdue by more than any grace: so every Activity ends,
        whatever the Host has lost or forgotten (rule S6).
        """
        most_s, what = self._overdue_after()
        for activity in self.held.overdue(now, most_s):
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
        self.held.fail(activity, error)
        if not activity.cancel_sent:
            activity.cancel_sent = True
            self.send(Cancel(activity.activity_id))

    # The end

    def _end(self, reason: IntelligenceError, *, release: bool = True) -> None:
        """Become terminal: everything is cleared, and the port is released unless its close is still to be
        confirmed.
        """
        if self.ended is None:
            self.held.clear()  # first, so that an interrupt in between leaves something to end
            self.ended = reason
        if release:
            self._release_port()

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
