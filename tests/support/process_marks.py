"""Processes that a test starts, directly or not, found again by a mark in their environment."""

import os
import secrets
import signal
import time
from collections.abc import Callable
from pathlib import Path

import psutil

MARK_VARIABLE = "ENGINE_INTELLIGENCE_TEST_MARK"

# Far more than anything here takes on a busy machine: what is bounded by this is bounded, and nothing is timed.
PATIENCE_S = 20.0

_PAUSE_S = 0.003


def until(condition: Callable[[], bool], what: str, patience_s: float = PATIENCE_S) -> None:
    """Look again and again until `condition` holds, and fail the test if it never does."""
    end = time.monotonic() + patience_s
    while not condition():
        if time.monotonic() > end:
            raise AssertionError(f"this never came: {what}")
        time.sleep(_PAUSE_S)


class Mark:
    """A mark that the environment of a process hands to all of its descendants, whatever group or session they go to."""

    def __init__(self) -> None:
        self.value = secrets.token_hex(8)

    @property
    def environment(self) -> dict[str, str]:
        """The environment of this process, with the mark."""
        return {**os.environ, MARK_VARIABLE: self.value}

    def alive(self) -> list[psutil.Process]:
        """The processes of this machine that carry the mark and live."""
        wanted = f"{MARK_VARIABLE}={self.value}".encode()
        found: list[psutil.Process] = []
        for pid in psutil.pids():
            try:
                if Path("/proc").is_dir():
                    carries = wanted in Path(f"/proc/{pid}/environ").read_bytes()
                else:
                    carries = psutil.Process(pid).environ().get(MARK_VARIABLE) == self.value
                if carries:
                    found.append(psutil.Process(pid))
            except (OSError, psutil.Error):
                continue
        return found

    def listing(self) -> list[str]:
        """The same for the message of a failure."""
        lines: list[str] = []
        for process in self.alive():
            try:
                lines.append(f"{process.pid} {process.status()} {' '.join(process.cmdline())[:80]!r}")
            except psutil.Error:
                continue
        return lines

    def until_gone(self, patience_s: float = PATIENCE_S) -> None:
        """Wait until no process carries the mark; fail the test, and say which do, if that never comes."""
        end = time.monotonic() + patience_s
        while left := self.listing():
            if time.monotonic() > end:
                raise AssertionError("still there: " + "; ".join(left))
            time.sleep(_PAUSE_S)

    def kill(self) -> None:
        """End what is left of a test that failed."""
        for process in self.alive():
            try:
                process.send_signal(signal.SIGKILL)
            except psutil.Error:
                continue
