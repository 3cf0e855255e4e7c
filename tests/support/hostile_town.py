"""One Host for many tests of a hostile realm, each of which gets a port of its own."""

from __future__ import annotations

import itertools
from collections.abc import Generator
from contextlib import ExitStack, contextmanager

import pytest

from engine_intelligence import SessionRef
from engine_intelligence.protocol.messages import Rejected
from support import hostile_minds
from support.hostile_minds import HONEST
from support.port_messages import submit
from support.process_marks import Mark
from support.process_start import Starter
from support.raw_game import RawGame, start_raw

# Several of what a Host may be made to read at once: a frame of 4 MiB, read into up to 30 times as much, and let go.
SLACK_BYTES = 160 << 20


@contextmanager
def raw_host(source: str, *, close_grace_s: float = 0.3) -> Generator[RawGame]:
    """A Host of `hostile_minds`, all of whose processes are there, and its raw realm."""
    mark = Mark()
    with ExitStack() as until_the_end, pytest.MonkeyPatch.context() as patch:
        until_the_end.callback(mark.kill)
        start = Starter("socket", mark, until_the_end)
        game = start_raw(start, f"{hostile_minds.__name__}:{source}", patch, close_grace_s)
        until_the_end.callback(game.close)
        assert game.ask(HONEST, "are you there") == "are you there "
        yield game
    mark.until_gone()


_marks = itertools.count()


class Victim:
    """A port that a test does to as it likes."""

    def __init__(self, game: RawGame, provider_id: str | None = None) -> None:
        self.game = game
        self.provider_id = provider_id or f"mark-{next(_marks)}"
        self.channel = game.open(self.provider_id)

    @property
    def session(self) -> SessionRef:
        return SessionRef(self.provider_id, "s")

    def tell(self, *messages: object) -> None:
        self.game.tell(self.channel, *messages)

    def submit(self, id: str, input: str, session_id: str | None = None) -> None:
        self.tell(submit(id, input, SessionRef(self.provider_id, session_id or id)))

    def rejections(self, count: int) -> list[Rejected]:
        """Read until so many submissions are rejected."""
        heard = self.game.heard[self.channel]

        def rejected() -> list[Rejected]:
            return [message for message in heard if isinstance(message, Rejected)]

        self.game.hear(lambda: len(rejected()) >= count, f"{count} rejections")
        return rejected()

    def until_idle(self) -> None:
        """Read until the Host has handled all that it was sent: the honest port's answer comes after that."""
        self.game.ask(HONEST, "are you there")


@contextmanager
def unharmed(game: RawGame) -> Generator[None]:
    """After the block the honest port of the same connection works, and the Host holds what it held before."""
    before, memory_before = game.census(HONEST), game.host.memory_info().rss
    yield
    assert game.ask(HONEST, "still as ever") == "still as ever "
    game.hear(lambda: game.census(HONEST) == before, f"what the Host held before: {before}")
    assert game.host.memory_info().rss < memory_before + SLACK_BYTES
