"""Identities of Activities and of sessions (rule S5)."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable

from engine_intelligence.scrubbing import describe_exception

_log = logging.getLogger(__name__)


def new_activity_id() -> str:
    """An unguessable id: 128 random bits."""
    return "activity-" + os.urandom(16).hex()


def new_session_id() -> str:
    """An unguessable id: 128 random bits."""
    return "session-" + os.urandom(16).hex()


def made_id(create: Callable[[], str]) -> str:
    """What `create` makes.

    If it raises, an empty id, which is then refused: a submit raises for nobody's fault (rule D4).
    """
    try:
        return create()
    except Exception as error:  # noqa: BLE001 - a border: the function is the game's
        _log.warning("a function that makes ids raised: %s", describe_exception(error))
        return ""
