"""Games that are processes of their own, seen from the test that started them."""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec

from support.process_marks import PATIENCE_S, until
from support.process_plans import Plan, Report


class Game:
    """One such process, and its pipes."""

    def __init__(
        self,
        plan: Plan,
        environment: Mapping[str, str],
        *,
        own_group: bool = False,
        options: tuple[str, ...] = (),
    ) -> None:
        tests = Path(__file__).parents[1]
        self.process = subprocess.Popen(
            [
                sys.executable,
                *options,
                "-m",
                "support.process_plans",
                msgspec.json.encode(plan).decode(),
            ],
            env={**environment, "PYTHONPATH": os.pathsep.join([str(tests), str(tests.parent / "src")])},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=own_group,
        )

    def report(self) -> Report:
        """Wait for the line that says that the game plays."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise AssertionError(f"the game did not get far: {self.said()}")
        return msgspec.json.decode(line, type=Report)

    def kill(self) -> None:
        """`kill -9`, and nothing else."""
        self.process.kill()
        self.process.wait(PATIENCE_S)

    def exit_code(self) -> int:
        """Wait for its end."""
        until(lambda: self.process.poll() is not None, "the end of the game")
        return self.process.returncode

    def said(self) -> str:
        """All that it and its Host printed on standard error; waits until both are gone."""
        return self.process.communicate(timeout=PATIENCE_S)[1].decode()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait(PATIENCE_S)
        for stream in (self.process.stdout, self.process.stderr):
            if stream is not None:
                stream.close()
