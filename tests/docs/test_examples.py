"""The examples do what they claim, and the pages show them as they are."""

import importlib.util
import re
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

import engine_intelligence

ROOT = Path(__file__).parents[2]
PROGRAMS = [
    "frozen_game",
    "own_loop",
    "own_provider",
    "several_characters",
    "save_and_load",
    "any_way",
    "host_environment",
    "host_crashes",
    "remembering",
    "under_cordis",
    "budget",
]

ANY_WAY = str(ROOT / "examples" / "any_way.py")
WAYS = {
    "this game starts a Host": [ANY_WAY],
    "a Host started this game": [
        *["-m", "engine_intelligence.cli", "run", "--provider", "scripted", "--"],
        *[sys.executable, ANY_WAY],
    ],
    "in one process": [ANY_WAY, "--alone"],
}

Blocks = Callable[[str], list[tuple[str, str, str]]]


@pytest.mark.parametrize("name", PROGRAMS)
def test_an_example_runs_from_any_folder_and_finds_what_it_asserts(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if name == "under_cordis" and importlib.util.find_spec("cordis_port") is None:
        pytest.skip("cordis-port needs Python 3.12, or is not installed (extra: cordis)")
    monkeypatch.setenv("PYTHONPATH", str(Path(engine_intelligence.__file__).parents[1]))
    done = run([str(ROOT / "examples" / f"{name}.py")], tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr == ""
    assert not list(tmp_path.iterdir())


@pytest.mark.spec("H2")
@pytest.mark.parametrize("way", WAYS)
def test_one_game_runs_in_each_of_three_ways(
    way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if "run" in WAYS[way]:
        pytest.importorskip("typer", reason="needs the extra cli")
    monkeypatch.setenv("PYTHONPATH", str(Path(engine_intelligence.__file__).parents[1]))
    done = run(WAYS[way], tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines() == [way, "The script says this and no more."]


def run(arguments: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("test_*.py")), ids=lambda path: path.stem)
def test_a_test_among_the_examples_passes_where_only_it_is(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(engine_intelligence.__file__).parents[1]))
    shutil.copy(path, tmp_path)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-W", "error", "-p", "no:cacheprovider", path.name],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"^\d+ passed in", done.stdout, re.MULTILINE)


def test_every_program_among_the_examples_is_run() -> None:
    programs = {
        path.stem
        for path in (ROOT / "examples").glob("*.py")
        if '__name__ == "__main__"' in path.read_text(encoding="utf-8")
    }
    assert programs == set(PROGRAMS)


def section(path: Path, name: str) -> str:
    """The lines of a file between two marks, as the documentation shows them."""
    text = path.read_text(encoding="utf-8")
    match = re.search(rf"\[start:{name}\]\n(.*?)^ *# --8<-- \[end:{name}\]", text, re.MULTILINE | re.DOTALL)
    assert match, f"{path.name} has no section {name!r}"
    return textwrap.dedent(match[1])


def test_the_readme_shows_the_loop_of_the_example(blocks: Blocks) -> None:
    assert [text for language, _, text in blocks("README.md") if language == "python"] == [
        section(ROOT / "examples" / "own_loop.py", "loop")
    ]


def shown(name: str) -> str:
    """What a page shows under `<!-- from NAME -->`: a file, or a section of one."""
    path, _, wanted = name.partition(":")
    text = section(ROOT / path, wanted) if wanted else (ROOT / path).read_text(encoding="utf-8")
    return text.rstrip("\n") + "\n"


def test_pages_show_the_examples_as_they_are() -> None:
    found = 0
    for page in (ROOT / "docs").rglob("*.md"):
        text = page.read_text(encoding="utf-8")
        for name, block in re.findall(
            r"<!-- from (\S+) -->\n```\w+\n(.*?)^```$", text, re.MULTILINE | re.DOTALL
        ):
            assert block == shown(name), f"{page.name} shows another {name}"
            found += 1
        assert text.count("<!-- from ") == len(re.findall(r"<!-- from \S+ -->\n```", text))
    assert found >= 6


def test_python_on_the_pages_can_be_compiled(blocks: Blocks) -> None:
    for page in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]:
        for language, _, text in blocks(str(page.relative_to(ROOT))):
            if language == "python":
                # The header of a `with` may stand without its body.
                source = text if not text.rstrip().endswith(":") else text + "    ...\n"
                compile(source, str(page), "exec")
