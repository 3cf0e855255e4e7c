"""`engine-intelligence run`: a Host that starts a game, and keeps every credential from it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from engine_intelligence.child import INHERITS_SOCKETS
from engine_intelligence.cli.errors import plainly, say
from engine_intelligence.cli.options import Option
from engine_intelligence.cli.speaker import DEFAULT_MODEL, ensure_model, parse_options
from engine_intelligence.credentials import without_credentials
from engine_intelligence.errors import SetupError
from engine_intelligence.host.config import plan_host
from engine_intelligence.host.launch import end_like, run_game
from engine_intelligence.limits import Deadlines, IntelligenceLimits
from engine_intelligence.protocol.bootstrap import FactorySource, HostSource, ProviderSource, host_source

# What shells say of a command that is not there, and of one that they may not start.
_EXIT_CODES = {"game-not-found": 127, "game-not-executable": 126}


def run(
    command: Annotated[list[str], typer.Argument(metavar="COMMAND...", help="The game, after `--`.")],
    provider: Annotated[
        str | None,
        typer.Option(
            help='What the Host runs: "llama", "scripted", or a factory such as "package.module:function".'
        ),
    ] = None,
    config: Annotated[Path | None, typer.Option(help="A TOML file that names providers, instead.")] = None,
    option: Option = None,
    keep: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="A variable that the game is to have whatever it holds; can be given several times.",
        ),
    ] = None,
    transport: Annotated[
        str,
        typer.Option(
            help='How the game connects: "auto", "socket", or "loopback", which also gets through scripts.'
        ),
    ] = "auto",
) -> None:
    """Run a game beside a Host that it reaches with `connect()`. The game's environment holds no credential.

    Signals are handed on to the game, and this ends as the game does.
    """
    with plainly():
        source, deadlines = _source(provider, config, option)
        inherits_socket = _inherits_socket(transport)
        sifted = without_credentials(os.environ, keep=keep or [])
        if sifted.withheld:
            say(f"Kept from the game: {', '.join(sifted.withheld)}. The option --keep NAME hands one on.")
        try:
            code = run_game(
                command,
                source,
                environment=os.environ,
                game_environment=sifted.environment,
                inherits_socket=inherits_socket,
                deadlines=deadlines,
            )
        except SetupError as error:
            if error.reason in _EXIT_CODES:
                say(error.message)
                raise typer.Exit(_EXIT_CODES[error.reason]) from None
            raise
    raise typer.Exit(end_like(code))


def _source(
    provider: str | None, config: Path | None, option: list[str] | None
) -> tuple[HostSource, Deadlines]:
    """What the Host is to run, and its deadlines. What is wrong with it is said here, before the game is started."""
    if (provider is None) == (config is None):
        raise ValueError("Say what the Host runs: either --provider NAME or --config FILE.")
    options = parse_options(option or [])
    if config is not None:
        source = host_source(config, options=options or None)
    else:
        assert provider is not None
        source = host_source(provider, options=options or None)
    deadlines = Deadlines()
    if not isinstance(source, FactorySource):  # which is for the Host alone to call
        deadlines = plan_host(source, IntelligenceLimits(), deadlines).deadlines
    if isinstance(source, ProviderSource) and source.kind == "llama":
        model = source.options.get("model", DEFAULT_MODEL)
        if isinstance(model, str):
            ensure_model(model, Console(stderr=True))
    return source, deadlines


def _inherits_socket(transport: str) -> bool:
    if transport not in ("auto", "socket", "loopback"):
        raise ValueError(f'--transport is "auto", "socket" or "loopback", not {transport!r}.')
    if transport == "socket" and not INHERITS_SOCKETS:
        raise ValueError("This system has no sockets that a game inherits: use --transport loopback.")
    return INHERITS_SOCKETS and transport != "loopback"
