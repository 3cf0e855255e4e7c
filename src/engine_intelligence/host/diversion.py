"""Standard streams of a Host: whatever is printed in it is drained, and never stops it (threat T31, case 29).

Providers, SDKs, native libraries and subprocesses print. Descriptors 1 and 2 are therefore a pipe of the
Host's own, which one thread drains at once and another copies to where standard error went before. If nobody
reads there, what is printed is dropped, not waited for.
"""

from __future__ import annotations

import os
import sys
import threading
from collections import deque
from contextlib import suppress

_CHUNK_BYTES = 64 * 1024

# Up to 4 MiB of output wait for a slow terminal; what comes beyond that is dropped.
_MAX_CHUNKS = 64

# The most that Linux lets an ordinary user have.
_PIPE_BYTES = 1024 * 1024

_FINISH_S = 0.2


def open_standard_streams() -> None:
    """Open what there is not of descriptors 0, 1 and 2, so that no socket gets such a number.

    Call it before any is made.
    """
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass
    os.close(descriptor)


def divert_standard_streams() -> StandardOutputDrain:
    """Give the process a standard input that is empty, and standard outputs that are always drained.

    Call it once, at the start.
    """
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.close(null)
    before = os.dup(2)
    reader, writer = os.pipe()
    _enlarge(writer)
    os.dup2(writer, 1)
    os.dup2(writer, 2)
    os.close(writer)
    for descriptor in (0, 1, 2):
        os.set_inheritable(descriptor, True)
    # Text written by Python goes out line by line, so that the last words before a crash are not lost in a
    # buffer.
    sys.stdin = open(0, closefd=False)  # noqa: SIM115 - they live as long as the process
    sys.stdout = open(1, "w", buffering=1, errors="backslashreplace", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", buffering=1, errors="backslashreplace", closefd=False)  # noqa: SIM115
    drain = StandardOutputDrain(reader, before)
    drain.start()
    return drain


def _enlarge(pipe: int) -> None:
    """Make room in a pipe for native code that prints while it holds the interpreter, when no thread can
    drain it.
    """
    if sys.platform == "linux":
        import fcntl

        with suppress(OSError):
            fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)


class StandardOutputDrain:
    """Moves what comes out of one descriptor to another that may stop taking it."""

    def __init__(self, source: int, target: int) -> None:
        self._source = source
        self._target = target
        self._chunks: deque[bytes] = deque(maxlen=_MAX_CHUNKS)
        self._arrived = threading.Semaphore(0)
        self._ended = False
        self._finished = threading.Event()

    def start(self) -> None:
        # Daemons: both block for ever by design, and hold nothing that has to be flushed at the end.
        threading.Thread(target=self._read, name="standard-output-reader", daemon=True).start()
        threading.Thread(target=self._write, name="standard-output-writer", daemon=True).start()

    def finish(self) -> None:
        """Let what was printed so far get through, for a fifth of a second at most.

        Call it last: output is lost from here on.
        """
        # Code of a provider may have closed or replaced any of it; then there is nothing to let through.
        with suppress(Exception):
            sys.stdout.flush()
            sys.stderr.flush()
        with suppress(OSError):
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, 1)
            os.dup2(null, 2)
        self._finished.wait(_FINISH_S)

    def _read(self) -> None:
        while chunk := os.read(self._source, _CHUNK_BYTES):
            self._chunks.append(chunk)
            self._arrived.release()
        self._ended = True
        self._arrived.release()

    def _write(self) -> None:
        while True:
            self._arrived.acquire()
            try:
                chunk = self._chunks.popleft()
            except IndexError:
                if self._ended:
                    self._finished.set()
                    return
                continue  # dropped meanwhile
            try:
                while chunk:
                    chunk = chunk[os.write(self._target, chunk) :]
            except OSError:
                pass  # nobody is there to read; the next chunk is drained and dropped all the same
