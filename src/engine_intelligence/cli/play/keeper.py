"""The gatekeeper: a hooded man with a beard, a staff in one hand and a lantern in the other."""

from __future__ import annotations

import pygame

from engine_intelligence.cli.play.layout import GATEKEEPER

Colour = tuple[int, int, int]
Point = tuple[int, int]

_STEEL: Colour = (168, 172, 180)
_SKIN: Colour = (206, 164, 130)
_BEARD: Colour = (200, 196, 188)
_HOOD: Colour = (62, 54, 82)
_DARK: Colour = (34, 26, 26)
_IRON: Colour = (44, 42, 48)


class _Pen:
    """Draws on a surface that is `scale` times as large as the coordinates say."""

    def __init__(self, surface: pygame.Surface, scale: int) -> None:
        self._surface = surface
        self._scale = scale

    def shape(self, colour: Colour, *points: Point) -> None:
        scale = self._scale
        pygame.draw.polygon(self._surface, colour, [(x * scale, y * scale) for x, y in points])

    def stroke(self, colour: Colour, begin: Point, end: Point, width: int) -> None:
        scale = self._scale
        (from_x, from_y), (to_x, to_y) = begin, end
        line = ((from_x * scale, from_y * scale), (to_x * scale, to_y * scale))
        pygame.draw.line(self._surface, colour, line[0], line[1], width * scale)

    def disc(self, colour: Colour, x: int, y: int, radius: float) -> None:
        scale = self._scale
        pygame.draw.circle(self._surface, colour, (x * scale, y * scale), radius * scale)


def draw_gatekeeper(scale: int) -> pygame.Surface:
    """His picture, `scale` times the size of his place in the window."""
    surface = pygame.Surface((GATEKEEPER.width * scale, GATEKEEPER.height * scale), pygame.SRCALPHA)
    shadow = pygame.Rect(16 * scale, 164 * scale, 90 * scale, 12 * scale)
    pygame.draw.ellipse(surface, (10, 12, 16, 120), shadow)
    pen = _Pen(surface, scale)
    _draw_body(pen)
    _draw_head(pen)
    _draw_lantern(pen)
    return surface


def _draw_body(pen: _Pen) -> None:
    pen.stroke((98, 72, 46), (20, 26), (14, 170), 4)  # the staff
    pen.shape(_STEEL, (20, 2), (27, 24), (20, 32), (14, 24))
    pen.shape(
        (52, 48, 74), (44, 44), (30, 78), (22, 168), (94, 168), (86, 78), (74, 44)
    )  # the cloak and its folds
    pen.shape((72, 62, 84), (64, 44), (74, 44), (86, 78), (94, 168), (70, 168), (64, 100))
    pen.shape((40, 37, 60), (44, 44), (30, 78), (22, 168), (38, 168), (46, 90))
    pen.shape((86, 60, 40), (30, 108), (88, 108), (89, 116), (29, 116))  # the belt
    pen.disc((168, 140, 74), 58, 112, 5)
    pen.shape((64, 56, 84), (32, 62), (14, 92), (16, 102), (26, 104), (42, 84))  # the arms
    pen.disc(_SKIN, 18, 99, 6)
    pen.shape((78, 66, 90), (78, 58), (98, 66), (104, 60), (106, 52), (98, 50), (82, 46))
    pen.disc(_SKIN, 103, 55, 6)


def _draw_head(pen: _Pen) -> None:
    pen.disc(_HOOD, 59, 30, 24)
    pen.shape(_HOOD, (38, 22), (54, 2), (66, 4), (80, 26), (82, 48), (36, 48))
    pen.disc((28, 24, 36), 60, 32, 18)
    pen.disc(_SKIN, 61, 33, 14)
    pen.shape(_BEARD, (47, 34), (75, 34), (73, 52), (61, 68), (49, 52))
    pen.disc(_SKIN, 61, 30, 11)
    pen.shape((188, 140, 108), (60, 30), (66, 38), (59, 39))
    for x in (56, 67):
        pen.disc(_DARK, x, 29, 1.8)
    pen.stroke(_BEARD, (51, 25), (59, 26), 2)
    pen.stroke(_BEARD, (64, 26), (72, 25), 2)
    pen.stroke((120, 60, 52), (57, 43), (66, 43), 2)


def _draw_lantern(pen: _Pen) -> None:
    pen.stroke(_IRON, (103, 58), (103, 66), 2)
    pen.shape(_IRON, (94, 72), (103, 64), (112, 72))
    pen.shape((255, 206, 110), (95, 72), (111, 72), (113, 94), (93, 94))
    pen.shape((255, 244, 206), (103, 76), (107, 86), (103, 92), (99, 86))
    pen.stroke(_IRON, (95, 72), (93, 94), 2)
    pen.stroke(_IRON, (103, 72), (103, 76), 2)
    pen.stroke(_IRON, (111, 72), (113, 94), 2)
    pen.shape(_IRON, (91, 94), (115, 94), (113, 99), (93, 99))
