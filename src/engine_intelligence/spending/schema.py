"""What is in the file of the ledger."""

from __future__ import annotations

from engine_intelligence.sqlite_files import Form

# Bounded: of starts no more than a budget allows are kept, of tokens 1441 sums for each account, and of accounts those used
# in the last 24 hours.
FORM = Form(
    name="the ledger of spending",
    application_id=0x65_69_73_70,  # the bytes "eisp"
    version=1,
    steps={
        0: """
CREATE TABLE account (
    key INTEGER PRIMARY KEY,
    host TEXT NOT NULL,
    is_realm INTEGER NOT NULL,
    provider TEXT NOT NULL,
    activities_per_minute INTEGER,
    output_tokens_per_day INTEGER,
    used_at INTEGER NOT NULL,
    UNIQUE (host, is_realm, provider)
);
CREATE TABLE start (
    account INTEGER NOT NULL REFERENCES account (key) ON DELETE CASCADE,
    at INTEGER NOT NULL
);
CREATE INDEX start_of_account ON start (account, at);
CREATE INDEX start_by_time ON start (at);
CREATE TABLE tokens (
    account INTEGER NOT NULL REFERENCES account (key) ON DELETE CASCADE,
    minute INTEGER NOT NULL,
    tokens INTEGER NOT NULL,
    PRIMARY KEY (account, minute)
) WITHOUT ROWID;
CREATE INDEX tokens_by_minute ON tokens (minute);
CREATE TABLE stopped (
    key INTEGER PRIMARY KEY CHECK (key = 1),
    at INTEGER NOT NULL
);
"""
    },
)
