"""A thread that ends the Host when its realm has ended, whatever the rest of the Host is doing (rule H5).

The event loop sees the end of the connection too, and then closes everything in order. But provider code may
block that loop, or hold a thread that the interpreter would wait for at its exit. So the watchdog watches on
its own, gives the loop `close_grace_s` to end the process in order, and then ends it. It watches the
connection and, because a forked sibling of the game can hold that open, the game's process as well.
"""

from __future__ import annotations

import os
import select
import socket
import sys
import threading
import time
from collections.abc import Callable

from engine_intelligence.host.processes import exit_with_group

# Where the system cannot wait for a process that is not a child, its end is looked for this often.
_PARENT_INTERVAL_S = 0.25

EXIT_CODE_ABANDONED = 70  # sysexits.h: EX_SOFTWARE. Something in the Host did not end by itself.


def watch_realm(connection: socket.socket, parent_pid: int, grace_s: float) -> None:
    """Start the thread. `connection` is duplicated for it; `parent_pid` is the game's process."""
    duplicate = connection.dup()
    for watch in (lambda: _wait_for_hang_up(duplicate), lambda: _wait_for_parent(parent_pid)):
        # Daemons: they end with the process, and they are what ends it.
        threading.Thread(target=_end_after, args=(watch, grace_s), name="watchdog", daemon=True).start()


def _end_after(watch: Callable[[], None], grace_s: float) -> None:
    watch()
    time.sleep(grace_s)
    exit_with_group(EXIT_CODE_ABANDONED)


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
            descriptor = -1  # gone already, or a kernel without it
        if descriptor >= 0:
            # The number may have been given to another process before it was opened; the parent is not
            # another.
            if os.getppid() == pid:
                poll = select.poll()
                poll.register(descriptor, select.POLLIN)
                poll.poll()
            os.close(descriptor)
            return
    while os.getppid() == pid:
        time.sleep(_PARENT_INTERVAL_S)
