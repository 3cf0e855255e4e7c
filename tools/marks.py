"""The ids that tests carry in markers such as `pytest.mark.spec("S1")`, read from their source without running it."""

import argparse
import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path


def marks(source: str, name: str, marker: str) -> Iterator[tuple[str, str]]:
    """Each id in a `pytest.mark.<marker>(...)` with its place; an argument that is no literal is no id."""
    for node in ast.walk(ast.parse(source, name)):
        if not isinstance(node, ast.Call) or not ast.unparse(node.func).endswith(f"mark.{marker}"):
            continue
        for argument in [*node.args, *(keyword.value for keyword in node.keywords)]:
            literal = argument.value if isinstance(argument, ast.Constant) else None
            yield literal if isinstance(literal, str) else ast.unparse(argument), f"{name}:{node.lineno}"


def all_marks(tests: Mapping[str, str], marker: str) -> list[tuple[str, str]]:
    """The same of several sources, by their names."""
    return [mark for name, source in tests.items() for mark in marks(source, name, marker)]


def sources(folder: Path) -> dict[str, str]:
    """Every Python file below a folder, by its path."""
    return {path.as_posix(): path.read_text(encoding="utf-8") for path in sorted(folder.rglob("*.py"))}


def tell(findings: Iterable[tuple[str, Sequence[str]]]) -> None:
    """Print a line for each kind of finding of which there are any."""
    for title, found in findings:
        if found:
            print(f"{title}: {', '.join(found)}")


def arguments(description: str | None, page: Path) -> tuple[str, dict[str, str]]:
    """The text of the page and the sources of the tests that the command line names, by default `page` and all tests."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--page", type=Path, default=page)
    parser.add_argument("--tests", type=Path, default=Path(__file__).parents[1] / "tests")
    options = parser.parse_args()
    return options.page.read_text(encoding="utf-8"), sources(options.tests)
