"""`kill -9` of the game, and of the Host, while text streams: what is left, and how soon the other side has noticed."""

from collections.abc import Callable
from typing import Any, ParamSpec

from campaign.killing import HOST_EYES, Killed, kill_game, kill_host
from campaign.summary import spread
from campaign.tables import rows
from campaign.ways import TRANSPORTS
from campaign.workers import need_linux

NAME = "kills"

KILLS = 500
"""Of each of the two, over all ways to a Host."""

COMPANY = {"": False, ", with agents": True}
"""Half of the Hosts have started agents: processes with grandchildren that ignore signals and leave their session."""


def run(scale: float) -> dict[str, Any]:
    """Kill as often as the scale says, one after another, at moments that the number of the kill decides."""
    need_linux()
    each = max(len(HOST_EYES), round(KILLS * scale / len(TRANSPORTS)))
    games: dict[str, Any] = {}
    hosts: dict[str, Any] = {}
    for transport in TRANSPORTS:
        for company, agents in COMPANY.items():
            games[transport + company] = tally(
                [
                    attempt(kill_game, transport, number, agents=agents)
                    for number in range(int(agents), each, len(COMPANY))
                ]
            )
        for place, eye in enumerate(HOST_EYES):
            numbers = range(place, each, len(HOST_EYES))
            hosts[f"{transport}, {eye}"] = tally(
                [
                    attempt(kill_host, transport, number, eye, agents=bool(turn % 2))
                    for turn, number in enumerate(numbers)
                ]
            )
    return {"seeds": f"0 to {each - 1} of each way", "game_killed": games, "host_killed": hosts}


P = ParamSpec("P")


def attempt(kill: Callable[P, Killed], *args: P.args, **kwargs: P.kwargs) -> Killed:
    """A kill that did not get as far as it should is wrong, and the others go on."""
    try:
        return kill(*args, **kwargs)
    except AssertionError as error:
        return Killed(left=0, ms=0.0, wrong=f"not carried out: {error}")


def tally(kills: list[Killed]) -> dict[str, Any]:
    """What several kills came to."""
    return {
        "kills": len(kills),
        "processes_left": sum(kill.left for kill in kills),
        "wrong": [kill.wrong for kill in kills if kill.wrong][:20],
        "ms": spread([kill.ms for kill in kills], digits=2),
    }


def violations(record: dict[str, Any]) -> int:
    """Processes that were left, and whatever else was wrong."""
    groups = [*record["game_killed"].values(), *record["host_killed"].values()]
    return sum(group["processes_left"] + len(group["wrong"]) for group in groups)


def table(record: dict[str, Any]) -> str:
    head = (
        "killed while text streams",
        "kills",
        "processes left",
        "from the kill to",
        "p50",
        "p90",
        "p99",
        "max",
    )
    body: list[list[str]] = []
    for transport, group in record["game_killed"].items():
        body.append(line(f"the game, {transport}", group, "the last process gone"))
    for how, group in record["host_killed"].items():
        body.append(line(f"the Host, {how}", group, "`client.closed`"))
    return rows(head, body)


def line(what: str, group: dict[str, Any], until: str) -> list[str]:
    times: dict[str, float] = group["ms"]
    shown = [f"{times[name]:.1f} ms" if name in times else "" for name in ("p50", "p90", "p99", "max")]
    return [what, str(group["kills"]), str(group["processes_left"]), until, *shown]
