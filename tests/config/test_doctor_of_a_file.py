"""`engine-intelligence doctor --host-file` says of each provider what it is, or what to do; and asks it only when told to."""

import sys
from pathlib import Path
from typing import get_args

import pytest

pytest.importorskip("typer", reason="needs the extra cli")

from typer.testing import CliRunner, Result

from engine_intelligence import FailureReason
from engine_intelligence.cli.app import app
from engine_intelligence.cli.host_checks import ADVICE

MINDS = """
from engine_intelligence import ProviderError, StreamProvider

async def answer(prompt):
    raise ProviderError("the key is wrong", reason="auth")
    yield ""

def locked():
    return StreamProvider("locked", answer)
"""


def doctor(folder: Path, text: str, *arguments: str) -> Result:
    (folder / "host.toml").write_text(text, encoding="utf-8")
    return CliRunner().invoke(
        app, ["doctor", "--host-file", str(folder / "host.toml"), *arguments], env={"COLUMNS": "300"}
    )


def test_a_right_file_is_told_provider_by_provider(tmp_path: Path) -> None:
    done = doctor(tmp_path, '[providers.ann]\nkind = "scripted"\n[providers.bob]\nkind = "scripted"\n')
    assert done.exit_code == 0, done.output
    assert "ann" in done.stdout
    assert "bob" in done.stdout
    assert "All is well." in done.stdout
    assert "Nothing was sent" in done.stderr


def test_what_is_wrong_with_one_provider_is_told_with_the_others(tmp_path: Path) -> None:
    done = doctor(
        tmp_path, '[providers.ann]\nkind = "scripted"\ntxet = "x"\n[providers.bob]\nkind = "scripted"\n'
    )
    assert done.exit_code == 1
    assert (
        "To do, ann: host.toml: providers.ann: there is no key 'txet' (did you mean 'text'?)." in done.stdout
    )
    assert "bob" in done.stdout


def test_a_file_that_is_wrong_as_a_whole_is_told_in_one_sentence(tmp_path: Path) -> None:
    done = doctor(tmp_path, '[provider.ann]\nkind = "scripted"\n')
    assert done.exit_code == 1
    assert done.stderr.startswith("host.toml: there is no table 'provider'")
    assert done.stdout == ""


def test_asked_a_provider_answers_in_a_real_host(tmp_path: Path) -> None:
    done = doctor(tmp_path, '[providers.ann]\nkind = "scripted"\ntext = "Hello."\ninterval_s = 0\n', "--ask")
    assert done.exit_code == 0, done.output
    assert "first text after" in done.stdout
    assert "completed: Hello." in done.stdout


def test_asked_a_provider_that_fails_is_told_with_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "doctored_minds.py").write_text(MINDS)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    done = doctor(tmp_path, '[providers.locked]\nfactory = "doctored_minds:locked"\n', "--ask")
    assert done.exit_code == 1
    assert "failed: the key is wrong (auth)" in done.stdout
    assert f"To do, locked, asked: {ADVICE['auth']}" in done.stdout


def test_a_factory_is_called_by_a_host_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "doctored_exit.py").write_text("raise SystemExit('imported')")
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    done = doctor(tmp_path, '[providers.ann]\nfactory = "doctored_exit:ann"\n')
    assert done.exit_code == 0
    assert "which only a Host calls" in done.stdout


def test_there_is_advice_for_each_reason_of_a_failure() -> None:
    assert tuple(ADVICE) == get_args(FailureReason)


def test_asking_needs_a_file() -> None:
    done = CliRunner().invoke(app, ["doctor", "--ask"])
    assert done.exit_code == 2
    assert "--host-file" in done.stderr
