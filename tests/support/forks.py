"""Forks of the process that a test runs in: Python's own, `multiprocessing`'s, and one that Python does not hear of."""

import ctypes
import json
import multiprocessing
import os
import signal
import warnings
from collections.abc import Callable, Generator
from contextlib import contextmanager

from support.process_marks import PATIENCE_S, until

Work = Callable[[], object]
Forked = Callable[[Work], object]


def native_fork() -> int:
    """A fork as a library written in C makes it: no hook of Python's runs. Returns what `os.fork` does."""
    return int(ctypes.PyDLL(None).fork())


def in_fork(work: Work) -> object:
    """What `work` returns in a fork, by `os.fork`; it has to be plain data."""
    reader, writer = os.pipe()
    with _unwarned():
        fork = os.fork()
    if fork == 0:
        _tell(work, writer)
    os.close(writer)
    try:
        return _told(reader)
    finally:
        _reap(fork)


def in_worker(work: Work) -> object:
    """What `work` returns in a process of `multiprocessing` that is started by a fork."""
    reader, writer = os.pipe()
    with _unwarned():
        worker = multiprocessing.get_context("fork").Process(target=_tell, args=(work, writer))
        worker.start()
    os.close(writer)
    try:
        return _told(reader)
    finally:
        worker.join(PATIENCE_S)
        worker.close()


@contextmanager
def sleeping_fork(fork: Callable[[], int]) -> Generator[int]:
    """A fork that does nothing while the block runs; gives its process id."""
    pid = fork()
    if pid == 0:
        signal.pause()
        os._exit(0)
    try:
        yield pid
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def _tell(work: Work, writer: int) -> None:
    """Do the work, tell its result, and end this process without anything that belongs to the test's."""
    try:
        signal.alarm(int(PATIENCE_S))  # a call that hangs ends the fork, and so the test
        try:
            result = work()
        except BaseException as error:  # noqa: BLE001 - told to the test, which fails by it
            result = f"raised {error!r}"
        os.write(writer, json.dumps(result).encode())
        os.close(writer)
    finally:
        os._exit(0)


def _told(reader: int) -> object:
    with os.fdopen(reader, "rb") as pipe:
        said = pipe.read()
    assert said, "the fork ended without a word: a call in it hung or crashed"
    return json.loads(said)


def _reap(fork: int) -> None:
    until(lambda: os.waitpid(fork, os.WNOHANG)[0] == fork, "the end of the fork")


@contextmanager
def _unwarned() -> Generator[None]:
    # Python 3.12 and later warn of a fork beside threads, which is what some of these tests are about.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        yield
