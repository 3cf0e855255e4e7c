"""Reading the documentation's own pages, so that what they claim can be compared with what is."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

_BLOCK = re.compile(
    r'^```(?P<language>\w*)(?: title="(?P<title>[^"]*)")?\n(?P<text>.*?)^```$', re.MULTILINE | re.DOTALL
)

Blocks = Callable[[str], list[tuple[str, str, str]]]
Table = Callable[[str, str], list[list[str]]]


@pytest.fixture(scope="session")
def blocks() -> Blocks:
    """The fenced blocks of a page, by its path from the root: language, title and text of each."""

    def read(page: str) -> list[tuple[str, str, str]]:
        text = (ROOT / page).read_text(encoding="utf-8")
        assert text.count("\n```") % 2 == 0, f"{page} has a block without an end"
        return [(match["language"], match["title"] or "", match["text"]) for match in _BLOCK.finditer(text)]

    return read


@pytest.fixture(scope="session")
def table() -> Table:
    """The rows of the first table of a page whose header begins with the given cell, without header and rule."""

    def read(page: str, first_header: str) -> list[list[str]]:
        lines = iter((ROOT / page).read_text(encoding="utf-8").splitlines())
        for line in lines:
            if line.startswith(f"| {first_header} |"):
                next(lines)
                break
        else:
            raise AssertionError(f"{page} has no table that begins with {first_header!r}")
        rows: list[list[str]] = []
        for line in lines:
            if not line.startswith("|"):
                break
            rows.append([cell.strip() for cell in line.strip("|").split(" | ")])
        return rows

    return read
