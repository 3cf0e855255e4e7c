"""What a person is told when a command cannot go on: one plain message and an exit code, never a traceback."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

import typer

from engine_intelligence.cli.text import clean
from engine_intelligence.errors import SetupError

EXIT_FAILED = 1
EXIT_USAGE = 2


@contextmanager
def plainly() -> Generator[None]:
    """Turn `SetupError` and `ValueError` into a message and the exit code 1 and 2."""
    try:
        yield
    except SetupError as error:
        say(error.message)
        raise typer.Exit(EXIT_FAILED) from None
    except ValueError as error:
        say(str(error))
        raise typer.Exit(EXIT_USAGE) from None


def say(message: str) -> None:
    """Print a message to standard error."""
    typer.echo(clean(message), err=True)
