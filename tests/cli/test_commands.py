"""The commands as a person types them, with a scripted provider in a real Host."""

import os
import subprocess
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from typer.testing import CliRunner, Result

from engine_intelligence.cli.app import app
from engine_intelligence.cli.main import main

SCRIPTED = ["--provider", "scripted", "--option", "interval_s=0"]


@pytest.fixture
def save(tmp_path: Path) -> Path:
    return tmp_path / "play.json"


def invoke(*arguments: str, input: str | None = None) -> Result:
    return CliRunner().invoke(app, list(arguments), input=input, env={"COLUMNS": "100"})


def headless(save: Path, *arguments: str, text: str = "You may pass.") -> Result:
    return invoke(
        "play",
        "--headless",
        "--save",
        str(save),
        *SCRIPTED,
        "--option",
        f"text={text}",
        "--say",
        "May I?",
        *arguments,
    )


def test_the_headless_scene_streams_and_ends_with_a_table(save: Path) -> None:
    done = headless(save)
    assert "You: May I?\nGatekeeper: You may pass.\n(The gate opens.)\n" in done.stdout
    for row in ("frames missed because of us", "poll cost: p99", "time to first text, answer 1", "events"):
        assert row in done.stdout
    assert done.exit_code == 0


def test_the_next_start_continues_the_conversation(save: Path) -> None:
    headless(save)
    saved = save.read_text()
    done = headless(save)
    assert "(The gatekeeper remembers you.)" in done.stdout
    assert save.read_text() == saved


def test_new_begins_anew(save: Path) -> None:
    headless(save)
    saved = save.read_text()
    assert "remembers" not in headless(save, "--new").stdout
    assert save.read_text() != saved


def test_a_save_file_that_is_not_json_is_told_kept_and_played_on_without(save: Path) -> None:
    save.write_text("not JSON")
    done = headless(save)
    assert "is not JSON" in done.stdout.replace("\n", " ")
    assert done.exit_code == 0
    assert save.with_name("play.json.bad").read_text() == "not JSON"


def test_markup_in_what_the_model_says_is_text(save: Path) -> None:
    assert "Gatekeeper: [bold]No.[/nothing]\n" in headless(save, text="[bold]No.[/nothing]").stdout


def test_a_host_that_cannot_start_is_told_in_words(save: Path) -> None:
    done = headless(save, "--option", "txet=typo")
    assert done.exit_code == 1
    assert "txet" in done.stderr
    assert "Traceback" not in done.output


def test_a_kind_that_there_is_none_of_is_told_in_words(save: Path) -> None:
    done = invoke("play", "--headless", "--save", str(save), "--provider", "lama", "--say", "May I?")
    assert done.exit_code == 1
    assert "lama" in done.stderr


def test_a_model_that_there_is_none_of_is_told_in_words(save: Path) -> None:
    done = invoke("play", "--headless", "--save", str(save), "--model", "no-such-model", "--say", "May I?")
    assert done.exit_code == 1
    assert "no-such-model" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--headless"], "--say"),
        (["--headless", "--say", "Hi", "--screenshot", "x.png"], "picture"),
        (["--headless", "--say", "Hi", "--option", "nonsense"], "KEY=VALUE"),
        (["--headless", "--say", "Hi", "--host-file", "host.toml"], "--character"),
        (["--headless", "--say", "Hi", "--host-file", "host.toml", "--seed", "1"], "leave out seed"),
    ],
)
def test_options_that_contradict_one_another_are_told_in_words(
    arguments: list[str], words: str, save: Path
) -> None:
    done = invoke("play", "--save", str(save), *arguments)
    assert done.exit_code == 2
    assert words in done.stderr


def test_a_character_of_a_host_file_speaks(save: Path, tmp_path: Path) -> None:
    host = tmp_path / "host.toml"
    host.write_text('[providers.aldric]\nkind = "scripted"\ntext = "Halt."\ninterval_s = 0\n')
    done = invoke(
        *(
            "play",
            "--headless",
            "--save",
            str(save),
            "--host-file",
            str(host),
            "--character",
            "aldric",
            "--say",
            "Hi",
        )
    )
    assert "Gatekeeper: Halt." in done.stdout


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="other systems always have a display")
def test_without_a_display_the_scene_goes_on_in_the_terminal(save: Path) -> None:
    nothing: dict[str, str] = dict.fromkeys(
        ("DISPLAY", "WAYLAND_DISPLAY", "SDL_VIDEODRIVER", "SDL_VIDEO_DRIVER"), ""
    )
    done = run_cli(
        "play", "--save", str(save), *SCRIPTED, "--option", "text=Halt.", input="May I?\n", env=nothing
    )
    assert done.stderr == "There is no display here. The game goes on in the terminal.\n"
    assert done.stdout.startswith("You: May I?\nGatekeeper: Halt.\n")
    assert done.returncode == 0


def test_chat_says_what_is_piped_in_and_keeps_the_conversation(tmp_path: Path) -> None:
    session = tmp_path / "chat.json"
    done = run_cli("chat", *SCRIPTED, "--option", "text=Hello.", "--session", str(session), input="Hi\nBye\n")
    assert done.stdout == "You: Hi\nScripted: Hello.\nYou: Bye\nScripted: Hello.\n"
    assert done.returncode == 0
    again = run_cli("chat", *SCRIPTED, "--session", str(session), input="")
    assert "(The conversation goes on.)" in again.stdout


def test_models_can_be_listed() -> None:
    done = invoke("models", "list")
    assert "smollm2-135m" in done.stdout
    assert done.exit_code == 0


def test_the_path_of_a_model_that_is_not_here_says_how_to_fetch_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ENGINE_INTELLIGENCE_CACHE_DIR", str(tmp_path))
    done = invoke("models", "path")
    assert done.exit_code == 1
    assert "models pull smollm2-135m" in done.stderr


def test_a_model_that_is_not_in_the_catalogue_is_told_in_words() -> None:
    done = invoke("models", "pull", "no-such-model")
    assert done.exit_code == 1
    assert "no-such-model" in done.stderr


def test_the_doctor_looks_at_everything(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ENGINE_INTELLIGENCE_DATA_DIR", str(tmp_path))
    done = invoke("doctor", "--seconds", "0.2", "--scripted")
    for subject in ("Python", "packages for play", "data directory", "model", "Host round trip", "of frames"):
        assert subject in done.stdout
    assert "answered" in done.stdout


def test_the_doctor_says_what_to_do_about_a_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("ENGINE_INTELLIGENCE_DATA_DIR", str(tmp_path / "file"))
    monkeypatch.setenv("ENGINE_INTELLIGENCE_CACHE_DIR", str(tmp_path / "empty"))
    done = invoke("doctor", "--seconds", "0")
    assert done.exit_code == 1
    assert "ENGINE_INTELLIGENCE_DATA_DIR" in done.stdout
    assert "engine-intelligence models pull smollm2-135m" in done.stdout


def test_the_version_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out.startswith("engine-intelligence")


def test_wrong_usage_has_its_own_exit_code(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["play", "--no-such-option"]) == 2
    capsys.readouterr()


def test_without_its_packages_the_command_line_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "typer", None)
    assert main(["--version"]) == 2
    assert 'pip install "engine-intelligence[cli]"' in capsys.readouterr().err


def run_cli(
    *arguments: str, input: str = "", env: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "engine_intelligence.cli", *arguments],
        input=input,
        capture_output=True,
        encoding="utf-8",
        env={**os.environ, "PYTHONIOENCODING": "utf-8", "COLUMNS": "100", **(env or {})},
        timeout=120,
        check=False,
    )


def processes_with(mark: str) -> Iterator[psutil.Process]:
    for process in psutil.process_iter():
        try:
            if process.environ().get("CLI_TEST_MARK") == mark and process.status() != psutil.STATUS_ZOMBIE:
                yield process
        except psutil.Error:
            continue


def test_the_headless_scene_as_a_process_of_its_own_leaves_nothing_behind(save: Path) -> None:
    mark = uuid.uuid4().hex
    done = run_cli(
        *("play", "--headless", "--save", str(save), *SCRIPTED, "--option", "text=You may pass."),
        *("--say", "May I pass?", "--say", "What is your name?"),
        env={"CLI_TEST_MARK": mark},
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("Gatekeeper: You may pass.\n") == 2
    assert "frames missed because of us" in done.stdout
    assert list(processes_with(mark)) == []


def test_the_headless_scene_needs_no_pygame(save: Path) -> None:
    program = "import sys; sys.modules['pygame'] = None; from engine_intelligence.cli.main import main; sys.exit(main())"
    done = subprocess.run(
        [
            *(sys.executable, "-c", program, "play", "--headless", "--save", str(save)),
            *(*SCRIPTED, "--option", "text=Halt.", "--say", "One"),
        ],
        capture_output=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_a_host_that_is_killed_ends_the_scene_with_words(save: Path) -> None:
    game = subprocess.Popen(
        [
            *(sys.executable, "-m", "engine_intelligence.cli", "play", "--headless", "--save", str(save)),
            *("--provider", "scripted", "--option", "text=" + "word " * 2000, "--say", "One", "--say", "Two"),
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    with game:
        assert game.stdout is not None
        assert game.stderr is not None
        game.stdout.readline()
        while b"word" not in game.stdout.read(4):
            pass  # he has begun to speak
        for host in psutil.Process(game.pid).children():
            host.kill()
        rest, errors = game.stdout.read(), game.stderr.read()
        assert game.wait(timeout=120) == 1
    assert b"[failed: The Host ended" in rest
    assert errors.startswith(b"The Host ended")


def test_a_reader_that_leaves_early_is_no_traceback(save: Path) -> None:
    game = subprocess.Popen(
        [
            *(sys.executable, "-m", "engine_intelligence.cli", "play", "--headless", "--save", str(save)),
            *(*SCRIPTED, "--option", "text=" + "word " * 2000, "--say", "One", "--say", "Two"),
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    with game:
        assert game.stdout is not None
        assert game.stderr is not None
        game.stdout.readline()
        game.stdout.close()
        errors = game.stderr.read()
        assert game.wait(timeout=120) != 0
    assert b"Traceback" not in errors
