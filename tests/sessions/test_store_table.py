"""The table `[store]` of a Host file: where conversations are kept, and how much of them."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from engine_intelligence import SessionRef, SetupError
from engine_intelligence.conversation import Turn
from engine_intelligence.host.config import plan_host, store_of_file
from engine_intelligence.host.context import KindContext
from engine_intelligence.host.store import StoreOptions, store_file
from engine_intelligence.limits import Deadlines, IntelligenceLimits
from engine_intelligence.protocol.bootstrap import FileSource

SESSION = SessionRef("gatekeeper", "one")

Write = Callable[[str], Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def host_file(store: str) -> Path:
        path = tmp_path / "host.toml"
        path.write_text(f'{store}\n[providers.gatekeeper]\nkind = "scripted"\n', encoding="utf-8")
        return path

    return host_file


def yes() -> bool:
    return True


def test_without_the_table_conversations_are_in_the_data_directory_of_the_user(
    write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ENGINE_INTELLIGENCE_DATA_DIR", str(tmp_path / "data"))
    assert store_file(store_of_file(write(""))) == tmp_path / "data" / "conversations.sqlite3"


def test_all_of_the_table_is_read(write: Write, tmp_path: Path) -> None:
    table = '[store]\npath = "saves/talks.db"\nmax_turns = 3\nmax_tokens = 400\nmax_sessions = 5'
    assert store_of_file(write(table)) == StoreOptions(
        path=str(tmp_path / "saves" / "talks.db"), max_turns=3, max_tokens=400, max_sessions=5
    )


@pytest.mark.parametrize(
    ("table", "says"),
    [
        ("max_turns = 0", "max_turns must be a whole number from 1 to 100000000, not 0"),
        ("max_tokens = -5", "max_tokens must be a whole number from 1"),
        ('max_sessions = "many"', "max_sessions must be a whole number, not text"),
        ("memory = 1", "memory must be true or false"),
        ("max_chars = 5", "there is no key 'max_chars'"),
        ('path = "a.db"\nmemory = true', "leave out path"),
        ('path = "a\\u0000b"', "path must be the path of a file"),
    ],
)
def test_a_mistake_in_it_is_told_with_its_place(write: Write, table: str, says: str) -> None:
    with pytest.raises(SetupError) as error:
        store_of_file(write(f"[store]\n{table}"))
    assert error.value.reason == "config-invalid"
    assert str(error.value).startswith("host.toml: store")
    assert says in str(error.value)


def test_a_host_keeps_conversations_as_it_says(write: Write, tmp_path: Path) -> None:
    path = write('[store]\npath = "talks.db"\nmax_turns = 2')
    plan = plan_host(FileSource(str(path)), IntelligenceLimits(), Deadlines())
    entry = plan.providers["gatekeeper"].entry
    assert entry is not None
    store = entry.context.store()
    for input in ("a", "b", "c"):
        store.append(SESSION, Turn(input, "x"), yes)
    assert [turn.input for turn in store.history(SESSION)] == ["b", "c"]
    store.close()
    assert sorted(file.name for file in tmp_path.iterdir()) == ["host.toml", "talks.db"]


def test_in_memory_nothing_is_written_to_a_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ENGINE_INTELLIGENCE_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("SQLITE_TMPDIR", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    store = KindContext(Deadlines(), store=StoreOptions(memory=True)).store()
    for number in range(300):
        store.append(SESSION, Turn(f"{number} " * 2000, "x" * 20_000), yes)
    assert store.history(SESSION)
    open_files = {os.readlink(f"/proc/self/fd/{name}") for name in _descriptors()}
    assert [name for name in open_files if str(tmp_path) in name or "etilqs" in name] == []
    store.close()
    assert list(tmp_path.iterdir()) == []


def _descriptors() -> list[str]:
    if not Path("/proc/self/fd").is_dir():
        return []
    return [name for name in os.listdir("/proc/self/fd") if os.path.lexists(f"/proc/self/fd/{name}")]
