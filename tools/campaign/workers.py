"""Processes that do a share of a part, so that what is measured is theirs alone."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

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
        self._process = subprocess.Popen(
            [*within, sys.executable, "-m", module, *map(str, arguments)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**(os.environ if environment is None else environment), "PYTHONPATH": path},
        )

    def result(self, timeout_s: float) -> dict[str, Any]:
        """Wait for it, and return what it found. One that fails or hangs gives `{"failed": why}`, which is a violation."""
        try:
            out, err = self._process.communicate(timeout=timeout_s)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.communicate()
            return {"failed": f"no end after {timeout_s:g} s"}
        if self._process.returncode != 0:
            last = (err.decode(errors="replace").strip().splitlines() or ["nothing"])[-1]
            return {"failed": f"exit code {self._process.returncode}: {last[:SAID_CHARS]}"}
        found: dict[str, Any] = json.loads(out)
        return found
