"""A Host that starts a game: `engine-intelligence run` (rule H2).

Three processes: the launcher, which a person or a service manager started; the Host; and the game. The launcher does no
work of its own. It starts the Host and waits until that is sealed, starts the game with the way to the Host and without a
credential, hands signals on, and ends as the game did. So the Host is a Host like any other, its guardian included, and
its end is not the game's.
"""

from __future__ import annotations

import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence

from engine_intelligence.child import HostChild, import_paths
from engine_intelligence.errors import SetupError
from engine_intelligence.host.sealing import seal_process
from engine_intelligence.limits import Deadlines, IntelligenceLimits
from engine_intelligence.ports.realm_link import above_standard_streams
from engine_intelligence.protocol.bootstrap import (
    PORT_VARIABLE,
    GamePort,
    HostBootstrap,
    HostSource,
    InheritedSocket,
    ListeningSocket,
    LoopbackSocket,
    decode_announcement,
    encode_game_port,
)

# A Host is ready in a tenth of a second; a machine that swaps takes longer.
_READY_S = 60.0

_LOOK_INTERVAL_S = 0.005

# What a person or a service manager tells a program. Those that stop and continue act on the launcher as on any program.
_PASSED_ON = [
    getattr(signal, name)
    for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2", "SIGALRM")
    if hasattr(signal, name)
]


def run_game(
    command: Sequence[str],
    source: HostSource,
    *,
    environment: Mapping[str, str],
    game_environment: Mapping[str, str],
    inherits_socket: bool,
    deadlines: Deadlines,
) -> int:
    """Start a Host of `source` in `environment` and the game `command` in `game_environment`, and wait for the game's end.

    `deadlines` are those that `source` names, or else the defaults. Returns the game's exit code, or minus the signal
    that ended it; hand that to `end_like`. When this returns, the Host has ended, at the latest after `close_grace_s`.
    Call it in the main thread of a process that has no other.

    Raises `SetupError` if the Host does not become ready or the game cannot be started.
    """
    seal_process()
    game_socket: socket.socket | None = None
    host_socket: socket.socket | None = None
    token = os.urandom(32).hex()
    if inherits_socket:
        game_socket, host_socket = (above_standard_streams(sock) for sock in socket.socketpair())
    bootstrap = HostBootstrap(
        connection=ListeningSocket(token) if host_socket is None else InheritedSocket(host_socket.fileno()),
        source=source,
        parent_pid=os.getpid(),
        import_paths=(*import_paths(), os.getcwd()),
        limits=IntelligenceLimits(),
        deadlines=deadlines,
        sealed=True,
    )
    try:
        host = HostChild(
            bootstrap,
            # What led a game to its own Host, if one started this, is not for the providers of another.
            environment={name: value for name, value in environment.items() if name != PORT_VARIABLE},
            inherits=None if host_socket is None else host_socket.fileno(),
            announces=True,
        )
    except OSError as error:
        raise SetupError("host-not-started", f"The Host cannot be started ({error.strerror}).") from None
    finally:
        if host_socket is not None:
            host_socket.close()
    try:
        port = _game_port(host, game_socket, token)
        game = _Game(command, {**game_environment, PORT_VARIABLE: encode_game_port(port)}, game_socket)
        if game_socket is not None:
            game_socket.close()  # or the Host would not see the game let go of it
        return game.wait()
    finally:
        _end(host, deadlines.close_grace_s)


def end_like(code: int) -> int:
    """End this process by the signal that ended the game, if one did; otherwise return its exit code."""
    if code >= 0:
        return code
    if os.name == "posix":
        number = -code
        if number not in (signal.SIGKILL, signal.SIGSTOP):
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [number])
        os.kill(os.getpid(), number)
    return 128 - code  # what shells say where that did not work


def _game_port(host: HostChild, game_socket: socket.socket | None, token: str) -> GamePort:
    """Wait until the Host is sealed, and say where the game finds it."""
    pipe = host.announcements
    assert pipe is not None
    ready = [pipe] if os.name != "posix" else select.select([pipe], [], [], _READY_S)[0]
    try:
        announcement = decode_announcement(pipe.readline() if ready else b"")
    except ValueError as error:
        raise SetupError(
            "host-not-started", f"The Host did not become ready: {error}. What it printed may say why."
        ) from None
    if game_socket is not None:
        found = os.fstat(game_socket.fileno())
        return GamePort(
            connection=InheritedSocket(game_socket.fileno()),
            host_pid=host.pid,
            socket_id=(found.st_dev, found.st_ino),
        )
    assert announcement.port is not None
    return GamePort(connection=LoopbackSocket(announcement.port, token), host_pid=host.pid)


class _Game:
    """The game's process, in the launcher's own group, so that a terminal's Ctrl-C and Ctrl-Z reach it."""

    def __init__(
        self, command: Sequence[str], environment: Mapping[str, str], inherited: socket.socket | None
    ) -> None:
        # From here on signals wait until they are looked at; the game starts with the mask that there was before.
        self._mask: set[int] = set()
        if os.name == "posix":
            signal.signal(signal.SIGCHLD, lambda number, frame: None)  # ignored ones are not kept
            self._mask = signal.pthread_sigmask(signal.SIG_BLOCK, [*_PASSED_ON, signal.SIGCHLD])
        try:
            self._process = subprocess.Popen(
                list(command),
                env=environment,
                pass_fds=() if inherited is None else (inherited.fileno(),),
                preexec_fn=self._unblock if os.name == "posix" else None,
            )
        except OSError as error:
            if os.name == "posix":
                signal.pthread_sigmask(signal.SIG_SETMASK, self._mask)
            reason = "game-not-found" if isinstance(error, FileNotFoundError) else "game-not-executable"
            raise SetupError(
                reason,
                f"The game cannot be started: {command[0]}: {error.strerror}. What follows -- is its command.",
            ) from None

    def _unblock(self) -> None:
        signal.pthread_sigmask(signal.SIG_SETMASK, self._mask)

    def wait(self) -> int:
        """Hand signals on until the game has ended. Returns its exit code, or minus the signal that ended it."""
        while (code := self._process.poll()) is None:
            if sys.platform == "win32":
                self._wait_for_a_moment()
            elif sys.platform == "linux":
                told = signal.sigwaitinfo([*_PASSED_ON, signal.SIGCHLD])
                self._pass_on(told.si_signo, from_terminal=told.si_code > 0)
            else:
                number = signal.sigwait([*_PASSED_ON, signal.SIGCHLD])
                self._pass_on(
                    number, from_terminal=number in (signal.SIGINT, signal.SIGQUIT) and _in_foreground()
                )
        return code

    def _pass_on(self, number: int, *, from_terminal: bool) -> None:
        """Hand a signal on, unless the terminal sent it to the whole group, the game included.

        A hang-up it tells the leader of the session alone, which the launcher is in a terminal window of its own.
        """
        if from_terminal and not (number == signal.SIGHUP and os.getsid(0) == os.getpid()):
            return
        if number != signal.SIGCHLD and self._process.poll() is None:
            self._process.send_signal(number)

    def _wait_for_a_moment(self) -> None:
        try:
            self._process.wait(timeout=1.0)
        except (subprocess.TimeoutExpired, KeyboardInterrupt):  # a console tells its programs itself
            pass


def _in_foreground() -> bool:
    """Whether this process is in the foreground of a terminal, which sends its signals to the whole group."""
    try:
        return os.tcgetpgrp(0) == os.getpgrp()
    except OSError:
        return False


def _end(host: HostChild, grace_s: float) -> None:
    """The game has ended: the Host ends in order, or is killed after its grace."""
    if host.announcements is not None:
        # Which is how the Host's guardian learns that the grace has begun: it kills what the Host has started as well.
        host.announcements.close()
    if host.exit_code() is None:
        host.stop()
    give_up_at = time.monotonic() + grace_s
    while host.exit_code() is None:
        if time.monotonic() >= give_up_at:
            host.kill()
        time.sleep(_LOOK_INTERVAL_S)
