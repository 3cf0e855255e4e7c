"""How long `close().wait()` takes, whatever state the Host is in, and what is left afterwards."""

import random
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from support.process_marks import PATIENCE_S, Mark
from support.process_minds import MIND, STAGE_VARIABLE

from campaign.census import census, surplus
from campaign.closing_states import STATES, Scene
from campaign.killing import LastOf
from campaign.quiet import quiet
from campaign.streams import Watched
from campaign.summary import spread
from campaign.tables import rows
from campaign.ways import TRANSPORTS
from campaign.workers import need_linux
from engine_intelligence import CloseTask, Deadlines, IntelligenceLimits, spawn_host
from engine_intelligence.realm.spawning import Transport

NAME = "closing"

CLOSES = 20
"""Hosts that are closed in each state over each way; every second one after its client."""

GRACE_S = 0.5
# What the end of a killed process and a busy machine may add. The contract allows the grace and no more than that.
SLACK_S = 0.1


def run(scale: float) -> dict[str, Any]:
    """Bring Hosts into every state, and close them."""
    need_linux()
    each = max(2, round(CLOSES * scale))
    states: dict[str, Any] = {}
    with quiet():
        for name in STATES:
            states[name] = {
                transport: tally([attempt(name, transport, number) for number in range(each)])
                for transport in TRANSPORTS
            }
    return {
        "seeds": f"0 to {each - 1} of each state and way",
        "grace_s": GRACE_S,
        "slack_s": SLACK_S,
        "states": states,
    }


@dataclass(frozen=True, kw_only=True)
class Closed:
    """What came of one Host: the times that its close tasks took, processes left, and whatever was wrong."""

    took_ms: tuple[float, ...]
    gone_ms: float
    left: int
    wrong: tuple[str, ...]


def tally(closes: list[Closed]) -> dict[str, Any]:
    took_ms = [ms for each in closes for ms in each.took_ms]
    return {
        "hosts": len(closes),
        "processes_left": sum(each.left for each in closes),
        "too_late": sum(ms > (GRACE_S + SLACK_S) * 1000 for ms in took_ms),
        "wrong": [what for each in closes for what in each.wrong][:20],
        "close_ms": spread(took_ms),
        "over_grace_ms": round(max(0.0, max(took_ms, default=0.0) - GRACE_S * 1000), 1),
        "last_process_gone_ms": spread([each.gone_ms for each in closes]),
    }


def attempt(name: str, transport: Transport, number: int) -> Closed:
    """A state that did not come about is wrong, and the others go on."""
    try:
        return close_in(name, transport, number)
    except AssertionError as error:
        return Closed(took_ms=(), gone_ms=0.0, left=0, wrong=(f"{name} did not come about: {error}",))


def close_in(name: str, transport: Transport, number: int) -> Closed:
    """Bring one Host into a state, and close it: the connection, or first the client and then the connection."""
    mark, before = Mark(), census()
    state, took_ms = STATES[name], list[float]()
    with tempfile.TemporaryDirectory() as folder:
        stage = Path(folder) / "stage"
        try:
            with spawn_host(
                state.factory,
                transport=transport,
                environment={**mark.environment, STAGE_VARIABLE: str(stage)},
                limits=IntelligenceLimits(max_concurrent_activities=32),
                deadlines=Deadlines(close_grace_s=GRACE_S),
            ) as connection:
                watched = Watched(connection.client(MIND))
                moments = random.Random(f"{name} {transport} {number}")
                state.bring(Scene(connection=connection, watched=watched, moments=moments, stage=stage))
                last = LastOf(mark)
                if number % 2:
                    took_ms.append(timed(watched.client.close))
                took_ms.append(timed(connection.close))
                closed_at = time.monotonic()
                gone_at, left = last.wait()
        finally:
            mark.kill()
    after = census()
    wrong = (*watched.wrong, *([f"{name} left {after} after {before}"] if surplus(before, after) else []))
    return Closed(took_ms=tuple(took_ms), gone_ms=(gone_at - closed_at) * 1000, left=left, wrong=wrong)


def timed(close: Callable[[], CloseTask]) -> float:
    """Close and wait; the milliseconds that it took."""
    began = time.monotonic()
    close().wait(PATIENCE_S)
    return (time.monotonic() - began) * 1000


def violations(record: dict[str, Any]) -> int:
    """Closes that took longer than the grace and its slack, processes that were left, and what else was wrong."""
    groups = [group for state in record["states"].values() for group in state.values()]
    return sum(group["too_late"] + group["processes_left"] + len(group["wrong"]) for group in groups)


def table(record: dict[str, Any]) -> str:
    head = [
        "the Host is, or in it",
        "closes",
        "left",
        "p50",
        "longest",
        "over the grace",
        "last process gone after",
    ]
    body: list[list[str]] = []
    for name, state in record["states"].items():
        groups: list[dict[str, Any]] = list(state.values())
        body.append(
            [
                name,
                str(sum(group["close_ms"]["count"] for group in groups)),
                str(sum(group["processes_left"] for group in groups)),
                " / ".join(f"{group['close_ms'].get('p50', 0):.0f}" for group in groups) + " ms",
                " / ".join(f"{group['close_ms'].get('max', 0):.0f}" for group in groups) + " ms",
                f"{max(group['over_grace_ms'] for group in groups):.0f} ms",
                f"{max(group['last_process_gone_ms']['max'] for group in groups):.0f} ms",
            ]
        )
    ways = " / ".join(next(iter(record["states"].values())))
    return f"`close_grace_s` is {record['grace_s']:g} s; times are {ways}.\n\n{rows(head, body)}"
