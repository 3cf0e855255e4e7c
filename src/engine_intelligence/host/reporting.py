"""What a Host's process says of errors that nobody caught, and of what is logged: nothing that may be a secret (rule E2).

Python shows an exception with its whole text, its causes and its notes: that of a thread, of `__del__`, of a
task that nobody awaited, of a log record, and the message of a warning. In a Host, where the keys are, all of
these come out as a class name, a scrubbed text and a place. What provider code prints or writes to handlers of
its own is its own affair.
"""

from __future__ import annotations

import logging
import os
import sys
import threading
import warnings
from types import TracebackType
from typing import TextIO

from engine_intelligence.scrubbing import describe_exception, scrub, where_raised

_log = logging.getLogger(__name__)

_PACKAGE = "engine_intelligence"

# A log line may say more than a `cause`, of which a player's screen has to have room.
_MAX_MESSAGE_CHARS = 500


def keep_secrets_out_of_reports() -> None:
    """Have this process report errors, warnings and log records without what may be a secret in them.

    To be called once, after the root logger has got its handlers and before any code of a provider runs, which
    may replace all of it. For a Host's own process alone: it changes what the whole interpreter does.
    """
    for handler in logging.getLogger().handlers:
        handler.setFormatter(ScrubbingFormatter(handler.formatter))
    logging.raiseExceptions = False  # or a record that cannot be formatted is shown with its arguments
    sys.excepthook = _uncaught
    sys.unraisablehook = _unraisable
    threading.excepthook = _uncaught_in_thread
    warnings.showwarning = _warned


class ScrubbingFormatter(logging.Formatter):
    """Formats records as `inner` does, but for what they hold of others.

    The messages of this package are safe as they are made; those of any other are scrubbed. An exception is
    its class, its scrubbed text and where it was raised; there is no traceback, which would show its causes.
    """

    def __init__(self, inner: logging.Formatter | None) -> None:
        super().__init__()
        self._inner = logging.Formatter() if inner is None else inner

    def format(self, record: logging.LogRecord) -> str:
        """The line of `record`, which stays as it is: other handlers may see it too."""
        message = _message(record)
        error = record.exc_info[1] if record.exc_info else None
        if error is not None:
            message += f" ({report(error)})"
        shown = logging.LogRecord(
            record.name, record.levelno, record.pathname, record.lineno, message, None, None, record.funcName
        )
        shown.created, shown.msecs, shown.levelname = record.created, record.msecs, record.levelname
        return self._inner.format(shown)


def report(error: BaseException) -> str:
    """What may be told of an exception to whoever has to find its cause: class, scrubbed text, last places."""
    where = where_raised(error.__traceback__)
    return f"{describe_exception(error)}, raised at {where}" if where else describe_exception(error)


def _message(record: logging.LogRecord) -> str:
    try:
        message = record.getMessage()
    except Exception as error:  # noqa: BLE001 - a border: arguments of anybody's, whose `__str__` may raise
        return f"a log record that cannot be read: {type(error).__name__}"
    ours = record.name == _PACKAGE or record.name.startswith(_PACKAGE + ".")
    return message if ours else scrub(message, limit=_MAX_MESSAGE_CHARS)


def _uncaught(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    _log.error("uncaught: %s", report(error))


def _unraisable(unraisable: sys.UnraisableHookArgs) -> None:
    # Such as from `__del__`. The object that it came from is not shown: its `repr` is anybody's.
    error = unraisable.exc_value
    _log.error(
        "an exception was ignored: %s", unraisable.exc_type.__name__ if error is None else report(error)
    )


def _uncaught_in_thread(args: threading.ExceptHookArgs) -> None:
    if args.exc_type is SystemExit:  # the way in which a thread may end
        return
    error = args.exc_value
    _log.error("uncaught in a thread: %s", args.exc_type.__name__ if error is None else report(error))


def _warned(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    _log.warning(
        "%s: %s, at %s:%s", category.__name__, scrub(str(message)), os.path.basename(filename), lineno
    )
