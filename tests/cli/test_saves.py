"""A save file gives its session back, and one that cannot be used is kept."""

import json
from pathlib import Path

import pytest

from engine_intelligence import SessionRef
from engine_intelligence.cli.saves import SaveFile

SESSION = SessionRef("llama", "session-1")


def test_what_was_stored_is_loaded(tmp_path: Path) -> None:
    save = SaveFile(tmp_path / "folder" / "play.json")
    assert save.store(SESSION) is None
    assert save.load("llama") == (SESSION, None)


def test_the_file_is_the_json_that_is_documented(tmp_path: Path) -> None:
    SaveFile(tmp_path / "play.json").store(SESSION)
    assert json.loads((tmp_path / "play.json").read_text()) == {
        "version": 1,
        "session": {"providerId": "llama", "id": "session-1"},
    }


def test_storing_leaves_nothing_beside_the_file(tmp_path: Path) -> None:
    SaveFile(tmp_path / "play.json").store(SESSION)
    assert [path.name for path in tmp_path.iterdir()] == ["play.json"]


def test_no_file_is_no_session_and_no_fault(tmp_path: Path) -> None:
    assert SaveFile(tmp_path / "play.json").load("llama") == (None, None)


UNUSABLE = {
    "not JSON": (b"{half", "is not JSON"),
    "not text": (b"\xff\xfe\x00", "is not JSON"),
    "nested without end": (b'{"more":' + b"[" * 60_000, "save file"),
    "another shape": (b'{"version": 1}', "no save of this game"),
    "a field too many": (
        b'{"version": 1, "session": {"providerId": "llama", "id": "s"}, "more": 1}',
        "no save of this game",
    ),
    "a later version": (b'{"version": 2, "session": {"providerId": "llama", "id": "s"}}', "version 2"),
    "too large": (b" " * 70_000, "too large"),
    "of another provider": (
        b'{"version": 1, "session": {"providerId": "other", "id": "s"}}',
        "conversation with the provider 'other'",
    ),
}


@pytest.mark.parametrize("name", UNUSABLE)
def test_an_unusable_file_is_told_in_a_sentence(name: str, tmp_path: Path) -> None:
    data, words = UNUSABLE[name]
    path = tmp_path / "play.json"
    path.write_bytes(data)
    session, message = SaveFile(path).load("llama")
    assert session is None
    assert message is not None
    assert words in message
    assert "--save" in message


@pytest.mark.parametrize("name", UNUSABLE)
def test_an_unusable_file_is_kept(name: str, tmp_path: Path) -> None:
    data, _ = UNUSABLE[name]
    path = tmp_path / "play.json"
    path.write_bytes(data)
    save = SaveFile(path)
    save.load("llama")
    save.store(SESSION)
    assert (tmp_path / "play.json.bad").read_bytes() == data


def test_a_second_unusable_file_does_not_replace_the_first(tmp_path: Path) -> None:
    path = tmp_path / "play.json"
    for content in ("first", "second"):
        path.write_text(content)
        SaveFile(path).load("llama")
    assert (tmp_path / "play.json.bad").read_text() == "first"
    assert (tmp_path / "play.json.bad2").read_text() == "second"


def test_what_cannot_be_read_is_not_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "play.json"
    path.mkdir()
    save = SaveFile(path)
    assert "cannot be read" in (save.load("llama").message or "")
    assert "not saved" in (save.store(SESSION) or "")


def test_a_folder_that_cannot_be_made_is_told_in_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    message = SaveFile(tmp_path / "file" / "play.json").store(SESSION)
    assert message is not None
    assert "--save" in message
