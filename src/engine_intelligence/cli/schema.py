"""`engine-intelligence schema`: what may stand in a `host.toml`, for editors."""

from __future__ import annotations

import json

import typer

from engine_intelligence.host.schema import host_schema


def schema() -> None:
    """Print the JSON Schema of host.toml. An editor finds it by the first line of that file: #:schema ./host.schema.json"""
    typer.echo(schema_text(), nl=False)


def schema_text() -> str:
    """The schema as the text of a file."""
    return json.dumps(host_schema(), indent=2, ensure_ascii=False) + "\n"
