"""`engine-intelligence init` writes a file that works as it is, and every example in it is right."""

import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("typer", reason="needs the extra cli")

from typer.testing import CliRunner, Result

from engine_intelligence.cli.app import app
from engine_intelligence.cli.init import host_file_text
from engine_intelligence.host.config import HostPlan, HostTables
from engine_intelligence.host.kinds import KINDS, read_options
from engine_intelligence.host.schema import host_schema

jsonschema: Any = pytest.importorskip("jsonschema", reason="needs the extra test")

PlanOf = Callable[[str], HostPlan]

NEW = host_file_text(local=False, schema=True)


def init(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["init", *arguments])


def run_cli(*arguments: str, folder: Path, input: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "engine_intelligence.cli", *arguments],
        input=input,
        capture_output=True,
        encoding="utf-8",
        cwd=folder,
        env={**os.environ, "PYTHONIOENCODING": "utf-8", "COLUMNS": "200"},
        timeout=120,
        check=False,
    )


def uncommented(text: str) -> str:
    """The file with every example taken in: lines that begin with # and no blank."""
    return re.sub(r"^#(?=[^ \n#:])", "", text, flags=re.MULTILINE)


def examples(text: str) -> list[str]:
    """The examples, each by itself."""
    return [uncommented(block) for block in re.findall(r"(?:^#(?![ :#\n]).*\n)+", text, re.MULTILINE)]


EXAMPLES = examples(NEW)
BOUNDS = [name for name in HostTables.__struct_fields__ if name != "providers"]


def test_the_written_file_runs_as_it_is(tmp_path: Path) -> None:
    host = tmp_path / "host.toml"
    host.write_text(host_file_text(local=False, schema=False), encoding="utf-8")
    done = run_cli("chat", "--host-file", "host.toml", "--character", "parrot", folder=tmp_path, input="Hi\n")
    assert (done.stdout, done.stderr) == ("You: Hi\nParrot: Halt. Who goes there?\n", "")
    assert done.returncode == 0


def test_with_the_packages_for_a_model_its_character_is_one(tmp_path: Path, model_path: Path) -> None:
    pytest.importorskip("xllamacpp", reason="needs the extra local")
    assert run_cli("init", folder=tmp_path).returncode == 0
    done = run_cli(
        "chat", "--host-file", "host.toml", "--character", "gatekeeper", folder=tmp_path, input="Hi\n"
    )
    assert re.fullmatch(r"You: Hi\nGatekeeper: .+\n", done.stdout, re.DOTALL), done.stderr
    assert "[failed" not in done.stdout


@pytest.mark.parametrize("local", [True, False])
def test_the_written_file_has_one_character_and_the_command_names_it(local: bool, plan_of: PlanOf) -> None:
    assert list(plan_of(host_file_text(local=local, schema=True)).providers) == [
        "gatekeeper" if local else "parrot"
    ]


def test_what_it_says_to_do_next_names_the_character(tmp_path: Path) -> None:
    done = init(str(tmp_path / "host.toml"))
    (command,) = [line for line in done.stdout.splitlines() if "chat --host-file" in line]
    name = command.rpartition(" ")[2]
    assert f"[providers.{name}]" in (tmp_path / "host.toml").read_text(encoding="utf-8").splitlines()


@pytest.mark.parametrize("local", [True, False])
def test_with_all_examples_it_is_right(local: bool, plan_of: PlanOf) -> None:
    text = uncommented(host_file_text(local=local, schema=True))
    plan = plan_of(text)
    assert len(plan.providers) == len(EXAMPLES) - len(BOUNDS) + 1
    for provider in plan.providers.values():
        assert provider.entry is not None
        assert provider.entry.kind is not None
        read_options(provider.entry.kind, provider.entry.options, provider.entry.context.folder, "here")
    jsonschema.Draft7Validator(host_schema()).validate(tomllib.loads(text))


@pytest.mark.parametrize("example", EXAMPLES, ids=[example.splitlines()[0] for example in EXAMPLES])
def test_each_example_alone_is_right(example: str, plan_of: PlanOf) -> None:
    plan = plan_of(NEW + "\n" + example)
    jsonschema.Draft7Validator(host_schema()).validate(tomllib.loads(NEW + "\n" + example))
    for provider in plan.providers.values():
        assert provider.entry is not None
        assert provider.entry.kind is not None
        read_options(provider.entry.kind, provider.entry.options, provider.entry.context.folder, "here")


def test_there_is_an_example_of_each_kind_and_of_each_table() -> None:
    file: dict[str, Any] = tomllib.loads(uncommented(NEW))
    assert {provider["kind"] for provider in file["providers"].values()} == set(KINDS)
    assert set(file) == set(HostTables.__struct_fields__)


def test_a_file_that_is_there_is_not_overwritten(tmp_path: Path) -> None:
    host = tmp_path / "host.toml"
    host.write_text("mine")
    done = init(str(host))
    assert done.exit_code == 1
    assert "--force" in done.stderr
    assert host.read_text() == "mine"


def test_a_schema_that_is_there_keeps_both_from_being_written(tmp_path: Path) -> None:
    (tmp_path / "host.schema.json").write_text("mine")
    assert init(str(tmp_path / "host.toml"), "--schema").exit_code == 1
    assert (tmp_path / "host.schema.json").read_text() == "mine"
    assert not (tmp_path / "host.toml").exists()


def test_a_link_to_nowhere_is_not_written_through(tmp_path: Path) -> None:
    (tmp_path / "host.toml").symlink_to(tmp_path / "elsewhere.toml")
    assert "is there already" in init(str(tmp_path / "host.toml")).stderr
    assert not (tmp_path / "elsewhere.toml").exists()


def test_force_overwrites(tmp_path: Path) -> None:
    host = tmp_path / "host.toml"
    host.write_text("mine")
    assert init(str(host), "--force").exit_code == 0
    assert "[providers." in host.read_text(encoding="utf-8")


def test_a_directory_that_is_not_there_is_told_in_words(tmp_path: Path) -> None:
    done = init(str(tmp_path / "missing" / "host.toml"))
    assert done.exit_code == 1
    assert "cannot be written" in done.stderr


def test_the_schema_stands_beside_it_and_editors_are_told_in_the_first_line(tmp_path: Path) -> None:
    assert init(str(tmp_path / "characters.toml"), "--schema").exit_code == 0
    first = (tmp_path / "characters.toml").read_text(encoding="utf-8").splitlines()[0]
    assert first == "#:schema ./host.schema.json"
    assert json.loads((tmp_path / "host.schema.json").read_text(encoding="utf-8")) == host_schema()


def test_without_a_schema_none_is_named() -> None:
    assert "#:schema" not in host_file_text(local=True, schema=False)
