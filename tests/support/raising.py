"""Raises an exception in the middle of a call, at a line of the package that the test chooses."""

import sys
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any

import engine_intelligence

PACKAGE = engine_intelligence.__file__.rpartition("__init__")[0]

# More lines than any call here has: a call that loops without end fails a test rather than holding it up.
_MOST_LINES = 5000


def raised_at(line: int, error: BaseException, call: Callable[[], object]) -> bool:
    """Make `call`, and raise `error` when it comes to its `line`-th line in the package. Whether that came out of it.

    A signal handler that raises, as that of Ctrl-C does, comes between two lines like this, or inside one. A call that
    contains the error, as at a border it may, returns; so does one that has fewer lines.
    """
    passed = 0

    def trace(frame: FrameType, event: str, _argument: object) -> Any:
        nonlocal passed
        if not frame.f_code.co_filename.startswith(PACKAGE):
            return None
        if event == "line":
            passed += 1
            if passed == line:
                sys.settrace(None)
                raise error
        return trace

    came_out = False

    def run() -> None:
        nonlocal came_out
        sys.settrace(trace)
        try:
            call()
        except type(error):
            came_out = True
        finally:
            sys.settrace(None)

    # On a thread of its own: what a trace function raises inside an `except` can stay the exception that its thread
    # handles, for good (seen in CPython 3.11).
    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    return came_out


def lines_of(call: Callable[[], object]) -> int:
    """How many lines of the package a call passes."""
    passed = 0

    def trace(frame: FrameType, event: str, _argument: object) -> Any:
        nonlocal passed
        if not frame.f_code.co_filename.startswith(PACKAGE):
            return None
        passed += event == "line"
        assert passed < _MOST_LINES
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        call()
    finally:
        sys.settrace(before)
    return passed


# What gives something back allocates nothing, and so does not fail for want of memory.
_GIVES_BACK = ("release",)


def starved_at(call_number: int, call: Callable[[], object]) -> int:
    """Make `call`, and raise `MemoryError` in the place of the `call_number`-th call that the package makes of C code.

    That is where memory is allocated: to append, to encode, to join. Returns how many there were up to there; with 0 for
    the number none is raised and all are counted.
    """
    passed = 0

    def profile(frame: FrameType, event: str, argument: Any) -> None:
        nonlocal passed
        if event != "c_call" or not frame.f_code.co_filename.startswith(PACKAGE):
            return
        if argument.__name__ in _GIVES_BACK:
            return
        passed += 1
        if passed == call_number:
            sys.setprofile(None)
            raise MemoryError

    sys.setprofile(profile)
    try:
        call()
    except MemoryError:
        pass
    finally:
        sys.setprofile(None)
    return passed
