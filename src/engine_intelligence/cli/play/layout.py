"""Where things are in the window. Panels do not overlap, and the scene is seen between them."""

from __future__ import annotations

from typing import NamedTuple


class Box(NamedTuple):
    """A rectangle, in pixels: left, top, width, height."""

    left: int
    top: int
    width: int
    height: int

    @property
    def right(self) -> int:
        """The first column that is not in it."""
        return self.left + self.width

    @property
    def bottom(self) -> int:
        """The first row that is not in it."""
        return self.top + self.height

    def inset(self, by: int) -> Box:
        """This rectangle without a border of `by` pixels."""
        return Box(self.left + by, self.top + by, self.width - 2 * by, self.height - 2 * by)

    def meets(self, other: Box) -> bool:
        """Whether the two have a pixel in common."""
        return (
            self.left < other.right
            and other.left < self.right
            and self.top < other.bottom
            and other.top < self.bottom
        )


WINDOW = Box(0, 0, 960, 600)

BUBBLE = Box(24, 20, 536, 196)
"""The most that the speech bubble takes; it grows upwards from its lower edge."""
METRICS = Box(656, 20, 280, 202)
NOTICE = Box(24, 466, 912, 44)
INPUT = Box(24, 516, 912, 44)
HELP = Box(24, 566, 912, 22)

PANELS = (BUBBLE, METRICS, NOTICE, INPUT, HELP)

BUBBLE_TAIL = (372, 286)
"""Where the bubble points: the gatekeeper's head."""

GATE = Box(520, 268, 140, 182)
"""The opening in the wall; its upper end is an arch."""

GATEKEEPER = Box(316, 288, 128, 176)
