"""The memory of a game and of its Hosts, over minutes."""

from typing import Any

from campaign.census import resident_kb
from campaign.summary import slope

INTERVAL_S = 1.0

# Caches, arenas and the like are filled by then.
WARM_UP_SHARE = 0.2
LONGEST_WARM_UP_S = 60.0

# Over less time than this a slope says nothing.
ENOUGH_S = 120.0


class Trend:
    """Samples of resident memory, once a second: of this process, and of each Host from its start."""

    def __init__(self) -> None:
        self._game: list[tuple[float, float]] = []
        self._hosts: dict[int, list[tuple[float, float]]] = {}
        self._next_at = 0.0

    def sample(self, now: float, game_kb: int, host_pid: int) -> None:
        """To be called often; it looks only when it is time to."""
        if now < self._next_at:
            return
        self._next_at = now + INTERVAL_S
        self._game.append((now, game_kb))
        host_kb = resident_kb(host_pid)
        if host_kb:
            self._hosts.setdefault(host_pid, []).append((now, host_kb))

    def record(self) -> dict[str, Any]:
        """The slopes after the warm-up: that of the game, and that of the Host that lived longest."""
        longest = max(self._hosts.values(), key=len, default=[])
        return {"game_memory": course(self._game), "host_memory": course(longest)}


def course(samples: list[tuple[float, float]]) -> dict[str, float]:
    """Where memory began after the warm-up and where it ended, in kB, its slope, and over how many seconds."""
    if not samples:
        return {"seconds": 0.0, "first_kb": 0.0, "last_kb": 0.0, "kb_per_minute": 0.0}
    began, ended = samples[0][0], samples[-1][0]
    warm_at = began + min(LONGEST_WARM_UP_S, WARM_UP_SHARE * (ended - began))
    warm = [(moment, kb) for moment, kb in samples if moment >= warm_at]
    return {
        "seconds": round(ended - warm_at, 1),
        "first_kb": warm[0][1],
        "last_kb": warm[-1][1],
        "kb_per_minute": round(slope(warm) * 60, 1),
    }
