"""Doubles of both ends of a port: they record what is done to them, and fail where a test says so."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Generic, TypeAlias, TypeVar

import msgspec

from engine_intelligence import ActivitySink, ActivitySubmission, IntelligenceError, PortEnded, Result
from engine_intelligence.protocol.messages import HostMessage, RealmMessage
from engine_intelligence.testing import FaultyPort, ManualProvider, Raise

ReceivedT = TypeVar("ReceivedT")
SentT = TypeVar("SentT")


def kind(message: object) -> str:
    """The tag of a message, without the common part of its name."""
    assert isinstance(message, msgspec.Struct)
    return str(message.__struct_config__.tag).removeprefix("intelligence-")


class LooseEnd(Generic[ReceivedT, SentT]):
    """One end of a port of which the test is the other end. Nothing ever goes wrong on it."""

    def __init__(self) -> None:
        self.sent: list[SentT] = []
        self.wake: Callable[[], None] | None = None
        self.close_awaits: Awaitable[None] | None = None
        self.on_idle: Callable[[], None] | None = None
        self.ended: PortEnded | None = None
        self.inbox: deque[ReceivedT] = deque()

    def send(self, message: SentT) -> None:
        if self.ended is not None:
            raise self.ended
        self.sent.append(message)

    def receive(self) -> Sequence[ReceivedT]:
        if not self.inbox and self.ended is not None:
            raise self.ended
        messages = list(self.inbox)
        self.inbox.clear()
        return messages

    def listen(self, wake: Callable[[], None] | None) -> None:
        self.wake = wake

    def idle(self, seconds: float) -> None:
        assert seconds > 0
        if self.on_idle is not None:
            self.on_idle()

    def close(self) -> Awaitable[None] | None:
        return self.close_awaits


class PortDouble(FaultyPort[ReceivedT, SentT]):
    """A port of which the test is the other end, with a log of what is done to it."""

    def __init__(self, log: list[str] | None = None) -> None:
        self.far: LooseEnd[ReceivedT, SentT] = LooseEnd()
        super().__init__(self.far)
        self.log: list[str] = [] if log is None else log
        """What was done to the port, in order: `listen`, `unlisten`, `send <kind>`, `close`, `released`."""
        self.closes = 0
        self.fault: Exception = RuntimeError("the test makes this publication raise")
        self.close_fault: Exception | None = None

    # What the test does.

    def fail(self, name: str) -> None:
        """From here on every publication of this kind raises `fault`, and no other does."""

        def named(message: object) -> bool:
            return kind(message) == name

        self.at_send(Raise(self.fault), that=named)

    def arrive(self, *messages: ReceivedT) -> None:
        """Have messages arrive at this port."""
        self.far.inbox.extend(messages)
        if self.far.wake is not None:
            self.far.wake()

    def end(self, reason: str = "peer-closed", message: str = "the other end is gone") -> None:
        """Have the channel end, after what has arrived."""
        self.far.ended = PortEnded(reason, message)
        if self.far.wake is not None:
            self.far.wake()

    def take_sent(self) -> list[SentT]:
        """What was sent since the last call."""
        sent, self.far.sent = self.far.sent, []
        return sent

    @property
    def sent(self) -> list[SentT]:
        """The messages whose publication did not raise."""
        return self.far.sent

    @property
    def sent_kinds(self) -> list[str]:
        return [kind(message) for message in self.sent]

    @property
    def wake(self) -> Callable[[], None] | None:
        return self.far.wake

    # What the code under test does.

    def send(self, message: SentT) -> None:
        self.log.append(f"send {kind(message)}")
        super().send(message)

    def listen(self, wake: Callable[[], None] | None) -> None:
        self.log.append("unlisten" if wake is None else "listen")
        super().listen(wake)

    def close(self) -> Awaitable[None] | None:
        self.closes += 1
        self.log.append("close")
        if self.close_fault is not None:
            raise self.close_fault
        return self.far.close()  # and this end stays as it was, so that what is done to it afterwards shows


RealmPortDouble: TypeAlias = PortDouble[HostMessage, RealmMessage]
HostPortDouble: TypeAlias = PortDouble[RealmMessage, HostMessage]


class SinkProvider(ManualProvider):
    """A provider that the test speaks for, with a log that it may share, and an end that may go wrong."""

    def __init__(self, id: str = "p", log: list[str] | None = None) -> None:
        super().__init__(id)
        self.log: list[str] = [] if log is None else log
        """What was asked, in order: `start <id>`, `cancel <id>`, `provider close`."""
        self.close_fault: BaseException | None = None
        self.close_hangs = False
        self.ignores_cancellation = False
        self.release = asyncio.Event()
        """Ends a hanging close at last, so that a test leaves nothing behind."""

    def start(self, submission: ActivitySubmission, sink: ActivitySink) -> Result[None, IntelligenceError]:
        self.log.append(f"start {submission.id}")
        return super().start(submission, sink)

    def cancel(self, activity_id: str) -> Result[None, IntelligenceError]:
        self.log.append(f"cancel {activity_id}")
        return super().cancel(activity_id)

    async def close(self) -> None:
        self.log.append("provider close")
        await super().close()
        while self.close_hangs and not self.release.is_set():
            try:
                await self.release.wait()
            except asyncio.CancelledError:
                if not self.ignores_cancellation:
                    raise
        if self.close_fault is not None:
            raise self.close_fault
        self.log.append("provider closed")


class Wire:
    """Two port doubles, and between them a wire that carries messages only when the test moves them."""

    def __init__(self) -> None:
        self.realm: RealmPortDouble = PortDouble()
        self.host: HostPortDouble = PortDouble()
        self.to_host_total: list[RealmMessage] = []
        self.to_realm_total: list[HostMessage] = []

    def carry_to_host(self) -> list[RealmMessage]:
        """Hand what the realm has sent to the Host."""
        messages = self.realm.take_sent()
        self.to_host_total += messages
        if messages:
            self.host.arrive(*messages)
        return messages

    def carry_to_realm(self) -> list[HostMessage]:
        """Hand what the Host has sent to the realm."""
        messages = self.host.take_sent()
        self.to_realm_total += messages
        if messages:
            self.realm.arrive(*messages)
        return messages


def untyped(value: object) -> Any:
    """A value where the type checker must not see what is wrong with it."""
    return value
