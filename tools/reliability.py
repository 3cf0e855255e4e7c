"""Run the campaign of the simulation, and write what it found into `docs/reliability.json` and `docs/reliability.md`.

python tools/reliability.py                       a million schedules, on every processor
python tools/reliability.py --schedules 20000     fewer
python tools/reliability.py --table               only write the page again, from the recorded figures
"""

import argparse
import asyncio
import json
import logging
import os
import platform
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "tests")]

from simulation.clockwork import ClockworkLoop  # noqa: E402 - the path is set above
from simulation.ledger import Violation  # noqa: E402 - the path is set above
from simulation.mutants import MUTANTS, broken  # noqa: E402 - the path is set above
from simulation.world import run_schedule  # noqa: E402 - the path is set above

from engine_intelligence import __version__  # noqa: E402 - as above

RECORD = ROOT / "docs" / "reliability.json"
PAGE = ROOT / "docs" / "reliability.md"
BEGIN, END = "<!-- figures: begin -->", "<!-- figures: end -->"

SCHEDULES = 1_000_000
RERUNS = 200
# A broken build has to be found within as many schedules as each run of the tests goes through.
MUTANT_SCHEDULES = 10_000


def main() -> int:
    parser = argparse.ArgumentParser(description="Run the campaign of the simulation and record it.")
    parser.add_argument("--schedules", type=int, default=SCHEDULES)
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--table", action="store_true", help="write the page from what is recorded")
    parser.add_argument("--worker", nargs=2, type=int, metavar=("FIRST", "STOP"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    logging.disable(logging.CRITICAL)  # providers that raise on purpose are logged, millions of times
    if arguments.worker:
        print(json.dumps(run_schedules(*arguments.worker)))
        return 0
    if not arguments.table:
        record = campaign(arguments.schedules, arguments.processes)
        RECORD.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    record = json.loads(RECORD.read_text(encoding="utf-8"))
    PAGE.write_text(with_figures(PAGE.read_text(encoding="utf-8"), record), encoding="utf-8")
    print(figures(record))
    return 1 if record["violations"] else 0


def campaign(schedules: int, processes: int) -> dict[str, Any]:
    """All of it: schedules on several processes, re-runs, broken builds."""
    began = time.monotonic()
    share = -(-schedules // processes)
    workers = [
        subprocess.Popen(
            [sys.executable, __file__, "--worker", str(first), str(min(first + share, schedules))],
            stdout=subprocess.PIPE,
        )
        for first in range(0, schedules, share)
    ]
    results = [json.loads(worker.communicate()[0]) for worker in workers]
    return {
        "package": __version__,
        "python": platform.python_version(),
        "system": platform.system(),
        "processors": os.cpu_count(),
        "schedules": sum(result["schedules"] for result in results),
        "steps": sum(result["steps"] for result in results),
        "activities": sum(result["activities"] for result in results),
        "violations": [violation for result in results for violation in result["violations"]],
        "seconds": round(time.monotonic() - began),
        "reruns": RERUNS,
        "reruns_with_another_trace": differing_reruns(),
        "broken_builds": {name: find(name) for name in MUTANTS},
    }


def run_schedules(first: int, stop: int) -> dict[str, Any]:
    """The schedules of the seeds from `first` to before `stop`."""
    steps = activities = 0
    violations: list[dict[str, Any]] = []

    async def run() -> None:
        nonlocal steps, activities
        for seed in range(first, stop):
            try:
                world = await run_schedule(seed, loop)
            except Violation as violation:
                violations.append({"seed": seed, "oracle": violation.oracle, "what": str(violation)})
            else:
                steps += len(world.trace)
                activities += sum(len(ledger.accepted) for ledger in world.ledgers.values())

    loop = ClockworkLoop()
    loop.run_until_complete(run())
    loop.close()
    return {"schedules": stop - first, "steps": steps, "activities": activities, "violations": violations}


def differing_reruns() -> int:
    """How many of the first seeds do not give the same trace twice."""

    async def run() -> int:
        differing = 0
        for seed in range(RERUNS):
            traces = {(await run_schedule(seed, loop)).trace_hash() for _ in range(2)}
            differing += len(traces) > 1
        return differing

    loop = ClockworkLoop()
    try:
        return loop.run_until_complete(run())
    finally:
        loop.close()


def find(name: str) -> dict[str, Any] | None:
    """The first seed that finds a broken build, and the oracle that saw it."""

    async def run() -> dict[str, Any] | None:
        for seed in range(MUTANT_SCHEDULES):
            try:
                await run_schedule(seed, loop)
            except Violation as violation:
                return {"seed": seed, "oracle": violation.oracle}
        return None

    loop = ClockworkLoop()
    loop.set_exception_handler(lambda loop, context: None)
    try:
        with broken(name), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a broken build leaves coroutines and sockets behind
            return loop.run_until_complete(run())
    finally:
        asyncio.set_event_loop(None)
        loop.close()


def figures(record: dict[str, Any]) -> str:
    """The tables of the page."""
    builds: dict[str, dict[str, Any] | None] = record["broken_builds"]
    found = sum(build is not None for build in builds.values())
    rows = [
        ("schedules", f"{record['schedules']:,}"),
        ("steps in them", f"{record['steps']:,}"),
        ("Activities in them", f"{record['activities']:,}"),
        ("violations", f"{len(record['violations'])}"),
        (
            "re-runs of a seed with another trace",
            f"{record['reruns_with_another_trace']} of {record['reruns']}",
        ),
        ("broken builds found", f"{found} of {len(builds)}, each within {MUTANT_SCHEDULES:,} schedules"),
        ("time", f"{record['seconds']:,} s on {record['processors']} processors"),
        ("with", f"version {record['package']}, CPython {record['python']}, {record['system']}"),
    ]
    lines = ["| the campaign | |", "| --- | --- |", *(f"| {name} | {value} |" for name, value in rows)]
    lines += ["", "| broken build | found at schedule | by oracle |", "| --- | --- | --- |"]
    for name, build in builds.items():
        seed, oracle = ("never", "") if build is None else (f"{build['seed'] + 1:,}", build["oracle"])
        lines.append(f"| {name.replace('_', ' ')} | {seed} | {oracle} |")
    return "\n".join(lines)


def with_figures(page: str, record: dict[str, Any]) -> str:
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{figures(record)}\n{END}{after}"


if __name__ == "__main__":
    sys.exit(main())
