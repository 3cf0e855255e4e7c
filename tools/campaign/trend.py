"""The memory of a game and of its Hosts, over minutes."""

import gc
from array import array
from typing import Any

from campaign.census import resident_kb
from campaign.summary import slope

INTERVAL_S = 1.0
MOST_SAMPLES = 3600

# Caches, arenas and the like are filled by then.
WARM_UP_SHARE = 0.2
LONGEST_WARM_UP_S = 60.0

# Over less time than this a slope says nothing.
ENOUGH_S = 120.0


class Samples:
    """Moments and values, in places that are made beforehand: what is measured must not grow by the measuring."""

    def __init__(self) -> None:
        self._moments = array("d", bytes(8 * MOST_SAMPLES))
        self._values = array("d", bytes(8 * MOST_SAMPLES))
        self._count = 0

    def add(self, moment: float, value: float) -> None:
        if self._count < MOST_SAMPLES:
            self._moments[self._count] = moment
            self._values[self._count] = value
            self._count += 1

    def __len__(self) -> int:
        return self._count

    def clear(self) -> None:
        self._count = 0

    def taken(self) -> list[tuple[float, float]]:
        return list(zip(self._moments[: self._count], self._values[: self._count], strict=True))


class Trend:
    """Samples of resident memory, once a second: of this process, and of each Host from its start.

    Of the Hosts, the one that lived longest is kept, and the present one.
    """

    def __init__(self) -> None:
        self._game = Samples()
        self._host_pid = 0
        self._host, self._longest_host = Samples(), Samples()
        self._next_at = 0.0

    def sample(self, now: float, host_pid: int) -> None:
        """To be called often; it looks only when it is time to."""
        if now < self._next_at:
            return
        self._next_at = now + INTERVAL_S
        gc.collect()  # what is garbage already is no growth, whenever the interpreter comes round to it
        self._game.add(now, resident_kb())
        host_kb = resident_kb(host_pid)
        if not host_kb:
            return
        if host_pid != self._host_pid:
            self._host_pid = host_pid
            if len(self._host) > len(self._longest_host):
                self._host, self._longest_host = self._longest_host, self._host
            self._host.clear()
        self._host.add(now, host_kb)

    def record(self) -> dict[str, Any]:
        """The slopes after the warm-up: that of the game, and that of the Host that lived longest."""
        return {
            "game_memory": course(self._game.taken()),
            "host_memory": course(max(self._host, self._longest_host, key=len).taken()),
        }


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
