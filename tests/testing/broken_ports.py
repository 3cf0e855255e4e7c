"""A port for each way of breaking the contract: one end of a memory port, with one thing wrong."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from testing.good_providers import Released

from engine_intelligence import PortEnded, TextDelta
from engine_intelligence.ports.memory import memory_port_pair
from engine_intelligence.protocol.messages import Cancel, Events
from engine_intelligence.testing import PortPair


class End:
    """One end, handed on to the real one. Nothing here is typed: what is broken need not be of the right type."""

    def __init__(self, port: Any) -> None:
        self.port = port

    def send(self, message: Any) -> None:
        self.port.send(message)

    def receive(self) -> Any:
        return self.port.receive()

    def listen(self, wake: Any) -> None:
        self.port.listen(wake)

    def idle(self, seconds: float) -> None:
        self.port.idle(seconds)

    def close(self) -> Any:
        return self.port.close()


class LosesTheTenth(End):
    def __init__(self, port: Any) -> None:
        super().__init__(port)
        self.sent = 0

    def send(self, message: Any) -> None:
        self.sent += 1
        if self.sent != 10:
            super().send(message)


class HandsOutBackwards(End):
    def receive(self) -> Any:
        return list(reversed(super().receive()))


class BlocksWhereNothingIs(End):
    def receive(self) -> Any:
        messages = super().receive()
        if not messages:
            Released.event.wait(30)
        return messages


class BeginsWithAWord(End):
    begun = False

    def receive(self) -> Any:
        first: list[Any] = [] if self.begun else [Cancel("a-0")]
        self.begun = True
        return [*first, *super().receive()]


class OnlyTheBasicPlane(End):
    def receive(self) -> Any:
        return [
            Events((TextDelta("a-1", 1, "?"),)) if isinstance(message, Events) else message
            for message in super().receive()
        ]


class WaitsForTheOtherEnd(End):
    """Sends ten messages, and the next ones only once somebody has read those."""

    def __init__(self, port: Any) -> None:
        super().__init__(port)
        self.sent = 0

    def send(self, message: Any) -> None:
        self.sent += 1
        if self.sent > 10:
            Released.event.wait(30)
        super().send(message)


class ForgetsLastWords(End):
    """Looks whether the other end is there, before it looks at what has arrived."""

    def receive(self) -> Any:
        peer = self.port._peer
        if peer._closed:
            raise PortEnded("peer-closed", "the other end of the port was closed")
        return super().receive()


class NeverTold(End):
    """Does not notice that the other end has closed."""

    def receive(self) -> Any:
        try:
            return super().receive()
        except PortEnded:
            if self.port._closed:
                raise
            return []


class SendsOn(End):
    """Takes messages after the end, and after its own close."""

    def send(self, message: Any) -> None:
        try:
            super().send(message)
        except PortEnded:
            pass


class RaisesWhatItLikes(End):
    def receive(self) -> Any:
        try:
            return super().receive()
        except PortEnded as error:
            raise OSError(9, "Bad file descriptor") from error


class ClosesOnce(End):
    closed = False

    def close(self) -> Any:
        if self.closed:
            raise OSError(9, "Bad file descriptor")
        self.closed = True
        return super().close()


class ReleaseHangs(End):
    async def wait(self) -> None:
        import asyncio

        await asyncio.Event().wait()

    def close(self) -> Any:
        super().close()
        return self.wait()


class EndsInItsOwnWords(End):
    def receive(self) -> Any:
        try:
            return super().receive()
        except PortEnded:
            raise PortEnded("EOF", "the other end of the port was closed") from None


class EndsWithoutAWord(End):
    def receive(self) -> Any:
        try:
            return super().receive()
        except PortEnded:
            raise PortEnded("peer-closed", "") from None


class WakesNobody(End):
    def listen(self, wake: Any) -> None:
        pass


class WakesForMessagesOnly(End):
    def listen(self, wake: Any) -> None:
        if wake is None:
            super().listen(None)
        else:
            super().listen(lambda: None if self.port._peer._closed else wake())


class WakesForEver(End):
    def listen(self, wake: Any) -> None:
        if wake is not None:
            super().listen(wake)


class IdlesForEver(End):
    def idle(self, seconds: float) -> None:
        Released.event.wait(30)


class CannotIdle(End):
    def idle(self, seconds: float) -> None:
        raise NotImplementedError


@dataclass(frozen=True)
class BrokenPort:
    """What is wrong with which end, the check that has to reject it, and the rule that it has to name."""

    end: Callable[[Any], End]
    of: str
    check: str
    rule: str
    options: dict[str, Any] = field(default_factory=dict[str, Any])

    def __str__(self) -> str:
        return f"{self.of}-{getattr(self.end, '__name__', 'end')}"

    def make(self) -> PortPair:
        realm, host = memory_port_pair()
        wrapped: Any = self.end(realm if self.of == "realm" else host)
        return PortPair(wrapped, host) if self.of == "realm" else PortPair(realm, wrapped)


BLOCKS: dict[str, Any] = {"blocked_s": 0.5}
NEVER: dict[str, Any] = {"within_s": 0.5}

UP = "messages of a realm come in order"
DOWN = "messages of a host come in order"
EMPTY = "nothing has arrived where nothing was sent"
EQUAL = "what arrives is equal to what was sent"
SEND = "a send does not wait for the other end"
HOST_LAST = "what a host sent is handed out before its end"
REALM_LAST = "what a realm sent is handed out before its end"
REALM_CLOSED = "a closed end of a realm is over"
HOST_CLOSED = "a closed end of a host is over"
REALM_OVER = "a realm cannot send after the end"
HOST_OVER = "a host cannot send after the end"
WORDS = "the end has a name and a sentence"
WOKEN = "a host is woken by a message"
WOKEN_BY_END = "a host is woken by the end of its realm"
DEAF = "who stopped listening is not woken"
IDLE = "a realm waits only as long as it says"

BROKEN_PORTS = [
    BrokenPort(LosesTheTenth, "realm", UP, "S6", NEVER),
    BrokenPort(HandsOutBackwards, "host", UP, "S6", NEVER),
    BrokenPort(LosesTheTenth, "host", DOWN, "S6", NEVER),
    BrokenPort(HandsOutBackwards, "realm", DOWN, "S6", NEVER),
    BrokenPort(BlocksWhereNothingIs, "realm", EMPTY, "S1", BLOCKS),
    BrokenPort(BeginsWithAWord, "host", EMPTY, "C3"),
    BrokenPort(OnlyTheBasicPlane, "realm", EQUAL, "M2"),
    BrokenPort(WaitsForTheOtherEnd, "realm", SEND, "S1", BLOCKS),
    BrokenPort(ForgetsLastWords, "realm", HOST_LAST, "C5"),
    BrokenPort(NeverTold, "realm", HOST_LAST, "C5", NEVER),
    BrokenPort(ForgetsLastWords, "host", REALM_LAST, "B6"),
    BrokenPort(NeverTold, "host", REALM_LAST, "B6", NEVER),
    BrokenPort(ClosesOnce, "realm", REALM_CLOSED, "C4"),
    BrokenPort(SendsOn, "realm", REALM_CLOSED, "C5"),
    BrokenPort(RaisesWhatItLikes, "realm", REALM_CLOSED, "C5"),
    BrokenPort(ReleaseHangs, "host", HOST_CLOSED, "B2", NEVER),
    BrokenPort(ClosesOnce, "host", HOST_CLOSED, "B2"),
    BrokenPort(SendsOn, "host", HOST_CLOSED, "B3"),
    BrokenPort(SendsOn, "realm", REALM_OVER, "C5"),
    BrokenPort(SendsOn, "host", HOST_OVER, "B3"),
    BrokenPort(EndsInItsOwnWords, "realm", WORDS, "C7"),
    BrokenPort(EndsWithoutAWord, "realm", WORDS, "C7"),
    BrokenPort(WakesNobody, "host", WOKEN, "M4", NEVER),
    BrokenPort(WakesForMessagesOnly, "host", WOKEN_BY_END, "B6", NEVER),
    BrokenPort(WakesForEver, "host", DEAF, "B2"),
    BrokenPort(IdlesForEver, "realm", IDLE, "C6", BLOCKS),
    BrokenPort(CannotIdle, "realm", IDLE, "C6"),
]
