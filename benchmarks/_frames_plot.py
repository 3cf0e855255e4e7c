"""The plot of the benchmark `frames`: what 99 of 100 frames take at the most, for each number of streams."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

from _frames_figures import DETACHED, FRAME_MS, SDK
from _plots import BAR, INK, YARDSTICK, readable

# A loop that stands still for a second would leave nothing to see of the others.
MOST_SHOWN_MS = 2.5 * FRAME_MS


def draw(found: dict[str, Any], path: Path) -> None:
    """Draw a result. The pale bars do the same work and have nothing to say to the game."""
    plots: Any = importlib.import_module("matplotlib.figure")
    crowds = {streams: crowd for streams, crowd in found["crowds"].items() if int(streams)}
    figure = plots.Figure(figsize=(8, 0.9 + 0.48 * 5), dpi=150, layout="constrained")
    panels = figure.subplots(1, len(crowds), sharey=True, squeeze=False)[0]
    for axes, (streams, crowd) in zip(panels, crowds.items(), strict=True):
        values = [one["p99_ms"] for one in crowd.values()]
        colors = [YARDSTICK if name in (DETACHED, SDK) else BAR for name in crowd]
        axes.barh(list(crowd), [min(value, MOST_SHOWN_MS) for value in values], height=0.62, color=colors)
        axes.axvline(FRAME_MS, color=INK, linewidth=0.8, linestyle=":")
        for at, value in enumerate(values):
            text = axes.annotate(
                f" {readable(value)}", (min(value, MOST_SHOWN_MS), at), va="center", color=INK, fontsize=9
            )
            text.set_bbox({"facecolor": "white", "edgecolor": "none", "pad": 0.5})  # over the dotted line
        axes.set_xlim(0, MOST_SHOWN_MS * 1.3)
        axes.set_title(f"{streams} streams", color=INK, fontsize=10)
        axes.tick_params(colors=INK, length=0)
        for side in ("top", "right", "left"):
            axes.spines[side].set_visible(False)
        axes.spines["bottom"].set_color("#cccccc")
    panels[0].invert_yaxis()
    figure.supxlabel(
        "milliseconds of a frame, 99th percentile (dotted: what a frame may take)", color=INK, fontsize=10
    )
    path.parent.mkdir(exist_ok=True)
    figure.savefig(path)
