"""Doubles of both ends of a port: they record what is done to them, and fail where a test says so."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Generic, TypeAlias, TypeVar

import msgspec

from engine_intelligence import ActivitySink, ActivitySubmission, IntelligenceError, Ok, PortEnded, Result
from engine_intelligence.protocol.messages import HostMessage, RealmMessage

ReceivedT = TypeVar("ReceivedT")
SentT = TypeVar("SentT")


def kind(message: object) -> str:
    """The tag of a message, without the common part of its name."""
    assert isinstance(message, msgspec.Struct)
    return str(message.__struct_config__.tag).removeprefix("intelligence-")


class PortDouble(Generic[ReceivedT, SentT]):
    """A message port of which the test is the other end."""

    def __init__(self, log: list[str] | None = None) -> None:
        self.log: list[str] = [] if log is None else log
        """What was done to the port, in order: `listen`, `unlisten`, `send <kind>`, `close`, `released`."""
        self.sent: list[SentT] = []
        """The messages whose publication did not raise."""
        self.receives = 0
        self.closes = 0
        self.wake: Callable[[], None] | None = None
        self.fail_kind: str | None = None
        """Publications of this kind raise `fault`, all others do not."""
        self.fail_send: int | None = None
        """The n-th publication, counted from 1, raises `fault`."""
        self.fault: Exception = RuntimeError("the test makes this publication raise")
        self.receive_fault: Exception | None = None
        self.close_fault: Exception | None = None
        self.close_awaits: Awaitable[None] | None = None
        self.on_idle: Callable[[], None] | None = None
        self._attempts = 0
        self._inbox: deque[ReceivedT] = deque()
        self._ended: PortEnded | None = None

    # What the test does.

    def arrive(self, *messages: ReceivedT) -> None:
        """Have messages arrive at this port."""
        self._inbox.extend(messages)
        if self.wake is not None:
            self.wake()

    def end(self, reason: str = "peer-closed", message: str = "the other end is gone") -> None:
        """Have the channel end, after what has arrived."""
        self._ended = PortEnded(reason, message)
        if self.wake is not None:
            self.wake()

    def take_sent(self) -> list[SentT]:
        """What was sent since the last call."""
        sent, self.sent = self.sent, []
        return sent

    @property
    def sent_kinds(self) -> list[str]:
        return [kind(message) for message in self.sent]

    # What the code under test does.

    def send(self, message: SentT) -> None:
        self._attempts += 1
        name = kind(message)
        self.log.append(f"send {name}")
        if name == self.fail_kind or self._attempts == self.fail_send:
            raise self.fault
        if self._ended is not None:
            raise self._ended
        self.sent.append(message)

    def receive(self) -> Sequence[ReceivedT]:
        self.receives += 1
        if self.receive_fault is not None:
            raise self.receive_fault
        if not self._inbox and self._ended is not None:
            raise self._ended
        messages = list(self._inbox)
        self._inbox.clear()
        return messages

    def listen(self, wake: Callable[[], None] | None) -> None:
        self.log.append("unlisten" if wake is None else "listen")
        self.wake = wake

    def idle(self, seconds: float) -> None:
        assert seconds > 0
        if self.on_idle is not None:
            self.on_idle()

    def close(self) -> Awaitable[None] | None:
        self.closes += 1
        self.log.append("close")
        if self.close_fault is not None:
            raise self.close_fault
        return self.close_awaits


RealmPortDouble: TypeAlias = PortDouble[HostMessage, RealmMessage]
HostPortDouble: TypeAlias = PortDouble[RealmMessage, HostMessage]


class SinkProvider:
    """A provider that does nothing of its own: the test speaks through its sinks, and orders its faults."""

    def __init__(self, id: str = "p", log: list[str] | None = None) -> None:
        self._id = id
        self.log: list[str] = [] if log is None else log
        """What was asked, in order: `start <id>`, `cancel <id>`, `provider close`."""
        self.sinks: dict[str, ActivitySink] = {}
        self.submissions: list[ActivitySubmission] = []
        self.close_fault: BaseException | None = None
        self.close_hangs = False
        self.ignores_cancellation = False
        self.release = asyncio.Event()
        """Ends a hanging close at last, so that a test leaves nothing behind."""

    @property
    def id(self) -> str:
        return self._id

    @property
    def starts(self) -> int:
        return len(self.submissions)

    def start(self, submission: ActivitySubmission, sink: ActivitySink) -> Result[None, IntelligenceError]:
        self.log.append(f"start {submission.id}")
        self.submissions.append(submission)
        self.sinks[submission.id] = sink
        return Ok(None)

    def cancel(self, activity_id: str) -> Result[None, IntelligenceError]:
        self.log.append(f"cancel {activity_id}")
        return Ok(None)

    async def close(self) -> None:
        self.log.append("provider close")
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
