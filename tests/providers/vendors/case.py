"""A row of the table of providers by cases: what the server does, what the game does, and what has to be seen of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import assert_never

import pytest
from providers.vendors.columns import Column
from providers.vendors.games import waits
from providers.vendors.stage import Play, Seen
from support.vendor_double import Behaviour

from engine_intelligence import Cancelled, Completed, Failed
from engine_intelligence.activity import Terminal
from engine_intelligence.conversation import Turn

PIECES = ("The gate ", "is ", "open.")


@dataclass(frozen=True, eq=False)
class Case:
    """One row."""

    name: str
    what: str
    """What the server does, for the table."""
    behaviours: tuple[Behaviour, ...]
    outcome: str
    """What is seen, for the table, where `told` writes it; the same for each provider but for `others`."""
    others: Mapping[str, str] = field(default_factory=dict[str, str])
    """By the name of a provider: what is seen of it, or why the case has no meaning for it."""
    game: Play = waits
    shows: pytest.MarkDecorator | None = None
    """Which rows of the faults it shows."""
    heard: str | None = None
    """The text that has to have been heard, where it is not all that the server said."""
    listening: bool = True
    earlier: tuple[Turn, ...] = ()
    """The turns that the game completes before the Activity that it is about."""

    def cell(self, column: Column) -> str:
        """What the table says of a provider."""
        return self.others.get(column.name, self.outcome)

    def applies(self, column: Column) -> bool:
        """Whether the case has a meaning for a provider."""
        return not self.cell(column).startswith(NOT_APPLICABLE)


NOT_APPLICABLE = "not applicable: "


def told(seen: Seen) -> str:
    """What was seen, as a cell of the table."""
    words = _ending(seen.terminal)
    return words if seen.requests == 1 else f"{words}; asked {_times(seen.requests)}"


def _ending(terminal: Terminal) -> str:
    match terminal:
        case Completed(finish=finish):
            return "completed" if finish in ("stop", None) else f"completed, `{finish}`"
        case Cancelled():
            return "cancelled"
        case Failed(error=error):
            wait_s = error.detail.retry_after_seconds
            name = f"`{error.detail.reason or error.code}`"
            return name if wait_s is None else f"{name}, retry after {_span(wait_s)}"
        case _:
            assert_never(terminal)


def _span(seconds: float) -> str:
    """Rounded so that a cell is the same each time, also where a date was meant."""
    if seconds >= 86_400:
        return f"{seconds / 86_400:.0f} days"
    return f"{seconds / 60:.0f} min" if seconds >= 600 else f"{seconds:g} s"


def _times(count: int) -> str:
    return {0: "never", 2: "twice"}.get(count, f"{count} times")
