"""Two games at once, each with a Host, share one store."""

import time
from pathlib import Path

from support.process_marks import PATIENCE_S
from support.remembering_minds import MIND
from support.remembering_play import Player, check_turns, check_whole, kept, session, start

from engine_intelligence.conversation import Turn
from engine_intelligence.sessions.archive import ConversationArchive
from engine_intelligence.sessions.sqlite import SqliteConversationStore

TURNS_EACH = 100


def test_two_hosts_that_begin_a_store_together_and_share_a_session_spoil_neither(tmp_path: Path) -> None:
    path = tmp_path / "conversations.sqlite3"
    with start(path) as one, start(path) as two:
        players = [
            Player(host.client(MIND), name, [session(f"of {name}"), session("of both")])
            for name, host in (("one", one), ("two", two))
        ]
        gives_up_at = time.monotonic() + 3 * PATIENCE_S
        while any(player.busy or len(player.told) < TURNS_EACH for player in players):
            for player in players:
                if len(player.told) < TURNS_EACH:
                    player.speak()
                player.listen()
            assert time.monotonic() < gives_up_at, [len(player.told) for player in players]
    assert [player.others for player in players] == [[], []]
    check_whole(path)
    for name, player in zip(("one", "two"), players, strict=True):
        told = [input for where, input in player.told if where == session(f"of {name}")]
        assert check_turns(kept(path, session(f"of {name}")), alone=True) == told
    shared = check_turns(kept(path, session("of both")), alone=False)
    for name, player in zip(("one", "two"), players, strict=True):
        told = [input for where, input in player.told if where == session("of both")]
        assert [input for input in shared if input.startswith(name)] == told
    assert len(shared) == sum(where == session("of both") for player in players for where, _ in player.told)


def test_somebody_who_looks_exports_and_deletes_does_not_disturb_a_host(tmp_path: Path) -> None:
    path = tmp_path / "conversations.sqlite3"
    store = SqliteConversationStore(path)
    for number in range(TURNS_EACH):
        assert store.append(session(f"old {number}"), Turn("x", "y"), lambda: True)
    store.close()
    looks = 0
    with start(path) as host:
        player = Player(host.client(MIND), "one", [session("s1"), session("s2")])
        gives_up_at = time.monotonic() + 3 * PATIENCE_S
        while player.busy or len(player.told) < TURNS_EACH:
            if len(player.told) < TURNS_EACH:
                player.speak()
                with ConversationArchive(path) as archive:
                    for each in archive.summaries():
                        archive.turns(each.session)
                    archive.delete(session(f"old {looks % TURNS_EACH}"))
                looks += 1
            player.listen()
            assert time.monotonic() < gives_up_at, len(player.told)
    assert player.others == []
    check_whole(path)
    for name in ("s1", "s2"):
        told = [input for where, input in player.told if where == session(name)]
        assert check_turns(kept(path, session(name)), alone=True) == told
