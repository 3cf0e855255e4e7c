"""What many measured values come to."""

import math
from collections.abc import Sequence


def spread(values: Sequence[float], *, digits: int = 1) -> dict[str, float]:
    """How many there are, three percentiles by the nearest rank, and the largest."""
    ordered = sorted(values)
    found: dict[str, float] = {"count": len(ordered)}
    if ordered:
        for percent in (50, 90, 99, 99.9):
            found[f"p{percent:g}"] = round(percentile(ordered, percent), digits)
        found["max"] = round(ordered[-1], digits)
    return found


def percentile(ordered: Sequence[float], percent: float) -> float:
    """The smallest value that at least so many percent of the ordered values do not exceed."""
    return ordered[max(0, math.ceil(len(ordered) * percent / 100) - 1)]


def slope(points: Sequence[tuple[float, float]]) -> float:
    """The slope of the straight line through these points that has the least squares; 0.0 where there is none."""
    if not points:
        return 0.0
    mean_x = sum(x for x, _ in points) / len(points)
    mean_y = sum(y for _, y in points) / len(points)
    square = sum((x - mean_x) ** 2 for x, _ in points)
    return sum((x - mean_x) * (y - mean_y) for x, y in points) / square if square else 0.0
