"""What a benchmark found, written to `results/NAME.json`, from which the page and the plot are made."""

from __future__ import annotations

import json
import os
import platform
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
from _turns import Ratio, Samples, spread

from engine_intelligence import __version__

ROOT = Path(__file__).parents[1]
RESULTS = Path(__file__).parent / "results"
sys.path[:0] = [str(ROOT / "tools")]


def record(
    name: str,
    unit: str,
    samples: Samples,
    ratios: list[Ratio],
    *,
    single: dict[str, float] | None = None,
    limits: dict[str, float] | None = None,
    left_out: dict[str, str] | None = None,
) -> dict[str, Any]:
    """Write the result of a benchmark, say it, and draw it.

    `single` are figures that do not vary from block to block, `limits` what is aimed at by figures that are no ratios.
    `left_out` says what could not be measured, and why.
    """
    found: dict[str, Any] = {
        **circumstances(name),
        "unit": unit,
        "figures": {contender: spread(sample) for contender, sample in samples.items()},
        "ratios": ratios,
        "single": single or {},
        "limits": limits or {},
        "left_out": left_out or {},
    }
    say(found)
    from _plots import draw

    keep(found, draw)
    return found


def circumstances(name: str) -> dict[str, Any]:
    """What every result begins with: what was measured, with what, and on what."""
    return {
        "benchmark": name,
        "package": __version__,
        "msgspec": msgspec.__version__,
        "python": platform.python_version(),
        "system": platform.system(),
        "processors": os.cpu_count(),
        "load_1_min": round(os.getloadavg()[0], 1) if hasattr(os, "getloadavg") else None,
        "scheduling": scheduling(),
    }


def keep(found: dict[str, Any], draw: Callable[[dict[str, Any], Path], None]) -> None:
    """Write a result, its plot and its tables."""
    name = found["benchmark"]
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"{name}.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    import performance  # in tools; not at the top: the path is set above

    draw(found, ROOT / "docs" / "images" / f"bench-{name}.png")
    performance.write_page()


def scheduling() -> str:
    """How the system lets this process run, and so the Hosts that it starts."""
    if not hasattr(os, "sched_getscheduler"):
        return "ordinary"
    if os.sched_getscheduler(0) in (os.SCHED_FIFO, os.SCHED_RR):
        return "real-time"
    niceness = os.getpriority(os.PRIO_PROCESS, 0)
    return f"ordinary (niceness {niceness})" if niceness else "ordinary"


def say(found: dict[str, Any]) -> None:
    """Print a result."""
    print(f"{found['benchmark']}, in {found['unit']}, load {found['load_1_min']}")
    for name, sample in found["figures"].items():
        print(f"  {name:44} {sample['median']:14,.1f}  {sample['least']:,.1f} to {sample['most']:,.1f}")
    for one in found["ratios"]:
        middle, low, high = (one["spread"][key] for key in ("median", "lower_quartile", "upper_quartile"))
        aims = f"at least {one['at_least']}, at most {one['at_most']}"
        print(f"  {one['of']} / {one['to']}: {middle:.3f} ({low:.3f} to {high:.3f}); {aims}")
    for name, value in found["single"].items():
        print(f"  {name:44} {value:14,.1f}")
