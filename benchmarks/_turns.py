"""Contenders that take turns in short blocks, so that whatever else the machine does falls on all of them."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Mapping
from statistics import median, quantiles
from typing import TypedDict

Block = Callable[[], float]
"""One short block of a contender's work, and its figure."""

WARM_UP_BLOCKS = 3


class Spread(TypedDict):
    """A sample: its median, its quartiles, its ends and its size."""

    median: float
    lower_quartile: float
    upper_quartile: float
    least: float
    most: float
    blocks: int


class Ratio(TypedDict):
    """How one contender's figures relate to those of another in the same turn, and what is aimed at."""

    of: str
    to: str
    spread: Spread
    at_least: float | None
    at_most: float | None


Samples = dict[str, list[float]]


def in_turns(contenders: Mapping[str, Block], blocks: int) -> Samples:
    """The figures of all contenders; those of one turn were taken right after one another, in changing order."""
    names = list(contenders)
    for _ in range(WARM_UP_BLOCKS):
        for name in names:
            contenders[name]()
    samples: Samples = {name: [] for name in names}
    for _ in range(blocks):
        gc.collect()
        for name in names:
            samples[name].append(contenders[name]())
        names.append(names.pop(0))
    return samples


def spread(sample: list[float]) -> Spread:
    """The summary of a sample of at least two."""
    quarters = quantiles(sample, n=4, method="inclusive")
    return Spread(
        median=median(sample),
        lower_quartile=quarters[0],
        upper_quartile=quarters[2],
        least=min(sample),
        most=max(sample),
        blocks=len(sample),
    )


def ratio(
    samples: Samples, of: str, to: str, *, at_least: float | None = None, at_most: float | None = None
) -> Ratio:
    """The ratio of two contenders' figures, turn by turn."""
    each = [mine / theirs for mine, theirs in zip(samples[of], samples[to], strict=True)]
    return Ratio(of=of, to=to, spread=spread(each), at_least=at_least, at_most=at_most)


def ns_a_call(call: Callable[[], object], calls: int) -> float:
    """Nanoseconds that a call takes, with the loop around it."""
    times = range(calls)
    began = time.perf_counter_ns()
    for _ in times:
        call()
    return (time.perf_counter_ns() - began) / calls
