"""`spawn_host`: a Host as a child process of the game (rule H1)."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Mapping
from os import PathLike
from typing import Any, Literal, TypeAlias

from engine_intelligence.child import INHERITS_SOCKETS, HostChild, import_paths
from engine_intelligence.contracts import PortEnded
from engine_intelligence.errors import SetupError
from engine_intelligence.limits import Deadlines, IntelligenceLimits
from engine_intelligence.ports.realm_link import Link, LoopbackLink, SocketLink, above_standard_streams
from engine_intelligence.protocol.bootstrap import (
    BOOTSTRAP_VARIABLE,
    HostBootstrap,
    HostSource,
    InheritedSocket,
    LoopbackSocket,
    host_source,
)
from engine_intelligence.realm.connection import HostConnection

Transport: TypeAlias = Literal["auto", "socket", "loopback"]

# What runs in a Host's process, and nowhere else.
_HOST_MODULE = "engine_intelligence.host.process"


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

    Raises `ValueError` for arguments that contradict one another or options that are too long, `SetupError` in a
    Host, and `OSError` if no process can be started. A frozen game needs `freeze_support` as well. Whatever goes
    wrong in the Host itself closes its clients with a reason instead (rule H4). Close the connection, or use it in
    a `with`; a game that ends without doing so takes its Host along all the same (rule H5).
    """
    if _HOST_MODULE in sys.modules:
        # Or the Host's process would start one more, which would import the same module, and so on without end.
        raise SetupError(
            "host-in-host",
            "spawn_host was called while a Host was importing the module of a factory. "
            'Put the game itself under: if __name__ == "__main__":',
        )
    if BOOTSTRAP_VARIABLE in os.environ:
        # This process was started to be a Host, and would go on to start one game after another.
        raise SetupError(
            "freeze-support-missing",
            "This frozen game was started again to be its own Host. "
            "Call engine_intelligence.freeze_support() first thing in its main module.",
        )
    given: list[tuple[str, Any, type]] = [
        ("limits", limits, IntelligenceLimits),
        ("deadlines", deadlines, Deadlines),
    ]
    for name, value, kind in given:
        if value is not None and not isinstance(value, kind):
            raise ValueError(f"{name} must be {kind.__name__}(...), not {type(value).__name__}")
    return _start(
        host_source(source, provider_id, options),
        limits=limits,
        deadlines=Deadlines() if deadlines is None else deadlines,
        environment=os.environ if environment is None else environment,
        python=python,
        inherits=_inherits(transport),
    )


def _inherits(transport: Transport) -> bool:
    inherits = INHERITS_SOCKETS if transport == "auto" else transport == "socket"
    if inherits and not INHERITS_SOCKETS:
        raise ValueError('this system has no sockets that a child process inherits: use transport="loopback"')
    return inherits


def _start(
    source: HostSource,
    *,
    limits: IntelligenceLimits | None,
    deadlines: Deadlines,
    environment: Mapping[str, str],
    python: str | None,
    inherits: bool,
) -> HostConnection:
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
            import_paths=import_paths(),
            limits=IntelligenceLimits() if limits is None else limits,
            deadlines=deadlines,
        )
        child = HostChild(
            bootstrap,
            python=python,
            environment=environment,
            inherits=None if child_socket is None else child_socket.fileno(),
        )
    except BaseException:
        link.close()
        raise
    finally:
        if child_socket is not None:
            child_socket.close()  # or the end of the Host would not be seen (pitfall P3)
    return HostConnection(link, _ChildEnd(child), limits=limits, deadlines=deadlines)


class _ChildEnd:
    """A `HostEnd` of a Host that this process started, and has to reap."""

    def __init__(self, child: HostChild) -> None:
        self._child = child

    @property
    def pid(self) -> int:
        return self._child.pid

    def look(self) -> None:
        self._child.exit_code()

    def has_ended(self) -> bool:
        return self._child.exit_code() is not None

    def explain_start(self) -> PortEnded | None:
        return None if self._child.exit_code() is None else self.explain_end()

    def explain_end(self) -> PortEnded:
        # The Host's guardian lets go of the connection when the Host can be reaped.
        how = self._child.how_it_ended()
        if how is None:
            return PortEnded("host-ended", "The Host ended without a word: it was killed or it crashed.")
        return PortEnded("host-ended", f"The Host ended {how}. What it printed before may say why.")

    def kill(self) -> None:
        self._child.kill()
