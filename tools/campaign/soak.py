"""Ten minutes of many Activities, of which a hundredth fails in one way or another, with real Hosts."""

from typing import Any

from campaign.soaking import FAULTY_SHARE
from campaign.tables import rows
from campaign.trend import ENOUGH_S
from campaign.ways import TRANSPORTS
from campaign.workers import Worker, need_linux

NAME = "soak"

SECONDS = 600.0
SEED = 1

# The rest of the time is for the start, and for what still has to end.
EXTRA_S = 120.0

# Something under this is the allocator's own affair; reads that took 64 KiB and were cut to size came to 200 and more.
MOST_KB_PER_MINUTE = 128.0


def run(scale: float) -> dict[str, Any]:
    """The ways to a Host at the same time, each with a game of its own."""
    need_linux()
    seconds = max(2.0, SECONDS * scale)
    workers = {way: Worker("campaign.soak_realm", [seconds, SEED, way]) for way in TRANSPORTS}
    found = {way: worker.result(seconds + EXTRA_S) for way, worker in workers.items()}
    return {"seeds": f"{SEED}", "soak_s": seconds, "faulty_share": FAULTY_SHARE, "games": found}


def violations(record: dict[str, Any]) -> int:
    """Broken rules, what was left, memory that grew, and games that failed."""
    return sum(map(violations_of, record["games"].values()))


def violations_of(game: dict[str, Any]) -> int:
    if "failed" in game:
        return 1
    found = int(game["wrong_count"]) + int(game["processes_left"]) + int(game["left"])
    for memory in (game["game_memory"], game["host_memory"]):
        found += memory["seconds"] >= ENOUGH_S and memory["kb_per_minute"] > MOST_KB_PER_MINUTE
    return found


def table(record: dict[str, Any]) -> str:
    head = ["", *record["games"]]
    games: list[dict[str, Any]] = list(record["games"].values())
    if any("failed" in game for game in games):
        return rows(head, [["failed", *(str(game.get("failed", "")) for game in games)]])
    body: list[list[str]] = [
        ["seconds", *(f"{record['soak_s']:g}" for _ in games)],
        ["Activities", *(f"{game['activities']:,}" for game in games)],
        ["events", *(f"{game['events']:,}" for game in games)],
        ["of the Activities with a fault", *(f"{sum(game['faults'].values()):,}" for game in games)],
    ]
    for kind in sorted({kind for game in games for kind in game["faults"]}):
        body.append([f"… {kind}", *(f"{game['faults'].get(kind, 0):,}" for game in games)])
    body += [
        ["Hosts", *(f"{game['hosts']:,}" for game in games)],
        ["violations", *(str(violations_of(game)) for game in games)],
        ["processes left", *(str(game["processes_left"]) for game in games)],
        ["descriptors, threads and children left", *(str(game["left"]) for game in games)],
        ["memory of the game", *(shown(game["game_memory"]) for game in games)],
        ["memory of the Host that lived longest", *(shown(game["host_memory"]) for game in games)],
    ]
    return rows(head, body)


def shown(memory: dict[str, float]) -> str:
    return f"{memory['kb_per_minute']:+.1f} kB a minute over {memory['seconds']:.0f} s, at last {memory['last_kb']:,.0f} kB"
