"""The table of providers by cases, as `docs/providers.md` shows it."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from providers.vendors.case import Case
from providers.vendors.cases_answers import ENDS, GOOD, LINES
from providers.vendors.cases_requests import CANCELS, LIMITS, SESSIONS, STATUSES, STREAMS
from providers.vendors.columns import COLUMNS

PAGE = Path(__file__).parents[3] / "docs" / "providers.md"
BEGIN, END = "<!-- cases: begin -->", "<!-- cases: end -->"

GROUPS: Mapping[str, Sequence[Case]] = {
    "A good answer in an unusual form": GOOD,
    "Long lines": LINES,
    "Answers that end badly, and bodies that are none": ENDS,
    "Refused requests": STATUSES,
    "Rate limits": LIMITS,
    "Errors and silence in a stream": STREAMS,
    "Cancels": CANCELS,
    "Sessions": SESSIONS,
}
CASES = [case for cases in GROUPS.values() for case in cases]


def lines() -> Iterator[str]:
    """The tables, a group after another."""
    for title, cases in GROUPS.items():
        yield f"### {title}"
        yield ""
        yield f"| what happens | {' | '.join(f'`{column.name}`' for column in COLUMNS)} |"
        yield f"| --- |{' --- |' * len(COLUMNS)}"
        for case in cases:
            yield f"| {case.what} | {' | '.join(case.cell(column) for column in COLUMNS)} |"
        yield ""


def with_table(page: str) -> str:
    """The page with the tables between its two marks. Raises `ValueError` if it has none."""
    before, begun, rest = page.partition(BEGIN)
    _, ended, after = rest.partition(END)
    if not (begun and ended):
        raise ValueError(f"the page has no {BEGIN} and {END}")
    return f"{before}{BEGIN}\n\n" + "\n".join(lines()) + f"\n{END}{after}"
