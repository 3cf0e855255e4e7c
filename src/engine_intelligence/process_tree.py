"""The processes that somebody started, and how they are found when they have to go: a Host's (rule H5), a program's.

While the first of a tree lives the others are found from parent to child. When it is gone they are found by what stays with
them: each carries a mark in its environment, which it hands on to its own children, and each that did not move is in the
session that the first one began. On systems where one cannot look for any of that, the process group has to do.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path

MARK_VARIABLE = "ENGINE_INTELLIGENCE_HOST"
"""What the processes of a Host carry in their environment."""

if sys.platform == "win32":
    NO_WINDOW = subprocess.CREATE_NO_WINDOW
else:
    NO_WINDOW = 0
"""Flags for a process of a game, which has no console that it could share. Where there are no such flags, 0."""

# A tree that is being killed may still grow; it is gone over so often at the most.
_MAX_ROUNDS = 10


def mark_descendants() -> bytes:
    """Have every process that is started from here on carry a mark, and return it.

    Call it once, at the start.
    """
    value = os.urandom(16).hex()
    os.environ[MARK_VARIABLE] = value
    return environment_mark(MARK_VARIABLE, value)


def environment_mark(name: str, value: str) -> bytes:
    """The mark that a process carries where a variable of its environment has that value."""
    return f"{name}={value}".encode()


def kill_descendants(root: int, mark: bytes, *, spare: Collection[int] = ()) -> None:
    """Kill every process that descends from `root`, carries `mark` or is in the session of `root`, but for `root`, the caller
    and `spare`.

    Takes milliseconds, more where there are thousands of processes, and waits for none of them. Any thread may call it. On
    other systems than Linux it does nothing.
    """
    if sys.platform != "linux":
        return
    spared = {root, os.getpid(), *spare}
    empty_rounds = 0
    for _ in range(_MAX_ROUNDS):
        found = _descendants(root, mark) - spared
        # Once is no proof: a daemon in the making forks when the list has been taken, and ends before its turn in it.
        empty_rounds = 0 if found else empty_rounds + 1
        if empty_rounds == 2:
            return
        for pid in found:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        spared |= found  # dead, though perhaps still listed


def kill_tree(root: int, mark: bytes, *, root_runs: bool) -> None:
    """Kill `root`, a child of the caller that leads a group of its own, with all that `kill_descendants` finds.

    `root_runs` says whether it has not been reaped: then its number is its own. Takes as long as `kill_descendants`.
    """
    if sys.platform == "win32":
        if root_runs:
            subprocess.run(
                ["taskkill", "/F", "/T", "/PID", str(root)],
                capture_output=True,
                check=False,
                creationflags=NO_WINDOW,
            )
        return
    if root_runs:
        with suppress(ProcessLookupError, PermissionError):
            os.kill(root, signal.SIGSTOP)  # or it would go on to start others while those it has are killed
    kill_descendants(root, mark)  # before the root: with that goes what shows who descends from it
    # Where no descendants can be found, the group has to do, also without its leader.
    kill_group(root)


def kill_group(leader: int) -> None:
    """Kill the process group of `leader`, where there are groups."""
    if os.name == "posix":
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(leader, signal.SIGKILL)


def ask_group_to_end(leader: int) -> None:
    """Send SIGTERM to the process group of `leader`, where there are groups."""
    if os.name == "posix":
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(leader, signal.SIGTERM)


def _descendants(root: int, mark: bytes) -> set[int]:
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
                if int(fields[3]) == root or mark in Path(f"/proc/{name}/environ").read_bytes().split(b"\0"):
                    found.add(int(name))
    parents = [root, *found]
    while parents:
        for child in children.get(parents.pop(), ()):
            if child not in found:
                found.add(child)
                parents.append(child)
    return found
