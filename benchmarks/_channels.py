"""A Host with many characters: what it takes for one client and for fifty, over one connection."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator
from pathlib import Path

from _chorus import INPUT
from _turns import ns_a_call

from engine_intelligence import (
    Completed,
    IntelligencePortClient,
    Prompt,
    StreamProvider,
    TextDelta,
    spawn_host,
)

MANY = 50
FRAME_S = 1 / 60
GIVES_UP_S = 30.0
MEBIBYTE = 2**20


async def nod(prompt: Prompt) -> AsyncGenerator[str, None]:
    """The shortest answer."""
    yield "Yes."


def characters() -> list[StreamProvider]:
    """The factory of the Host."""
    return [StreamProvider(name_of(number), nod) for number in range(MANY)]


def name_of(number: int) -> str:
    """The id of a character."""
    return f"character-{number}"


class Town:
    """A game with so many clients of one Host, each of which has had an answer."""

    def __init__(self, clients: int) -> None:
        self._host = spawn_host("_channels:characters")
        self.clients = [self._host.client(name_of(number)) for number in range(clients)]
        for client in self.clients:
            assert client.submit(INPUT).ok
        waiting = set(range(clients))
        give_up = time.monotonic() + GIVES_UP_S
        while waiting:
            waiting -= {number for number in waiting if answered(self.clients[number])}
            assert time.monotonic() < give_up, waiting
            time.sleep(FRAME_S)

    def resident_mib(self) -> float:
        """Resident memory of the Host's process. Of Linux alone."""
        for line in Path(f"/proc/{self._host.pid}/status").read_text(encoding="ascii").splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) * 1024 / MEBIBYTE
        raise ValueError("no VmRSS")

    def ns_an_idle_poll(self, calls: int) -> float:
        """A poll of one client in which nothing has come; the others are polled before that is measured."""
        for client in self.clients:
            assert client.poll() == []
            assert not client.closed, client.close_reason
        return ns_a_call(self.clients[0].poll, calls)

    def close(self) -> None:
        """End the Host."""
        self._host.close().wait()


def answered(client: IntelligencePortClient) -> bool:
    """Whether the answer is complete with what has come now."""
    over = False
    for event in client.poll():
        assert isinstance(event, TextDelta | Completed), event
        over = over or isinstance(event, Completed)
    assert not client.closed, client.close_reason
    return over
