"""How a game learns when the tokens of a block begin: from the double, over a connection of its own."""

from __future__ import annotations

import os
import socket
from urllib.parse import urlsplit

from _frames_sdk import URL_VARIABLE


class Watch:
    """One question to the double, asked before the streams of a block are opened."""

    def __init__(self) -> None:
        address = urlsplit(os.environ[URL_VARIABLE])
        self._socket = socket.create_connection((address.hostname, address.port))
        self._socket.sendall(b"GET /begin HTTP/1.1\r\nHost: double\r\n\r\n")
        self._socket.setblocking(False)
        self._came = b""

    def answer(self) -> float | None:
        """The time of the first token, as soon as it is known. The connection is closed then."""
        try:
            self._came += self._socket.recv(4096)
        except BlockingIOError:
            return None
        if not self._came.endswith(b"\n") or b"\r\n\r\n" not in self._came:
            return None
        if self._came.endswith(b"\r\n\r\n"):
            return None
        self._socket.close()
        return float(self._came.rpartition(b"\r\n\r\n")[2])
