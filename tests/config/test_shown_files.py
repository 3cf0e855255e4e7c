"""Each `host.toml` that a page shows is right: its tables, and the options of each provider in it."""

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from engine_intelligence.host.kinds import read_options
from engine_intelligence.host.schema import host_schema

from .conftest import PlanOf

jsonschema: Any = pytest.importorskip("jsonschema", reason="needs the extra test")

DOCS = Path(__file__).parents[2] / "docs"
SHOWN = [
    pytest.param(text, id=f"{path.stem}-{number}")
    for path in sorted(DOCS.rglob("*.md"))
    for number, text in enumerate(
        re.findall(r'```toml title="host.toml"\n(.*?)```', path.read_text("utf-8"), re.DOTALL)
    )
    if "[providers." in text  # others are parts of a file
]


def test_pages_show_some() -> None:
    assert len(SHOWN) >= 3


@pytest.mark.parametrize("text", SHOWN)
def test_a_file_on_a_page_is_right(text: str, plan_of: PlanOf, tmp_path: Path) -> None:
    for named in re.findall(r'instructions_file = "(.+)"', text):
        (tmp_path / named).parent.mkdir()
        (tmp_path / named).write_text("You are an oracle.")
    jsonschema.Draft7Validator(host_schema()).validate(tomllib.loads(text))
    for provider in plan_of(text).providers.values():
        entry = provider.entry
        if entry is not None and entry.kind is not None:
            read_options(entry.kind, entry.options, entry.context.folder, "here")
