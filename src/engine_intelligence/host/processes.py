"""The processes that a Host's providers start, and how they are found when they have to go (rule H5).

Each carries a mark in its environment, which it hands on to its own children, whatever group or session they move to
and whoever their parent becomes. On systems where environments of others cannot be read, the process group has to do.
"""

from __future__ import annotations

import os
import signal
import sys
from contextlib import suppress
from pathlib import Path

MARK_VARIABLE = "ENGINE_INTELLIGENCE_HOST"

# A tree that is being killed may still grow; it is gone over so often at the most.
_MAX_ROUNDS = 10


def mark_descendants() -> bytes:
    """Have every process that is started from here on carry a mark, and return it. Call it once, at the start."""
    value = os.urandom(16).hex()
    os.environ[MARK_VARIABLE] = value
    return f"{MARK_VARIABLE}={value}".encode()


def kill_marked(mark: bytes) -> None:
    """Kill every process that carries `mark`. Takes milliseconds; it waits for none of them."""
    if sys.platform != "linux":
        return
    killed: set[int] = set()
    for _ in range(_MAX_ROUNDS):
        found = {pid for pid in _marked(mark) if pid not in killed}
        if not found:
            return
        for pid in found:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        killed |= found


def kill_group(leader: int) -> None:
    """Kill the process group of `leader`, where there are groups."""
    if os.name == "posix":
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(leader, signal.SIGKILL)


def _marked(mark: bytes) -> list[int]:
    marked: list[int] = []
    for name in os.listdir("/proc"):
        if name.isdigit() and int(name) != os.getpid():
            with suppress(OSError):
                if mark in Path(f"/proc/{name}/environ").read_bytes().split(b"\0"):
                    marked.append(int(name))
    return marked
