"""A lock between processes that the operating system releases when its holder ends, however it ends."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

# Whoever waits here waits for a download of minutes.
PAUSE_S = 0.1


@contextmanager
def held_lock(path: Path) -> Generator[None]:
    """Hold the lock in the file `path`, which stays. Waits, for as long as another process or thread holds it.

    Raises `OSError` if the file cannot be created.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        while not _try_lock(descriptor):
            time.sleep(PAUSE_S)
        yield
    finally:
        os.close(descriptor)  # which releases it


def _try_lock(descriptor: int) -> bool:
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    return True
