"""`IntelligencePortBinding`: a runtime answering a realm through a port (section 7 of the contract)."""

from __future__ import annotations

import asyncio
import logging
import math
import threading
from typing import Never, assert_never

from engine_intelligence.closing import TaskClose
from engine_intelligence.contracts import CloseTask, MessagePort, PortEnded
from engine_intelligence.errors import intelligence_failure
from engine_intelligence.protocol.credit import HostCredit
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
from engine_intelligence.result import Err
from engine_intelligence.runtime import IntelligenceRuntime
from engine_intelligence.scrubbing import describe_exception

_log = logging.getLogger(__name__)

HostPort = MessagePort[RealmMessage, HostMessage]

# A tenth of the default `unresponsive_s`: nine may be late before a Host is taken for frozen. A quarter of a shorter one.
HEARTBEAT_S = 1.0


def bind_intelligence_port(
    port: HostPort, runtime: IntelligenceRuntime, *, announce: bool = True
) -> IntelligencePortBinding:
    """Have `runtime` answer the realm at the other end of `port`. Both belong to the binding from now on.

    To be called inside a running event loop, on whose thread everything happens. With `announce` the binding
    sends `hello` first; a realm that answers it gets events as they occur and heartbeats. Without, the
    binding behaves as `@forgeax/engine-intelligence`.
    """
    return IntelligencePortBinding(port, runtime, announce=announce)


class IntelligencePortBinding:
    """The Host's end of one port.

    It closes with the realm, with the Host, or at the first publication that fails.
    """

    def __init__(self, port: HostPort, runtime: IntelligenceRuntime, *, announce: bool) -> None:
        self._port = port
        self._runtime = runtime
        self._loop = asyncio.get_running_loop()
        self._thread = threading.get_ident()
        self._credit = HostCredit()
        self._close_task: TaskClose | None = None
        self._deadline_timer: asyncio.TimerHandle | None = None
        self._deadline = math.inf  # the one that the timer is set to, by the runtime's clock
        self._heartbeat_timer: asyncio.TimerHandle | None = None
        runtime.listen(self._wake)
        port.listen(self._receive)
        if announce:
            self._send(Hello(PROTOCOL_VERSION, runtime.provider_id, runtime.limits, FEATURES))
        # What arrived before anyone listened. Not at once: the caller has no binding to close yet.
        self._loop.call_soon(self._receive)

    @property
    def closed(self) -> bool:
        """Whether the binding is closed or closing."""
        return self._close_task is not None

    def close(self, reason: str | None = None, message: str | None = None) -> CloseTask:
        """Close the runtime, tell the realm, release the port, in this order (rule B2). For the event loop's
        thread.

        `reason` and `message` of the first call are what the realm is told. Idempotent: every call returns
        the same task, which is done within the runtime's `close_grace_s`, whatever the provider or the port
        does (rules B1, B4).
        """
        if self._close_task is None:
            self._port.listen(None)
            self._runtime.listen(None)
            for timer in (self._deadline_timer, self._heartbeat_timer):
                if timer is not None:
                    timer.cancel()
            self._close_task = TaskClose(self._loop.create_task(self._close(Closed(reason, message))))
        return self._close_task

    async def _close(self, notice: Closed) -> None:
        end = self._loop.time() + self._runtime.deadlines.close_grace_s
        await self._runtime.close()
        try:
            self._port.send(notice)
        except Exception as error:  # noqa: BLE001 - a border: a publication that raises is contained (rule B2)
            _log.debug("the realm could not be told of the close: %s", describe_exception(error))
        try:
            released = self._port.close()
            if released is not None:
                release = asyncio.ensure_future(released)
                release.add_done_callback(
                    lambda done: done.cancelled() or done.exception()
                )  # if it fails late
                await asyncio.wait({release}, timeout=max(0.0, end - self._loop.time()))
        except Exception as error:  # noqa: BLE001 - a border: a port that cannot close is released all the same (rule B2)
            _log.debug("the port could not be released in order: %s", describe_exception(error))

    # From the realm

    def _receive(self) -> None:
        """The port has something. Nothing that a realm sends makes this raise or wait (rule M5)."""
        try:
            while not self.closed and (messages := self._port.receive()):
                for message in messages:
                    if not self.closed:
                        self._handle(message)
        except PortEnded as ended:
            # A realm that has gone or that broke the protocol; in the latter case it can still be told.
            self.close(ended.reason, ended.message)
        except Exception as error:  # noqa: BLE001 - a border: no realm takes the Host down (rule M5)
            _log.error("a message from the realm could not be handled: %s", describe_exception(error))
            self.close("host-failed", "The Host could not handle a message.")
        if not self.closed:
            self._turn()

    def _handle(self, message: RealmMessage) -> None:
        match message:
            case Submit(submission=submission):
                accepted = self._runtime.accept(submission)
                if isinstance(accepted, Err):
                    self._send(Rejected(submission.id, intelligence_failure(accepted.error)))
            case Poll(max_events=max_events):
                if self._credit.streaming:
                    self._credit.add(max_events)
                else:
                    self._send(Events(tuple(self._runtime.poll(max_events))))
            case Cancel(activity_id=activity_id):
                # The same silence whether it has ended, never was, or is another realm's (rule M5).
                self._runtime.cancel(activity_id)
            case Close():
                self.close()
            case Hello(protocol=protocol, provider_id=provider_id, features=features):
                if protocol != PROTOCOL_VERSION:
                    self.close(
                        "protocol-version",
                        f"This Host speaks protocol {PROTOCOL_VERSION}, the realm {protocol}.",
                    )
                    return
                if provider_id != self._runtime.provider_id:
                    self.close("provider-mismatch", "The realm takes this port for another provider's.")
                    return
                if STREAM_CREDIT in features:
                    self._credit.start_streaming()
                if HEARTBEAT in features and self._heartbeat_timer is None:
                    self._heartbeat()
            case _:
                assert_never(message)

    # To the realm

    def _wake(self) -> None:
        """The runtime has something, told from any thread. Once is enough until the turn that this brings about."""
        self._runtime.listen(None)
        if threading.get_ident() == self._thread:
            self._loop.call_soon(self._turn)
            return
        try:
            self._loop.call_soon_threadsafe(self._turn)
        except RuntimeError:
            pass  # the event loop has ended, and the binding with it

    def _turn(self) -> None:
        """Do what is due in the runtime, and send what credit allows."""
        try:
            self._do_what_is_due()
        except Exception as error:  # noqa: BLE001 - a border: what was picked to be sent is lost, as where a send fails
            _log.error("events could not be sent to the realm: %s", describe_exception(error))
            self.close("host-failed", "The Host could not send what was due.")

    def _do_what_is_due(self) -> None:
        if self.closed:
            return
        # Before anything is looked at, so that what comes later wakes again.
        self._runtime.listen(self._wake)
        credit = self._credit
        if not credit.available:
            self._runtime.turn()
        while credit.available and not self.closed:
            asked = credit.available
            events = self._runtime.poll(asked)
            if not events:
                break
            credit.spend(len(events))
            self._send(Events(tuple(events)))
            if len(events) < min(asked, self._runtime.limits.max_poll_events):
                break
        if not self.closed:
            self._watch_deadline()

    def _watch_deadline(self) -> None:
        """Have a turn at the next deadline. A timer that is set to an earlier one comes too early, and sets the next."""
        deadline = self._runtime.next_deadline
        if deadline is None or deadline >= self._deadline:
            return
        if self._deadline_timer is not None:
            self._deadline_timer.cancel()
        self._deadline = deadline
        delay_s = max(0.0, deadline - self._runtime.now())
        self._deadline_timer = self._loop.call_later(delay_s, self._deadline_passed)

    def _deadline_passed(self) -> None:
        self._deadline = math.inf
        self._turn()

    def _heartbeat(self) -> None:
        interval_s = min(HEARTBEAT_S, self._runtime.deadlines.unresponsive_s / 4)
        self._heartbeat_timer = self._loop.call_later(interval_s, self._heartbeat)
        self._send(Heartbeat())

    def _send(self, message: HostMessage) -> None:
        """Send, and close if that fails: a realm that missed a message cannot be served any further (rule
        B3).
        """
        try:
            self._port.send(message)
        except Exception as error:  # noqa: BLE001 - a border: whatever a port raises, listener, runtime and port are released
            _log.debug("a message could not be sent: %s", describe_exception(error))
            self.close("port-failed", "A message could not be sent.")

    def __reduce__(self) -> Never:
        raise TypeError("a binding cannot be pickled or copied")
