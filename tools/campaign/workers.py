"""Processes that do a share of a part, so that what is measured is theirs alone."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any

TOOLS = Path(__file__).parents[1]

# Of what a worker that failed said, so much is recorded.
SAID_CHARS = 300


class NotHere(Exception):
    """Why a part, or a piece of one, cannot run on this system."""


def need_linux() -> None:
    """Raise `NotHere` anywhere else: processes are stopped, killed and counted in ways that only Linux has."""
    if sys.platform != "linux":
        raise NotHere("this part needs Linux")


class Worker:
    """`python -m MODULE ARGUMENTS`, which prints one line of JSON at its end."""

    def __init__(
        self,
        module: str,
        arguments: Sequence[object],
        *,
        within: Sequence[str] = (),
        environment: Mapping[str, str] | None = None,
    ) -> None:
        """`within` is the command under which it runs, such as that of a tracer."""
        path = os.pathsep.join([str(TOOLS), str(TOOLS.parent / "tests"), str(TOOLS.parent / "src")])
        # Files rather than pipes: nobody reads while another worker is waited for, and what Hosts print is no small thing.
        self._out = tempfile.TemporaryFile()  # noqa: SIM115 - `result` closes it
        self._err = tempfile.TemporaryFile()  # noqa: SIM115 - as above
        self._process = subprocess.Popen(
            [*within, sys.executable, "-m", module, *map(str, arguments)],
            stdin=subprocess.DEVNULL,
            stdout=self._out,
            stderr=self._err,
            env={**(os.environ if environment is None else environment), "PYTHONPATH": path},
        )

    def result(self, timeout_s: float) -> dict[str, Any]:
        """Wait for it, and return what it found. One that fails or hangs gives `{"failed": why}`, which is a violation."""
        with self._out, self._err:
            try:
                code = self._process.wait(timeout_s)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
                return {"failed": f"no end after {timeout_s:g} s"}
            if code != 0:
                return {"failed": f"exit code {code}: {last_line(self._err)}"}
            self._out.seek(0)
            out = self._out.read()
        found: dict[str, Any] = json.loads(out)
        return found


def last_line(file: IO[bytes]) -> str:
    """What a program said last, which for Python is the exception that ended it."""
    file.seek(0)
    lines = file.read().decode(errors="replace").split("\n")
    return next((line.strip() for line in reversed(lines) if line.strip()), "nothing said")[:SAID_CHARS]
