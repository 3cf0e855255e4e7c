"""The pages of `docs/guide/` show what is really printed, and what really passes."""

import importlib.util
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.process_marks import until
from support.process_play import submitted

import engine_intelligence
from engine_intelligence import (
    Deadlines,
    HostConnection,
    SetupError,
    connect,
    create_intelligence_runtime,
    intelligence_plugin,
    spawn_host,
)
from engine_intelligence.credentials import may_be_a_credential
from engine_intelligence.protocol.bootstrap import BOOTSTRAP_VARIABLE, PORT_VARIABLE
from engine_intelligence.providers.backend import provider_over
from engine_intelligence.providers.scripted import Options, create

ROOT = Path(__file__).parents[2]
GUIDE = ROOT / "docs" / "guide"
FROM_THE_GAME = "docs/guide/from-the-game.md"
FROM_THE_HOST = "docs/guide/from-the-host.md"
PLAYER_FOLDER = "/home/player/game"  # stands on the pages for whatever folder it really is

Blocks = Callable[[str], list[tuple[str, str, str]]]
Table = Callable[[str, str], list[list[str]]]

posix = pytest.mark.skipif(os.name != "posix", reason="ends processes by signals")


def words(text: str) -> str:
    """Pages break lines where they like."""
    return " ".join(text.split())


def shown(blocks: Blocks, page: str, title: str) -> str:
    """The words of the one block of that title."""
    (found,) = [text for _, name, text in blocks(page) if name == title]
    return words(found)


def run(arguments: list[str], folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """A Python program, in an environment that holds nothing to withhold but what `variables` add."""
    environment = {
        name: value for name, value in os.environ.items() if not may_be_a_credential(name, value)
    } | {"PYTHONPATH": str(Path(engine_intelligence.__file__).parents[1])}
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env=environment | variables,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def run_game(arguments: list[str], folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """`engine-intelligence run`, which needs the extra `cli`."""
    pytest.importorskip("typer", reason="needs the extra cli")
    return run(["-m", "engine_intelligence.cli", "run", *arguments], folder, **variables)


# What the examples print


def titled_with_an_example() -> list[tuple[str, str]]:
    return [
        (page.name, example)
        for page in sorted(GUIDE.glob("*.md"))
        for example in re.findall(r'^```text title="(examples/\S+)"$', page.read_text("utf-8"), re.MULTILINE)
    ]


def test_the_output_of_four_examples_is_shown() -> None:
    assert len(titled_with_an_example()) == 4


@pytest.mark.parametrize(("page", "example"), titled_with_an_example())
def test_an_example_prints_what_its_page_shows(
    page: str, example: str, blocks: Blocks, tmp_path: Path
) -> None:
    if "cordis" in example and importlib.util.find_spec("cordis_port") is None:
        pytest.skip("cordis-port needs Python 3.12, or is not installed (extra: cordis)")
    (text,) = [text for _, title, text in blocks(f"docs/guide/{page}") if title == example]
    assert run([str(ROOT / example)], tmp_path).stdout == text


# A Host that the game starts


FACTORIES = """
import os, signal, sys
from engine_intelligence import StreamProvider
async def answer(prompt):
    raise RuntimeError("the oven is cold")
    yield ""
async def ends(prompt):
    yield prompt.input
    if prompt.input == "exit":
        os._exit(7)
    os.kill(os.getpid(), int(prompt.input))
def gatekeeper():
    return StreamProvider("gatekeeper", answer)
def mortal():
    return StreamProvider("mortal", ends)
"""


@pytest.fixture
def minds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A module with providers, where a Host of this test finds it."""
    (tmp_path / "documented_minds.py").write_text(FACTORIES.lstrip(), encoding="utf-8")
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    return "documented_minds"


def reason_of_end(host: HostConnection, said: str) -> str:
    """The reason with which the client of `mortal` is closed, after `said` has ended its Host."""
    client = host.client("mortal")
    submitted(client, said)

    def over() -> bool:
        client.poll()
        return client.closed

    until(over, "the end of the Host")
    return client.close_reason or ""


ENDS = {
    "The Host ended with exit code 7. What it printed before may say why.": "exit",
    "The Host ended by signal 11. What it printed before may say why.": str(int(signal.SIGSEGV)),
    "The Host ended without a word: it was killed or it crashed.": str(int(getattr(signal, "SIGKILL", 9))),
    "The Host was told to stop.": str(int(signal.SIGTERM)),
    "The Host was silent for 10 seconds.": str(int(getattr(signal, "SIGSTOP", 19))),
}


@posix
@pytest.mark.parametrize("reason", ENDS)
def test_a_host_that_ends_is_reported_as_the_page_says(reason: str, minds: str) -> None:
    deadlines = Deadlines(unresponsive_s=1.0, close_grace_s=0.3)  # not ten seconds, which a test would wait
    with spawn_host(f"{minds}:mortal", deadlines=deadlines) as host:
        assert reason_of_end(host, ENDS[reason]) == reason.replace("10 seconds", "1 seconds")


def test_the_table_of_ends_has_each_of_them(table: Table) -> None:
    assert [cells[0].strip("`") for cells in table(FROM_THE_GAME, "`close_reason`")] == list(ENDS)


def test_a_game_without_a_main_is_refused_as_the_page_says(
    blocks: Blocks, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    (tmp_path / "documented_game.py").write_text(
        "import engine_intelligence\nengine_intelligence.spawn_host('documented_game:gatekeeper')\n"
    )
    with spawn_host("documented_game:gatekeeper") as host:
        client = host.client("gatekeeper")
        until(lambda: client.closed, "the refusal")
    assert words(client.close_reason or "") == shown(blocks, FROM_THE_GAME, "close_reason: host-in-host")


def test_a_provider_that_raises_is_told_in_the_log_as_the_page_says(
    blocks: Blocks, minds: str, capfd: pytest.CaptureFixture[str]
) -> None:
    with spawn_host(f"{minds}:gatekeeper") as host:
        client = host.client("gatekeeper")
        submitted(client, "Is there bread?")
        until(lambda: any(event.type == "failed" for event in client.poll()), "the failure")
    heard: list[str] = []  # what a Host prints takes a way of its own, and may come later than the event

    def printed_whole() -> bool:
        heard.append(capfd.readouterr().err)
        return "".join(heard).endswith("\n")

    until(printed_whole, "what the Host prints")
    printed = words("".join(heard)).replace(minds, "minds")

    def without_our_lines(text: str) -> str:
        return re.sub(r"(?<=stream\.py:)\d+", "N", re.sub(r"(?<=minds\.py:)\d+", "N", text))

    page = shown(blocks, FROM_THE_GAME, "what a Host prints of a provider that raised")
    assert without_our_lines(printed) == without_our_lines(page)


# A Host that starts the game


GAME = ["--provider", "scripted", "--", sys.executable, "-c"]

COMMANDS = {
    "run: neither": (["--", "python", "game.py"], 2),
    "run: config-missing": (["--config", "hots.toml", "--", "python", "game.py"], 1),
    "run: game-not-found": (["--provider", "scripted", "--", "pyhton", "game.py"], 127),
}


@pytest.mark.parametrize("title", COMMANDS)
def test_a_bad_command_is_refused_as_the_page_says(title: str, blocks: Blocks, tmp_path: Path) -> None:
    arguments, code = COMMANDS[title]
    done = run_game(arguments, tmp_path)
    assert words(done.stderr.replace(str(tmp_path), PLAYER_FOLDER)) == shown(blocks, FROM_THE_HOST, title)
    assert (done.stdout, done.returncode) == ("", code)


def test_the_example_prints_under_a_host_what_the_page_shows(blocks: Blocks, tmp_path: Path) -> None:
    example = str(ROOT / "examples" / "any_way.py")
    done = run_game(["--provider", "scripted", "--", sys.executable, example], tmp_path)
    (text,) = [text for _, title, text in blocks(FROM_THE_HOST) if title == "run: any_way"]
    assert (done.stdout, done.stderr, done.returncode) == (text, "", 0)


def test_a_key_is_withheld_as_the_page_says(blocks: Blocks, tmp_path: Path) -> None:
    look = "import os; print(os.environ.get('GATEKEEPER_API_KEY'))"
    done = run_game([*GAME, look], tmp_path, GATEKEEPER_API_KEY="x")
    assert done.stdout == "None\n"
    assert words(done.stderr) == shown(blocks, FROM_THE_HOST, "run: a key")


def test_a_key_that_is_to_be_kept_gets_to_the_game(tmp_path: Path) -> None:
    look = "import os; print(os.environ.get('GATEKEEPER_API_KEY'))"
    done = run_game(["--keep", "GATEKEEPER_API_KEY", *GAME, look], tmp_path, GATEKEEPER_API_KEY="x")
    assert (done.stdout, done.stderr) == ("x\n", "")


def test_the_variables_of_the_table_are_withheld_as_it_says(table: Table) -> None:
    rows = table(FROM_THE_HOST, "variable")
    judged = {cells[0]: cells[1] for cells in rows}
    assert len(judged) == 7
    for variable, passes in judged.items():
        for text in re.findall(r"`([^`]+)`", variable):
            name, _, value = text.partition("=")
            assert may_be_a_credential(name, value or os.environ.get(name, "")) == (passes == "no"), name
    assert not may_be_a_credential("DOOR", "sesame")


def test_a_second_connect_is_refused_as_the_page_says(
    blocks: Blocks, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(PORT_VARIABLE, raising=False)
    with pytest.raises(SetupError) as raised:
        connect()
    assert raised.value.reason == "no-host"
    assert words(str(raised.value)) == shown(blocks, FROM_THE_HOST, "SetupError: no-host")


WRAPPER = "import subprocess, sys; sys.exit(subprocess.call([sys.executable, 'game.py']))"

CONNECTS = """
from engine_intelligence import SetupError, connect
try:
    connect().close().wait()
    print("connected")
except SetupError as error:
    print(error.reason, error)
"""


@posix
def test_a_wrapper_that_closes_what_it_inherits_is_reported_as_the_page_says(
    blocks: Blocks, tmp_path: Path
) -> None:
    (tmp_path / "game.py").write_text(CONNECTS)
    done = run_game([*GAME, WRAPPER], tmp_path)
    reason, _, message = done.stdout.partition(" ")
    assert reason == "port-lost", done.stderr
    assert words(message) == shown(blocks, FROM_THE_HOST, "SetupError: port-lost")


def test_the_loopback_gets_through_a_wrapper(tmp_path: Path) -> None:
    (tmp_path / "game.py").write_text(CONNECTS)
    assert run_game(["--transport", "loopback", *GAME, WRAPPER], tmp_path).stdout == "connected\n"


@posix
def test_a_script_that_ends_in_exec_hands_the_connection_on(tmp_path: Path) -> None:
    (tmp_path / "game.py").write_text(CONNECTS)
    done = run_game(
        ["--provider", "scripted", "--", "sh", "-c", f"exec '{sys.executable}' game.py"], tmp_path
    )
    assert done.stdout == "connected\n"


EXITS: list[tuple[list[str], int]] = [
    ([*GAME, "raise SystemExit(3)"], 3),
    ([*GAME, "import os, signal; os.kill(os.getpid(), signal.SIGTERM)"], -signal.SIGTERM),
    (["--provider", "scripted", "--", "pyhton"], 127),
    (["--provider", "scripted", "--", "."], 126),
    (["--provider", "lama", "--", sys.executable], 1),
    (["--provider", "scripted", "--transport", "pigeon", "--", sys.executable], 2),
]


@posix
@pytest.mark.parametrize("row", range(len(EXITS)))
def test_the_command_ends_as_the_table_says(row: int, table: Table, tmp_path: Path) -> None:
    arguments, code = EXITS[row]
    rows = [cells[1] for cells in table(FROM_THE_HOST, "what happened")]
    assert len(rows) == len(EXITS)
    if rows[row].isdigit():
        assert int(rows[row]) == code
    assert run_game(arguments, tmp_path).returncode == code


# The other pages


def test_a_frozen_game_without_freeze_support_is_refused_as_the_page_says(
    blocks: Blocks, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(BOOTSTRAP_VARIABLE, "{}")
    with pytest.raises(SetupError) as raised:
        spawn_host("scripted")
    assert raised.value.reason == "freeze-support-missing"
    page = "docs/guide/frozen.md"
    assert words(str(raised.value)) == shown(blocks, page, "SetupError: freeze-support-missing")


def test_a_service_that_was_disposed_is_refused_as_the_page_says(blocks: Blocks) -> None:
    class Context:
        def provide(self, name: str, value: object, /) -> Any:
            return None

    provider = provider_over(create(Options()), "gatekeeper")
    plugin = intelligence_plugin(create_intelligence_runtime(provider))
    plugin.apply(Context())()
    with pytest.raises(RuntimeError) as raised:
        plugin.apply(Context())
    assert words(str(raised.value)) == shown(blocks, "docs/guide/cordis.md", "RuntimeError of a restart")
