"""What is in the file of a store, by version, and how an older version becomes the newest.

| version | |
| --- | --- |
| 1 | sessions and their turns, bounded by characters |
| 2 | each turn with its estimate of tokens, and with what a service calls the conversation; each session with its last use |
"""

from __future__ import annotations

import sqlite3

from engine_intelligence.conversation import Turn, turn_tokens
from engine_intelligence.sqlite_files import Form

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


FORM = Form(
    name="the store of conversations",
    application_id=APPLICATION_ID,
    version=SCHEMA_VERSION,
    steps={0: SCHEMA, 1: _FROM_1},
)


def turn_columns(version: int) -> str:
    """The columns of a turn to select: its texts, and what a service calls the conversation."""
    return "input, output, remote" if version > 1 else "input, output, NULL"


def define_functions(connection: sqlite3.Connection) -> None:
    """Give `connection` the function `turn_tokens`, which a step and the readers of version 1 call."""
    connection.create_function("turn_tokens", 2, tokens_of_texts, deterministic=True)


def tokens_of_texts(input: str, output: str) -> int:
    """`turn_tokens` for SQL."""
    return turn_tokens(Turn(input, output))
