"""`run` as a person types it wrong: what is said, with which exit code, and that nothing is started."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Never

import pytest
from typer.testing import CliRunner, Result

from engine_intelligence.cli import run as module
from engine_intelligence.cli.app import app
from engine_intelligence.limits import Deadlines

pytestmark = pytest.mark.spec("H2")

SCRIPTED = ("--provider", "scripted")
GAME = ("--", "python", "game.py")


class StartedError(Exception):
    """Something was started that must not have been."""


@pytest.fixture(autouse=True)
def nothing_is_started(monkeypatch: pytest.MonkeyPatch) -> None:
    def run_game(*_: object, deadlines: Deadlines, **__: object) -> Never:
        raise StartedError(deadlines.close_grace_s)

    monkeypatch.setattr(module, "run_game", run_game)


def invoke(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["run", *arguments], env={"COLUMNS": "200"})


def test_what_is_right_would_be_started() -> None:
    assert isinstance(invoke(*SCRIPTED, *GAME).exception, StartedError)


def test_what_follows_the_command_is_the_game_s_also_without_the_dashes() -> None:
    assert isinstance(invoke(*SCRIPTED, "python", "game.py", "--transport", "pigeon").exception, StartedError)


@pytest.mark.parametrize(
    ("arguments", "exit_code", "words"),
    [
        (GAME, 2, "either --provider NAME or --config FILE"),
        ((*SCRIPTED, "--config", "host.toml", *GAME), 2, "either --provider NAME or --config FILE"),
        (
            (*SCRIPTED, "--transport", "pigeon", *GAME),
            2,
            '--transport is "auto", "socket" or "loopback", not \'pigeon\'.',
        ),
        ((*SCRIPTED, "--option", "nonsense", *GAME), 2, "--option 'nonsense' is not KEY=VALUE"),
        (("--provider", "module:factory", "--option", "a=1", *GAME), 2, "a factory gives its providers"),
        (("--config", "host.toml", "--option", "a=1", *GAME), 2, "a TOML file names its providers"),
        (("--provider", "lama", *GAME), 1, "lama"),
        (("--config", "no-such-file.toml", *GAME), 1, "There is no file"),
        (SCRIPTED, 2, "Missing argument 'COMMAND...'"),
        ((*SCRIPTED, "--"), 2, "Missing argument 'COMMAND...'"),
        ((*SCRIPTED, "--no-such-option", *GAME), 2, "No such option"),
    ],
)
def test_what_is_wrong_is_told_in_words_and_nothing_is_started(
    arguments: tuple[str, ...], exit_code: int, words: str
) -> None:
    done = invoke(*arguments)
    assert not isinstance(done.exception, StartedError)
    assert words in done.stderr
    assert done.exit_code == exit_code


def test_the_grace_is_that_of_the_file(tmp_path: Path) -> None:
    file = tmp_path / "host.toml"
    file.write_text('[deadlines]\nclose_grace_s = 0.25\n[providers.aldric]\nkind = "scripted"\n')
    done = invoke("--config", str(file), *GAME)
    assert isinstance(done.exception, StartedError)
    assert done.exception.args == (0.25,)


@pytest.mark.parametrize(
    ("toml", "words"),
    [
        ("providers = ", "is not valid TOML"),
        ("", "names no provider"),
        ('[providers.aldric]\nkind = "lama"\n', "lama"),
        ('[deadlines]\nstall_s = -1\n[providers.aldric]\nkind = "scripted"\n', "stall_s"),
    ],
)
def test_a_file_that_is_wrong_is_told_in_words_and_nothing_is_started(
    toml: str, words: str, tmp_path: Path
) -> None:
    file = tmp_path / "host.toml"
    file.write_text(toml)
    done = invoke("--config", str(file), *GAME)
    assert words in done.stderr
    assert done.exit_code == 1


def started(*command: str) -> subprocess.CompletedProcess[str]:
    """Run it in a process of its own. Its outputs end when the launcher and the Host with its guardian have."""
    return subprocess.run(
        [sys.executable, "-m", "engine_intelligence.cli", "run", *SCRIPTED, "--", *command],
        capture_output=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )


def test_a_command_that_there_is_not_is_told_as_a_shell_tells_it() -> None:
    done = started("no-such-game", "--fullscreen")
    assert done.returncode == 127
    assert "The game cannot be started: no-such-game: No such file or directory." in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.skipif(os.name != "posix", reason="permissions are those of POSIX")
def test_a_command_that_may_not_be_started_is_told_as_a_shell_tells_it(tmp_path: Path) -> None:
    file = tmp_path / "game"
    file.write_text("no program")
    done = started(str(file))
    assert done.returncode == 126
    assert f"The game cannot be started: {file}: Permission denied." in done.stderr
