"""The record of the campaign, and the page that shows it."""

import json
import os
import platform
import subprocess
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeAlias

from campaign.parts import Part
from engine_intelligence import __version__

ROOT = Path(__file__).parents[2]
RECORD = ROOT / "docs" / "reliability.json"
PAGE = ROOT / "docs" / "reliability.md"

Record: TypeAlias = dict[str, Any]


def circumstances(seconds: float, scale: float) -> Record:
    """With what, where and when a part ran, and for how long."""
    return {
        "package": __version__,
        "commit": commit(),
        "python": platform.python_version(),
        "system": platform.system(),
        "processors": os.cpu_count(),
        "date": datetime.now(UTC).date().isoformat(),
        "seconds": round(seconds),
        "scale": scale,
    }


def commit() -> str | None:
    """The short id of the commit that is checked out, where this is a clone."""
    command = ["git", "-C", str(ROOT), "rev-parse", "--short", "HEAD"]
    try:
        found = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError:
        return None
    return found.stdout.strip() or None if found.returncode == 0 else None


def read_records(path: Path) -> dict[str, Record]:
    """What is recorded, by the names of the parts."""
    if not path.exists():
        return {}
    records: dict[str, Record] = json.loads(path.read_text(encoding="utf-8"))
    return records


def write_records(records: dict[str, Record], path: Path) -> None:
    path.write_text(json.dumps(records, indent=1) + "\n", encoding="utf-8")


def with_tables(page: str, records: dict[str, Record], parts: Iterable[Part]) -> str:
    """The page with the table of each part between its two marks. Raises `ValueError` if a part has no marks."""
    for part in parts:
        begin, end = f"<!-- {part.NAME}: begin -->", f"<!-- {part.NAME}: end -->"
        before, found, rest = page.partition(begin)
        _, closed, after = rest.partition(end)
        if not found or not closed:
            raise ValueError(f"the page has no {begin} and {end}")
        page = f"{before}{begin}\n{shown(part, records.get(part.NAME))}\n{end}{after}"
    return page


def shown(part: Part, record: Record | None) -> str:
    """The tables of a part, and under them the circumstances."""
    if record is None:
        return "Not run yet."
    return f"{part.table(record)}\n\n{footing(record)}"


def footing(record: Record) -> str:
    """The circumstances in a sentence."""
    share = "" if record["scale"] == 1 else f" at {record['scale']:g} of the full scale"
    commit = "" if record["commit"] is None else f", commit {record['commit']}"
    return (
        f"Run on {record['date']}{share} in {record['seconds']:,} s, with version {record['package']}{commit}, "
        f"CPython {record['python']}, {record['system']}, {record['processors']} processors; "
        f"seeds: {record['seeds']}."
    )
