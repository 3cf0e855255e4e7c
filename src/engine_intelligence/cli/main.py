"""The script `engine-intelligence`. It can be imported, and says what to do, where its own packages are not installed."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

MISSING = (
    'The command line needs packages that are not installed ({}): pip install "engine-intelligence[cli]"\n'
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command, by default that of `sys.argv`, and return its exit code: 0, 1 for what went wrong, 2 for wrong usage."""
    _accept_any_text()
    try:
        import rich  # noqa: F401  # pyright: ignore[reportUnusedImport]
        import typer  # noqa: F401  # pyright: ignore[reportUnusedImport]
    except ModuleNotFoundError as error:
        sys.stderr.write(MISSING.format(error.name))
        return 2
    from engine_intelligence.cli.app import app

    try:
        app(args=None if arguments is None else list(arguments), prog_name="engine-intelligence")
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except BrokenPipeError:
        # The reader of our output has left. Nothing is flushed into its pipe when the interpreter ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


def _accept_any_text() -> None:
    """A model may say what the terminal's encoding has no characters for; that must not end the game."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="replace")
