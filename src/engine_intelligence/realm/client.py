"""`IntelligencePortClient`: the service of a realm, across a port (section 6 of the contract).

Theory of operation. The client admits by the same policy as the runtime, before it sends. There is no reader
thread and no callback: every public call first has the exchange take what has arrived at the port. Events go through
the same delivery queue as on the Host, so a game that polls late finds them merged rather than queued. An Activity is
*running* until its terminal has arrived, and holds its place until that has been polled. Once closed the
client holds nothing and sends nothing.

Here are the calls of a game, and the short way that a poll takes where nothing is to be done. What the Host says, and
how it ends, is `exchange`.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Never

from engine_intelligence.activity import (
    ActivityRef,
    IntelligenceEvent,
    SessionRef,
)
from engine_intelligence.admission import admit, identify, poll_size
from engine_intelligence.contracts import Clock, CloseTask
from engine_intelligence.errors import IntelligenceError, activity_not_found
from engine_intelligence.identity import new_activity_id, new_session_id
from engine_intelligence.limits import Deadlines, IntelligenceLimits
from engine_intelligence.protocol.messages import Cancel, Poll, Submit
from engine_intelligence.realm.exchange import Exchange, RealmPort
from engine_intelligence.result import Err, Ok, Result


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
        self._provider_id = provider_id
        self._clock = clock
        self._create_activity_id = create_activity_id
        self._create_session_id = create_session_id
        self._exchange = exchange = Exchange(
            provider_id, port, limits=limits, deadlines=deadlines, clock=clock, when_closed=when_closed
        )
        # Its parts that a poll uses, at one step: none of them is ever replaced.
        self._held, self._credit, self._silence = exchange.held, exchange.credit, exchange.silence
        self._looking: Any = port if hasattr(port, "quick_look") else None  # a LookingPort
        self._idle = False  # a poll found nothing to do, and nothing has been done since
        self._idle_until = 0.0  # when there will be something to do though nothing comes

    @property
    def provider_id(self) -> str:
        """The provider at the other end of the port."""
        return self._provider_id

    @property
    def limits(self) -> IntelligenceLimits:
        """The bounds that requests and output are held to."""
        return self._exchange.limits

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
        return self._exchange.ended is not None

    @property
    def close_reason(self) -> str | None:
        """Why the service is closed, in a sentence for a log, or `None` while it is open (rule C7).

        It looks like `closed`.
        """
        self._take_arrived()
        ended = self._exchange.ended
        return None if ended is None else ended.detail.message or "The service was closed."

    def submit(self, input: str, session: SessionRef | None = None) -> Result[ActivityRef, IntelligenceError]:
        """See `IntelligenceService.submit`."""
        self._take_arrived()
        exchange = self._exchange
        if exchange.ended is not None:
            return Err(exchange.ended)
        admitted = admit(
            input,
            session,
            provider_id=self._provider_id,
            limits=exchange.limits,
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
            if not exchange.send(Submit(submission)):
                return Err(exchange.reason())
        except BaseException:
            exchange.interrupted()
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
        exchange = self._exchange
        if max_events is None:
            size = exchange.limits.max_poll_events
        elif not (size := poll_size(max_events, exchange.limits)):
            return []
        self._idle = False
        exchange.take_arrived()  # as in `_take_arrived`, for one call less
        if exchange.credit_settled and not self._held.line:
            self._rest()
            return []
        if exchange.ended is not None:
            return []
        try:
            events = self._held.take(size)
            credit = self._credit.grant(size, self._held.pending_events)
            if credit and not exchange.send(Poll(credit)):
                return []  # rule C5: the events of this poll go with everything else
        except BaseException:
            exchange.interrupted()
            raise
        exchange.credit_settled = not credit and not self._held.line
        return events

    def cancel(self, activity_id: str) -> Result[None, IntelligenceError]:
        """See `IntelligenceService.cancel`."""
        self._take_arrived()
        exchange = self._exchange
        if exchange.ended is not None:
            return Err(exchange.ended)
        activity = self._held.running(activity_id)
        if activity is None:
            return Err(activity_not_found(activity_id))
        try:
            if not activity.cancel_sent:
                activity.cancel_sent = True
                if not exchange.send(Cancel(activity.activity_id)):
                    return Err(exchange.reason())
        except BaseException:
            exchange.interrupted()
            raise
        return Ok(None)

    def close(self) -> CloseTask:
        """End the service. Idempotent: every call returns the same task, also when the Host closed first
        (rule C6).

        The task is done when the Host has confirmed, the port has ended or `close_grace_s` have passed.
        """
        self._idle = False  # the polls that follow move the close on
        return self._exchange.close()

    def _take_arrived(self) -> None:
        """Act on what has arrived. Whatever a game does besides polling, the next poll looks closely."""
        self._idle = False
        self._exchange.take_arrived()

    def _rest(self) -> None:
        """Nothing is to be done until something comes, or a time."""
        if self._exchange.ended is not None or self._looking is None:
            return
        self._idle_until = self._exchange.next_due()
        self._idle = True

    def __reduce__(self) -> Never:
        raise TypeError(
            "a service cannot be pickled or copied: save the SessionRef of a completed Activity instead"
        )
