"""What is handed to a new process in one environment variable: to a Host where to connect and what to run, and to a
game that a Host starts, where its port is.

A variable, rather than the command line, because every user of a machine can read command lines; and rather
than a pipe, because writing to a pipe that nobody reads yet could wait (rule H1). It holds no credential but
the one-time token of a loopback connection, and whoever is handed it removes it from its environment before it
runs anything else.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from os import PathLike
from typing import Any, TypeAlias

import msgspec

from engine_intelligence.limits import Deadlines, IntelligenceLimits

BOOTSTRAP_VARIABLE = "ENGINE_INTELLIGENCE_BOOTSTRAP"
"""What a Host is handed."""

PORT_VARIABLE = "ENGINE_INTELLIGENCE_PORT"
"""What a game is handed that a Host starts."""

MODEL_CHILD_VARIABLE = "ENGINE_INTELLIGENCE_MODEL_CHILD"
"""Set for a frozen program that is started to hold a local model, which it cannot tell from its command line."""

# The whole environment of a process on Windows holds 32,767 characters, and a game's own takes a few thousand
# of them.
MAX_BOOTSTRAP_CHARS = 24_000


class InheritedSocket(msgspec.Struct, frozen=True, tag="inherited-socket"):
    """The connection is a socket that the Host was started with, under this descriptor."""

    descriptor: int


class LoopbackSocket(msgspec.Struct, frozen=True, tag="loopback-socket"):
    """The connection is to be made to this port of 127.0.0.1, and proved with a token that is good for once."""

    port: int
    token: str

    def __repr__(self) -> str:
        return f"LoopbackSocket(port={self.port}, ...)"


class ListeningSocket(msgspec.Struct, frozen=True, tag="listening-socket"):
    """The Host has to listen on 127.0.0.1, and to take the one connection that proves itself with this token."""

    token: str

    def __repr__(self) -> str:
        return "ListeningSocket(...)"


class FileSource(msgspec.Struct, frozen=True, tag="file"):
    """The providers that a TOML file names."""

    path: str


class FactorySource(msgspec.Struct, frozen=True, tag="factory"):
    """The providers that a Python function makes, named as `package.module:function`."""

    factory: str


class ProviderSource(msgspec.Struct, frozen=True, tag="provider"):
    """One provider of a kind that the package brings, with its options, which may hold a key and no `repr` shows."""

    kind: str
    provider_id: str
    options: dict[str, object]

    def __repr__(self) -> str:
        return f"ProviderSource(kind={self.kind!r}, provider_id={self.provider_id!r})"


HostSource: TypeAlias = FileSource | FactorySource | ProviderSource


class HostBootstrap(msgspec.Struct, frozen=True, kw_only=True):
    """All that a started Host needs to know."""

    connection: InheritedSocket | LoopbackSocket | ListeningSocket
    source: HostSource
    parent_pid: int
    """The process with which the Host ends: the game, or what started both."""
    import_paths: tuple[str, ...]
    """Where the game finds its modules, so that a factory of the game's is found too."""
    limits: IntelligenceLimits
    deadlines: Deadlines
    sealed: bool = False
    """The Host keeps other processes of the same user from reading it, and says on its standard output when that is done."""


class Announcement(msgspec.Struct, frozen=True):
    """What a sealed Host says on its standard output, in one line: that it is sealed, and the port that it listens on."""

    port: int | None = None


class GamePort(msgspec.Struct, frozen=True, kw_only=True):
    """All that a game needs to know that a Host started."""

    connection: InheritedSocket | LoopbackSocket
    host_pid: int
    socket_id: tuple[int, int] | None = None
    """Device and inode of an inherited socket, by which it is told from another descriptor of that number."""


def host_source(
    source: str | PathLike[str], provider_id: Any = None, options: Mapping[str, object] | None = None
) -> HostSource:
    """What a Host is to run, as a person names it: a TOML file, a factory, or a kind of provider with options.

    Raises `ValueError` for arguments that contradict one another.
    """
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


def encode_bootstrap(bootstrap: HostBootstrap) -> str:
    """The value of the variable. Raises `ValueError` if it is too long for an environment, or is no plain data."""
    try:
        text = msgspec.json.encode(bootstrap).decode()
    except (TypeError, ValueError, RecursionError) as error:
        raise ValueError(
            f"the Host's options must be plain data, as a TOML file could hold them: {error}"
        ) from None
    if len(text) > MAX_BOOTSTRAP_CHARS:
        raise ValueError(
            f"the Host's options take {len(text)} characters, and a new process can be handed at most "
            f"{MAX_BOOTSTRAP_CHARS}: put them into a TOML file and pass its path"
        )
    return text


def decode_bootstrap(text: str) -> HostBootstrap:
    """What `encode_bootstrap` wrote. Raises `ValueError` for any other text."""
    try:
        return msgspec.json.decode(text, type=HostBootstrap)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        raise ValueError(f"{BOOTSTRAP_VARIABLE} does not hold what a game of this version writes") from None


def encode_game_port(port: GamePort) -> str:
    """The value of the variable for a game."""
    return msgspec.json.encode(port).decode()


def decode_game_port(text: str) -> GamePort:
    """What `encode_game_port` wrote. Raises `ValueError` for any other text."""
    try:
        return msgspec.json.decode(text, type=GamePort)
    except msgspec.DecodeError:
        raise ValueError(f"{PORT_VARIABLE} does not hold what a Host of this version writes") from None


def encode_announcement(announcement: Announcement) -> bytes:
    """The line that a sealed Host says."""
    return msgspec.json.encode(announcement) + b"\n"


def decode_announcement(line: bytes) -> Announcement:
    """What `encode_announcement` wrote. Raises `ValueError` for anything else, also for a line that is cut off."""
    if not line.endswith(b"\n"):
        raise ValueError("the Host ended before it was ready")
    try:
        return msgspec.json.decode(line, type=Announcement)
    except msgspec.DecodeError:
        raise ValueError("the Host said something else than that it is ready") from None
