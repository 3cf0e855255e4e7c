"""What becomes of a conversation when the save is older than the store, when it was dropped, and when the store is gone.

Run it from anywhere: `python examples/remembering.py`.
"""

import os
import tempfile
import time
from collections.abc import AsyncGenerator
from pathlib import Path

from engine_intelligence import (
    Completed,
    Failed,
    Ok,
    Prompt,
    SessionRef,
    SqliteConversationStore,
    StreamProvider,
    spawn_host,
)

STORE = "GATEKEEPER_STORE"


# --8<-- [start:provider]
async def recall(prompt: Prompt) -> AsyncGenerator[str, None]:
    """In the Host. `history` holds the completed turns of this session, oldest first."""
    yield f"I recall {len(prompt.history)} turns of ours."


def gatekeeper() -> StreamProvider:
    """A provider that remembers: the store is handed to it, and belongs to it from then on."""
    store = SqliteConversationStore(os.environ[STORE], max_sessions=2)
    return StreamProvider("gatekeeper", recall, store=store)


# --8<-- [end:provider]


def ask(store: Path, saved: SessionRef | None) -> Completed | Failed:
    """One run of the game: load, one question, save."""
    with spawn_host("remembering:gatekeeper", environment={**os.environ, STORE: str(store)}) as host:
        client = host.client("gatekeeper")
        assert isinstance(client.submit("Do you know me?", session=saved), Ok)
        give_up_at = time.monotonic() + 20
        while not client.closed and time.monotonic() < give_up_at:
            for event in client.poll():
                if isinstance(event, Completed | Failed):
                    return event
            time.sleep(1 / 60)
        raise AssertionError(client.close_reason or "no terminal came")


def said(event: Completed | Failed) -> str:
    assert isinstance(event, Completed), event
    return event.output


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder) / "conversations.sqlite3"
        first = ask(store, None)
        assert isinstance(first, Completed)
        print("a new game:", first.output)
        old_save = first.session
        print("continued:", said(ask(store, old_save)))
        print("the same old save again:", said(ask(store, old_save)))

        for _ in range(2):
            ask(
                store, None
            )  # two new games: with `max_sessions=2` the store drops the conversation of the first
        lost = ask(store, old_save)
        assert isinstance(lost, Failed)
        assert lost.error.detail.reason == "session-lost"
        print("after two new games:", lost.error.detail.reason)
        # --8<-- [start:lost]
        event = ask(store, old_save)
        if isinstance(event, Failed) and event.error.detail.reason == "session-lost":
            event = ask(store, None)  # begin anew, and save the session that comes of it
        # --8<-- [end:lost]
        print("begun anew:", said(event))

        for file in Path(folder).iterdir():
            file.unlink()
        print("without the store:", said(ask(store, old_save)))


if __name__ == "__main__":
    main()
