"""What `submit`, `poll` and `cancel` cost a game whose Host is in one state or another, and which system calls they make."""

import tempfile
from pathlib import Path
from typing import Any

from campaign.costs_realm import CALLS, STATES
from campaign.tables import rows
from campaign.tracing import NoTrace, Watch, read_trace, tracer
from campaign.ways import TRANSPORTS
from campaign.workers import Worker, need_linux
from engine_intelligence.realm.spawning import Transport

NAME = "costs"

TIMED = 20_000
"""Calls of each kind, in each state, over each way."""

TRACED = 200
"""And under a tracer, which makes each of them ten times as slow."""

LIMIT_S = 900.0

SHOWN = {
    "starting": "still starting",
    "streaming": "streaming",
    "flooding": "flooding",
    "frozen": "frozen (SIGSTOP)",
    "dying": "killed, unnoticed",
    "dead": "killed, noticed",
}


def run(scale: float) -> dict[str, Any]:
    """Play a game in a process of its own for each state and way: first to time its calls, and then to trace them."""
    need_linux()
    timed, traced = max(10, round(TIMED * scale)), max(10, round(TRACED * scale))
    pairs: list[tuple[str, Transport]] = [(state, transport) for state in STATES for transport in TRANSPORTS]
    return {
        "seeds": "none",
        "times": [
            {"state": state, "transport": transport, **timed_calls(state, transport, timed)}
            for state, transport in pairs
        ],
        "system_calls": [
            {"state": state, "transport": transport, **system_calls(state, transport, traced)}
            for state, transport in pairs
        ],
    }


def timed_calls(state: str, transport: Transport, calls: int) -> dict[str, Any]:
    return Worker("campaign.costs_realm", [state, transport, calls]).result(LIMIT_S)


def system_calls(state: str, transport: Transport, calls: int) -> dict[str, Any]:
    """Those of each kind of call, and those of them that could wait; why not, where they cannot be traced."""
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "trace"
        try:
            within = tracer(output)
        except NoTrace as reason:
            return {"not_run": str(reason)}
        worker = Worker("campaign.costs_realm", [state, transport, calls, "marked"], within=within)
        result = worker.result(LIMIT_S)
        if "failed" in result:
            return result
        watch = Watch()
        watch.follow(read_trace(output.read_text(encoding="utf-8", errors="replace").splitlines()))
    return {"by_call": watch.seen, "could_wait": watch.could_wait[:20], "wrong": result["wrong"]}


def violations(record: dict[str, Any]) -> int:
    """Workers that failed, calls that went wrong, and system calls that could have waited."""
    found = 0
    for entry in [*record["times"], *record["system_calls"]]:
        found += "failed" in entry
        found += len(entry.get("wrong", [])) + len(entry.get("could_wait", []))
    return found


def table(record: dict[str, Any]) -> str:
    return f"{table_of_times(record['times'])}\n\n{table_of_system_calls(record['system_calls'])}"


def table_of_times(entries: list[dict[str, Any]]) -> str:
    head = ["the Host is", "over", "call", "calls", "p50", "p99", "p99.9", "longest"]
    body: list[list[str]] = []
    for entry in entries:
        where = [SHOWN[entry["state"]], entry["transport"]]
        if "failed" in entry:
            body.append([*where, f"failed: {entry['failed']}", "", "", "", "", ""])
            continue
        body += [[*where, f"`{name}`", *shown_times(entry["ns"][name])] for name in CALLS]
        if "noticing_ns" in entry:
            body.append([*where, "the call that notices", *shown_times(entry["noticing_ns"])])
    return rows(head, body)


def shown_times(times: dict[str, float]) -> list[str]:
    return [
        f"{times['count']:,.0f}",
        *(f"{times[name] / 1000:,.1f} µs" for name in ("p50", "p99", "p99.9", "max")),
    ]


def table_of_system_calls(entries: list[dict[str, Any]]) -> str:
    """The longest time of each system call, over both ways."""
    skipped = [entry["not_run"] for entry in entries if "not_run" in entry]
    if skipped:
        return f"System calls: not run, since {skipped[0]}."
    head = [
        "the Host is",
        "call",
        "system calls in it, and the longest of each, under a tracer",
        "could wait",
    ]
    body: list[list[str]] = []
    for state in STATES:
        of_state = [entry for entry in entries if entry["state"] == state and "by_call" in entry]
        for name in CALLS:
            waits = sum(what.startswith(f"{name}:") for entry in of_state for what in entry["could_wait"])
            body.append([SHOWN[state], f"`{name}`", longest_of(of_state, name), str(waits)])
    return rows(head, body)


def longest_of(entries: list[dict[str, Any]], name: str) -> str:
    longest: dict[str, float] = {}
    for entry in entries:
        for system_call, found in entry["by_call"].get(name, {}).items():
            longest[system_call] = max(longest.get(system_call, 0.0), found["longest_us"])
    return ", ".join(f"{each} {us:,.0f} µs" for each, us in sorted(longest.items())) or "none"
