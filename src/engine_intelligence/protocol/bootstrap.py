"""What a game tells the Host that it starts, in one environment variable: where to connect, and what to run.

The variable, rather than the command line, because every user of a machine can read command lines; and rather
than a pipe, because writing to a pipe that nobody reads yet could wait (rule H1). It holds no credential but
the one-time token of a loopback connection, and the Host removes it from its environment before it runs
anything else.
"""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from engine_intelligence.limits import Deadlines, IntelligenceLimits

BOOTSTRAP_VARIABLE = "ENGINE_INTELLIGENCE_BOOTSTRAP"

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


class FileSource(msgspec.Struct, frozen=True, tag="file"):
    """The providers that a TOML file names."""

    path: str


class FactorySource(msgspec.Struct, frozen=True, tag="factory"):
    """The providers that a Python function makes, named as `package.module:function`."""

    factory: str


class ProviderSource(msgspec.Struct, frozen=True, tag="provider"):
    """One provider of a kind that the package brings, with its options."""

    kind: str
    provider_id: str
    options: dict[str, object]


HostSource: TypeAlias = FileSource | FactorySource | ProviderSource


class HostBootstrap(msgspec.Struct, frozen=True, kw_only=True):
    """All that a started Host needs to know."""

    connection: InheritedSocket | LoopbackSocket
    source: HostSource
    parent_pid: int
    import_paths: tuple[str, ...]
    """Where the game finds its modules, so that a factory of the game's is found too."""
    limits: IntelligenceLimits
    deadlines: Deadlines


def encode_bootstrap(bootstrap: HostBootstrap) -> str:
    """The value of the variable. Raises `ValueError` if it is too long for an environment, or is no plain data."""
    try:
        text = msgspec.json.encode(bootstrap).decode()
    except (TypeError, ValueError) as error:
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
    except msgspec.DecodeError:
        raise ValueError(f"{BOOTSTRAP_VARIABLE} does not hold what a game of this version writes") from None
