"""Run the campaign, and write what it found into `docs/reliability.json` and `docs/reliability.md`.

python tools/reliability.py                       every part at its full scale, one after another
python tools/reliability.py --only kills soak     some parts; what is recorded of the others stays
python tools/reliability.py --scale 0.02          less of it
python tools/reliability.py --table               only write the page again, from the recorded figures
"""

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[1] / "tests")]

from campaign.page import (  # noqa: E402 - the path is set above
    PAGE,
    RECORD,
    circumstances,
    read_records,
    with_tables,
    write_records,
)
from campaign.parts import PARTS, Part  # noqa: E402 - the path is set above
from campaign.workers import NotHere  # noqa: E402 - as above


def main(argv: Sequence[str] | None = None) -> int:
    names = [part.NAME for part in PARTS]
    parser = argparse.ArgumentParser(description="Run the campaign and record it.")
    parser.add_argument(
        "--only", nargs="+", choices=names, default=names, metavar="NAME", help=", ".join(names)
    )
    parser.add_argument("--scale", type=positive, default=1.0, help="1.0 is the full campaign")
    parser.add_argument("--table", action="store_true", help="write the page from what is recorded")
    arguments = parser.parse_args(argv)
    if not arguments.table:
        for part in PARTS:
            if part.NAME in arguments.only:
                carry_out(part, arguments.scale)
    records = read_records(RECORD)
    PAGE.write_text(with_tables(PAGE.read_text(encoding="utf-8"), records, PARTS), encoding="utf-8")
    bad = 0
    for part in PARTS:
        if part.NAME in records:
            count = part.violations(records[part.NAME])
            print(f"{part.NAME}: {count} violations")
            bad += count
    return 1 if bad else 0


def positive(text: str) -> float:
    scale = float(text)
    if not 0 < scale < float("inf"):
        raise argparse.ArgumentTypeError("a scale is a positive number")
    return scale


def carry_out(part: Part, scale: float) -> None:
    """Run a part and record it at once, so that nothing is lost if a later one breaks."""
    print(f"== {part.NAME}", flush=True)
    began = time.monotonic()
    try:
        found = part.run(scale)
    except NotHere as reason:
        print(f"not run: {reason}")
        return
    record = {**circumstances(time.monotonic() - began, scale), **found}
    order = [other.NAME for other in PARTS]
    records = {**read_records(RECORD), part.NAME: record}
    ordered = sorted(records, key=lambda name: place(name, order))
    write_records({name: records[name] for name in ordered}, RECORD)
    print(part.table(record), flush=True)


def place(name: str, order: Sequence[str]) -> int:
    return order.index(name) if name in order else len(order)


if __name__ == "__main__":
    sys.exit(main())
