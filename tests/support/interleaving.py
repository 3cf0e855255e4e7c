"""Two threads that take turns where a test says so, a line of the package at a time."""

import sys
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any

import engine_intelligence

PACKAGE = engine_intelligence.__file__.rpartition("__init__")[0]

# A thread that waits for the other one gets no further, and this is how long it is given. A slow machine that takes a
# thread for a waiting one only lets both run, which is a legal order as well.
WAITS_S = 0.02
# Only ever reached by a thread that hangs.
HANGS_S = 15.0


class Stepper:
    """A call on a thread of its own that goes on only when it is told, up to a given line of the package."""

    def __init__(self, call: Callable[[], object]) -> None:
        self._call = call
        self._lines = 0
        self._until: float = 0
        self._go = threading.Event()
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        self._stopped.wait(HANGS_S)

    def run_to(self, line: float) -> None:
        """Go on until `line` lines have been run, the call has ended, or it waits."""
        self._until = line
        self._stopped.clear()
        self._go.set()
        self._stopped.wait(WAITS_S)

    def finish(self) -> bool:
        """Go on to the end; whether that is reached."""
        self._until = float("inf")
        self._go.set()
        self._thread.join(HANGS_S)
        return not self._thread.is_alive()

    def _pause(self) -> None:
        self._stopped.set()
        self._go.wait(HANGS_S)
        self._go.clear()

    def _run(self) -> None:
        self._pause()
        sys.settrace(self._trace)
        try:
            self._call()
        finally:
            sys.settrace(None)
            self._stopped.set()

    def _trace(self, frame: FrameType, event: str, _argument: object) -> Any:
        if not frame.f_code.co_filename.startswith(PACKAGE):
            return None
        if event == "line":
            self._lines += 1
            if self._lines >= self._until:
                self._pause()
        return self._trace
