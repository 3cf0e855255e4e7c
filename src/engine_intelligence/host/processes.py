"""The processes that a Host's providers start, and how they are found when they have to go (rule H5).

Each carries a mark in its environment, which it hands on to its own children, whatever group or session they move to
and whoever their parent becomes; and each that did not move is in the Host's session. On systems where one cannot look
for either, the process group has to do.
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


def kill_descendants(host_pid: int, mark: bytes) -> None:
    """Kill every process that carries `mark` or is in the session of `host_pid`, but for that one and the calling one.

    Takes milliseconds, and waits for none of them. On other systems than Linux it does nothing.
    """
    if sys.platform != "linux":
        return
    spared = {host_pid, os.getpid()}
    for _ in range(_MAX_ROUNDS):
        found = [pid for pid in _processes() if pid not in spared and _belongs(pid, host_pid, mark)]
        if not found:
            return
        for pid in found:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        spared.update(found)  # dead, though perhaps still listed


def kill_group(leader: int) -> None:
    """Kill the process group of `leader`, where there are groups."""
    if os.name == "posix":
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(leader, signal.SIGKILL)


def _processes() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def _belongs(pid: int, session: int, mark: bytes) -> bool:
    try:
        stat = Path(f"/proc/{pid}/stat").read_bytes()
        # After the name, which is in parentheses and may hold anything: state, parent, group, session.
        if int(stat.rpartition(b")")[2].split()[3]) == session:
            return True
        return mark in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except (OSError, IndexError, ValueError):
        return False  # gone meanwhile, or another user's
