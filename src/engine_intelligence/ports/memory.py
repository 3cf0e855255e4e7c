"""A message port inside one process: two ends that hand each other immutable messages."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from engine_intelligence.contracts import PortEnded
from engine_intelligence.protocol.messages import HostMessage, RealmMessage

ReceivedT = TypeVar("ReceivedT")
SentT = TypeVar("SentT")


class MemoryPort(Generic[ReceivedT, SentT]):
    """One end. Both ends belong to one thread; a message is there for the other end at once."""

    def __init__(self) -> None:
        self._inbox: deque[ReceivedT] = deque()
        self._peer: MemoryPort[SentT, ReceivedT] | None = None
        self._wake: Callable[[], None] | None = None
        self._closed = False

    def connect(self, peer: MemoryPort[SentT, ReceivedT]) -> None:
        """Make `peer` the other end of this one."""
        self._peer = peer

    def send(self, message: SentT) -> None:
        """Send one message. Raises `PortEnded` once either end is closed."""
        peer = self._peer
        if self._closed or peer is None or peer._closed:
            raise self._ended()
        peer._inbox.append(message)
        if peer._wake is not None:
            peer._wake()

    def receive(self) -> Sequence[ReceivedT]:
        """What has arrived.

        Raises `PortEnded` once either end is closed and all that had arrived was handed out.
        """
        if self._closed:
            raise self._ended()
        if self._inbox:
            messages = tuple(self._inbox)
            self._inbox.clear()
            return messages
        if self._peer is None or self._peer._closed:
            raise self._ended()
        return ()

    def listen(self, wake: Callable[[], None] | None) -> None:
        """Have `wake` called when a message arrives or the other end closes."""
        self._wake = wake

    def idle(self, seconds: float) -> None:
        """Wait. Nothing can arrive meanwhile: the other end belongs to the same thread."""
        time.sleep(seconds)

    def close(self) -> None:
        """Release this end."""
        if self._closed:
            return
        self._closed = True
        self._wake = None
        self._inbox.clear()
        if self._peer is not None and self._peer._wake is not None:
            self._peer._wake()

    def _ended(self) -> PortEnded:
        if self._closed:
            return PortEnded("port-closed", "this end of the port is closed")
        return PortEnded("peer-closed", "the other end of the port was closed")


def memory_port_pair() -> tuple[MemoryPort[HostMessage, RealmMessage], MemoryPort[RealmMessage, HostMessage]]:
    """Two connected ends: the realm's for `create_intelligence_port_client`, the Host's for
    `bind_intelligence_port`.
    """
    realm: MemoryPort[HostMessage, RealmMessage] = MemoryPort()
    host: MemoryPort[RealmMessage, HostMessage] = MemoryPort()
    realm.connect(host)
    host.connect(realm)
    return realm, host
