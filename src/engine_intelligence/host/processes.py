"""The end of a Host's process and of all that it started (rule H5)."""

from __future__ import annotations

import os
import signal
import sys
from contextlib import suppress
from pathlib import Path
from typing import Never

# Linux: <linux/prctl.h>. Orphaned descendants come to this process rather than to init, so that it can find
# and end them.
_PR_SET_CHILD_SUBREAPER = 36

# A tree that is being killed may still grow; it is gone over so often at the most.
_MAX_ROUNDS = 10


def adopt_descendants() -> None:
    """Make this process the one that its orphaned descendants fall to, where the system can do that.

    Call it once, at the start.
    """
    if sys.platform == "linux":
        import ctypes

        with suppress(OSError, AttributeError):
            ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    elif sys.platform == "win32":
        from engine_intelligence.host import windows

        windows.end_children_with_this_process()


def kill_descendants() -> None:
    """Kill every descendant of this process, also those that left its group.

    Takes milliseconds; it waits for none of them.
    """
    if sys.platform == "linux":
        for _ in range(_MAX_ROUNDS):
            descendants = _linux_descendants(os.getpid())
            if not descendants:
                return
            for pid in descendants:
                with suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, signal.SIGKILL)
            # Those killed here that are our own children become zombies, which are reaped so that they do not
            # count again.
            with suppress(ChildProcessError):
                while os.waitpid(-1, os.WNOHANG)[0]:
                    pass


def exit_with_group(code: int) -> Never:
    """End this process at once, and its process group with it. Does not return.

    Nothing is flushed and no handler runs: it is called when there is nothing left to do, or when what is
    left does not end.
    """
    kill_descendants()
    # Other systems than Linux: the group is what can be reached. This process ends with it, by the same signal.
    if os.name == "posix" and sys.platform != "linux" and os.getpgrp() == os.getpid():
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(os.getpgrp(), signal.SIGKILL)
    os._exit(code)


def _linux_descendants(pid: int) -> list[int]:
    """All living descendants of `pid`, deepest last.

    Zombies are left out: they are dead, and their children are counted.
    """
    found: list[int] = []
    parents = [pid]
    while parents:
        parent = parents.pop()
        with suppress(OSError):
            for task in Path(f"/proc/{parent}/task").iterdir():
                with suppress(OSError, ValueError):
                    parents.extend(int(child) for child in (task / "children").read_text().split())
        if parent != pid and _is_alive(parent):
            found.append(parent)
    return found


def _is_alive(pid: int) -> bool:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    # The state is the first field after the name, which is in parentheses and may hold any character.
    return stat.rpartition(")")[2].split()[0] not in ("Z", "X")
