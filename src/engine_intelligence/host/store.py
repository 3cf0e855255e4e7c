"""Where the providers of a Host keep their conversations: the table `[store]` of a Host file."""

from __future__ import annotations

from pathlib import Path

from engine_intelligence.conversation import ConversationStore
from engine_intelligence.host.directories import data_directory
from engine_intelligence.providers.options import PathOption
from engine_intelligence.sessions.bounds import Bounds

FILE_NAME = "conversations.sqlite3"


class StoreOptions(Bounds, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where conversations are kept, and how much of them. A bad value raises `ValueError` that names field and value."""

    path: PathOption = ""
    """The file; empty: `conversations.sqlite3` in the user's data directory. Several Hosts may share one."""
    memory: bool = False
    """Keep conversations in memory alone, until the Host ends. Nothing is written to a disk."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.memory and self.path:
            raise ValueError("memory = true keeps conversations in no file: leave out path")
        if "\0" in self.path:
            raise ValueError(f"path must be the path of a file, not {self.path!r}")


def store_file(options: StoreOptions) -> Path | None:
    """The file that conversations are kept in; `None` if that is memory."""
    if options.memory:
        return None
    return Path(options.path) if options.path else data_directory() / FILE_NAME


def make_store(options: StoreOptions) -> ConversationStore:
    """A store by those options, for one provider, which closes it."""
    from engine_intelligence.sessions.sqlite import SqliteConversationStore

    return SqliteConversationStore(
        store_file(options),
        max_turns=options.max_turns,
        max_tokens=options.max_tokens,
        max_sessions=options.max_sessions,
    )
