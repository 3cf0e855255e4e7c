"""One plot for each benchmark: medians as bars, quartiles as whiskers, contenders from top to bottom."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

BAR, YARDSTICK, INK = "#3f51b5", "#b0b7d8", "#333333"


def draw(found: dict[str, Any], path: Path) -> None:
    """Draw a result. The contender that the ratios refer to is the pale one."""
    plots: Any = importlib.import_module("matplotlib.figure")
    names = list(found["figures"])
    samples = [found["figures"][name] for name in names]
    yardsticks = {one["to"] for one in found["ratios"]}
    figure = plots.Figure(figsize=(8, 0.9 + 0.48 * len(names)), dpi=150, layout="constrained")
    axes = figure.add_subplot()
    medians = [sample["median"] for sample in samples]
    whiskers = [
        [sample["median"] - sample["lower_quartile"] for sample in samples],
        [sample["upper_quartile"] - sample["median"] for sample in samples],
    ]
    axes.barh(
        names,
        medians,
        xerr=whiskers,
        height=0.62,
        color=[YARDSTICK if name in yardsticks else BAR for name in names],
        ecolor=INK,
        capsize=3,
    )
    axes.invert_yaxis()
    for at, sample in enumerate(samples):
        axes.annotate(
            f" {readable(sample['median'])}",
            (sample["upper_quartile"], at),
            xytext=(4, 0),
            textcoords="offset points",
            va="center",
            color=INK,
            fontsize=9,
        )
    axes.margins(x=0.16)
    axes.set_xlabel(f"{found['unit']} (median and quartiles)", color=INK)
    axes.tick_params(colors=INK, length=0)
    axes.xaxis.set_major_formatter(tick)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.spines["bottom"].set_color("#cccccc")
    path.parent.mkdir(exist_ok=True)
    figure.savefig(path)


def tick(value: float, _position: int | None = None) -> str:
    """What stands at a mark of the axis."""
    return readable(value)


def readable(value: float) -> str:
    """A figure in as many digits as tell something."""
    if value >= 1_000_000:
        return f"{value / 1_000_000:.2f} M"
    if value >= 10_000:
        return f"{value / 1000:,.0f} k"
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
