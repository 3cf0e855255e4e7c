"""A thread that ends the Host when its realm has ended, whatever the rest of the Host is doing (rule H5).

The event loop sees the end of the connection too, and then closes everything in order. But provider code may
block that loop, or hold a thread that the interpreter would wait for at its exit. So the watchdog watches on
its own, gives the loop `close_grace_s` to end the process in order, and then ends it. It watches the
connection and, because a forked sibling of the game can hold that open, the game's process as well.

Threads of Python cannot do anything while native code holds the interpreter's lock. For that there is a timer of C,
which ends the process unless this module keeps winding it up. It runs longer than a realm is patient, so it only ends
a Host that its realm has given up already.
"""

from __future__ import annotations

import faulthandler
import os
import select
import socket
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

from engine_intelligence.host.processes import exit_with_group
from engine_intelligence.limits import Deadlines

# Where the system cannot wait for a process that is not a child, its end is looked for this often.
_PARENT_INTERVAL_S = 0.25

EXIT_CODE_ABANDONED = 70  # sysexits.h: EX_SOFTWARE. Something in the Host did not end by itself.


def watch_realm(connection: socket.socket, parent_pid: int, deadlines: Deadlines) -> None:
    """Start the threads. `connection` is duplicated for them; `parent_pid` is the game's process."""
    duplicate = connection.dup()
    for work in (
        lambda: _end_after(lambda: _wait_for_hang_up(duplicate), deadlines.close_grace_s),
        lambda: _end_after(lambda: _wait_for_parent(parent_pid), deadlines.close_grace_s),
        lambda: _keep_winding(deadlines.unresponsive_s + deadlines.close_grace_s),
    ):
        # Daemons: they end with the process, and they are what ends it.
        threading.Thread(target=work, name="watchdog", daemon=True).start()


def _end_after(watch: Callable[[], None], grace_s: float) -> None:
    watch()
    time.sleep(grace_s)
    exit_with_group(EXIT_CODE_ABANDONED)


def _keep_winding(limit_s: float) -> None:
    """End the process when no thread of Python has run for `limit_s` seconds."""
    while True:
        faulthandler.dump_traceback_later(limit_s, exit=True)
        time.sleep(limit_s / 4)


def _wait_for_hang_up(connection: socket.socket) -> None:
    """Wait until the other end is closed, also while data from it lies unread."""
    if sys.platform == "linux":
        poll = select.poll()
        poll.register(connection, select.POLLRDHUP)
        poll.poll()
    else:
        # There is no such event for a socket with unread data; the parent's end is what is watched.
        threading.Event().wait()


def _wait_for_parent(pid: int) -> None:
    """Wait until the game's process has ended."""
    if sys.platform == "win32":
        from engine_intelligence.host import windows

        windows.wait_for_process(pid)
        return
    if sys.platform == "linux":
        try:
            descriptor = os.pidfd_open(pid)
        except OSError:
            descriptor = -1  # the game is gone already, or the kernel cannot do it
        if descriptor >= 0:
            poll = select.poll()
            poll.register(descriptor, select.POLLIN)
            poll.poll()
            os.close(descriptor)
            return
        if not Path(f"/proc/{pid}").exists():
            return
    # The parent of this process may be a launcher between it and the game; that ends with the game too.
    parent = os.getppid()
    while os.getppid() == parent:
        time.sleep(_PARENT_INTERVAL_S)
