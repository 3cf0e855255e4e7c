"""What PyInstaller asks an installed package for: where its hooks are."""

from __future__ import annotations

import os


def get_hook_dirs() -> list[str]:
    """The directory of this package's hooks, by the entry point `pyinstaller40`."""
    return [os.path.dirname(__file__)]
