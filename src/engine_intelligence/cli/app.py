"""The commands, put together."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from typing import Annotated

import typer

from engine_intelligence.cli.chat import chat
from engine_intelligence.cli.doctor import doctor
from engine_intelligence.cli.init import init
from engine_intelligence.cli.models import models_app
from engine_intelligence.cli.play.command import play
from engine_intelligence.cli.run import run
from engine_intelligence.cli.schema import schema
from engine_intelligence.cli.sessions import sessions_app
from engine_intelligence.cli.spending import spending_app

app = typer.Typer(
    name="engine-intelligence",
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="A frame-safe seam between a game loop and something slow that thinks.",
)
app.command()(play)
app.command()(chat)
# What follows the command is the game's, also where it looks like an option of ours.
app.command(context_settings={"allow_interspersed_args": False})(run)
app.add_typer(models_app)
app.add_typer(sessions_app)
app.command()(init)
app.command()(schema)
app.add_typer(spending_app)
app.command()(doctor)


def _print_version(asked: bool) -> None:
    if asked:
        try:
            typer.echo(f"engine-intelligence {version('engine-intelligence')}")
        except PackageNotFoundError:
            typer.echo("engine-intelligence, run from its sources")
        raise typer.Exit


@app.callback()
def common(
    show_version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit."),
    ] = False,
) -> None:
    """A frame-safe seam between a game loop and something slow that thinks."""
