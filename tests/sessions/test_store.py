"""The store of conversations: what is in it is exactly what was completed, within its bounds."""

import os
import sqlite3
import stat
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine_intelligence.activity import SessionRef
from engine_intelligence.conversation import ConversationStore, Turn, turn_tokens
from engine_intelligence.errors import ProviderError
from engine_intelligence.sessions import opening, sqlite
from engine_intelligence.sessions.sqlite import SqliteConversationStore


def ref(id: str, provider: str = "gatekeeper") -> SessionRef:
    return SessionRef(provider, id)


def yes() -> bool:
    return True


def no() -> bool:
    return False


def reason_of(error: pytest.ExceptionInfo[ProviderError]) -> str:
    return error.value.reason


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "private" / "sessions.db"


@pytest.fixture
def store(path: Path) -> Iterator[SqliteConversationStore]:
    store = SqliteConversationStore(path)
    yield store
    store.close()


def talk(store: ConversationStore, session: SessionRef, *inputs: str) -> None:
    for input in inputs:
        assert store.append(session, Turn(input, input.upper()), yes)


def inputs(store: ConversationStore, session: SessionRef) -> list[str]:
    return [turn.input for turn in store.history(session)]


def test_turns_come_back_whole_and_in_order(store: SqliteConversationStore) -> None:
    turns = [
        Turn("May I pass?", "No."),
        Turn("a\0b", "👋🏽 \r\n", "resp_1"),
        Turn("Why?", "Because.", "resp_2"),
    ]
    for turn in turns:
        store.append(ref("one"), turn, yes)
    assert list(store.history(ref("one"))) == turns


def test_a_session_that_has_none_yet_has_no_turns(store: SqliteConversationStore) -> None:
    assert list(store.history(ref("one"))) == []


def test_sessions_of_two_providers_are_apart_even_with_the_same_id(store: SqliteConversationStore) -> None:
    talk(store, ref("one", "gatekeeper"), "hello")
    assert inputs(store, ref("one", "innkeeper")) == []


def test_when_a_session_was_last_used_is_noted_in_whole_seconds(path: Path) -> None:
    store = SqliteConversationStore(path, clock=lambda: 1_700_000_000.9)
    talk(store, ref("one"), "hello")
    store.close()
    connection = sqlite3.connect(path)
    assert connection.execute("SELECT used_at FROM session").fetchall() == [(1_700_000_000,)]
    connection.close()


@pytest.mark.spec("P7")
def test_a_conversation_outlives_the_store(path: Path) -> None:
    for input in ("first", "second"):
        store = SqliteConversationStore(path)
        talk(store, ref("one"), input)
        store.close()
    store = SqliteConversationStore(path)
    assert inputs(store, ref("one")) == ["first", "second"]
    store.close()


def test_a_store_without_a_path_is_in_memory() -> None:
    store = SqliteConversationStore(None)
    talk(store, ref("one"), "hello")
    assert inputs(store, ref("one")) == ["hello"]
    store.close()


@pytest.mark.spec("P5")
def test_a_turn_that_is_not_accepted_is_not_in_the_store(store: SqliteConversationStore, path: Path) -> None:
    talk(store, ref("one"), "kept")
    assert store.append(ref("one"), Turn("dropped", "x"), no) is False
    other = SqliteConversationStore(path)
    assert inputs(store, ref("one")) == inputs(other, ref("one")) == ["kept"]
    other.close()


@pytest.mark.spec("P5")
def test_a_turn_whose_acceptance_raises_is_not_in_the_store(store: SqliteConversationStore) -> None:
    class StopError(BaseException):
        pass

    def stop() -> bool:
        raise StopError

    talk(store, ref("one"), "kept")
    with pytest.raises(StopError):
        store.append(ref("one"), Turn("dropped", "x"), stop)
    talk(store, ref("one"), "after")
    assert inputs(store, ref("one")) == ["kept", "after"]


@pytest.mark.spec("P5")
def test_a_turn_that_is_not_accepted_pushes_no_other_out(path: Path) -> None:
    store = SqliteConversationStore(path, max_turns=1, max_sessions=1)
    talk(store, ref("one"), "kept")
    store.append(ref("one"), Turn("dropped", "x"), no)
    store.append(ref("two"), Turn("dropped", "x"), no)
    assert inputs(store, ref("one")) == ["kept"]
    store.close()


def test_nobody_sees_a_turn_before_it_is_accepted(store: SqliteConversationStore, path: Path) -> None:
    other = SqliteConversationStore(path)
    seen: list[list[str]] = []

    def look() -> bool:
        seen.append(inputs(other, ref("one")))
        return True

    talk(store, ref("one"), "first")
    store.append(ref("one"), Turn("second", "x"), look)
    assert seen == [["first"]]
    assert inputs(other, ref("one")) == ["first", "second"]
    other.close()


def test_turns_beyond_the_number_are_dropped_oldest_first() -> None:
    store = SqliteConversationStore(None, max_turns=2)
    talk(store, ref("one"), "a", "b", "c")
    assert inputs(store, ref("one")) == ["b", "c"]
    store.close()


def test_turns_beyond_the_tokens_are_dropped_whole_and_oldest_first() -> None:
    bound = turn_tokens(Turn("bbb", "BBB")) + turn_tokens(Turn("ccccc", "CCCCC"))
    store = SqliteConversationStore(None, max_tokens=bound)
    talk(store, ref("one"), "aaaaa", "bbb", "ccccc")
    assert inputs(store, ref("one")) == ["bbb", "ccccc"]
    store.close()


def test_the_latest_turn_is_kept_however_long_it_is() -> None:
    store = SqliteConversationStore(None, max_tokens=20)
    talk(store, ref("one"), "a", "b" * 100)
    assert inputs(store, ref("one")) == ["b" * 100]
    store.close()


@pytest.mark.spec("P7")
def test_a_session_that_was_dropped_is_lost_at_once_when_it_is_used() -> None:
    store = SqliteConversationStore(None, max_sessions=2)
    talk(store, ref("old"), "x")
    talk(store, ref("one"), "x")
    talk(store, ref("old"), "y")  # continued, and so no longer the one that was longest unused
    talk(store, ref("two"), "x")
    with pytest.raises(ProviderError) as lost:
        store.history(ref("one"))
    assert reason_of(lost) == "session-lost"
    with pytest.raises(ProviderError) as again:
        store.append(ref("one"), Turn("x", "y"), yes)
    assert reason_of(again) == "session-lost"
    assert inputs(store, ref("old")) == ["x", "y"]
    assert inputs(store, ref("two")) == ["x"]
    store.close()


def test_sessions_are_counted_for_each_provider_on_its_own() -> None:
    store = SqliteConversationStore(None, max_sessions=1)
    talk(store, ref("one", "gatekeeper"), "x")
    talk(store, ref("one", "innkeeper"), "x")
    assert inputs(store, ref("one", "gatekeeper")) == ["x"]
    store.close()


def test_what_is_remembered_of_lost_sessions_is_bounded(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite, "MAX_TOMBSTONES", 3)
    store = SqliteConversationStore(path, max_sessions=1)
    for number in range(10):
        talk(store, ref(str(number)), "x")
    store.close()
    connection = sqlite3.connect(path)
    assert connection.execute("SELECT id, lost FROM session ORDER BY used").fetchall() == [
        ("6", 1),
        ("7", 1),
        ("8", 1),
        ("9", 0),
    ]
    assert connection.execute("SELECT count(*) FROM turn").fetchone() == (1,)
    connection.close()


def test_what_utf8_cannot_encode_is_repaired(store: SqliteConversationStore) -> None:
    store.append(ref("one"), Turn("hello", "half \ud83d", "\ud83d"), yes)
    repaired = "\N{REPLACEMENT CHARACTER}"
    assert list(store.history(ref("one"))) == [Turn("hello", f"half {repaired}", repaired)]


def test_two_stores_on_one_file_do_not_spoil_it(path: Path) -> None:
    stores = [SqliteConversationStore(path), SqliteConversationStore(path)]
    for number in range(20):
        talk(stores[number % 2], ref("one"), str(number))
    for store in stores:
        assert inputs(store, ref("one")) == [str(number) for number in range(20)]
        store.close()


def test_a_file_that_was_deleted_meanwhile_is_begun_anew_and_not_written_to_unseen(
    store: SqliteConversationStore, path: Path
) -> None:
    talk(store, ref("one"), "gone")
    for file in path.parent.iterdir():
        file.unlink()
    talk(store, ref("one"), "kept")
    other = SqliteConversationStore(path)
    assert inputs(store, ref("one")) == inputs(other, ref("one")) == ["kept"]
    other.close()


def test_a_file_that_another_holds_for_too_long_is_unavailable_and_then_works_again(
    store: SqliteConversationStore, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(opening, "BUSY_TIMEOUT_S", 0.01)
    talk(store, ref("one"), "before")
    store.close()
    store = SqliteConversationStore(path)
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    with pytest.raises(ProviderError, match="locked") as busy:
        store.append(ref("one"), Turn("meanwhile", "x"), yes)
    assert reason_of(busy) == "unavailable"
    holder.close()
    talk(store, ref("one"), "after")
    assert inputs(store, ref("one")) == ["before", "after"]
    store.close()


def test_nothing_is_created_before_the_first_use(path: Path) -> None:
    SqliteConversationStore(path).close()
    assert not path.parent.exists()


@pytest.mark.skipif(sys.platform == "win32", reason="the system has no such modes")
def test_conversations_are_for_their_owner_alone(store: SqliteConversationStore, path: Path) -> None:
    talk(store, ref("one"), "x")
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert {stat.S_IMODE(file.stat().st_mode) for file in path.parent.iterdir()} == {0o600}


def test_after_close_the_file_stands_alone_and_the_store_is_unavailable(
    store: SqliteConversationStore, path: Path
) -> None:
    talk(store, ref("one"), "x")
    store.close()
    store.close()
    assert os.listdir(path.parent) == ["sessions.db"]
    with pytest.raises(ProviderError, match="closed") as error:
        store.history(ref("one"))
    assert reason_of(error) == "unavailable"


@pytest.mark.spec("D2")
@pytest.mark.parametrize("name", ["max_turns", "max_tokens", "max_sessions"])
@pytest.mark.parametrize("value", [0, -1, True, 1.5, "2", None, 10**20])
def test_a_bad_bound_is_refused_by_name_and_value(name: str, value: object) -> None:
    bad: dict[str, object] = {name: value}
    with pytest.raises(ValueError, match=f"{name}.*{value!r}"):
        SqliteConversationStore(None, **bad)  # type: ignore[arg-type] # pyright: ignore[reportArgumentType]
