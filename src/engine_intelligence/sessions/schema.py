"""What is in the file of a store, by version, and how an older version becomes the newest.

| version | |
| --- | --- |
| 1 | sessions and their turns, bounded by characters |
| 2 | each turn with its estimate of tokens, and with what a service calls the conversation; each session with its last use |
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from types import MappingProxyType

from engine_intelligence.conversation import Turn, turn_tokens
from engine_intelligence.sessions.faults import StoreFault

APPLICATION_ID = 0x65_69_63_73
"""What tells such a file from every other SQLite file: the bytes "eics"."""

SCHEMA_VERSION = 2

# `used` counts the uses of a provider's sessions and orders them; `used_at` is for people, in seconds since 1970.
# `tokens` stands before the texts, so that counting does not read them.
SCHEMA = """
CREATE TABLE session (
    key INTEGER PRIMARY KEY,
    provider_id TEXT NOT NULL,
    id TEXT NOT NULL,
    lost INTEGER NOT NULL,
    used INTEGER NOT NULL,
    used_at INTEGER,
    UNIQUE (provider_id, id)
);
CREATE INDEX session_by_use ON session (provider_id, lost, used);
CREATE TABLE turn (
    key INTEGER PRIMARY KEY AUTOINCREMENT,
    session INTEGER NOT NULL REFERENCES session (key) ON DELETE CASCADE,
    tokens INTEGER NOT NULL,
    input TEXT NOT NULL,
    output TEXT NOT NULL,
    remote TEXT
);
CREATE INDEX turn_of_session ON turn (session, key);
"""

# A column that is renamed or added leaves the rows where they are: only the numbers are written, not the texts again.
_FROM_1 = """
ALTER TABLE turn RENAME COLUMN chars TO tokens;
ALTER TABLE turn ADD COLUMN remote TEXT;
ALTER TABLE session ADD COLUMN used_at INTEGER;
UPDATE turn SET tokens = turn_tokens(input, output);
"""


def version_of(connection: sqlite3.Connection) -> int:
    """The version of the store that the file is; 0 for an empty file. Raises `StoreFault` for any other file."""
    application, version, tables = _look(connection)
    if application == 0 and version == 0 and tables == 0:
        return 0
    if application != APPLICATION_ID:
        raise StoreFault("the file is a database of another program")
    if not 1 <= version <= SCHEMA_VERSION:
        raise StoreFault(f"the file has version {version}, and this program reads up to {SCHEMA_VERSION}")
    return version


def _look(connection: sqlite3.Connection) -> tuple[int, int, int]:
    """The application, the version and the number of tables, all of one moment: another Host may be making the file."""
    own = not connection.in_transaction
    if own:
        connection.execute("BEGIN")
    try:
        queries = "PRAGMA application_id", "PRAGMA user_version", "SELECT count(*) FROM sqlite_master"
        application, version, tables = (connection.execute(query).fetchone()[0] for query in queries)
        return application, version, tables
    finally:
        if own and connection.in_transaction:  # an error of the system ends it
            connection.execute("ROLLBACK")


def bring_up(connection: sqlite3.Connection) -> None:
    """Make an empty file a store, and an older store one of this version: wholly or not at all.

    Any number of processes may do that at once. What is wrong is raised, and the file is then as it was.
    """
    if version_of(connection) == SCHEMA_VERSION:
        return
    connection.create_function("turn_tokens", 2, tokens_of_texts, deterministic=True)
    connection.execute("BEGIN IMMEDIATE")
    try:
        version = version_of(connection)  # again, under the lock: another Host may have been first
        for statement in _STEPS[version].split(";"):
            connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


_STEPS: Mapping[int, str] = MappingProxyType({0: SCHEMA, 1: _FROM_1, SCHEMA_VERSION: ""})


def turn_columns(version: int) -> str:
    """The columns of a turn to select: its texts, and what a service calls the conversation."""
    return "input, output, remote" if version > 1 else "input, output, NULL"


def tokens_of_texts(input: str, output: str) -> int:
    """`turn_tokens` for SQL."""
    return turn_tokens(Turn(input, output))
