"""Compares the rows of docs/faults.md with the tests that say they show one: `python tools/fault_rows.py`."""

import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from marks import all_marks, arguments, tell

ROOT = Path(__file__).resolve().parent.parent

# R for a fault that is injected, C for a case that has broken for somebody. None may be left out of the page.
EXPECTED: tuple[str, ...] = (*(f"R{n}" for n in range(1, 81)), *(f"C{n}" for n in range(1, 33)))

# A row of a table: its id, what goes wrong, and what happens then.
_ROW = re.compile(r"^\| ([RC][1-9][0-9]*) \|(.+)\|(.+)\|$", re.MULTILINE)

_NOT_APPLICABLE = "Not applicable: "


@dataclass(frozen=True)
class Report:
    covered: tuple[str, ...]
    not_applicable: tuple[str, ...]
    missing: tuple[str, ...]
    undreamt: tuple[str, ...]
    twice: tuple[str, ...]
    unexplained: tuple[str, ...]
    untested: tuple[str, ...]
    unknown: tuple[str, ...]
    tested_after_all: tuple[str, ...]

    @property
    def ok(self) -> bool:
        wrong = (self.missing, self.undreamt, self.twice, self.unexplained)
        return not any((*wrong, self.untested, self.unknown, self.tested_after_all))


def compare(page: str, tests: Mapping[str, str], expected: tuple[str, ...] = EXPECTED) -> Report:
    found = [(row, fault.strip(), outcome.strip()) for row, fault, outcome in _ROW.findall(page)]
    rows = [row for row, _, _ in found]
    elsewhere = {row for row, _, outcome in found if outcome.startswith(_NOT_APPLICABLE.strip())}
    marked = all_marks(tests, "fault")
    shown = {row for row, _ in marked}
    return Report(
        covered=tuple(row for row in rows if row not in elsewhere),
        not_applicable=tuple(row for row in rows if row in elsewhere),
        missing=tuple(row for row in expected if row not in rows),
        undreamt=tuple(row for row in rows if row not in expected),
        twice=tuple(sorted({row for row in rows if rows.count(row) > 1})),
        unexplained=tuple(
            row
            for row, fault, outcome in found
            if not fault or not outcome.removeprefix(_NOT_APPLICABLE.strip())
        ),
        untested=tuple(row for row in rows if row not in shown and row not in elsewhere),
        unknown=tuple(f"{row} ({place})" for row, place in marked if row not in rows),
        tested_after_all=tuple(f"{row} ({place})" for row, place in marked if row in elsewhere),
    )


def main() -> int:
    report = compare(*arguments(__doc__, ROOT / "docs" / "faults.md"))
    tell(
        (
            ("rows that the page does not have", report.missing),
            ("rows that are none", report.undreamt),
            ("rows that stand twice", report.twice),
            ("rows that say nothing", report.unexplained),
            ("rows without a test", report.untested),
            ("marks that name no row", report.unknown),
            ("not applicable, but tested", report.tested_after_all),
        )
    )
    shown = len(report.covered) - len(report.untested)
    print(
        f"{shown} of {len(report.covered)} rows are shown by a test, {len(report.not_applicable)} do not apply"
    )
    return 0 if report.ok else 1


if __name__ == "__main__":
    sys.exit(main())
