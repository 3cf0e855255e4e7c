"""`connect`: the Host that started this game (rule H2)."""

from __future__ import annotations

import os
import socket
import stat

from engine_intelligence.contracts import PortEnded
from engine_intelligence.errors import SetupError
from engine_intelligence.limits import Deadlines, IntelligenceLimits
from engine_intelligence.ports.realm_link import SocketLink, above_standard_streams
from engine_intelligence.protocol.bootstrap import (
    PORT_VARIABLE,
    GamePort,
    InheritedSocket,
    LoopbackSocket,
    decode_game_port,
)
from engine_intelligence.protocol.codec import encode_msgpack
from engine_intelligence.protocol.framing import CONTROL_CHANNEL, encode_frame
from engine_intelligence.protocol.messages import Introduction
from engine_intelligence.realm.connection import HostConnection

# The Host listens before the game is started, so the system itself answers, at once.
_CONNECT_TIMEOUT_S = 2.0


def connect(
    *, limits: IntelligenceLimits | None = None, deadlines: Deadlines | None = None
) -> HostConnection:
    """The connection to the Host that started this game with `engine-intelligence run` (rule H2).

    What it returns is what `spawn_host` returns, and the rest of the game need not know which of both it was. `limits`
    and `deadlines` are those of this side; without `limits` those that the Host announces are used.

    Call it once: the port is taken out of the environment, so that no process that the game starts inherits it. Raises
    `SetupError` with the reason `no-host` if no Host started this process or the port has been taken already, and with
    `port-lost` if it did not get here.
    """
    text = os.environ.pop(PORT_VARIABLE, None)
    if text is None:
        raise SetupError(
            "no-host",
            "No Host started this game, or it has connected before. Start it with: "
            "engine-intelligence run --config host.toml -- COMMAND. Or let it start a Host itself, with spawn_host.",
        )
    try:
        port = decode_game_port(text)
    except ValueError as error:
        raise SetupError(
            "port-lost", f"{error}: install the same version for the Host and the game."
        ) from None
    return HostConnection(
        SocketLink(_socket(port)),
        _StarterEnd(port.host_pid),
        limits=limits,
        deadlines=Deadlines() if deadlines is None else deadlines,
    )


def _socket(port: GamePort) -> socket.socket:
    match port.connection:
        case InheritedSocket(descriptor=descriptor):
            return _inherited(descriptor, port.socket_id)
        case LoopbackSocket(port=number, token=token):
            return _introduced(number, token)


def _inherited(descriptor: int, socket_id: tuple[int, int] | None) -> socket.socket:
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISSOCK(found.st_mode) or socket_id != (found.st_dev, found.st_ino):
            raise OSError
        sock = socket.socket(fileno=descriptor)
    except (OSError, OverflowError):  # the latter for what is no number of a descriptor
        raise SetupError(
            "port-lost",
            "The port of the Host did not reach this game: what stands between them, such as a script that starts the game, "
            "closes what it inherits. Give engine-intelligence run the option --transport loopback.",
        ) from None
    sock.set_inheritable(False)  # the game's own subprocesses have no business with it
    return above_standard_streams(sock)


def _introduced(port: int, token: str) -> socket.socket:
    sock: socket.socket | None = None
    try:
        sock = above_standard_streams(
            socket.create_connection(("127.0.0.1", port), timeout=_CONNECT_TIMEOUT_S)
        )
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sock.sendall(encode_frame(CONTROL_CHANNEL, encode_msgpack(Introduction(token))))
    except (OSError, OverflowError):  # the latter for what is no number of a port
        if sock is not None:
            sock.close()
        raise SetupError(
            "port-lost", "The Host that started this game cannot be reached: it has ended."
        ) from None
    return sock


class _StarterEnd:
    """A `HostEnd` of the Host that started this process, which is not this process's to end or to reap."""

    def __init__(self, pid: int) -> None:
        self._pid = pid

    @property
    def pid(self) -> int:
        return self._pid

    def look(self) -> None:
        """It is no child of this process."""

    def has_ended(self) -> bool:
        return True

    def explain_start(self) -> PortEnded | None:
        return None

    def explain_end(self) -> PortEnded:
        return PortEnded("host-ended", "The Host ended without a word: it was killed or it crashed.")

    def kill(self) -> None:
        """It ends by itself when the connection is over."""
