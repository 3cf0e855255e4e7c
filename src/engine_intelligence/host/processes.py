"""The processes that a Host's providers start, and how they are found when they have to go (rule H5).

While the Host lives they are found from parent to child. When it is gone they are found by what stays with
them: each carries a mark in its environment, which it hands on to its own children, and each that did not
move is in the Host's session. On systems where one cannot look for any of that, the process group has to do.
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
    """Have every process that is started from here on carry a mark, and return it.

    Call it once, at the start.
    """
    value = os.urandom(16).hex()
    os.environ[MARK_VARIABLE] = value
    return f"{MARK_VARIABLE}={value}".encode()


def kill_descendants(host_pid: int, mark: bytes, *, spare: int | None = None) -> None:
    """Kill every process that descends from `host_pid`, carries `mark` or is in its session, but for that one
    and the caller.

    Takes milliseconds, and waits for none of them. On other systems than Linux it does nothing.
    """
    if sys.platform != "linux":
        return
    spared = {host_pid, os.getpid(), spare}
    for _ in range(_MAX_ROUNDS):
        found = _descendants(host_pid, mark) - spared
        if not found:
            return
        for pid in found:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        spared |= found  # dead, though perhaps still listed


def kill_group(leader: int) -> None:
    """Kill the process group of `leader`, where there are groups."""
    if os.name == "posix":
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(leader, signal.SIGKILL)


def _descendants(host_pid: int, mark: bytes) -> set[int]:
    found: set[int] = set()
    children: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            # An OSError: it is gone meanwhile, or another user's.
            with suppress(OSError, IndexError, ValueError):
                stat = Path(f"/proc/{name}/stat").read_bytes()
                # After the name, which is in parentheses and may hold anything: state, parent, group,
                # session.
                fields = stat.rpartition(b")")[2].split()
                children.setdefault(int(fields[1]), []).append(int(name))
                if int(fields[3]) == host_pid or mark in Path(f"/proc/{name}/environ").read_bytes().split(
                    b"\0"
                ):
                    found.add(int(name))
    parents = [host_pid, *found]
    while parents:
        for child in children.get(parents.pop(), ()):
            if child not in found:
                found.add(child)
                parents.append(child)
    return found
