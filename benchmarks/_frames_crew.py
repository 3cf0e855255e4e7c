"""The processes of the benchmark `frames`: the double, and a game for each contender, which wait for their turn."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from _frames_loop import Block
from _frames_sdk import URL_VARIABLE

HERE = Path(__file__).parent
ENDS_S = 20.0


class Program:
    """A program of this folder that is told things line by line, and ends when there is nothing more to tell."""

    def __init__(self, name: str, *arguments: str, url: str | None = None) -> None:
        self._process = subprocess.Popen(
            [sys.executable, str(HERE / name), *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, **({URL_VARIABLE: url} if url is not None else {})},
            text=True,
        )
        self.pid = self._process.pid

    def says(self) -> str:
        """The next line of it. Raises `RuntimeError` if it has ended."""
        line = self._pipe(self._process.stdout).readline()
        if not line:
            raise RuntimeError(f"{self._process.args!r} has ended; above is why")
        return line.strip()

    def tell(self, line: str) -> None:
        """Tell it something."""
        pipe = self._pipe(self._process.stdin)
        pipe.write(line + "\n")
        pipe.flush()

    def close(self) -> None:
        """End it."""
        self._pipe(self._process.stdin).close()
        try:
            self._process.wait(ENDS_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._pipe(self._process.stdout).close()

    @staticmethod
    def _pipe(pipe: IO[str] | None) -> IO[str]:
        assert pipe is not None
        return pipe


class Crew:
    """All of them, from the beginning to the end of a `with`."""

    def __init__(self, names: Iterable[str], turns: int) -> None:
        """Start a game for each name, whose frames work for so many turns."""
        self._double = Program("_frames_server.py")
        url = f"http://127.0.0.1:{self._double.says()}/v1"
        self._games = {
            name: Program("_frames_game.py", name, str(turns), str(self._double.pid), url=url)
            for name in names
        }

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for program in (*self._games.values(), self._double):
            program.close()

    def wait(self) -> None:
        """Until every game is ready."""
        for game in self._games.values():
            assert game.says() == "ready"

    def block(self, name: str, plan: str) -> Block:
        """One block of one of them; the others wait."""
        game = self._games[name]
        game.tell(plan)
        found: Block = json.loads(game.says())
        return found
