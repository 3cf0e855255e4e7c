"""Standard streams of a Host: whatever is printed in it is drained, and never stops it (threat T31, case 29).

Providers, SDKs, native libraries and subprocesses print. Descriptors 1 and 2 are therefore a pipe of the Host's own, and
what comes out of it is copied to where standard error went before. If nobody reads there, it is dropped, not waited for.

The copying is done by the Host's guardian, because a thread could not do it while native code holds the interpreter's
lock; on Windows, which has no guardian, threads have to do.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import threading
import time
from collections import deque
from contextlib import suppress
from queue import SimpleQueue
from typing import NamedTuple

_CHUNK_BYTES = 64 * 1024

# Up to 4 MiB of output wait for a slow terminal; what comes beyond that is dropped.
_MAX_CHUNKS = 64
_MAX_WAITING_BYTES = _MAX_CHUNKS * _CHUNK_BYTES

# What a short piece takes besides its text: the header of a bytes object and its place in the queue.
_CHUNK_OVERHEAD_BYTES = 64

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
    """Copies one descriptor to another that may stop taking it. It is read when `poll` says so, and never written to here.

    A write may wait whatever `poll` says: a terminal that is stopped, a pipe that somebody else fills. So a thread
    writes, which is ended with the process even in the middle of that. Bytes are counted on both sides; when too many
    wait, what comes next is dropped.
    """

    def __init__(self, poll: select.poll, reader: int, target: int) -> None:
        self._poll = poll
        self._reader = reader
        self._target = target
        self._chunks: SimpleQueue[bytes] = SimpleQueue()
        self._taken_bytes = 0  # changed by the reading thread alone
        self._done_bytes = 0  # changed by the writing thread alone
        os.set_blocking(reader, False)
        poll.register(reader, select.POLLIN)
        threading.Thread(target=self._write, daemon=True).start()

    def handle(self, descriptor: int) -> bool:
        """Read if it is this pump's descriptor that is ready, and return whether it is."""
        if descriptor != self._reader:
            return False
        self._read()
        return True

    def finish(self) -> None:
        """Let through what is still there, for a fifth of a second at most."""
        end = time.monotonic() + FINISH_S
        self._read()
        while self._done_bytes != self._taken_bytes and time.monotonic() < end:
            time.sleep(0.0005)
            self._read()

    def _read(self) -> None:
        try:
            chunk = os.read(self._reader, _CHUNK_BYTES)
        except BlockingIOError:
            return
        if not chunk:
            with suppress(KeyError):
                self._poll.unregister(self._reader)
        elif self._taken_bytes - self._done_bytes <= _MAX_WAITING_BYTES:
            self._taken_bytes += len(chunk) + _CHUNK_OVERHEAD_BYTES
            self._chunks.put(chunk)

    def _write(self) -> None:
        # Signals are for the thread that polls.
        signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        while True:
            left = chunk = self._chunks.get()
            while left:
                try:
                    left = left[os.write(self._target, left) :]
                except BlockingIOError:  # somebody made what it shares with others a non-blocking one
                    select.select([], [self._target], [])
                except OSError:
                    break  # nobody is there to read
            self._done_bytes += len(chunk) + _CHUNK_OVERHEAD_BYTES


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
