"""Takes down all that comes out of a Host and all that is said in the process of its game."""

import logging
import os
import socket
import sys
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import psutil
import pytest

from engine_intelligence import IntelligenceEvent


@dataclass
class Evidence:
    """What was seen, by where."""

    arrived: bytearray = field(default_factory=bytearray)
    """Every byte that the game's process read from a socket."""
    sent: bytearray = field(default_factory=bytearray)
    events: list[IntelligenceEvent] = field(default_factory=list[IntelligenceEvent])
    texts: list[str] = field(default_factory=list[str])
    """What objects of the game's process say of themselves, and why things were refused or closed."""
    logged: list[str] = field(default_factory=list[str])
    """Log records of the game's process, at all levels."""
    printed: str = ""
    """What the Host's process printed, logs at all levels included."""
    command_lines: list[str] = field(default_factory=list[str])
    files: dict[str, bytes] = field(default_factory=dict[str, bytes])

    def look(self, *objects: object) -> None:
        """Have objects say what they are, in each way that there is."""
        for each in objects:
            self.texts += [repr(each), str(each), f"{each}", ascii(each)]

    def look_at_processes(self, pid: int) -> None:
        """Take down the command lines of the Host and of all that descends from it."""
        host = psutil.Process(pid)
        for process in (host, *host.children(recursive=True)):
            self.command_lines.append(Path(f"/proc/{process.pid}/cmdline").read_bytes().decode())

    def look_at_files(self, folder: Path) -> None:
        """Take down what is in the files below a folder, and their names."""
        for path in folder.rglob("*"):
            self.files[str(path)] = path.read_bytes() if path.is_file() else b""


class _Taker(logging.Handler):
    def __init__(self, logged: list[str]) -> None:
        super().__init__(logging.DEBUG)
        self._logged = logged

    def emit(self, record: logging.LogRecord) -> None:
        self._logged += [
            self.format(record),
            repr(record.args),
            repr(record.exc_info),
            repr(record.stack_info),
        ]


@contextmanager
def watching(output: Path) -> Generator[Evidence]:
    """Takes down what is logged and read in the block, and what a Host that is started in it prints, by way of a file."""
    evidence = Evidence()
    root, taker = logging.getLogger(), _Taker(evidence.logged)
    level = root.level
    root.addHandler(taker)
    root.setLevel(logging.DEBUG)
    before = os.dup(2)
    with output.open("wb") as file, pytest.MonkeyPatch.context() as patch:
        _tap(patch, evidence)
        sys.stderr.flush()
        os.dup2(file.fileno(), 2)
        try:
            yield evidence
        finally:
            os.dup2(before, 2)
            os.close(before)
            root.removeHandler(taker)
            root.setLevel(level)
    evidence.printed = output.read_text(errors="replace")


def _tap(patch: pytest.MonkeyPatch, evidence: Evidence) -> None:
    read, read_into, write = socket.socket.recv, socket.socket.recv_into, socket.socket.send

    def recv(self: socket.socket, size: int, flags: int = 0) -> bytes:
        data = read(self, size, flags)
        evidence.arrived += data
        return data

    def recv_into(self: socket.socket, buffer: memoryview) -> int:
        count = read_into(self, buffer)
        evidence.arrived += bytes(buffer[:count])
        return count

    def send(self: socket.socket, data: bytes, flags: int = 0) -> int:
        count = write(self, data, flags)
        evidence.sent += bytes(data[:count])
        return count

    patch.setattr(socket.socket, "recv", recv)
    patch.setattr(socket.socket, "recv_into", recv_into)
    patch.setattr(socket.socket, "send", send)
