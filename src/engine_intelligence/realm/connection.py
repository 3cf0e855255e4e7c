"""`spawn_host`: a Host as a child process of the game (rules H1, H6, H7)."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Never, Self, TypeAlias

from engine_intelligence.closing import PolledClose
from engine_intelligence.contracts import CloseTask, PortEnded
from engine_intelligence.errors import SetupError
from engine_intelligence.limits import Deadlines, IntelligenceLimits
from engine_intelligence.ports.realm_link import Link, LoopbackLink, SocketLink, above_standard_streams
from engine_intelligence.ports.realm_stream import RealmStream
from engine_intelligence.protocol.bootstrap import (
    BOOTSTRAP_VARIABLE,
    FactorySource,
    FileSource,
    HostBootstrap,
    HostSource,
    InheritedSocket,
    LoopbackSocket,
    ProviderSource,
    encode_bootstrap,
)
from engine_intelligence.realm.client import IntelligencePortClient, create_intelligence_port_client
from engine_intelligence.scrubbing import is_encodable

Transport: TypeAlias = Literal["auto", "socket", "loopback"]

# An inherited socket needs descriptors that a child process can inherit, which Windows does not have for
# sockets.
_INHERITS_SOCKETS = os.name == "posix"

# What runs in a Host's process, and nowhere else.
_HOST_MODULE = "engine_intelligence.host.process"

_SIGKILL = getattr(signal, "SIGKILL", 9)  # which Windows does not have


def spawn_host(
    source: str | PathLike[str],
    *,
    provider_id: str | None = None,
    options: Mapping[str, object] | None = None,
    limits: IntelligenceLimits | None = None,
    deadlines: Deadlines | None = None,
    environment: Mapping[str, str] | None = None,
    python: str | None = None,
    transport: Transport = "auto",
) -> HostConnection:
    """Start a Host beside the game, and return at once with the connection to it (rule H1).

    `source` says what the Host runs:

    - the path of a TOML file, recognised by its ending, which names several providers;
    - `"package.module:factory"`, a function without arguments that returns a provider or several;
    - the name of a kind of provider, such as `"llama"`, with its `options`. It is the provider `provider_id`,
      by default of that name.

    `limits` hold for every provider that has none of its own; `deadlines` for all of them and for this side.
    `environment` replaces the environment of the Host, by default that of the game; `python` its interpreter.
    `transport` is `"socket"` for an inherited socket, `"loopback"` for a connection over 127.0.0.1 that
    proves itself with a token, or `"auto"` for the first where the system has it.

    Raises `ValueError` for arguments that contradict one another, options that are too long, or a frozen game
    that names no interpreter, and `OSError` if no process can be started. Whatever goes wrong in the Host
    itself closes its clients with a reason instead (rule H4). Close the connection, or use it in a `with`; a
    game that ends without doing so takes its Host along all the same (rule H5).
    """
    if _HOST_MODULE in sys.modules:
        # Or the Host's process would start one more, which would import the same module, and so on without end.
        raise SetupError(
            "host-in-host",
            "spawn_host was called while a Host was importing the module of a factory. "
            'Put the game itself under: if __name__ == "__main__":',
        )
    given: list[tuple[str, Any, type]] = [
        ("limits", limits, IntelligenceLimits),
        ("deadlines", deadlines, Deadlines),
    ]
    for name, value, kind in given:
        if value is not None and not isinstance(value, kind):
            raise ValueError(f"{name} must be {kind.__name__}(...), not {type(value).__name__}")
    if python is None and (getattr(sys, "frozen", False) or not sys.executable):
        # Its executable is the game: starting that again would start the game again.
        raise ValueError(
            "this game runs in no Python interpreter of its own: pass python= with the path of one"
        )
    return HostConnection(
        _host_source(source, provider_id, options),
        limits=limits,
        deadlines=Deadlines() if deadlines is None else deadlines,
        environment=os.environ if environment is None else environment,
        python=sys.executable if python is None else python,
        transport=transport,
    )


def _host_source(
    source: str | PathLike[str], provider_id: Any, options: Mapping[str, object] | None
) -> HostSource:
    text = os.fspath(source)
    if provider_id is not None and not (isinstance(provider_id, str) and provider_id):
        raise ValueError(f"provider_id must be a name, not {provider_id!r}")
    if options is not None and not hasattr(options, "keys"):
        raise ValueError(f"options must be a mapping of names to values, not {type(options).__name__}")
    if text.endswith(".toml") or not isinstance(source, str):
        if provider_id is not None or options is not None:
            raise ValueError(
                "a TOML file names its providers and their options itself: pass neither provider_id nor options"
            )
        return FileSource(os.path.abspath(text))
    if ":" in text:
        if provider_id is not None or options is not None:
            raise ValueError(
                "a factory gives its providers their ids and options itself: pass neither provider_id nor options"
            )
        return FactorySource(text)
    return ProviderSource(text, text if provider_id is None else provider_id, dict(options or {}))


class HostConnection:
    """The connection to a Host that this process started.

    It belongs to one thread, starts none, and nothing but `wait` waits.
    """

    def __init__(
        self,
        source: HostSource,
        *,
        limits: IntelligenceLimits | None,
        deadlines: Deadlines,
        environment: Mapping[str, str],
        python: str,
        transport: Transport,
    ) -> None:
        self._limits = limits
        self._deadlines = deadlines
        self._owner_pid = os.getpid()
        self._clients: dict[str, IntelligencePortClient] = {}
        self._close_task: PolledClose | None = None
        self._close_by = 0.0
        inherits = _INHERITS_SOCKETS if transport == "auto" else transport == "socket"
        if inherits and not _INHERITS_SOCKETS:
            raise ValueError(
                'this system has no sockets that a child process inherits: use transport="loopback"'
            )
        link: Link
        child_socket: socket.socket | None = None
        if inherits:
            ours, child_socket = (above_standard_streams(sock) for sock in socket.socketpair())
            link = SocketLink(ours)
            connection: InheritedSocket | LoopbackSocket = InheritedSocket(child_socket.fileno())
        else:
            token = os.urandom(32).hex()
            loopback = LoopbackLink(token)
            link, connection = loopback, LoopbackSocket(loopback.port, token)
        try:
            bootstrap = HostBootstrap(
                connection=connection,
                source=source,
                parent_pid=os.getpid(),
                # One that UTF-8 cannot encode cannot be told; a factory there is then not found, which is said.
                import_paths=tuple(os.path.abspath(path) for path in sys.path if is_encodable(path)),
                limits=IntelligenceLimits() if limits is None else limits,
                deadlines=deadlines,
            )
            self._process = _start(
                # -P: what lies in the current directory must not stand in for the package or the standard
                # library.
                [python, "-P", "-m", "engine_intelligence.host"],
                {**_with_this_package(environment), BOOTSTRAP_VARIABLE: encode_bootstrap(bootstrap)},
                child_socket,
            )
        except BaseException:
            link.close()
            raise
        finally:
            if child_socket is not None:
                child_socket.close()  # or the end of the Host would not be seen (pitfall P3)
        self._stream = RealmStream(link, explain_end=self._explain_end, explain_start=self._explain_start)

    @property
    def pid(self) -> int:
        """The process id of the Host."""
        return self._process.pid

    @property
    def closed(self) -> bool:
        """Whether the connection is over. Looking takes what has arrived, and never waits."""
        self._look()
        return self._close_task is not None or self._stream.ended is not None

    @property
    def close_reason(self) -> str | None:
        """Why the connection is over, in a sentence for a log, or `None` while it is not.

        It looks like `closed`.
        """
        self._look()
        ended = self._stream.ended
        return None if ended is None else ended.message

    def client(self, provider_id: str, *, limits: IntelligenceLimits | None = None) -> IntelligencePortClient:
        """The service for one of the Host's providers. At once: what is submitted before the Host is ready is
        carried out then.

        There is one port for a provider, so the same id gives the same client, closed or not. `limits` are
        the bounds of this side; without them, and without any given to `spawn_host`, those that the Host
        announces are used. Raises `ValueError` for limits that differ from those of an earlier call. A Host
        that has no such provider closes the client with a reason that says so.
        """
        wanted = self._limits if limits is None else limits
        client = self._clients.get(provider_id)
        if client is None:
            client = create_intelligence_port_client(
                provider_id,
                self._stream.open(provider_id),
                limits=wanted,
                deadlines=self._deadlines,
                when_closed=self._look,  # a Host that ended is reaped also by a game that goes on polling
            )
            self._clients[provider_id] = client
        elif limits is not None and client.limits != limits:
            raise ValueError(
                f"the client of {provider_id!r} has other limits already; there is one client for a provider"
            )
        return client

    def close(self) -> CloseTask:
        """End all clients, the connection and the Host. Idempotent: every call returns the same task (rule
        C6).

        The task is done when the Host process is gone and reaped. A Host that has not ended after
        `close_grace_s` is killed. In a fork of the game it only lets go of the connection, which stays the game's.
        """
        if self._close_task is None and os.getpid() != self._owner_pid:
            # What a fork of the game inherited is let go of there, and stays the game's.
            self._stream.end(PortEnded("forked", "This connection belongs to the process that opened it."))
            self._close_task = PolledClose(lambda: True)
        elif self._close_task is None:
            self._close_by = time.monotonic() + self._deadlines.close_grace_s
            for client in self._clients.values():
                client.close()
            # The end of the connection is what the Host's guardian goes by, whatever the Host itself is doing.
            self._stream.end(PortEnded("realm-closed", "The game closed the connection."))
            self._close_task = PolledClose(self._closing_step)
        return self._close_task

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close().wait()

    def __reduce__(self) -> Never:
        raise TypeError(
            "a connection cannot be pickled or copied: save the SessionRef of a completed Activity instead"
        )

    def _look(self) -> None:
        self._stream.pump()
        if self._stream.ended is not None:
            self._process.poll()  # reaps it

    def _closing_step(self) -> bool:
        if self._process.poll() is None and time.monotonic() >= self._close_by:
            _kill_group(self._process)
        return self._process.poll() is not None

    def _explain_start(self) -> PortEnded | None:
        """Why there is no connection yet, if there will be none: a Host can end before it connects."""
        return None if self._process.poll() is None else self._explain_end()

    def _explain_end(self) -> PortEnded:
        """The connection ended without a word. The Host's guardian lets go of it when the Host can be reaped."""
        if self._close_task is not None:
            return PortEnded("realm-closed", "The game closed the connection.")
        code = self._process.poll()
        if code is None or code == -_SIGKILL:
            return PortEnded("host-ended", "The Host ended without a word: it was killed or it crashed.")
        how = f"by signal {-code}" if code < 0 else f"with exit code {code}"
        return PortEnded("host-ended", f"The Host ended {how}. What it printed before may say why.")


def _with_this_package(environment: Mapping[str, str]) -> Mapping[str, str]:
    """The environment in which a new interpreter finds this package where this one found it."""
    parent = Path(__file__).parents[2]
    if parent.name in ("site-packages", "dist-packages"):
        return environment
    return {
        **environment,
        "PYTHONPATH": os.pathsep.join(filter(None, [str(parent), environment.get("PYTHONPATH")])),
    }


def _start(
    command: list[str], environment: Mapping[str, str], child_socket: socket.socket | None
) -> subprocess.Popen[bytes]:
    """Start the Host's process in a group of its own, so that a Ctrl-C in the game's terminal is the game's
    to handle.
    """
    if os.name == "posix":
        return subprocess.Popen(
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            pass_fds=() if child_socket is None else (child_socket.fileno(),),
            start_new_session=True,
        )
    flags = getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0) | getattr(subprocess, "CREATE_NO_WINDOW", 0)
    return subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, creationflags=flags)


def _kill_group(process: subprocess.Popen[bytes]) -> None:
    """Kill a Host that has not been reaped, and its group. Where there are no groups its job object ends the others."""
    if os.name == "posix":
        try:
            os.killpg(process.pid, _SIGKILL)
        except (ProcessLookupError, PermissionError):
            process.kill()  # it has not become the leader of its group yet
    else:
        process.kill()
