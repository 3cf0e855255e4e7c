"""The pages on programs and on fallbacks say what the code does."""

import asyncio
import os
import shutil
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from support.backends import DoubleBackend
from support.programs import answer, prompt_of

from engine_intelligence import ProviderError, SetupError
from engine_intelligence.conversation import Turn
from engine_intelligence.host.config import plan_host
from engine_intelligence.limits import Deadlines, IntelligenceLimits
from engine_intelligence.protocol.bootstrap import FileSource
from engine_intelligence.providers import command, fallback
from engine_intelligence.providers.command_process import TERM_GRACE_S

ROOT = Path(__file__).parents[2]
PROGRAMS = "docs/guide/command.md"
FALLBACKS = "docs/guide/fallback.md"

Blocks = Callable[[str], list[tuple[str, str, str]]]
Table = Callable[[str, str], list[list[str]]]


def block(blocks: Blocks, page: str, title: str) -> str:
    """The one block of that title."""
    (text,) = [text for _, name, text in blocks(page) if name == title]
    return text


@pytest.mark.parametrize(
    ("page", "options"),
    [(PROGRAMS, command.Options), (FALLBACKS, fallback.Options)],
    ids=["command", "fallback"],
)
def test_the_table_of_options_is_that_of_the_code(
    page: str, options: type[msgspec.Struct], table: Table
) -> None:
    shown = {cells[0].strip("`"): cells[1].strip("`") for cells in table(page, "option")}
    wanted = {
        field.name: "required"
        if field.required
        else repr(field.default).replace("()", "[]").replace("'", '"')
        for field in msgspec.structs.fields(options)
    }
    assert shown == wanted


@pytest.mark.parametrize("page", [PROGRAMS, FALLBACKS])
def test_the_files_on_the_pages_are_understood(page: str, blocks: Blocks, tmp_path: Path) -> None:
    files = [text for language, _, text in blocks(page) if language == "toml"]
    assert files
    for text in files:
        path = tmp_path / "host.toml"
        path.write_text(text)
        plan = plan_host(FileSource(str(path)), IntelligenceLimits(), Deadlines())
        for name, entry in tomllib.loads(text)["providers"].items():
            assert name in plan.providers
            if entry["kind"] == "command":
                entry.pop("kind")
                msgspec.convert(entry, command.Options)


def test_the_smith_says_what_the_page_shows(blocks: Blocks, tmp_path: Path) -> None:
    shutil.copy(ROOT / "examples" / "smith.py", tmp_path)
    options = command.Options(command=(sys.executable, "smith.py"), directory=str(tmp_path), prompt="json")
    question, history, said = "Is the sword sharp?", list[Turn](), ""
    for _ in range(2):
        output = answer(command.create(options, environment=os.environ), question, history)
        history.append(Turn(question, output))
        said += output
    assert said == block(blocks, PROGRAMS, "smith.py")


def test_a_conversation_looks_as_the_page_shows(blocks: Blocks) -> None:
    options = command.Options(
        command=("smith",), prompt="conversation", instructions="You are the smith of a small town."
    )
    history = [Turn("Is the sword sharp?", "Welcome. The sword is sharp.")]
    written = command.written(prompt_of("And the axe?", history), options)
    assert written.decode() == block(blocks, PROGRAMS, "conversation")


def test_a_program_that_is_not_there_is_refused_as_the_page_says(blocks: Blocks) -> None:
    with pytest.raises(SetupError) as raised:
        command.create(command.Options(command=("smiht",)), environment=os.environ)
    assert raised.value.reason == "missing-program"
    assert raised.value.message + "\n" == block(blocks, PROGRAMS, "SetupError: missing-program")


def test_a_program_that_fails_is_told_in_the_log_as_the_page_says(
    blocks: Blocks, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    program = tmp_path / "smith.py"
    program.write_text(
        f"#!{sys.executable}\nimport sys\nprint('the oven is cold', file=sys.stderr)\nsys.exit(4)\n"
    )
    program.chmod(0o755)
    with pytest.raises(ProviderError):
        answer(command.create(command.Options(command=(str(program),)), environment=os.environ))
    ours = [
        each.getMessage() + "\n" for each in caplog.records if each.name.startswith("engine_intelligence")
    ]
    assert ours == [block(blocks, PROGRAMS, "log")]


def test_the_grace_of_the_page_is_that_of_the_code() -> None:
    assert TERM_GRACE_S == 0.5
    assert "half a second" in (ROOT / PROGRAMS).read_text(encoding="utf-8")


def test_a_fallback_of_which_all_fail_says_what_the_page_says() -> None:
    cloud = DoubleBackend(ProviderError("slow", reason="timeout"))
    local = DoubleBackend(ProviderError("gone", reason="unavailable"))
    backend = fallback.FallbackBackend({"cloud": cloud, "local": local}, first_text_s=30)

    async def ask() -> None:
        async for _ in backend.answer(prompt_of("Hello.")):
            pass

    with pytest.raises(ProviderError) as raised:
        asyncio.run(ask())
    page = " ".join((ROOT / FALLBACKS).read_text(encoding="utf-8").split())
    assert f"`{raised.value.cause}`" in page
    assert f"asked last for {fallback.AVOIDED_S:g} seconds" in page
