"""A Host's process, as the process that started it sees it: a game, or a launcher that starts both."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import IO

from engine_intelligence.protocol.bootstrap import BOOTSTRAP_VARIABLE, HostBootstrap, encode_bootstrap
from engine_intelligence.scrubbing import is_encodable

_SIGKILL = getattr(signal, "SIGKILL", 9)  # which Windows does not have

INHERITS_SOCKETS = os.name == "posix"
"""Whether a child process can inherit a socket as a descriptor, which on Windows it cannot."""


def host_command(python: str | None = None) -> list[str]:
    """The command of a Host's process, for the interpreter `python` or for the running program.

    Raises `ValueError` where there is neither.
    """
    if python is None and getattr(sys, "frozen", False):
        # The executable is the game with an interpreter inside. Started with the variable it becomes the Host,
        # in `freeze_support`.
        return [sys.executable]
    if python is None and not sys.executable:
        raise ValueError(
            "this game runs in no Python interpreter of its own: pass python= with the path of one"
        )
    # -P: what lies in the current directory must not stand in for the package or the standard library.
    return [python or sys.executable, "-P", "-m", "engine_intelligence.host"]


def import_paths() -> tuple[str, ...]:
    """Where this process finds its modules, so that a Host finds a factory of the game's too."""
    # One that UTF-8 cannot encode cannot be told; a factory there is then not found, which is said.
    return tuple(os.path.abspath(path) for path in sys.path if is_encodable(path))


class HostChild:
    """A Host's process that this process started. It belongs to one thread; nothing but `stop` and `kill` acts on it.

    It is the leader of a group and a session of its own, so that a Ctrl-C in the game's terminal is the game's to
    handle.
    """

    def __init__(
        self,
        bootstrap: HostBootstrap,
        *,
        python: str | None = None,
        environment: Mapping[str, str],
        inherits: int | None = None,
        announces: bool = False,
    ) -> None:
        """Start it, in `environment`; it inherits the descriptor `inherits`. With `announces` its standard output is a pipe.

        Raises `OSError` if no process can be started, and `ValueError` for a bootstrap that is too long.
        """
        variables = {**_with_this_package(environment), BOOTSTRAP_VARIABLE: encode_bootstrap(bootstrap)}
        stdout = subprocess.PIPE if announces else None
        if os.name == "posix":
            self._process = subprocess.Popen(
                host_command(python),
                env=variables,
                stdin=subprocess.DEVNULL,
                stdout=stdout,
                pass_fds=() if inherits is None else (inherits,),
                start_new_session=True,
            )
        else:
            self._process = subprocess.Popen(
                host_command(python),
                env=variables,
                stdin=subprocess.DEVNULL,
                stdout=stdout,
                creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0)
                | getattr(subprocess, "CREATE_NO_WINDOW", 0),
            )

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    @property
    def announcements(self) -> IO[bytes] | None:
        """The pipe of its standard output, where it has one."""
        return self._process.stdout

    def exit_code(self) -> int | None:
        """Its exit code, or minus the signal that ended it; `None` while it runs. One that has ended is reaped."""
        return self._process.poll()

    def how_it_ended(self) -> str | None:
        """How it ended, if that tells more than that somebody killed it: `by signal 11`, `with exit code 1`."""
        code = self.exit_code()
        if code is None or code == -_SIGKILL:
            return None
        return f"by signal {-code}" if code < 0 else f"with exit code {code}"

    def stop(self) -> None:
        """Ask it to end in order. Where there are no signals, that is the end."""
        self._process.terminate()

    def kill(self) -> None:
        """Kill it, if it has not been reaped, and its group. Where there are no groups, its job ends the others."""
        if os.name != "posix":
            self._process.kill()
        elif self._process.returncode is None:
            try:
                os.killpg(self._process.pid, _SIGKILL)
            except (ProcessLookupError, PermissionError):
                self._process.kill()  # it has not become the leader of its group yet


def _with_this_package(environment: Mapping[str, str]) -> Mapping[str, str]:
    """The environment in which a new interpreter finds this package where this one found it."""
    parent = Path(__file__).parents[1]
    if parent.name in ("site-packages", "dist-packages") or getattr(sys, "frozen", False):
        return environment
    return {
        **environment,
        "PYTHONPATH": os.pathsep.join(filter(None, [str(parent), environment.get("PYTHONPATH")])),
    }
