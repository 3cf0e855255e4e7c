"""`docs/guide/configuration.md` says what the code says."""

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from engine_intelligence.host.building import build, struct_fields
from engine_intelligence.host.config import HostTables
from engine_intelligence.host.kinds import KINDS, VendorMaker, options_type
from engine_intelligence.host.schema import host_schema
from engine_intelligence.providers.vendor import KeySource

PAGE = (Path(__file__).parents[2] / "docs" / "guide" / "configuration.md").read_text(encoding="utf-8")


def rows(header: str) -> list[list[str]]:
    """The rows of the table whose header begins so."""
    (body,) = re.findall(rf"^\| {re.escape(header)} \|.*\n\|[-| ]+\|\n((?:\|.*\n)+)", PAGE, re.MULTILINE)
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in body.splitlines()]


TABLES = list(struct_fields(HostTables))


@pytest.mark.parametrize("name", TABLES)
def test_the_keys_of_a_table_are_shown_as_they_are(name: str) -> None:
    properties: Any = host_schema()["properties"][name]["properties"]
    shown = {cells[0].strip("`"): (cells[1].strip("`"), cells[2]) for cells in rows(f"`[{name}]`")}
    assert shown == {
        key: (written(field.get("default")), field["description"]) for key, field in properties.items()
    }


def written(default: object) -> str:
    """A default as it would stand in a file."""
    match default:
        case None:
            return "none"
        case bool():
            return str(default).lower()
        case str():
            return f'"{default}"'
        case _:
            return str(default)


def test_the_variables_of_vendors_are_those_that_are_read() -> None:
    vendors = {name: kind.make.vendor for name, kind in KINDS.items() if isinstance(kind.make, VendorMaker)}
    shown = {cells[0].strip("`"): (cells[1].strip("`"), cells[2].strip("`")) for cells in rows("kind")}
    assert shown == {name: (vendor.key_variable, vendor.url_variable) for name, vendor in vendors.items()}


def test_the_places_of_a_key_are_all_there_are() -> None:
    for example, _ in rows("key")[:3]:
        key = tomllib.loads(example.strip("`"))["key"]
        build(KeySource, key, "here")
    assert set(KeySource.__struct_fields__) == {"env", "file", "keyring", "user"}


def test_the_options_that_are_paths_are_named() -> None:
    section = PAGE[PAGE.index("## Paths") : PAGE.index("## Bounds")]
    for name in KINDS:
        for field, hint in options_type(name).__annotations__.items():
            if "PathOption" in str(hint) or "NameOrPath" in str(hint):
                assert f"`{field}`" in section, f"{field} of {name}"
    assert "`key.file`" in section
