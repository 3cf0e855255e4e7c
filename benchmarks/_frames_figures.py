"""What the blocks of the benchmark `frames` come to."""

from __future__ import annotations

import math
from typing import TypedDict

from _frames_loop import FRAME_S, Block
from _turns import Ratio, ratio

FRAME_MS = FRAME_S * 1e3
MOST_OF_DETACHED = 1.10
# Half a frame is how long a token waits on the average for the poll that finds it.
MOST_AGE_MS = round(FRAME_MS / 2 + 2, 2)
MOST_AGE_OF_THREAD = 1.05
MOST_CPU_OF_SDK = 1.15

OURS, DETACHED, IN_THREAD, SDK = "ours", "detached", "SDK in a thread", "SDK alone in a process"


class Figures(TypedDict):
    """One contender, over the frames and tokens of all its blocks. `None` where it has no such thing."""

    frames: int
    missed: int
    p50_ms: float
    p99_ms: float
    p999_ms: float
    most_ms: float
    poll_p50_us: float | None
    poll_p99_us: float | None
    age_mean_ms: float | None
    age_p99_ms: float | None
    cpu_us_a_token: float | None
    server_share: float | None
    tokens: int


class Goal(TypedDict):
    """A figure that is no ratio, and what is aimed at; `None` where nothing is."""

    what: str
    value: float
    at_most: float | None


def percentile(values: list[float], percent: float) -> float:
    """By nearest rank: the smallest value that so many per cent of them do not exceed."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(len(ordered) * percent / 100) - 1)]


def mean(values: list[float]) -> float:
    return sum(values) / len(values)


def figures(blocks: list[Block], *, polls: bool) -> Figures:
    """The figures of a contender; those of its polls if it has any."""
    frames = [one for block in blocks for one in block["frames_ms"]]
    looks = [one for block in blocks for one in block["looks_us"]]
    ages = [one for block in blocks for one in block["ages_ms"]]
    took = sum(block["took_s"] for block in blocks)
    server = sum(block["server_cpu_s"] or 0.0 for block in blocks)
    cpu = [cpu_us_a_token(block) for block in blocks]
    return Figures(
        frames=len(frames),
        missed=sum(one > FRAME_MS for one in frames),
        p50_ms=percentile(frames, 50),
        p99_ms=percentile(frames, 99),
        p999_ms=percentile(frames, 99.9),
        most_ms=max(frames),
        poll_p50_us=percentile(looks, 50) if polls else None,
        poll_p99_us=percentile(looks, 99) if polls else None,
        age_mean_ms=mean(ages) if ages else None,
        age_p99_ms=percentile(ages, 99) if ages else None,
        cpu_us_a_token=None if None in cpu else mean([one for one in cpu if one is not None]),
        server_share=server / took if server else None,
        tokens=sum(block["tokens"] for block in blocks),
    )


def cpu_us_a_token(block: Block) -> float | None:
    """Processor time of the process that takes the tokens."""
    cpu_s = block["host_cpu_s"]
    return None if cpu_s is None or not block["tokens"] else cpu_s * 1e6 / block["tokens"]


def p99_ratio(
    found: dict[str, list[Block]], of: str, to: str, where: str, at_most: float | None = None
) -> Ratio:
    """How the frames of two contenders relate, turn by turn."""
    samples = {name: [percentile(block["frames_ms"], 99) for block in found[name]] for name in (of, to)}
    return named(ratio(samples, of, to, at_most=at_most), f"frame p99, {where}")


def ratios(found: dict[str, list[Block]], streams: int) -> list[Ratio]:
    """All that is compared at a number of streams."""
    where = f"{streams} streams"
    ages = {name: [mean(block["ages_ms"]) for block in found[name]] for name in (OURS, IN_THREAD)}
    cpu = {name: [cpu_us_a_token(block) or math.nan for block in found[name]] for name in (OURS, SDK)}
    return [
        p99_ratio(found, OURS, DETACHED, where, MOST_OF_DETACHED),
        p99_ratio(found, IN_THREAD, DETACHED, where),
        named(ratio(ages, OURS, IN_THREAD, at_most=MOST_AGE_OF_THREAD), f"mean age of a token, {where}"),
        named(ratio(cpu, OURS, SDK, at_most=MOST_CPU_OF_SDK), f"processor time a token, {where}"),
    ]


def named(one: Ratio, figure: str) -> Ratio:
    """The ratio with what it is of."""
    one["of"] = f"{figure}: {one['of']}"
    return one


def goals(found: dict[str, Figures], streams: int) -> list[Goal]:
    """What is aimed at beside the ratios, at a number of streams."""
    age = found[OURS]["age_mean_ms"]
    assert age is not None
    return [
        Goal(
            what=f"frames missed, ours, {streams} streams",
            value=found[OURS]["missed"],
            # Only where the processor alone makes none miss.
            at_most=None if found[DETACHED]["missed"] else 0,
        ),
        Goal(what=f"mean age of a token in ms, ours, {streams} streams", value=age, at_most=MOST_AGE_MS),
    ]
