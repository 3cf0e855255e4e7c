"""Lines from standard input, for a loop that must not wait for them."""

from __future__ import annotations

import importlib
import os
import signal
import sys
from collections import deque
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from types import FrameType
from typing import Protocol

# What one look reads; a longer paste comes with the next frame.
_READ_BYTES = 4096

# A line without an end is cut here: nobody types that much, and what is piped in must not pile up.
_MAX_LINE_BYTES = 65_536


class LineSource(Protocol):
    """Lines that a player types."""

    @property
    def interactive(self) -> bool:
        """Whether a person types them, who sees the answers; else they come from a file or a pipe."""
        ...

    @property
    def ended(self) -> bool:
        """Whether no more can come."""
        ...

    def read(self) -> str | None:
        """The next line that is complete, without its end, or `None`. Never waits."""
        ...


class DescriptorLines:
    """Lines from a descriptor, where the system can tell whether one is readable: everywhere but on Windows."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self.interactive = os.isatty(descriptor)
        self.ended = False
        self._partial = b""
        self._lines: deque[str] = deque()

    def read(self) -> str | None:
        """See `LineSource`."""
        if not self._lines and not self.ended:
            self._take()
        return self._lines.popleft() if self._lines else None

    def _take(self) -> None:
        import select

        try:
            if not select.select([self._descriptor], [], [], 0)[0]:
                return
            data = os.read(self._descriptor, _READ_BYTES)
        except OSError:
            data = b""
        if not data:
            self.ended = True
            data = b"\n" if self._partial else b""
        *lines, self._partial = (self._partial + data).split(b"\n")
        if len(self._partial) > _MAX_LINE_BYTES:
            lines.append(self._partial)
            self._partial = b""
        self._lines.extend(line.decode("utf-8", "replace").rstrip("\r") for line in lines)


class ConsoleLines:
    """Lines from the Windows console, key by key."""

    interactive = True

    def __init__(self) -> None:
        self.ended = False
        self._typed = ""

    def read(self) -> str | None:
        """See `LineSource`."""
        console = importlib.import_module(
            "msvcrt"
        )  # there is no such module elsewhere, also not for a type checker
        while console.kbhit():
            key: str = console.getwch()
            match key:
                case "\r" | "\n":
                    line, self._typed = self._typed, ""
                    sys.stdout.write("\n")
                    return line
                case "\b":
                    if self._typed:
                        self._typed = self._typed[:-1]
                        sys.stdout.write("\b \b")
                case "\x1a":  # Ctrl-Z ends input here
                    self.ended = True
                case "\x00" | "\xe0":
                    console.getwch()  # the second half of a key without a character
                case _:
                    self._typed += key
                    sys.stdout.write(key)
            sys.stdout.flush()
        return None


class FixedLines:
    """Lines that are all there already."""

    interactive = False

    def __init__(self, lines: Iterable[str]) -> None:
        self._lines = deque(lines)

    @property
    def ended(self) -> bool:
        """See `LineSource`."""
        return not self._lines

    def read(self) -> str | None:
        """See `LineSource`."""
        return self._lines.popleft() if self._lines else None


def standard_input() -> LineSource:
    """The lines of standard input.

    On Windows, input that is not a console is read to its end first: a pipe cannot be looked at without waiting.
    """
    try:
        descriptor = sys.stdin.fileno()
    except (AttributeError, OSError, ValueError):
        return FixedLines([])  # closed, or not a file at all
    if os.name == "posix":
        return DescriptorLines(descriptor)
    if os.isatty(descriptor):
        return ConsoleLines()
    return FixedLines([line.rstrip("\r\n") for line in sys.stdin])


class Interrupts:
    """Ctrl-C, counted instead of raised, while it is watched."""

    def __init__(self) -> None:
        self._count = 0

    def take(self) -> bool:
        """Whether there was one that was not taken yet."""
        taken = self._count > 0
        self._count -= taken
        return taken

    @contextmanager
    def watched(self) -> Generator[None]:
        """Count Ctrl-C in here. On the main thread."""
        former = signal.signal(signal.SIGINT, self._count_one)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, former)

    def _count_one(self, _number: int, _frame: FrameType | None) -> None:
        self._count += 1
