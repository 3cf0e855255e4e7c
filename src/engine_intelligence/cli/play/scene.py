"""The picture of the scene, drawn with primitives: night sky, wall, gate, and a gatekeeper with a lantern.

What does not move is drawn once, at twice the size and then scaled down, which smooths its edges.
"""

from __future__ import annotations

import math

import pygame

from engine_intelligence.cli.play.keeper import draw_gatekeeper
from engine_intelligence.cli.play.layout import GATE, GATEKEEPER, WINDOW
from engine_intelligence.cli.play.masonry import arch_mask, draw_gatehouse, draw_wall

_SCALE = 2
_GATE_STEPS = 30
_OPENING_S = 2.0
_LANTERN = (GATEKEEPER.left + 103, GATEKEEPER.top + 82)
_GROUND_TOP = 448

Colour = tuple[int, int, int]


class Scene:
    """Everything behind the panels."""

    def __init__(self) -> None:
        self._background = _shrunk(_background())
        self._gates = [_shrunk(_gate(step / (_GATE_STEPS - 1))) for step in range(_GATE_STEPS)]
        self._keeper = _shrunk(draw_gatekeeper(_SCALE))
        self._spill = _spill()
        self._glows = [
            _glow(108, (strength, int(strength * 0.62), int(strength * 0.22))) for strength in (96, 106, 116)
        ]

    def draw(self, surface: pygame.Surface, now: float, gate_opened_at: float | None, speaking: bool) -> None:
        """Draw the scene as it is at `now`, in seconds of the clock that `gate_opened_at` is of."""
        surface.blit(self._background, (0, 0))
        opened = 0.0 if gate_opened_at is None else min(1.0, max(0.0, (now - gate_opened_at) / _OPENING_S))
        opened = opened * opened * (3 - 2 * opened)  # it begins and ends gently
        surface.blit(self._gates[round(opened * (_GATE_STEPS - 1))], (GATE.left, GATE.top))
        if opened > 0:
            self._spill.set_alpha(round(255 * opened))
            surface.blit(self._spill, (GATE.left - 90, _GROUND_TOP))
        bob = round(1.5 * math.sin(now * 7)) if speaking else 0
        surface.blit(self._keeper, (GATEKEEPER.left, GATEKEEPER.top + bob))
        flicker = math.sin(now * 9.1) + math.sin(now * 14.3 + 1)
        glow = self._glows[0 if flicker < -0.6 else 1 if flicker < 0.7 else 2]
        middle = (_LANTERN[0] - glow.get_width() // 2, _LANTERN[1] + bob - glow.get_height() // 2)
        surface.blit(glow, middle, special_flags=pygame.BLEND_RGB_ADD)


def _shrunk(surface: pygame.Surface) -> pygame.Surface:
    small = pygame.transform.smoothscale(
        surface, (surface.get_width() // _SCALE, surface.get_height() // _SCALE)
    )
    return small.convert_alpha() if surface.get_flags() & pygame.SRCALPHA else small.convert()


def _background() -> pygame.Surface:
    width, height = WINDOW.width * _SCALE, WINDOW.height * _SCALE
    surface = pygame.Surface((width, height))
    horizon = 290 * _SCALE
    for row in range(horizon):
        part = row / horizon
        colour = (int(9 + 34 * part), int(13 + 36 * part), int(36 + 52 * part))
        pygame.draw.line(surface, colour, (0, row), (width, row))
    for number in range(170):
        # The R2 sequence: scattered evenly without looking drawn up in rows.
        x, y = number * 0.7548776662 % 1 * width, number * 0.5698402910 % 1 * horizon
        shine = 110 + number * 53 % 140
        pygame.draw.circle(
            surface, (shine, shine, min(255, shine + 20)), (x, y), 1 + (number % 11 == 0) + (number % 3 == 0)
        )
    _draw_moon(surface, 608 * _SCALE, 76 * _SCALE, 30 * _SCALE)
    hills = [
        (0, 262),
        (90, 238),
        (190, 254),
        (300, 226),
        (430, 250),
        (560, 230),
        (700, 248),
        (800, 222),
        (960, 250),
    ]
    pygame.draw.polygon(
        surface, (20, 24, 46), [(x * _SCALE, y * _SCALE) for x, y in [*hills, (960, 460), (0, 460)]]
    )
    draw_wall(surface, _SCALE, top=286, bottom=_GROUND_TOP)
    draw_gatehouse(surface, _SCALE, GATE, top=246, bottom=_GROUND_TOP + 2)
    for row in range(_GROUND_TOP * _SCALE, height):
        part = (row - _GROUND_TOP * _SCALE) / (height - _GROUND_TOP * _SCALE)
        pygame.draw.line(
            surface, (int(30 - 14 * part), int(34 - 14 * part), int(36 - 12 * part)), (0, row), (width, row)
        )
    road = [
        (GATE.left + 4, _GROUND_TOP),
        (GATE.right - 4, _GROUND_TOP),
        (GATE.right + 150, 600),
        (GATE.left - 190, 600),
    ]
    pygame.draw.polygon(surface, (58, 52, 48), [(x * _SCALE, y * _SCALE) for x, y in road])
    return surface


def _draw_moon(surface: pygame.Surface, x: int, y: int, radius: int) -> None:
    halo = _glow(radius * 3, (44, 46, 52))
    surface.blit(
        halo, (x - halo.get_width() // 2, y - halo.get_height() // 2), special_flags=pygame.BLEND_RGB_ADD
    )
    pygame.draw.circle(surface, (236, 232, 212), (x, y), radius)
    for dx, dy, size in ((-0.3, -0.25, 0.2), (0.25, 0.1, 0.26), (-0.15, 0.42, 0.15), (0.42, -0.4, 0.12)):
        pygame.draw.circle(surface, (214, 209, 190), (x + dx * radius, y + dy * radius), size * radius)


def _glow(radius: int, colour: Colour) -> pygame.Surface:
    """A light that fades to nothing at `radius`, to be added to what is below it."""
    surface = pygame.Surface((2 * radius, 2 * radius))
    for distance in range(radius, 0, -1):
        strength = (1 - distance / radius) ** 2
        shade = (int(colour[0] * strength), int(colour[1] * strength), int(colour[2] * strength))
        pygame.draw.circle(surface, shade, (radius, radius), distance)
    return surface


def _spill() -> pygame.Surface:
    """The light that falls on the road through the open gate."""
    width, height = GATE.width + 180, WINDOW.bottom - _GROUND_TOP
    surface = pygame.Surface((width, height), pygame.SRCALPHA)
    for row in range(height):
        reach = row / height
        spread = int(84 * reach)
        colour = (255, 186, 92, int(120 * (1 - reach) ** 1.6))
        pygame.draw.line(surface, colour, (92 - spread, row), (width - 92 + spread, row))
    return surface


def _gate(opened: float) -> pygame.Surface:
    """The gate and what is behind it; `opened` is 0 to 1."""
    width, height = GATE.width * _SCALE, GATE.height * _SCALE
    surface = pygame.Surface((width, height), pygame.SRCALPHA)
    for row in range(height):
        part = row / height
        light = (int(118 + 137 * part), int(70 + 120 * part), int(34 + 66 * part), 255)
        pygame.draw.line(surface, light, (0, row), (width, row))
    pygame.draw.polygon(
        surface,
        (150, 112, 70),
        [(0, height), (width, height), (width * 0.66, height * 0.78), (width * 0.34, height * 0.78)],
    )
    angle = opened * math.radians(78)
    reach, depth = math.cos(angle), 0.16 * math.sin(angle)
    for left in (True, False):
        _draw_leaf(surface, left=left, reach=reach, depth=depth)
    surface.blit(arch_mask(width, height), (0, 0), special_flags=pygame.BLEND_RGBA_MULT)
    return surface


def _draw_leaf(surface: pygame.Surface, *, left: bool, reach: float, depth: float) -> None:
    """One leaf of the gate, hung on its side. Its free edge is `reach` of its width away, and farther off by `depth`."""
    width, height = surface.get_width() / 2, surface.get_height()

    def place(across: float, down: float) -> tuple[float, float]:
        x = across * width * reach
        shrink = depth * across
        y = height * (down * (1 - 2 * shrink) + shrink)
        return (x, y) if left else (2 * width - x, y)

    def quad(colour: Colour, from_x: float, to_x: float, from_y: float, to_y: float) -> None:
        corners = [place(from_x, from_y), place(to_x, from_y), place(to_x, to_y), place(from_x, to_y)]
        pygame.draw.polygon(surface, colour, corners)

    dim = 0.55 + 0.45 * reach
    planks = 5
    for number in range(planks):
        shade = (1.0, 0.88, 0.95, 0.84, 0.92)[number] * dim
        quad(
            (int(104 * shade), int(68 * shade), int(40 * shade)),
            number / planks,
            (number + 1) / planks - 0.012,
            0,
            1,
        )
    iron = (int(38 * dim), int(38 * dim), int(44 * dim))
    for band in (0.24, 0.56, 0.86):
        quad(iron, 0, 1, band, band + 0.05)
        for stud in (0.12, 0.37, 0.62, 0.87):
            pygame.draw.circle(surface, (96, 96, 104), place(stud, band + 0.025), 4)
    quad((int(30 * dim), int(20 * dim), int(14 * dim)), 0.985, 1, 0, 1)
    if reach > 0.5:
        pygame.draw.circle(surface, (150, 142, 120), place(0.84, 0.5), 11, 4)
