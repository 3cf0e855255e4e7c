"""The contenders of the local model: one that answers the game, and one that talks to itself. A plan tells how long."""

from __future__ import annotations

import os
import tempfile
import time

from _frames_contenders import Counted, told
from _frames_server import TOKENS_A_SECOND, sizes_of

from engine_intelligence import Cancelled, Completed, Deadlines, HostConnection, Ok, TextDelta, spawn_host
from engine_intelligence.host.directories import DATA_VARIABLE

QUESTION = "Tell me a long story about a gate and its keeper."
# The model needs a moment for its first text, and every contender is given the same.
LEAD_S = 0.5
# The first answer waits for the model to be loaded.
DEADLINES = Deadlines(first_text_s=120)


class Local(Counted):
    """A Host with the local model, which talks for the whole of a block."""

    def __init__(self, source: str, provider_id: str) -> None:
        super().__init__()
        self._folder = tempfile.TemporaryDirectory()
        environment = {**os.environ, DATA_VARIABLE: self._folder.name}
        self._host: HostConnection = spawn_host(source, environment=environment, deadlines=DEADLINES)
        self._client = self._host.client(provider_id)
        self.pid = self._host.pid
        self._begin = self._until = 0.0

    def start(self, plan: str) -> None:
        """Reckon when the block begins and ends."""
        self._counted = 0
        self._open = 1
        self._begin = time.monotonic() + LEAD_S
        self._until = self._begin + sizes_of(plan)[1] / TOKENS_A_SECOND

    def begun(self, now: float) -> float | None:
        """A moment after the start."""
        return self._begin

    def close(self) -> None:
        """End the Host, and the model with it."""
        self._host.close().wait()
        self._folder.cleanup()


class LocalOurs(Local):
    """`spawn_host("llama")`: the game is told the story, and asks for another one when it is over."""

    def __init__(self) -> None:
        super().__init__("llama", "llama")
        self._activity = ""

    def start(self, plan: str) -> None:
        """Ask."""
        super().start(plan)
        self._ask()

    def look(self, measured: bool) -> bool:
        """Poll, and stop the model at the end of the block."""
        for event in self._client.poll():
            match event:
                case TextDelta():
                    self._counted += 1
                case Completed():
                    self._next()
                case Cancelled():
                    self._open = 0
                case _:
                    raise AssertionError(event)
        if self._activity and time.monotonic() >= self._until:
            self._client.cancel(self._activity)
            self._activity = ""
        return self._open == 0

    def _next(self) -> None:
        if self._activity:
            self._ask()
        else:
            self._open = 0

    def _ask(self) -> None:
        started = self._client.submit(QUESTION)
        assert isinstance(started, Ok), started
        self._activity = started.value.id


class LocalDetached(Local):
    """The same model in a Host that tells the story to itself."""

    def __init__(self) -> None:
        super().__init__("_frames_minds:local_alone", "alone")

    def start(self, plan: str) -> None:
        """Start it."""
        super().start(plan)
        started = self._client.submit(f"{self._until - time.monotonic()} {QUESTION}")
        assert started.ok, started

    def look(self, measured: bool) -> bool:
        """Poll for the end, but not in the frames that count."""
        if not measured and self._open and (count := told(self._client)) is not None:
            self._counted = count
            self._open = 0
        return self._open == 0
