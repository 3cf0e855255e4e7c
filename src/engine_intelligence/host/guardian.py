"""What ends a Host with its game, and with a Host all that it started, whatever the Host is doing (rule H5).

The event loop sees the end of the connection, and then closes everything in order. But provider code may
block that loop, native code may hold the interpreter's lock so that not even a thread could act, and a Host
that is killed closes nothing. So the Host has a guardian: a fork of itself, made before it has any thread,
that does nothing but wait.

It waits for the end of the connection and, because a forked sibling of the game can hold that open, for the
end of the game's process. From either on the Host has `close_grace_s` to end in order; then it is killed.
When the Host has ended, however it did, the guardian kills what the Host's providers left behind, and ends
too.
"""

from __future__ import annotations

import os
import select
import signal
import socket
import sys
import threading
import time
from contextlib import suppress
from typing import Never

from engine_intelligence.host.processes import kill_descendants, kill_group

# Where the system cannot wait for a process that is no child, its end is looked for this often.
_LOOK_INTERVAL_S = 0.1

# A game that closes its connection kills the Host itself at the end of the grace; the guardian comes before
# that, because it also knows the Host's descendants.
_SHARE_OF_GRACE = 0.9

EXIT_CODE_ABANDONED = 70  # sysexits.h: EX_SOFTWARE. The Host did not end by itself.


def start_guardian(connection: socket.socket, game_pid: int, grace_s: float, mark: bytes) -> int | None:
    """Have this process end with the game `game_pid` and with `connection`. Call it once, before any thread
    is started.

    Returns the process id of the guardian, for `dismiss_guardian`, where there is one.
    """
    if sys.platform == "win32":
        from engine_intelligence.host import windows

        # There is no fork; a job ends the children, and a thread has to do for the Host itself.
        windows.end_children_with_this_process()
        threading.Thread(target=_end_with_game, args=(game_pid, grace_s), daemon=True).start()
        return None
    host_pid = os.getpid()
    guardian_pid = os.fork()
    if guardian_pid == 0:
        try:
            _guard(connection.fileno(), game_pid, host_pid, grace_s, mark)
        finally:
            os._exit(0)
    return guardian_pid


def dismiss_guardian(guardian_pid: int | None, mark: bytes) -> None:
    """Do the guardian's work from a Host that ends in order, so that nothing outlives it, the guardian
    included.
    """
    if sys.platform != "linux" or guardian_pid is None:
        return  # elsewhere only the guardian can reach the group without ending this process too
    kill_descendants(os.getpid(), mark)  # it is one of them
    with suppress(OSError):
        os.waitpid(guardian_pid, 0)


def _guard(connection: int, game_pid: int, host_pid: int, grace_s: float, mark: bytes) -> None:
    os.setsid()  # out of reach of what is meant for the Host's group
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(null, descriptor)  # nobody's output is kept open by this process
    watch = _Watch(connection, game_pid, host_pid)
    give_up_at: float | None = None
    while not watch.host_ended:
        watch.wait(None if give_up_at is None else give_up_at - time.monotonic())
        if watch.game_ended and give_up_at is None:
            give_up_at = time.monotonic() + _SHARE_OF_GRACE * grace_s
        if give_up_at is not None and time.monotonic() >= give_up_at:
            # Before the Host itself: with it goes what shows who descends from it.
            kill_descendants(host_pid, mark)
            with suppress(ProcessLookupError):
                os.kill(host_pid, signal.SIGKILL)
            give_up_at = time.monotonic() + grace_s
    os.close(connection)  # first: it is how the game learns of the end
    kill_group(host_pid)
    kill_descendants(host_pid, mark)


class _Watch:
    """Waits for three ends: of the connection, of the game and of the Host."""

    def __init__(self, connection: int, game_pid: int, host_pid: int) -> None:
        self._game_pid = game_pid
        self._host_pid = host_pid
        self.game_ended = False
        self.host_ended = False
        self._poll = select.poll()
        self._game = self._host = -1
        if sys.platform == "linux":
            self._poll.register(connection, select.POLLRDHUP)
            self._host = self._watched(host_pid)
            self._game = self._watched(game_pid)
        else:
            self._poll.register(connection, 0)  # a hang-up is told unasked
        self._look()

    def wait(self, timeout_s: float | None) -> None:
        """Wait until something has ended, or for `timeout_s`."""
        if self._host < 0 or self._game < 0:
            timeout_s = _LOOK_INTERVAL_S if timeout_s is None else min(timeout_s, _LOOK_INTERVAL_S)
        for descriptor, _ in self._poll.poll(None if timeout_s is None else max(0.0, timeout_s) * 1000):
            if descriptor == self._host:
                self.host_ended = True
            else:
                self.game_ended = True
            self._poll.unregister(descriptor)  # what has ended stays ended
        self._look()

    def _watched(self, pid: int) -> int:
        if sys.platform != "linux":
            return -1
        try:
            descriptor = os.pidfd_open(pid)
        except OSError:
            return -1  # gone already, or a kernel that cannot do it
        self._poll.register(descriptor, select.POLLIN)
        return descriptor

    def _look(self) -> None:
        """Find out about processes that cannot be waited for."""
        if self._host < 0 and os.getppid() != self._host_pid:
            self.host_ended = True
        if self._game < 0 and not self.game_ended:
            try:
                os.kill(self._game_pid, 0)
            except ProcessLookupError:
                self.game_ended = True
            except PermissionError:
                pass  # alive, under another user


def _end_with_game(game_pid: int, grace_s: float) -> Never:
    if sys.platform == "win32":
        from engine_intelligence.host import windows

        windows.wait_for_process(game_pid)
    time.sleep(grace_s)
    os._exit(EXIT_CODE_ABANDONED)
