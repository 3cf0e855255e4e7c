"""Options that several commands have."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Provider = Annotated[
    str,
    typer.Option(
        help='Who answers: a kind such as "llama" or "openai", or a factory "package.module:function".'
    ),
]
Model = Annotated[
    str | None,
    typer.Option(
        help="The model: its name at the vendor; for llama one of the catalogue, or the path of a GGUF file."
    ),
]
Instructions = Annotated[str | None, typer.Option(help="What the model is told before the conversation.")]
Seed = Annotated[int | None, typer.Option(help="A number for answers that can be repeated.")]
Temperature = Annotated[float | None, typer.Option(help="Randomness, 0.0 (none) to 2.0.")]
MaxTokens = Annotated[int | None, typer.Option(help="The bound of one answer, in tokens.")]
Option = Annotated[
    list[str] | None,
    typer.Option(
        "--option",
        metavar="KEY=VALUE",
        help="Any other option of the provider, such as base_url=URL or key.env=NAME; can be given several times.",
    ),
]
HostFile = Annotated[
    Path | None, typer.Option(help="A TOML file that names providers, instead of --provider.")
]
Character = Annotated[
    str | None, typer.Option(help="Which of the providers of --host-file or of a factory to speak to.")
]


def given(**options: object) -> dict[str, object]:
    """Those options that were given."""
    return {name: value for name, value in options.items() if value is not None}
