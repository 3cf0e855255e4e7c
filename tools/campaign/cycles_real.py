"""A game that opens and closes a Host again and again: `python -m campaign.cycles_real CYCLES TRANSPORT`."""

import json
import sys
import tracemalloc
from typing import Any

from support.process_marks import PATIENCE_S, Mark
from support.process_play import QUICK

from campaign.cycling import Account, played
from engine_intelligence import HostConnection, spawn_host
from engine_intelligence.realm.spawning import Transport


def main(cycles: int, transport: Transport) -> dict[str, Any]:
    """So many cycles, and what this process holds before and after them."""
    tracemalloc.start()
    mark = Mark()
    account = Account(cycles)
    for number in account.cycles():
        with opened(transport, mark) as connection:
            account.check(played(connection.client("scripted")), number)
    mark.until_gone(PATIENCE_S)
    return account.record()


def opened(transport: Transport, mark: Mark) -> HostConnection:
    """A Host with a provider that follows a script."""
    return spawn_host(
        "scripted",
        options={"text": "one two three", "interval_s": 0},
        transport=transport,
        environment=mark.environment,
        deadlines=QUICK,
    )


if __name__ == "__main__":
    way: Transport = "loopback" if sys.argv[2] == "loopback" else "socket"
    print(json.dumps(main(int(sys.argv[1]), way)))
