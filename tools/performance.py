"""Write the tables of `docs/performance.md` from what the benchmarks recorded in `benchmarks/results`.

python tools/performance.py
"""

import json
from pathlib import Path

import performance_frames
from performance_parts import Found, aim, circumstances, number, ratios, table

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results"
PAGE = ROOT / "docs" / "performance.md"

NOT_RECORDED = "Not recorded yet: `python3 dev.py bench {name}` measures it and writes it here.\n"


def main() -> None:
    write_page()


def write_page() -> None:
    """Write the tables of all that is recorded into the page."""
    PAGE.write_text(with_tables(PAGE.read_text(encoding="utf-8")), encoding="utf-8")


def benchmarks() -> list[str]:
    """The names of all benchmarks."""
    return sorted(path.stem for path in RESULTS.parent.glob("*.py") if not path.stem.startswith("_"))


def recorded() -> dict[str, Found]:
    """The results by the name of their benchmark."""
    return {
        path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted(RESULTS.glob("*.json"))
    }


def with_tables(page: str) -> str:
    """The page with the tables of each benchmark between its marks."""
    results = recorded()
    for name in sorted({*benchmarks(), *results}):
        begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
        if begin not in page or end not in page:
            raise ValueError(f"docs/performance.md has no marks for {name}: {begin} and {end}")
        before, _, rest = page.partition(begin)
        text = tables(results[name]) if name in results else NOT_RECORDED.format(name=name)
        page = before + begin + "\n" + text + end + rest.partition(end)[2]
    return page


def tables(found: Found) -> str:
    """All that is told of one benchmark."""
    if "crowds" in found:
        return performance_frames.tables(found)
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
    # Of results that were recorded before there was anything to leave out, too.
    parts += [f"Left out: {name}: {why}." for name, why in found.get("left_out", {}).items()]
    blocks = next(iter(found["figures"].values()))["blocks"]
    parts.append(f"{blocks} blocks of each, {circumstances(found)}")
    return "\n\n".join(parts) + "\n"


if __name__ == "__main__":
    main()
