"""The connection of a game to its Host: the clients on it, and its end (rules H3, H6, H7)."""

from __future__ import annotations

import os
import time
from types import TracebackType
from typing import Never, Protocol, Self

from engine_intelligence.closing import PolledClose
from engine_intelligence.contracts import CloseTask, PortEnded
from engine_intelligence.limits import Deadlines, IntelligenceLimits
from engine_intelligence.ports.realm_link import Link
from engine_intelligence.ports.realm_stream import RealmStream
from engine_intelligence.realm.client import IntelligencePortClient, create_intelligence_port_client


class HostEnd(Protocol):
    """The Host's process, as far as this side knows of it."""

    @property
    def pid(self) -> int:
        """Its process id."""
        ...

    def look(self) -> None:
        """Reap it if it has ended and is a child of this process."""
        ...

    def has_ended(self) -> bool:
        """Whether nothing of it is left that this process would have to see to."""
        ...

    def explain_start(self) -> PortEnded | None:
        """Why there is no connection yet, if there will be none: a Host can end before it connects."""
        ...

    def explain_end(self) -> PortEnded:
        """Why the connection ended without a word."""
        ...

    def kill(self) -> None:
        """End it, if that is for this process to do."""
        ...


class HostConnection:
    """The connection to a Host, made by `spawn_host` or `connect`.

    It belongs to one thread, starts none, and nothing but `wait` waits.
    """

    def __init__(
        self, link: Link, host: HostEnd, *, limits: IntelligenceLimits | None, deadlines: Deadlines
    ) -> None:
        self._host = host
        self._limits = limits
        self._deadlines = deadlines
        self._owner_pid = os.getpid()
        self._clients: dict[str, IntelligencePortClient] = {}
        self._close_task: PolledClose | None = None
        self._close_by = 0.0
        self._stream = RealmStream(link, explain_end=self._explain_end, explain_start=host.explain_start)

    @property
    def pid(self) -> int:
        """The process id of the Host."""
        return self._host.pid

    @property
    def closed(self) -> bool:
        """Whether the connection is over. Looking takes what has arrived, and never waits."""
        self._look()
        return self._close_task is not None or self._stream.ended is not None

    @property
    def close_reason(self) -> str | None:
        """Why the connection is over, in a sentence for a log, or `None` while it is not.

        It looks like `closed`.
        """
        self._look()
        ended = self._stream.ended
        return None if ended is None else ended.message

    def client(self, provider_id: str, *, limits: IntelligenceLimits | None = None) -> IntelligencePortClient:
        """The service for one of the Host's providers. At once: what is submitted before the Host is ready is
        carried out then.

        There is one port for a provider, so the same id gives the same client, closed or not. `limits` are
        the bounds of this side; without them, and without any given to `spawn_host` or `connect`, those that the Host
        announces are used. Raises `ValueError` for limits that differ from those of an earlier call. A Host
        that has no such provider closes the client with a reason that says so.
        """
        wanted = self._limits if limits is None else limits
        client = self._clients.get(provider_id)
        if client is None:
            client = create_intelligence_port_client(
                provider_id,
                self._stream.open(provider_id),
                limits=wanted,
                deadlines=self._deadlines,
                when_closed=self._look,  # a Host that ended is reaped also by a game that goes on polling
            )
            self._clients[provider_id] = client
        elif limits is not None and client.limits != limits:
            raise ValueError(
                f"the client of {provider_id!r} has other limits already; there is one client for a provider"
            )
        return client

    def close(self) -> CloseTask:
        """End all clients, the connection and the Host. Idempotent: every call returns the same task (rule
        C6).

        The task is done when a Host that this process started is gone and reaped; one that has not ended after
        `close_grace_s` is killed. A Host that started the game ends by itself, and is not
        waited for. In a fork of the game this lets go of the connection, which stays the game's.
        """
        if self._close_task is None and os.getpid() != self._owner_pid:
            # What a fork of the game inherited is let go of there, and stays the game's.
            self._stream.end(PortEnded("forked", "This connection belongs to the process that opened it."))
            self._close_task = PolledClose(lambda: True)
        elif self._close_task is None:
            self._close_by = time.monotonic() + self._deadlines.close_grace_s
            for client in self._clients.values():
                client.close()
            # The end of the connection is what the Host's guardian goes by, whatever the Host itself is doing.
            self._stream.end(PortEnded("realm-closed", "The game closed the connection."))
            self._close_task = PolledClose(self._closing_step)
        return self._close_task

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close().wait()

    def __reduce__(self) -> Never:
        raise TypeError(
            "a connection cannot be pickled or copied: save the SessionRef of a completed Activity instead"
        )

    def _look(self) -> None:
        self._stream.pump()
        if self._stream.ended is not None:
            self._host.look()

    def _closing_step(self) -> bool:
        if not self._host.has_ended() and time.monotonic() >= self._close_by:
            self._host.kill()
        return self._host.has_ended()

    def _explain_end(self) -> PortEnded:
        if self._close_task is not None:
            return PortEnded("realm-closed", "The game closed the connection.")
        return self._host.explain_end()
