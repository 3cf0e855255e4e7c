"""Schedules of the simulation, a million at full scale, and builds that are broken on purpose."""

import asyncio
import json
import logging
import os
import subprocess
import sys
import warnings
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from simulation.clockwork import ClockworkLoop
from simulation.ledger import Violation
from simulation.mutants import MUTANTS, broken
from simulation.world import run_schedule

from campaign.tables import rows

NAME = "simulation"

SCHEDULES = 1_000_000
RERUNS = 200
# A broken build has to be found within as many schedules as each run of the tests goes through.
MUTANT_SCHEDULES = 10_000


def run(scale: float) -> dict[str, Any]:
    """Schedules on every processor, re-runs, and, whatever the scale, every broken build until it is found."""
    schedules = max(1, round(SCHEDULES * scale))
    reruns = max(1, min(RERUNS, schedules))
    results = on_all_processors(schedules)
    with silence():
        return {
            "seeds": f"0 to {schedules - 1}",
            "schedules": sum(result["schedules"] for result in results),
            "steps": sum(result["steps"] for result in results),
            "activities": sum(result["activities"] for result in results),
            "violations": [violation for result in results for violation in result["violations"]],
            "reruns": reruns,
            "reruns_with_another_trace": differing_reruns(reruns),
            "broken_builds": {name: find(name) for name in MUTANTS},
        }


def violations(record: dict[str, Any]) -> int:
    """Rules that did not hold, re-runs that differ, and broken builds that were not found."""
    builds: dict[str, dict[str, Any] | None] = record["broken_builds"]
    missed = sum(build is None for build in builds.values())
    return len(record["violations"]) + int(record["reruns_with_another_trace"]) + missed


def table(record: dict[str, Any]) -> str:
    builds: dict[str, dict[str, Any] | None] = record["broken_builds"]
    found = sum(build is not None for build in builds.values())
    first = rows(
        ("the simulation", ""),
        [
            ("schedules", f"{record['schedules']:,}"),
            ("steps in them", f"{record['steps']:,}"),
            ("Activities in them", f"{record['activities']:,}"),
            ("violations", f"{len(record['violations'])}"),
            (
                "re-runs of a seed with another trace",
                f"{record['reruns_with_another_trace']} of {record['reruns']}",
            ),
            ("broken builds found", f"{found} of {len(builds)}, each within {MUTANT_SCHEDULES:,} schedules"),
        ],
    )
    second = rows(
        ("broken build", "found at schedule", "by oracle"),
        [
            (name.replace("_", " "), *(("never", "") if b is None else (f"{b['seed'] + 1:,}", b["oracle"])))
            for name, b in builds.items()
        ],
    )
    return f"{first}\n\n{second}"


def on_all_processors(schedules: int) -> list[dict[str, Any]]:
    """Divide the schedules among processes, one for each processor."""
    share = -(-schedules // (os.cpu_count() or 1))
    tools = Path(__file__).parents[1]
    path = os.pathsep.join([str(tools), str(tools.parent / "tests"), str(tools.parent / "src")])
    workers = [
        subprocess.Popen(
            [sys.executable, "-m", "campaign.simulation", str(first), str(min(first + share, schedules))],
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": path},
        )
        for first in range(0, schedules, share)
    ]
    return [json.loads(worker.communicate()[0]) for worker in workers]


@contextmanager
def silence() -> Generator[None]:
    """Providers that raise on purpose are logged, millions of times."""
    logging.disable(logging.CRITICAL)
    try:
        yield
    finally:
        logging.disable(logging.NOTSET)


def run_schedules(first: int, stop: int) -> dict[str, Any]:
    """The schedules of the seeds from `first` to before `stop`."""
    steps = activities = 0
    found: list[dict[str, Any]] = []

    async def go() -> None:
        nonlocal steps, activities
        for seed in range(first, stop):
            try:
                world = await run_schedule(seed, loop)
            except Violation as violation:
                found.append({"seed": seed, "oracle": violation.oracle, "what": str(violation)})
            else:
                steps += len(world.trace)
                activities += sum(len(ledger.accepted) for ledger in world.ledgers.values())

    loop = ClockworkLoop()
    loop.run_until_complete(go())
    loop.close()
    return {"schedules": stop - first, "steps": steps, "activities": activities, "violations": found}


def differing_reruns(reruns: int) -> int:
    """How many of the first seeds do not give the same trace twice."""

    async def go() -> int:
        differing = 0
        for seed in range(reruns):
            traces = {(await run_schedule(seed, loop)).trace_hash() for _ in range(2)}
            differing += len(traces) > 1
        return differing

    loop = ClockworkLoop()
    try:
        return loop.run_until_complete(go())
    finally:
        loop.close()


def find(name: str, *, schedules: int = MUTANT_SCHEDULES) -> dict[str, Any] | None:
    """The first seed that finds a broken build, and the oracle that saw it."""

    async def go() -> dict[str, Any] | None:
        for seed in range(schedules):
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
            return loop.run_until_complete(go())
    finally:
        asyncio.set_event_loop(None)
        loop.close()


if __name__ == "__main__":
    with silence():
        print(json.dumps(run_schedules(int(sys.argv[1]), int(sys.argv[2]))))
