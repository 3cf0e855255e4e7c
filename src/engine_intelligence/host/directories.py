"""Where a Host keeps what outlives it.

Environment variables are read here, in `host/config.py` and in the command line only.
"""

from __future__ import annotations

import os
from pathlib import Path

CACHE_VARIABLE = "ENGINE_INTELLIGENCE_CACHE_DIR"
DATA_VARIABLE = "ENGINE_INTELLIGENCE_DATA_DIR"


def cache_directory() -> Path:
    """The user's folder for what can be fetched again: model weights.

    `ENGINE_INTELLIGENCE_CACHE_DIR` overrides it.
    """
    chosen = os.environ.get(CACHE_VARIABLE)
    if chosen:
        return Path(chosen)
    from platformdirs import user_cache_path

    return user_cache_path("engine-intelligence", appauthor=False)


def data_directory() -> Path:
    """The user's folder for what cannot be fetched again: conversations, saves.

    `ENGINE_INTELLIGENCE_DATA_DIR` overrides it.
    """
    chosen = os.environ.get(DATA_VARIABLE)
    if chosen:
        return Path(chosen)
    from platformdirs import user_data_path

    return user_data_path("engine-intelligence", appauthor=False)
