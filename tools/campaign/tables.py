"""Tables in Markdown."""

from collections.abc import Iterable, Sequence


def rows(head: Sequence[str], body: Iterable[Sequence[str]]) -> str:
    """A table of these rows, under this head."""
    lines = [head, ["---"] * len(head), *body]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
