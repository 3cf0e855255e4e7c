"""Identities of Activities and of sessions (rule S5).

The system is asked for random bytes of many ids at once, since a call into it takes as long as all the rest of a
submit. A fork of the process forgets what is left, so that no two processes make the same id.
"""

from __future__ import annotations

import os

_ID_BYTES = 16
# 64 ids are those of 32 submits: a call into the system every few frames of a busy scene, and a kilobyte.
_AT_ONCE = 64

# Only popped from and extended, which is atomic, since services of several threads share it.
_left: list[str] = []

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_left.clear)


def new_activity_id() -> str:
    """An unguessable id: 128 random bits. Any thread may call it."""
    return "activity-" + _random_hex()


def new_session_id() -> str:
    """An unguessable id: 128 random bits. Any thread may call it."""
    return "session-" + _random_hex()


def _random_hex() -> str:
    try:
        return _left.pop()
    except IndexError:
        random = os.urandom(_ID_BYTES * (_AT_ONCE + 1))
        ids = [random[at : at + _ID_BYTES].hex() for at in range(0, len(random), _ID_BYTES)]
        mine = ids.pop()
        _left.extend(ids)
        return mine
