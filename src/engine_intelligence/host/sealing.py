"""Keeping other processes of the same user from reading this one (rule H2)."""

from __future__ import annotations

import sys

_PR_SET_DUMPABLE = 4  # linux/prctl.h


def seal_process() -> None:
    """Have the system refuse other processes of this user the environment and the memory of this one.

    That is `PR_SET_DUMPABLE` of prctl(2), so it works on Linux; elsewhere this does nothing, and the page of what is not
    supported says so. It also means that no debugger can attach and that a crash leaves no core. Another program that is
    started with `exec` is readable again.
    """
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)
