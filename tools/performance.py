"""Write the tables of `docs/performance.md` from what the benchmarks recorded in `benchmarks/results`.

python tools/performance.py
"""

import json
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results"
PAGE = ROOT / "docs" / "performance.md"

Found = dict[str, Any]


def main() -> None:
    write_page()


def write_page() -> None:
    """Write the tables of all that is recorded into the page."""
    PAGE.write_text(with_tables(PAGE.read_text(encoding="utf-8")), encoding="utf-8")


def recorded() -> dict[str, Found]:
    """The results by the name of their benchmark."""
    return {
        path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted(RESULTS.glob("*.json"))
    }


def with_tables(page: str) -> str:
    """The page with the tables of each benchmark between its marks."""
    for name, found in recorded().items():
        begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
        if begin not in page or end not in page:
            raise ValueError(f"docs/performance.md has no marks for {name}: {begin} and {end}")
        before, _, rest = page.partition(begin)
        page = before + begin + "\n" + tables(found) + end + rest.partition(end)[2]
    return page


def tables(found: Found) -> str:
    """All that is told of one benchmark."""
    parts = [
        f"![Medians and quartiles, in {found['unit']}](images/bench-{found['benchmark']}.png)",
        table(
            [found["unit"], "median", "quartiles", "least to most", "aimed at"],
            [
                [
                    name,
                    number(one["median"]),
                    f"{number(one['lower_quartile'])} to {number(one['upper_quartile'])}",
                    f"{number(one['least'])} to {number(one['most'])}",
                    aim(one["median"], None, found["limits"].get(name)),
                ]
                for name, one in found["figures"].items()
            ],
        ),
    ]
    if found["ratios"]:
        parts.append(table(["ratio, turn by turn", "median", "quartiles", "aimed at"], ratios(found)))
    if found["single"]:
        parts.append(
            table(
                ["does not vary", "", "aimed at"],
                [
                    [name, number(value), aim(value, None, found["limits"].get(name))]
                    for name, value in found["single"].items()
                ],
            )
        )
    blocks = next(iter(found["figures"].values()))["blocks"]
    parts.append(
        f"{blocks} blocks of each, CPython {found['python']}, msgspec {found['msgspec']}, {found['system']}, "
        f"{found['processors']} processors, of which others asked for {found['load_1_min']} meanwhile "
        f"(the load of the last minute), {found['scheduling']} scheduling."
    )
    return "\n\n".join(parts) + "\n"


def ratios(found: Found) -> list[list[str]]:
    """A row for each ratio."""
    rows: list[list[str]] = []
    for one in found["ratios"]:
        middle, low, high = (one["spread"][key] for key in ("median", "lower_quartile", "upper_quartile"))
        quartiles = f"{low:.2f} to {high:.2f}"
        goal = aim(middle, one["at_least"], one["at_most"])
        rows.append([f"{one['of']} / {one['to']}", f"{middle:.2f}", quartiles, goal])
    return rows


def aim(value: float, at_least: float | None, at_most: float | None) -> str:
    """What was aimed at, and whether it was met."""
    if at_least is not None:
        return f"at least {at_least:g}: {'met' if value >= at_least else 'missed'}"
    if at_most is not None:
        return f"at most {at_most:g}: {'met' if value <= at_most else 'missed'}"
    return ""


def table(head: list[str], rows: list[list[str]]) -> str:
    lines = ["| " + " | ".join(head) + " |", "|" + " --- |" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def number(value: float) -> str:
    """A figure with as many digits as mean something."""
    if value >= 10_000:
        return f"{round(value, -2):,.0f}"
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


if __name__ == "__main__":
    main()
