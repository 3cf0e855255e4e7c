"""The entry of a Host's process, which a game started or what starts a game."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import sys
from contextlib import suppress
from functools import partial
from typing import NamedTuple, Never

from engine_intelligence.host.diversion import (
    divert_standard_streams,
    open_standard_streams,
    prepare_diversion,
)
from engine_intelligence.host.guardian import dismiss_guardian, start_guardian
from engine_intelligence.host.sealing import seal_process
from engine_intelligence.host.server import serve
from engine_intelligence.ports.realm_link import Link, LoopbackLink, SocketLink
from engine_intelligence.process_tree import mark_descendants
from engine_intelligence.protocol.bootstrap import (
    BOOTSTRAP_VARIABLE,
    Announcement,
    InheritedSocket,
    ListeningSocket,
    LoopbackSocket,
    decode_bootstrap,
    encode_announcement,
)
from engine_intelligence.scrubbing import describe_exception

# A Host gives way to the game (rule H8): ten steps of niceness, the default of the `nice` command.
_NICENESS = 10

_CONNECT_TIMEOUT_S = 10.0

_EXIT_USAGE = 64  # sysexits.h: EX_USAGE
_EXIT_UNAVAILABLE = 69  # sysexits.h: EX_UNAVAILABLE


def main() -> Never:
    """Serve the game that started this process, and end with it. Does not return."""
    # Taken out at once, so that no subprocess of a provider inherits it.
    text = os.environ.pop(BOOTSTRAP_VARIABLE, None)
    if text is None:
        sys.stderr.write(
            "This is the process that engine_intelligence.spawn_host starts; call that from a game.\n"
        )
        sys.exit(_EXIT_USAGE)
    bootstrap = decode_bootstrap(text)
    _yield_processor()  # before there is a second thread or process, each of which inherits it
    open_standard_streams()
    lifeline: int | None = None
    try:
        entrance = _enter(bootstrap.connection)
        if bootstrap.sealed:
            seal_process()  # before the game is started, which the one who reads this does
            os.write(1, encode_announcement(Announcement(entrance.port)))
            lifeline = os.dup(1)  # it reads on until the game has ended
    except OSError:
        sys.exit(_EXIT_UNAVAILABLE)  # the game has ended already, and there is nobody to tell
    mark = mark_descendants()
    diversion = prepare_diversion()
    grace_s = bootstrap.deadlines.close_grace_s
    guardian_pid = start_guardian(
        entrance.connected, bootstrap.parent_pid, grace_s, mark, diversion, lifeline=lifeline
    )
    divert_standard_streams(diversion)
    logging.basicConfig(
        level=logging.WARNING, format="engine-intelligence host: %(levelname)s: %(name)s: %(message)s"
    )
    # Appended: a module of the game's must not stand in for one of this package's.
    sys.path.extend(path for path in bootstrap.import_paths if path not in sys.path)

    def end(code: int) -> Never:
        try:
            dismiss_guardian(guardian_pid, mark)
        finally:
            os._exit(code)  # not sys.exit: it would wait for whatever threads providers have left behind

    on_second_signal = partial(end, 1)
    serving = serve(
        entrance.link,
        entrance.token,
        bootstrap.source,
        bootstrap.limits,
        bootstrap.deadlines,
        on_second_signal,
    )
    # Not asyncio.run: at its end it waits for whatever threads providers have left behind.
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    code = 1
    try:
        loop.run_until_complete(serving)
        code = 0
    except BaseException as error:  # noqa: BLE001 - a border: the last one; what ends the Host is told, not traced
        logging.getLogger(__name__).error("the Host failed: %s", describe_exception(error))
    end(code)


class _Entrance(NamedTuple):
    """How the Host comes by its connection: at once, or when the game has found the way to it."""

    link: Link
    connected: socket.socket | None
    """The connection, if it is there already."""
    token: str | None = None
    """What the Host has to introduce itself with."""
    port: int | None = None
    """Where the game has to connect to."""


def _enter(how: InheritedSocket | LoopbackSocket | ListeningSocket) -> _Entrance:
    match how:
        case InheritedSocket(descriptor=descriptor):
            connection = socket.socket(fileno=descriptor)
            connection.set_inheritable(False)
            return _Entrance(SocketLink(connection), connection)
        case LoopbackSocket(port=port, token=token):
            connection = socket.create_connection(("127.0.0.1", port), timeout=_CONNECT_TIMEOUT_S)
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            connection.setblocking(False)
            return _Entrance(SocketLink(connection), connection, token)
        case ListeningSocket(token=token):
            link = LoopbackLink(token)
            return _Entrance(link, None, port=link.port)


def _yield_processor() -> None:
    if hasattr(os, "nice"):
        with suppress(OSError):
            os.nice(_NICENESS)
