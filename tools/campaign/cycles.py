"""Ten thousand times: open, submit, poll to the end, close. What is left, and whether memory grows."""

from typing import Any

from campaign.cycling import leaks
from campaign.tables import rows
from campaign.ways import TRANSPORTS
from campaign.workers import Worker, need_linux

NAME = "cycles"

CYCLES = 10_000
"""With a Host that is a process, over all ways together; and as many with both sides in one process."""

# So long may a cycle take on a busy machine, on the average.
LONGEST_REAL_S = 1.0
LONGEST_LOCAL_S = 0.1
START_S = 30.0


def run(scale: float) -> dict[str, Any]:
    """The ways to a Host at the same time, each in a process of its own, and then both sides in one process."""
    need_linux()
    local = max(10, round(CYCLES * scale))
    each = max(5, round(local / len(TRANSPORTS)))
    workers = {way: Worker("campaign.cycles_real", [each, way]) for way in TRANSPORTS}
    found = {
        f"a Host process, {way}": worker.result(START_S + 2 * each * LONGEST_REAL_S)
        for way, worker in workers.items()
    }
    worker = Worker("campaign.cycles_local", [local])
    found["both sides in one process"] = worker.result(START_S + 2 * local * LONGEST_LOCAL_S)
    return {"seeds": "none", "cycles": found}


def violations(record: dict[str, Any]) -> int:
    """Workers that failed, cycles that went wrong, what was left, and memory that grew."""
    return sum(1 if "failed" in entry else leaks(entry) for entry in record["cycles"].values())


def table(record: dict[str, Any]) -> str:
    head = [
        "cycles over",
        "cycles",
        "left",
        "held before",
        "held after",
        "resident memory",
        "allocated by Python",
    ]
    body: list[list[str]] = []
    for name, entry in record["cycles"].items():
        if "failed" in entry:
            body.append([name, f"failed: {entry['failed']}", "", "", "", "", ""])
            continue
        body.append(
            [
                name,
                f"{entry['cycles']:,}",
                str(entry["left"]),
                held(entry["before"]),
                held(entry["after"]),
                f"{entry['resident_kb_per_1000_cycles']:+.1f} kB in 1,000 cycles",
                f"{entry['traced_bytes_per_cycle']:+.2f} bytes a cycle",
            ]
        )
    return rows(head, body)


def held(census: dict[str, int]) -> str:
    return ", ".join(f"{count} {name}" for name, count in census.items())
