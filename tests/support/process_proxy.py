"""A proxy in the place of a Host's interpreter: it starts the real Host, and stands in the middle of the connection.

What it does to the bytes is in the environment; `SIGUSR1` has it do that from then on, and `SIGUSR2` stop doing it.
"""

import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

FAULT_VARIABLE = "PROCESS_PROXY_FAULT"

_CHUNK_BYTES = 64 * 1024


class Fault(msgspec.Struct, frozen=True, kw_only=True):
    """What happens to the bytes."""

    at_once: bool = False
    """From the start, and not only from a signal on."""
    chunk_bytes: int = 0
    """They are passed on in chunks of that many; 0 as they come."""
    gather_bytes: int = 0
    """They are kept until that many are there, or none comes for a moment."""
    swallows_from_host: bool = False
    """What the Host says is lost, from the middle of what it says next."""
    swallows_from_game: bool = False
    cuts: bool = False
    """Half of what the Host says next is passed on, and then the connection is ended."""


def script(folder: Path) -> str:
    """The path of a program to start in the place of an interpreter."""
    program = folder / "proxy"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} {Path(__file__).resolve()} "$@"\n')
    program.chmod(0o755)
    return str(program)


class Proxy:
    """The two sockets, and the fault."""

    def __init__(self, game: socket.socket, host: socket.socket, fault: Fault) -> None:
        self._game = game
        self._host = host
        self._fault = fault
        self._active = fault.at_once
        self._in_the_middle = False
        self._over = False

    def strike(self, *_: object) -> None:
        self._active, self._in_the_middle = True, True

    def heal(self, *_: object) -> None:
        self._active = False

    def run(self) -> None:
        while not self._over:
            for source in select.select([self._game, self._host], [], [])[0]:
                try:
                    self._pass_on(source, self._host if source is self._game else self._game)
                except OSError:
                    self._over = True

    def _pass_on(self, source: socket.socket, target: socket.socket) -> None:
        data = source.recv(_CHUNK_BYTES)
        if not data:
            self._over = True
            return
        fault = self._fault if self._active else Fault()
        while len(data) < fault.gather_bytes and select.select([source], [], [], 0.02)[0]:
            more = source.recv(_CHUNK_BYTES)
            if not more:
                break
            data += more
        from_host = source is self._host
        if from_host and fault.cuts:
            target.sendall(data[: len(data) // 2])
            self._over = True
            return
        if fault.swallows_from_host if from_host else fault.swallows_from_game:
            data = data[: len(data) // 2] if self._in_the_middle else b""
            self._in_the_middle = False
        size = fault.chunk_bytes or len(data) or 1
        for start in range(0, len(data), size):
            target.sendall(data[start : start + size])


def through_a_pair(
    how: dict[str, Any], start: Callable[[tuple[int, ...]], None]
) -> tuple[socket.socket, socket.socket]:
    """Both sockets where the Host inherits one: it gets one of another pair."""
    game = socket.socket(fileno=how["descriptor"])
    host, theirs = socket.socketpair()
    how["descriptor"] = theirs.fileno()
    start((theirs.fileno(),))
    theirs.close()
    return game, host


def through_a_port(
    how: dict[str, Any], start: Callable[[tuple[int, ...]], None]
) -> tuple[socket.socket, socket.socket]:
    """Both sockets where the Host connects: it connects to another port."""
    game = socket.create_connection(("127.0.0.1", how["port"]))
    with socket.create_server(("127.0.0.1", 0)) as listener:
        how["port"] = listener.getsockname()[1]
        start(())
        host, _ = listener.accept()
    return game, host


def main() -> None:
    bootstrap: dict[str, Any] = msgspec.json.decode(os.environ.pop("ENGINE_INTELLIGENCE_BOOTSTRAP"))
    children: list[subprocess.Popen[bytes]] = []

    def start(passed: tuple[int, ...]) -> None:
        variables = {"ENGINE_INTELLIGENCE_BOOTSTRAP": msgspec.json.encode(bootstrap).decode()}
        children.append(
            subprocess.Popen(
                [sys.executable, *sys.argv[1:]],
                env={**os.environ, **variables},
                pass_fds=passed,
                stdin=subprocess.DEVNULL,
            )
        )

    how = bootstrap["connection"]
    inherited = how["type"] == "inherited-socket"
    game, host = through_a_pair(how, start) if inherited else through_a_port(how, start)
    game.setblocking(True)
    proxy = Proxy(game, host, msgspec.json.decode(os.environ[FAULT_VARIABLE], type=Fault))
    signal.signal(signal.SIGUSR1, proxy.strike)
    signal.signal(signal.SIGUSR2, proxy.heal)
    proxy.run()
    host.close()
    game.close()
    for child in children:
        child.wait()


if __name__ == "__main__":
    main()
