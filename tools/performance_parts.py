"""The parts that the tables of all benchmarks are made of."""

from typing import Any

Found = dict[str, Any]


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


def circumstances(found: Found) -> str:
    """With what and on what it was measured."""
    return (
        f"CPython {found['python']}, msgspec {found['msgspec']}, {found['system']}, "
        f"{found['processors']} processors, of which others asked for {found['load_1_min']} meanwhile "
        f"(the load of the last minute), {found['scheduling']} scheduling."
    )
