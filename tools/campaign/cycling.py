"""What many cycles of open, submit and close leave in the process that does them."""

import asyncio
import gc
import time
from array import array
from collections.abc import Iterator, Sequence
from typing import Any

from support.process_marks import PATIENCE_S

from campaign.census import Census, census, resident_kb, surplus, traced_bytes
from campaign.summary import slope
from engine_intelligence import Completed, IntelligencePortClient

SAID = "one two three"
"""What the provider has to have said in each cycle."""

SAMPLES = 50

# Fewer cycles than this say nothing about memory: what caches take at first would count for all.
ENOUGH_CYCLES = 500

# The smallest object that Python makes takes 16 bytes: whoever keeps one more at each cycle is found.
MOST_TRACED_BYTES_PER_CYCLE = 16

# The allocator takes memory in pieces of 256 kB and more, so that of many thousand cycles some kilobytes each thousand
# are its own affair; what leaks outside of Python is more.
MOST_RESIDENT_KB_PER_1000_CYCLES = 256


class Account:
    """Counts while cycles go on: what is held before the first and after the last, and the memory in between."""

    def __init__(self, cycles: int, *, tasks: bool = False, samples: int = SAMPLES) -> None:
        """With `tasks` the tasks of the running event loop are counted too. Memory is looked at `samples` times."""
        self._cycles = cycles
        self._tasks = tasks
        self._before: Census = {}
        self._every = max(1, cycles // samples)
        # Made beforehand, so that what is measured does not grow by the measuring.
        self._resident = array("d", bytes(8 * -(-cycles // self._every)))
        self._traced = array("d", bytes(8 * -(-cycles // self._every)))
        self.wrong: list[str] = []

    def cycles(self) -> Iterator[int]:
        """The numbers of the cycles; some to warm up come before the count begins."""
        yield from range(-max(5, self._cycles // 10), 0)
        gc.collect()
        self._before = self._held()
        for number in range(self._cycles):
            if number % self._every == 0:
                gc.collect()
                self._resident[number // self._every] = resident_kb()
                self._traced[number // self._every] = traced_bytes()
            yield number

    def check(self, output: str | None, number: int) -> None:
        if output != SAID:
            self.wrong.append(f"cycle {number} ended with {output!r}"[:200])

    def record(self) -> dict[str, Any]:
        """What was counted, to be called after the last cycle."""
        gc.collect()
        after = self._held()
        return {
            "cycles": self._cycles,
            "before": self._before,
            "after": after,
            "left": surplus(self._before, after),
            "wrong": self.wrong[:20],
            "resident_kb": [round(self._resident[0]), round(self._resident[-1])],
            "traced_bytes": [round(self._traced[0]), round(self._traced[-1])],
            "resident_kb_per_1000_cycles": round(self._slope(self._resident) * 1000, 1),
            "traced_bytes_per_cycle": round(self._slope(self._traced), 2),
        }

    def _slope(self, values: Sequence[float]) -> float:
        return slope([(place * self._every, value) for place, value in enumerate(values)])

    def _held(self) -> Census:
        return census() | ({"tasks": len(asyncio.all_tasks())} if self._tasks else {})


def leaks(record: dict[str, Any]) -> int:
    """How many things a record of cycles shows that must not be."""
    found = int(record["left"]) + len(record["wrong"])
    if record["cycles"] >= ENOUGH_CYCLES:
        found += record["traced_bytes_per_cycle"] > MOST_TRACED_BYTES_PER_CYCLE
        found += record["resident_kb_per_1000_cycles"] > MOST_RESIDENT_KB_PER_1000_CYCLES
    return found


def played(client: IntelligencePortClient) -> str | None:
    """Submit, and poll to the end; what was said, or `None` if there was no end to it."""
    client.submit("hello")
    end = time.monotonic() + PATIENCE_S
    while not client.closed and time.monotonic() < end:
        for event in client.poll():
            if isinstance(event, Completed):
                return event.output
        time.sleep(0.001)
    return None
