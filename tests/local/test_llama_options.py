"""What a configuration may say of the local model, and what a server is told because of it."""

import math
import os
from pathlib import Path

import msgspec
import pytest

from engine_intelligence.conversation import Turn
from engine_intelligence.errors import SetupError
from engine_intelligence.providers import llama
from engine_intelligence.providers.llama import Options, create
from engine_intelligence.providers.llama_child import Order, load_error, server_params
from engine_intelligence.providers.llama_server import LlamaServers, threads_beside_a_game
from engine_intelligence.providers.turns import chat_messages


@pytest.mark.spec("D2")
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("max_tokens", 0),
        ("max_tokens", 2048),
        ("max_tokens", True),
        ("temperature", -0.1),
        ("temperature", 2.1),
        ("temperature", math.nan),
        ("temperature", True),
        ("seed", -1),
        ("seed", 2**32 - 1),
        ("context", 63),
        ("context", 2048.0),
        ("slots", 0),
        ("slots", 65),
        ("model", ""),
    ],
)
def test_a_bad_option_is_refused_by_name_and_value(name: str, value: object) -> None:
    with pytest.raises(ValueError, match=f"{name} must be .*{value!r}"):
        Options(**{name: value})  # type: ignore[arg-type] # pyright: ignore[reportArgumentType]


def test_instructions_that_cannot_be_encoded_are_refused() -> None:
    with pytest.raises(ValueError, match="instructions"):
        Options(instructions="\ud83d")


def test_a_misspelt_option_is_refused_by_name() -> None:
    with pytest.raises(msgspec.ValidationError, match="instruction"):
        msgspec.convert({"instruction": "x"}, Options)


@pytest.mark.spec("P4")
def test_the_package_adds_no_prompt_of_its_own() -> None:
    assert Options().instructions == ""
    assert chat_messages("", (), "hello") == [{"role": "user", "content": "hello"}]
    assert chat_messages("Be brief.", [Turn("a", "b")], "hello") == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "a"},
        {"role": "assistant", "content": "b"},
        {"role": "user", "content": "hello"},
    ]


@pytest.mark.spec("H8")
@pytest.mark.parametrize(("cores", "threads"), [(1, 1), (2, 1), (3, 2), (16, 15)])
def test_a_model_leaves_the_game_a_core(cores: int, threads: int) -> None:
    assert threads_beside_a_game(cores) == threads


@pytest.mark.spec("H8")
def test_the_server_is_told_to_leave_a_core_for_reading_and_for_writing(tmp_path: Path) -> None:
    server = LlamaServers().acquire(tmp_path / "model.gguf", context=100, slots=3)
    params = server_params(server.order)
    available = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    assert params.cpuparams.n_threads == params.cpuparams_batch.n_threads == max(1, available - 1)
    assert (params.n_parallel, params.n_ctx) == (3, 300)


@pytest.mark.spec("E2")
def test_an_order_does_not_show_its_key() -> None:
    assert "hunter2" not in repr(Order(model_path="x", context=1, slots=1, threads=1, key="hunter2"))


@pytest.mark.parametrize("package", ["xllamacpp", "openai"])
def test_a_missing_package_is_named_with_what_installs_it(
    package: str, model_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(llama, "find_spec", lambda name: None if name == package else object())  # pyright: ignore[reportUnknownLambdaType, reportUnknownArgumentType]
    with pytest.raises(SetupError, match=rf"{package}.*pip install 'engine-intelligence\[local\]'") as error:
        create(Options(), model_path=model_path)
    assert error.value.reason == "missing-package"


@pytest.mark.parametrize(("content", "reason"), [(None, "model-missing"), (b"<html>", "model-corrupt")])
def test_a_file_that_is_no_model_is_refused_before_anything_starts(
    tmp_path: Path, content: bytes | None, reason: str
) -> None:
    file = tmp_path / "model.gguf"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(SetupError, match=r"model\.gguf") as error:
        create(Options(), model_path=file)
    assert error.value.reason == reason


def test_of_a_long_log_the_line_that_says_why_is_told() -> None:
    log = b"0.00 E x: bad header\n0.01 E y: error loading model: the file is too short\n0.02 E z: exiting\n"
    assert load_error(log) == "the file is too short"
    assert load_error(b"0.02 E z: exiting\n") == "0.02 E z: exiting"
    assert load_error(b"") == ""
