"""Two ends of a port, and the ways to use them that the checks of a port share."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

from engine_intelligence.contracts import MessagePort, PortEnded
from engine_intelligence.protocol.messages import HostMessage, RealmMessage
from engine_intelligence.testing.bounded import Watch, bounded, until
from engine_intelligence.testing.conformance import ConformanceError, blamed, require

ReceivedT = TypeVar("ReceivedT")
SentT = TypeVar("SentT")


@dataclass
class PortPair:
    """Two connected ends. Where several ports share a connection, `end_realm` and `end_host` do what the end of a
    side does beyond closing its port, such as ending that connection.
    """

    realm: MessagePort[HostMessage, RealmMessage]
    host: MessagePort[RealmMessage, HostMessage]
    end_realm: Callable[[], object] | None = None
    end_host: Callable[[], object] | None = None


MakePair: TypeAlias = Callable[[], PortPair | AbstractAsyncContextManager[PortPair]]


class PortStage:
    """One pair, what each end has received, and how each end has ended. A new one for every check."""

    def __init__(self, pair: PortPair, watch: Watch, within_s: float) -> None:
        self.pair = pair
        self.watch = watch
        self.within_s = within_s
        self.realm_received: list[HostMessage] = []
        self.host_received: list[RealmMessage] = []
        self.realm_ended: PortEnded | None = None
        self.host_ended: PortEnded | None = None

    def from_realm(self, messages: Sequence[RealmMessage]) -> None:
        """Send from the realm's end."""
        self._send(self.pair.realm, messages)

    def from_host(self, messages: Sequence[HostMessage]) -> None:
        """Send from the Host's end."""
        self._send(self.pair.host, messages)

    def receive(self) -> None:
        """Let both ends read what has arrived, and note where that was the end."""
        received, ended = self._read(self.pair.realm, "the realm's end")
        self.realm_received += received
        self.realm_ended = self.realm_ended or ended
        taken, ended = self._read(self.pair.host, "the Host's end")
        self.host_received += taken
        self.host_ended = self.host_ended or ended

    async def until(self, condition: Callable[[], bool]) -> bool:
        """Read both ends until `condition` holds; whether it does within the time."""
        self.receive()
        return await until(condition, self.within_s, self.receive)

    async def close_realm(self, *, rule: str) -> None:
        """Close the realm's end."""
        await self._close(self.pair.realm, rule, "close() of the realm's end")

    async def close_host(self, *, rule: str) -> None:
        """Close the Host's end."""
        await self._close(self.pair.host, rule, "close() of the Host's end")

    async def end_realm(self, *, rule: str) -> None:
        """The realm lets go of its end, and of what belongs to it."""
        await self.close_realm(rule=rule)
        if self.pair.end_realm is not None:
            self.pair.end_realm()

    async def end_host(self, *, rule: str) -> None:
        """The Host lets go of its end, and of what belongs to it."""
        await self.close_host(rule=rule)
        if self.pair.end_host is not None:
            self.pair.end_host()

    def _send(self, port: MessagePort[ReceivedT, SentT], messages: Sequence[SentT]) -> None:
        with self.watch.at("S1", "send()"), blamed("S6", "send() of an open port"):
            for message in messages:
                port.send(message)

    def _read(
        self, port: MessagePort[ReceivedT, SentT], end: str
    ) -> tuple[list[ReceivedT], PortEnded | None]:
        try:
            with self.watch.at("S1", f"receive() of {end}"):
                return list(port.receive()), None
        except PortEnded as ended:
            return [], ended
        except Exception as error:  # the border between the check and what is checked; it ends in one finding
            raise ConformanceError(
                "C5", f"receive() of {end} raised {type(error).__name__}, not PortEnded"
            ) from error

    async def _close(self, port: MessagePort[ReceivedT, SentT], rule: str, call: str) -> None:
        with self.watch.at(rule, call), blamed(rule, call):
            released: Awaitable[None] | None = port.close()
            if released is not None:
                done = await bounded(released, self.within_s)
                require(done, rule, f"{call} was not done within {self.within_s:g} s")


def refused(call: Callable[[], object], rule: str, what: str) -> None:
    """Raise `ConformanceError` unless `call` raises `PortEnded`."""
    try:
        call()
    except PortEnded:
        return
    except Exception as error:  # the border between the check and what is checked; it ends in one finding
        raise ConformanceError(rule, f"{what} raised {type(error).__name__}, not PortEnded") from error
    raise ConformanceError(rule, f"{what} raised nothing, not PortEnded")
