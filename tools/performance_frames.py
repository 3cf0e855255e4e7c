"""The tables of the benchmark `frames`."""

from typing import Any

from performance_parts import Found, aim, circumstances, number, ratios, table

HEAD = [
    "frame in ms",
    "p50",
    "p99",
    "p99.9",
    "most",
    "missed",
    "poll in µs, p50 and p99",
    "age of a token in ms, mean and p99",
    "processor time a token in µs",
]


def tables(found: Found) -> str:
    """All that is told of it."""
    parts = ["![99th percentiles of the frames, in milliseconds](images/bench-frames.png)"]
    for streams, crowd in found["crowds"].items():
        parts += [f"**{streams} streams.**", crowd_table(crowd)]
    parts.append("**The local model, one stream.**")
    parts.append(crowd_table(found["local"]) if found["local"] else f"Left out: {found['local_skipped']}.")
    parts.append(table(["ratio, turn by turn", "median", "quartiles", "aimed at"], ratios(found)))
    goals = [
        [one["what"], number(one["value"]), aim(one["value"], None, one["at_most"])] for one in found["goals"]
    ]
    parts.append(table(["figure", "", "aimed at"], goals))
    shares = [one["server_share"] for crowd in found["crowds"].values() for one in crowd.values()]
    most = max((share for share in shares if share is not None), default=0.0)
    parts.append(
        f"{found['turns']} blocks of {found['seconds']:g} seconds of each; the server's double took "
        f"{most:.0%} of one processor at the most; {circumstances(found)}"
    )
    return "\n\n".join(parts) + "\n"


def crowd_table(crowd: dict[str, Any]) -> str:
    """The contenders at one number of streams."""
    return table(HEAD, [row(name, one) for name, one in crowd.items()])


def row(name: str, one: dict[str, Any]) -> list[str]:
    """One contender."""
    frames = [number(one[key]) for key in ("p50_ms", "p99_ms", "p999_ms", "most_ms")]
    missed = f"{one['missed']:,} of {one['frames']:,}"
    cpu = one["cpu_us_a_token"]
    return [
        name,
        *frames,
        missed,
        both(one["poll_p50_us"], one["poll_p99_us"]),
        both(one["age_mean_ms"], one["age_p99_ms"]),
        "" if cpu is None else number(cpu),
    ]


def both(first: float | None, second: float | None) -> str:
    """Two figures that are there or not."""
    return "" if first is None or second is None else f"{number(first)}, {number(second)}"
