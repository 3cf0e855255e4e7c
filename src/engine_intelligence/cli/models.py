"""`engine-intelligence models`: the weights of local models."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from engine_intelligence.cli.errors import EXIT_FAILED, plainly, say
from engine_intelligence.cli.speaker import DEFAULT_MODEL, model_cache, pull_with_bar

models_app = typer.Typer(
    name="models", no_args_is_help=True, help="List, fetch and find the weights of local models."
)

ModelName = Annotated[str, typer.Argument(help="A name of the catalogue.")]


@models_app.command("list")
def list_models() -> None:
    """List the models of the catalogue, and which of them are here."""
    with plainly():
        cache = model_cache()
        table = Table()
        for heading in ("model", "here", "size", "licence", "what it is"):
            table.add_column(heading, no_wrap=heading != "what it is")
        for model in cache.list():
            entry = model.entry
            cells = (
                entry.name,
                "no" if model.path is None else "yes",
                f"{entry.size_bytes / 1e6:.0f} MB",
                entry.licence,
                entry.description,
            )
            table.add_row(*map(Text, cells))
        Console().print(table)


@models_app.command("pull")
def pull_model(name: ModelName = DEFAULT_MODEL) -> None:
    """Fetch a model, if it is not here. Its path is printed."""
    with plainly():
        cache = model_cache()
        path = cache.path(name) or pull_with_bar(cache, name, Console(stderr=True))
        typer.echo(str(path))


@models_app.command("path")
def path_of_model(name: ModelName = DEFAULT_MODEL) -> None:
    """Print where a model is."""
    with plainly():
        path = model_cache().path(name)
        if path is None:
            say(f"The model {name} is not here: engine-intelligence models pull {name}")
            raise typer.Exit(EXIT_FAILED)
        typer.echo(str(path))
