"""Relative paths in a `host.toml` begin at the directory of that file, and `~` is the home directory."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from engine_intelligence import SetupError
from engine_intelligence.host.building import build
from engine_intelligence.host.config import HostPlan
from engine_intelligence.host.kinds import read_options
from engine_intelligence.providers.vendor import KeySource

PlanOf = Callable[[str], HostPlan]
RefusalOf = Callable[[str], SetupError]


def options_in(folder: Path | None, kind: str, **options: object) -> Any:
    return read_options(kind, options, folder, "here")


@pytest.mark.parametrize("path", ["models/big.gguf", "./big.gguf", "big.gguf"])
def test_a_relative_path_of_a_model_begins_at_the_folder(path: str, tmp_path: Path) -> None:
    assert Path(options_in(tmp_path, "llama", model=path).model) == tmp_path / path


def test_a_name_of_the_catalogue_is_no_path(tmp_path: Path) -> None:
    assert options_in(tmp_path, "llama", model="smollm2-135m").model == "smollm2-135m"


def test_an_absolute_path_stays(tmp_path: Path) -> None:
    assert options_in(tmp_path / "other", "llama", model=f"{tmp_path}/a.gguf").model == f"{tmp_path}/a.gguf"


def test_a_tilde_is_the_home_directory(tmp_path: Path) -> None:
    assert options_in(tmp_path, "llama", model="~/a.gguf").model == str(Path.home() / "a.gguf")


def test_without_a_file_a_path_is_left_as_it_is() -> None:
    assert options_in(None, "llama", model="models/a.gguf").model == "models/a.gguf"


def test_the_file_of_a_key_begins_at_the_folder(tmp_path: Path) -> None:
    source = build(KeySource, {"file": "key.txt"}, "here", tmp_path)
    assert source.file == str(tmp_path / "key.txt")


def test_the_folder_is_that_of_the_file_and_not_the_working_directory(
    refusal_of: RefusalOf, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir("/")
    (tmp_path / "weights").mkdir()
    (tmp_path / "weights" / "a.gguf").write_bytes(b"not a model")
    error = refusal_of('[providers.ann]\nkind = "llama"\nmodel = "weights/a.gguf"\n')
    assert error.reason == "model-corrupt", "the file was found"


def test_instructions_can_stand_in_a_file(tmp_path: Path) -> None:
    (tmp_path / "aldric.md").write_text(
        "\N{ZERO WIDTH NO-BREAK SPACE}# Aldric\n\nGuards a gate.\n", encoding="utf-8"
    )
    options = options_in(tmp_path, "llama", instructions_file="aldric.md")
    assert options.instructions == "# Aldric\n\nGuards a gate."


UNREADABLE = {"missing.md": None, "folder.md": "", "latin.md": b"caf\xe9", "long.md": b"x" * (2**20 + 1)}


@pytest.mark.parametrize("name", UNREADABLE)
def test_a_file_of_instructions_that_cannot_be_used_is_told(name: str, tmp_path: Path) -> None:
    content = UNREADABLE[name]
    if isinstance(content, bytes):
        (tmp_path / name).write_bytes(content)
    elif content is not None:
        (tmp_path / name).mkdir()
    with pytest.raises(SetupError, match="here: the file of instructions_file, ") as raised:
        options_in(tmp_path, "llama", instructions_file=name)
    assert raised.value.reason == "config-invalid"


def test_a_kind_without_instructions_has_no_file_of_them() -> None:
    with pytest.raises(SetupError, match="there is no key 'instructions_file'"):
        options_in(None, "scripted", instructions_file="aldric.md")
