"""Standard streams of a Host: whatever is printed in it is drained, and never stops it (threat T31, case 29).

Providers, SDKs, native libraries and subprocesses print. Descriptors 1 and 2 are therefore a pipe of the Host's own, and
what comes out of it is copied to where standard error went before. If nobody reads there, it is dropped, not waited for.

The copying is done by the Host's guardian, because a thread could not do it while native code holds the interpreter's
lock; on Windows, which has no guardian, threads have to do.
"""

from __future__ import annotations

import os
import select
import sys
import threading
import time
from collections import deque
from contextlib import suppress
from typing import NamedTuple

_CHUNK_BYTES = 64 * 1024

# Up to 4 MiB of output wait for a slow terminal; what comes beyond that is dropped.
_MAX_CHUNKS = 64

# What a pipe takes without waiting when it says that it can be written to: PIPE_BUF of POSIX, as Linux has it.
_WRITE_BYTES = 4096

# How long what was printed last may take to get through.
FINISH_S = 0.2


class Diversion(NamedTuple):
    """The pipe that is to take the place of the standard outputs, and where they went before."""

    reader: int
    writer: int
    before: int


def open_standard_streams() -> None:
    """Open what there is not of descriptors 0, 1 and 2, so that no socket gets such a number. Call it before any is made."""
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass
    os.close(descriptor)


def prepare_diversion() -> Diversion:
    """Make the pipe. The standard streams are as they were."""
    reader, writer = os.pipe()
    return Diversion(reader, writer, os.dup(2))


def divert_standard_streams(diversion: Diversion) -> None:
    """Put the pipe in the place of the standard outputs, and give the process a standard input that is empty."""
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.close(null)
    for descriptor in (1, 2):
        os.dup2(diversion.writer, descriptor)
        os.set_inheritable(descriptor, True)
    os.close(diversion.writer)
    # Text written by Python goes out line by line, so that the last words before a crash are not lost in a buffer.
    sys.stdin = open(0, closefd=False)  # noqa: SIM115 - they live as long as the process
    sys.stdout = open(1, "w", buffering=1, errors="backslashreplace", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", buffering=1, errors="backslashreplace", closefd=False)  # noqa: SIM115


def end_standard_streams() -> None:
    """Say that nothing more will be printed, so that what is in the pipe is the last of it."""
    # Code of a provider may have closed or replaced any of it; then there is nothing to let through.
    with suppress(Exception):
        sys.stdout.flush()
        sys.stderr.flush()
    with suppress(OSError):
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 1)
        os.dup2(null, 2)


class OutputPump:
    """Moves what comes out of one descriptor to another that may stop taking it, when `poll` says that it is time."""

    def __init__(self, poll: select.poll, reader: int, target: int) -> None:
        self._poll = poll
        self._reader = reader
        self._target = target
        self._chunks: deque[bytes] = deque(maxlen=_MAX_CHUNKS)
        self._waits_for_target = False
        os.set_blocking(reader, False)
        poll.register(reader, select.POLLIN)

    def handle(self, descriptor: int) -> bool:
        """Do what `descriptor` is ready for. Returns whether it is one of this pump's."""
        if descriptor == self._reader:
            self._read()
        elif descriptor == self._target:
            self._write()
        else:
            return False
        if self._waits_for_target is not bool(self._chunks):
            self._waits_for_target = not self._waits_for_target
            if self._waits_for_target:
                self._poll.register(self._target, select.POLLOUT)
            else:
                self._poll.unregister(self._target)
        return True

    def finish(self) -> None:
        """Let through what is still there, for a fifth of a second at most."""
        end = time.monotonic() + FINISH_S
        self.handle(self._reader)
        target = select.poll()
        target.register(self._target, select.POLLOUT)
        while self._chunks and time.monotonic() < end:
            if target.poll(max(0.0, end - time.monotonic()) * 1000):
                self._write()
            self._read()

    def _read(self) -> None:
        try:
            chunk = os.read(self._reader, _CHUNK_BYTES)
        except BlockingIOError:
            return
        if chunk:
            self._chunks.append(chunk)
        else:
            with suppress(KeyError):
                self._poll.unregister(self._reader)

    def _write(self) -> None:
        chunk = self._chunks.popleft()
        try:
            written = os.write(self._target, chunk[:_WRITE_BYTES])
        except OSError:
            self._chunks.clear()  # nobody is there to read; what comes later is drained and dropped all the same
            return
        if written < len(chunk):
            self._chunks.appendleft(chunk[written:])


def drain_by_threads(diversion: Diversion) -> None:
    """Where there is no guardian: have a thread drain the pipe, and another one write."""
    chunks: deque[bytes] = deque(maxlen=_MAX_CHUNKS)
    arrived = threading.Semaphore(0)

    def read() -> None:
        while chunk := os.read(diversion.reader, _CHUNK_BYTES):
            chunks.append(chunk)
            arrived.release()

    def write() -> None:
        while True:
            arrived.acquire()
            with suppress(IndexError, OSError):  # dropped meanwhile, or nobody there to read it
                os.write(diversion.before, chunks.popleft())

    # Daemons: both block for ever by design, and hold nothing that has to be flushed at the end.
    threading.Thread(target=read, name="standard-output-reader", daemon=True).start()
    threading.Thread(target=write, name="standard-output-writer", daemon=True).start()
