"""Whether there is a screen for a window. pygame is loaded here, and only when a window is asked for."""

from __future__ import annotations

import os
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from engine_intelligence.cli.frames import FrameMeter
from engine_intelligence.cli.play.story import Story

if TYPE_CHECKING:
    from engine_intelligence.cli.play.window import Window

# Drivers that show nothing. SDL falls back on one of them silently; who wants one names it.
_INVISIBLE = frozenset({"dummy", "offscreen", "evdev"})
_DRIVER_VARIABLES = ("SDL_VIDEODRIVER", "SDL_VIDEO_DRIVER")
_LINUX_DISPLAY_VARIABLES = ("DISPLAY", "WAYLAND_DISPLAY")


class DisplayMissing(Exception):
    """There is no window to be had; the text says why, in a sentence."""


@contextmanager
def open_window(
    story: Story, meter: FrameMeter, *, lines: Sequence[str] = (), screenshot: Path | None = None
) -> Generator[Window]:
    """A window for the scene, closed at the end. Raises `DisplayMissing`."""
    with _display() as pygame:
        from engine_intelligence.cli.play.window import Window

        try:
            window = Window(story, meter, lines=lines, screenshot=screenshot)
        except pygame.error as error:
            raise DisplayMissing(f"There is no display here ({error}).") from None
        yield window


def display_driver() -> str:
    """The name of the driver that a window would use. Raises `DisplayMissing`."""
    with _display() as pygame:
        return str(pygame.display.get_driver())


@contextmanager
def _display() -> Generator[ModuleType]:
    """pygame with its display started, and ended afterwards. Raises `DisplayMissing`."""
    named = any(os.environ.get(variable) for variable in _DRIVER_VARIABLES)
    if sys.platform.startswith("linux") and not named:
        # Before SDL is asked: it would try every driver it has, and complain on standard error.
        if not any(os.environ.get(variable) for variable in _LINUX_DISPLAY_VARIABLES):
            raise DisplayMissing("There is no display here.")
    os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")
    try:
        import pygame
    except ImportError:
        raise DisplayMissing(
            'A window needs pygame-ce, which is not installed: pip install "engine-intelligence[play]".'
        ) from None
    try:
        try:
            pygame.display.init()
        except pygame.error as error:
            raise DisplayMissing(f"There is no display here ({error}).") from None
        if pygame.display.get_driver() in _INVISIBLE and not named:
            raise DisplayMissing("There is no display here.")
        yield pygame
    finally:
        pygame.quit()
