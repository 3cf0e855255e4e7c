"""Identities of Activities and of sessions (rule S5)."""

from __future__ import annotations

import os


def new_activity_id() -> str:
    """An unguessable id: 128 random bits."""
    return "activity-" + os.urandom(16).hex()


def new_session_id() -> str:
    """An unguessable id: 128 random bits."""
    return "session-" + os.urandom(16).hex()
