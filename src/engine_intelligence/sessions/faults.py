"""What is wrong with the file of a store, in words for a person."""

from __future__ import annotations

import sqlite3


class StoreFault(Exception):
    """What this package finds wrong with a file by itself. Its text is told as it stands."""


# By primary result code (https://sqlite.org/rescode.html). The texts of SQLite are for programmers, and some mislead: a
# directory that may not be written to is "attempt to write a readonly database" in one place and "unable to open database
# file" in another.
FAULTS = {
    sqlite3.SQLITE_BUSY: "another program holds it locked",
    sqlite3.SQLITE_LOCKED: "another program holds it locked",
    sqlite3.SQLITE_READONLY: "it is read-only, or its directory is",
    sqlite3.SQLITE_IOERR: "the system failed to read or write it",
    sqlite3.SQLITE_CORRUPT: "the file is damaged",
    sqlite3.SQLITE_FULL: "the disk is full",
    sqlite3.SQLITE_CANTOPEN: "the file cannot be opened",
    sqlite3.SQLITE_NOTADB: "the file is not a database",
}


def describe(error: Exception) -> str:
    """What `error` says of the file, without the path: a part of a sentence. For `sqlite3.Error`, `OSError`, `StoreFault`."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    if isinstance(error, sqlite3.Error):
        return FAULTS.get(primary_code(error), str(error))
    return str(error)


def primary_code(error: sqlite3.Error) -> int:
    """The primary result code of `error`; 0 where SQLite did not give one."""
    code = getattr(error, "sqlite_errorcode", None)  # absent where the module itself raised it
    return code & 0xFF if isinstance(code, int) else 0
