"""What ends a Host with its game, and with a Host all that it started, whatever the Host is doing (rule H5).

The event loop sees the end of the connection, and then closes everything in order. But provider code may
block that loop, native code may hold the interpreter's lock so that not even a thread could act, and a Host
that is killed closes nothing. So the Host has a guardian: a fork of itself, made before it has any thread,
that does nothing but wait.

It waits for the end of the connection and, because a forked sibling of the game can hold that open, for the
end of the game's process. Where a launcher started both, which holds a pipe until the game has ended, it waits
for the end of that too. From the first of these on the Host has `close_grace_s` to end in order; then it is
killed. When the Host has ended, however it did, the guardian kills what the Host's providers left behind, and
ends too.
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

from engine_intelligence.host.diversion import (
    FINISH_S,
    Diversion,
    OutputPump,
    drain_by_threads,
    end_standard_streams,
)
from engine_intelligence.process_tree import kill_descendants, kill_group

# Where the system cannot wait for a process that is no child, its end is looked for this often.
_LOOK_INTERVAL_S = 0.1

# A game that closes its connection kills the Host itself at the end of the grace; the guardian comes before
# that, because it also knows the Host's descendants.
_SHARE_OF_GRACE = 0.9

_DISMISSAL = getattr(signal, "SIGUSR1", 0)  # which Windows does not have

EXIT_CODE_ABANDONED = 70  # sysexits.h: EX_SOFTWARE. The Host did not end by itself.


def start_guardian(
    connection: socket.socket | None,
    game_pid: int,
    grace_s: float,
    mark: bytes,
    diversion: Diversion,
    *,
    lifeline: int | None = None,
) -> int | None:
    """Have this process end with the process `game_pid` and with `connection`, and its output drained.

    Where the Host has no connection yet, there is none to wait for, and `game_pid` is what started both. `lifeline` is
    a pipe to it, of which the guardian becomes the only writer; that nobody reads it any more is one more end. Call it
    once, before any thread is started. Returns the process id of the guardian, for `dismiss_guardian`, where there
    is one.
    """
    if sys.platform == "win32":
        from engine_intelligence.host import windows

        # There is no fork; a job ends the children, and threads have to do for the Host itself.
        windows.end_children_with_this_process()
        threading.Thread(target=_end_with_game, args=(game_pid, grace_s), daemon=True).start()
        drain_by_threads(diversion)
        return None
    host_pid = os.getpid()
    guardian_pid = os.fork()
    if guardian_pid == 0:
        try:
            _guard(
                None if connection is None else connection.fileno(),
                lifeline,
                game_pid,
                host_pid,
                grace_s,
                mark,
                diversion,
            )
        finally:
            os._exit(0)
    os.close(diversion.reader)
    os.close(diversion.before)
    if lifeline is not None:
        os.close(lifeline)
    return guardian_pid


def dismiss_guardian(guardian_pid: int | None, mark: bytes) -> None:
    """Do the guardian's work from a Host that ends in order, so that nothing outlives it, the guardian included."""
    if guardian_pid is None:
        end_standard_streams()
        time.sleep(FINISH_S)  # the threads that drain cannot say when they are done
        return
    kill_descendants(os.getpid(), mark, spare=(guardian_pid,))
    end_standard_streams()
    if sys.platform != "linux":
        return  # only the guardian can reach the group without ending this process too
    with suppress(OSError):
        os.kill(guardian_pid, _DISMISSAL)
        end = time.monotonic() + 2 * FINISH_S
        while os.waitpid(guardian_pid, os.WNOHANG)[0] == 0:
            if time.monotonic() >= end:
                os.kill(guardian_pid, signal.SIGKILL)
            time.sleep(0.0005)


class _DismissedError(Exception):
    """The Host has ended in order and done everything itself."""


def _dismissed(number: int, frame: object) -> None:
    raise _DismissedError


def _guard(
    connection: int | None,
    lifeline: int | None,
    game_pid: int,
    host_pid: int,
    grace_s: float,
    mark: bytes,
    diversion: Diversion,
) -> None:
    os.setsid()  # out of reach of what is meant for the Host's group
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE):
        signal.signal(number, signal.SIG_IGN)
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(null, descriptor)
    os.close(diversion.writer)
    poll = select.poll()
    pump = OutputPump(poll, diversion.reader, diversion.before)
    try:
        signal.signal(_DISMISSAL, _dismissed)
        if lifeline is not None:
            poll.register(lifeline, 0)  # that nobody reads it is told unasked
        _wait_for_the_host(_Watch(poll, pump, connection, game_pid, host_pid), host_pid, grace_s, mark)
        kill_group(host_pid)  # before the game is told and may reap the Host, whose number is then anybody's
        if connection is not None:
            os.close(connection)  # which is how the game learns of the end
        with suppress(OSError):
            kill_descendants(host_pid, mark)
    except _DismissedError:
        pass
    pump.finish()


def _wait_for_the_host(watch: _Watch, host_pid: int, grace_s: float, mark: bytes) -> None:
    give_up_at: float | None = None
    told = False
    while not watch.host_ended:
        watch.wait(None if give_up_at is None else give_up_at - time.monotonic())
        if watch.game_ended and give_up_at is None:
            give_up_at = time.monotonic() + _SHARE_OF_GRACE * grace_s
        if watch.process_ended and not watch.connection_ended and not told:
            # The connection is held open by another: a fork of the game, or a game whose launcher was killed.
            told = True
            with suppress(ProcessLookupError):
                os.kill(host_pid, signal.SIGTERM)
        if give_up_at is not None and time.monotonic() >= give_up_at:
            # Before the Host itself: with it goes what shows who descends from it.
            with suppress(OSError):  # such as a lack of descriptors: the Host has to go all the same
                kill_descendants(host_pid, mark)
            with suppress(ProcessLookupError):
                os.kill(host_pid, signal.SIGKILL)
            give_up_at = time.monotonic() + grace_s


class _Watch:
    """Waits for three ends: of the connection, of the game and of the Host. Meanwhile it has the output pumped."""

    def __init__(
        self, poll: select.poll, pump: OutputPump, connection: int | None, game_pid: int, host_pid: int
    ) -> None:
        self._game_pid = game_pid
        self._host_pid = host_pid
        self.game_ended = False
        self.process_ended = False
        """The game has ended as a process, and not only as the other end of the connection."""
        self.connection_ended = False
        """The Host sees that by itself."""
        self.host_ended = False
        self._poll = poll
        self._pump = pump
        self._connection = connection
        self._game = self._host = -1
        if sys.platform == "linux":
            if connection is not None:
                self._poll.register(connection, select.POLLRDHUP)
            self._host = self._watched(host_pid)
            self._game = self._watched(game_pid)
        elif connection is not None:
            self._poll.register(connection, 0)  # a hang-up is told unasked
        self._look()

    def wait(self, timeout_s: float | None) -> None:
        """Wait until something has ended, or for `timeout_s`."""
        if self._host < 0 or self._game < 0:
            timeout_s = _LOOK_INTERVAL_S if timeout_s is None else min(timeout_s, _LOOK_INTERVAL_S)
        for descriptor, _ in self._poll.poll(None if timeout_s is None else max(0.0, timeout_s) * 1000):
            if self._pump.handle(descriptor):
                continue
            if descriptor == self._host:
                self.host_ended = True
            else:
                self.game_ended = True
                self.process_ended |= descriptor == self._game
                self.connection_ended |= descriptor == self._connection
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
                self.game_ended = self.process_ended = True
            except PermissionError:
                pass  # alive, under another user


def _end_with_game(game_pid: int, grace_s: float) -> Never:
    if sys.platform == "win32":
        from engine_intelligence.host import windows

        windows.wait_for_process(game_pid)
    time.sleep(grace_s)
    os._exit(EXIT_CODE_ABANDONED)
