"""Stone: the wall, the gatehouse and the arch in it."""

from __future__ import annotations

import math

import pygame

from engine_intelligence.cli.play.layout import WINDOW, Box

Colour = tuple[int, int, int]

_MORTAR = (30, 31, 42)
_COURSE = 17


def draw_wall(surface: pygame.Surface, scale: int, *, top: int, bottom: int) -> None:
    """A wall with battlements across the window."""
    for left in range(-8, WINDOW.width, 44):
        _draw_stones(surface, scale, Box(left, top - 18, 26, 18), (58, 60, 74), 3)
    _draw_stones(surface, scale, Box(0, top, WINDOW.width, bottom - top), (58, 60, 74), 0)


def draw_gatehouse(surface: pygame.Surface, scale: int, gate: Box, *, top: int, bottom: int) -> None:
    """A gatehouse around an arched gate, between two round towers."""
    body = Box(gate.left - 34, top + 10, gate.width + 68, bottom - top - 10)
    _draw_stones(surface, scale, body, (72, 73, 86), 1)
    for side, left in enumerate((gate.left - 74, gate.right + 28)):
        tower = Box(left, top, 46, bottom - top)
        _draw_stones(surface, scale, tower, (80, 80, 92), 2 + side)
        _shade_round(surface, scale, tower)
        for merlon in range(3):
            _draw_stones(surface, scale, Box(left - 4 + merlon * 20, top - 14, 14, 16), (80, 80, 92), 5)
        slit = pygame.Rect((left + 20) * scale, (top + 46) * scale, 6 * scale, 30 * scale)
        pygame.draw.rect(surface, (18, 18, 26), slit, border_radius=3 * scale)
    _draw_arch(surface, scale, gate)


def arch_mask(width: int, height: int) -> pygame.Surface:
    """White where an arched opening of this size is open, transparent elsewhere."""
    mask = pygame.Surface((width, height), pygame.SRCALPHA)
    radius = width // 2
    pygame.draw.circle(mask, (255, 255, 255, 255), (radius, radius), radius)
    pygame.draw.rect(mask, (255, 255, 255, 255), pygame.Rect(0, radius, width, height - radius))
    return mask


def _draw_stones(surface: pygame.Surface, scale: int, box: Box, colour: Colour, variant: int) -> None:
    """Courses of stones in a rectangle, no two quite alike and the same at every start."""
    frame = pygame.Rect(box.left * scale, box.top * scale, box.width * scale, box.height * scale)
    former = surface.get_clip()
    surface.set_clip(frame)
    pygame.draw.rect(surface, _MORTAR, frame)
    for course, top in enumerate(range(box.top, box.bottom, _COURSE)):
        left, number = box.left - (course * 13 + variant * 7) % 24, course * 5 + variant
        while left < box.right:
            number += 1
            length = 24 + number * 29 % 17
            tone = 0.86 + (number * 37 + course * 11) % 23 / 80
            shade = (int(colour[0] * tone), int(colour[1] * tone), int(colour[2] * tone))
            stone = pygame.Rect(left * scale, top * scale, (length - 1) * scale, (_COURSE - 1) * scale)
            pygame.draw.rect(surface, shade, stone, border_radius=2 * scale)
            left += length
    surface.set_clip(former)


def _shade_round(surface: pygame.Surface, scale: int, box: Box) -> None:
    """Darken the sides, as of something round."""
    shadow = pygame.Surface((box.width * scale, box.height * scale), pygame.SRCALPHA)
    for column in range(shadow.get_width()):
        across = column / shadow.get_width() * 2 - 1
        pygame.draw.line(
            shadow, (8, 8, 18, int(150 * across * across)), (column, 0), (column, shadow.get_height())
        )
    surface.blit(shadow, (box.left * scale, box.top * scale))


def _draw_arch(surface: pygame.Surface, scale: int, gate: Box) -> None:
    """The cut stones around the opening."""
    inner = gate.width / 2
    outer = inner + 13
    middle_x, middle_y = gate.left + inner, gate.top + inner
    count = 13

    def at(radius: float, angle: float) -> tuple[float, float]:
        return (middle_x - radius * math.cos(angle)) * scale, (middle_y - radius * math.sin(angle)) * scale

    for number in range(count):
        begin, end = math.pi * number / count, math.pi * (number + 1) / count - 0.02
        tone = 104 + number * 7 % 16
        corners = [at(inner - 1, begin), at(outer, begin), at(outer, end), at(inner - 1, end)]
        pygame.draw.polygon(surface, (tone, tone - 2, tone + 8), corners)
    for left in (gate.left - 13, gate.right - 1):
        for number, top in enumerate(range(int(middle_y), gate.bottom, _COURSE)):
            tone = 102 + number * 5 % 14
            height = min(_COURSE - 1, gate.bottom - top)
            jamb = pygame.Rect(left * scale, top * scale, 14 * scale, height * scale)
            pygame.draw.rect(surface, (tone, tone - 2, tone + 8), jamb)
