"""`docs/errors.md` shows what is really printed."""

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import get_args

import pytest
from support.bad_host_files import BAD_HOST_FILES

from engine_intelligence import (
    Deadlines,
    Err,
    ErrorCode,
    FailureReason,
    IntelligenceLimits,
    SessionRef,
    SetupError,
    create_intelligence_runtime,
    spawn_host,
)
from engine_intelligence.cli.saves import SaveFile
from engine_intelligence.errors import ERROR_TEXTS
from engine_intelligence.host.config import plan_host
from engine_intelligence.models.cache import ModelCache
from engine_intelligence.protocol.bootstrap import FactorySource, FileSource, HostSource, ProviderSource
from engine_intelligence.providers.backend import provider_over
from engine_intelligence.providers.scripted import Options, create

PAGE = "docs/errors.md"
PLAYER_FOLDER = "/home/player/game"  # stands on the page for whatever folder it really is

Blocks = Callable[[str], list[tuple[str, str, str]]]
Table = Callable[[str, str], list[list[str]]]


def test_the_table_of_codes_is_that_of_the_code(table: Table) -> None:
    rows = {cells[0].strip("`"): (cells[1], cells[2]) for cells in table(PAGE, "code")}
    assert rows == {code: (text.expected, text.hint) for code, text in ERROR_TEXTS.items()}
    assert tuple(rows) == get_args(ErrorCode)


def test_the_table_of_reasons_has_each_reason_of_a_provider_failure(table: Table) -> None:
    assert tuple(cells[0].strip("`") for cells in table(PAGE, "`detail.reason`")) == get_args(FailureReason)


def assert_shown(blocks: Blocks, title: str, printed: str) -> None:
    """The page has one block of that title, which breaks lines where it likes; the words are those printed."""
    found = [" ".join(text.split()) for _, name, text in blocks(PAGE) if name == title]
    assert found == [" ".join(printed.split())]


def refusal(source: HostSource, ask_for: str | None = None) -> SetupError:
    """What a Host that is started with `source`, and asked for a provider, says is wrong."""
    try:
        plan = plan_host(source, IntelligenceLimits(), Deadlines())
        if ask_for is not None:
            plan.providers[ask_for].make()
    except SetupError as error:
        return error
    raise AssertionError("the Host has nothing to say against it")


PROVIDER_CASES: dict[str, tuple[str, dict[str, object]]] = {
    "unknown-provider-kind": ("lama", {}),
    "config-invalid: an option": ("llama", {"instuctions": "You guard a gate."}),
    "config-invalid: a value": ("llama", {"temperature": 3.0}),
    "unknown-model": ("llama", {"model": "smollm2-153m"}),
    "model-missing": ("llama", {"model": "models/big.gguf"}),
}


@pytest.mark.parametrize("title", PROVIDER_CASES)
def test_a_bad_provider_is_refused_as_the_page_says(
    title: str, blocks: Blocks, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    kind, options = PROVIDER_CASES[title]
    error = refusal(ProviderSource(kind, "gatekeeper", options), "gatekeeper")
    assert error.reason == title.partition(":")[0]
    assert_shown(blocks, title, error.message)


@pytest.mark.parametrize("title", BAD_HOST_FILES)
def test_a_bad_file_is_refused_as_the_page_says(title: str, blocks: Blocks, tmp_path: Path) -> None:
    path = tmp_path / "host.toml"
    path.write_text(BAD_HOST_FILES[title], encoding="utf-8")
    error = refusal(FileSource(str(path)), "gatekeeper")
    assert error.reason == title.partition(":")[0]
    assert_shown(blocks, title, error.message)


@pytest.mark.parametrize(
    ("title", "options", "variables"),
    [
        ("missing-key", {}, {}),
        ("missing-key: a variable", {"key": {"env": "ORACLE_KEY"}}, {}),
        ("missing-key: a file", {"key": {"file": "{folder}/oracle.key"}}, {}),
        ("bad-key", {}, {"OPENAI_API_KEY": "ask Ann"}),
    ],
)
def test_a_key_that_is_not_found_is_told_as_the_page_says(
    title: str,
    options: dict[str, dict[str, str]],
    variables: dict[str, str],
    blocks: Blocks,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    for package in ("openai", "tenacity"):
        pytest.importorskip(package, reason="needs the extra openai")
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    given: dict[str, object] = {
        name: {place: value.format(folder=tmp_path) for place, value in places.items()}
        for name, places in options.items()
    }
    error = refusal(ProviderSource("openai", "oracle", given), "oracle")
    assert error.reason == title.partition(":")[0]
    assert_shown(blocks, title, error.message.replace(str(tmp_path), PLAYER_FOLDER))


COMMANDS = {
    "file-exists": ["init"],
    "no such option": ["chat", "--provider", "scripted", "--max-tokens", "20"],
    "unknown-provider: a character": ["chat", "--host-file", "host.toml", "--character", "gatekeper"],
}


@pytest.mark.parametrize("title", COMMANDS)
def test_a_command_that_is_used_wrongly_says_so_as_the_page_does(
    title: str, blocks: Blocks, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    testing = pytest.importorskip("typer.testing", reason="needs the extra cli")
    from engine_intelligence.cli.app import app

    monkeypatch.chdir(tmp_path)
    (tmp_path / "host.toml").write_text(
        '[providers.gatekeeper]\nkind = "scripted"\n[providers.innkeeper]\nkind = "scripted"\n',
        encoding="utf-8",
    )
    done = testing.CliRunner().invoke(app, COMMANDS[title])
    assert done.exit_code > 0
    assert_shown(blocks, title, done.stderr)


def test_a_missing_file_is_refused_as_the_page_says(blocks: Blocks, tmp_path: Path) -> None:
    error = refusal(FileSource(str(tmp_path / "hots.toml")))
    assert error.reason == "config-missing"
    assert_shown(blocks, "config-missing", error.message.replace(str(tmp_path), PLAYER_FOLDER))


FACTORY_MODULE = """
def nothing(): return []
def wrong(): return "a provider"
def raising(): raise RuntimeError("there are no instructions")
"""

FACTORY_CASES = {
    "bad-factory: the form": "minds:",
    "bad-factory: the module": "mind:gatekeeper",
    "bad-factory: the function": "documented_factories:gatekeper",
    "bad-factory: it raised": "documented_factories:raising",
    "bad-factory: no provider": "documented_factories:wrong",
    "bad-factory: none": "documented_factories:nothing",
    "missing-package: of a factory": "documented_sdk:gatekeeper",
}


@pytest.mark.parametrize("title", FACTORY_CASES)
def test_a_bad_factory_is_refused_as_the_page_says(
    title: str, blocks: Blocks, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "documented_factories.py").write_text(FACTORY_MODULE, encoding="utf-8")
    (tmp_path / "documented_sdk.py").write_text("import some_vendor", encoding="utf-8")
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    error = refusal(FactorySource(FACTORY_CASES[title]))
    assert error.reason == title.partition(":")[0]
    printed = error.message.replace("documented_factories", "minds").replace("documented_sdk", "minds")
    assert_shown(blocks, title, printed)


def test_a_missing_extra_is_refused_as_the_page_says(blocks: Blocks, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ENGINE_INTELLIGENCE_CACHE_DIR", "ENGINE_INTELLIGENCE_DATA_DIR"):
        monkeypatch.delenv(name, raising=False)
    for package in ("xllamacpp", "openai", "platformdirs"):
        monkeypatch.setitem(sys.modules, package, None)
    error = refusal(ProviderSource("llama", "gatekeeper", {}), "gatekeeper")
    assert error.reason == "missing-package"
    assert_shown(blocks, "missing-package", error.message)


def test_a_model_that_was_not_pulled_is_refused_as_the_page_says(
    blocks: Blocks, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("ENGINE_INTELLIGENCE_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("ENGINE_INTELLIGENCE_DATA_DIR", str(tmp_path))
    error = refusal(ProviderSource("llama", "gatekeeper", {}), "gatekeeper")
    assert error.reason == "model-not-pulled"
    assert_shown(blocks, "model-not-pulled", error.message.replace(str(tmp_path), PLAYER_FOLDER))


def test_a_pull_without_a_network_is_refused_as_the_page_says(
    blocks: Blocks, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    # Port 9 of this machine stands for an index that cannot be reached.
    for name, value in {
        "PIP_CONFIG_FILE": "/dev/null",
        "PIP_INDEX_URL": "http://127.0.0.1:9/simple",
        "PIP_RETRIES": "0",
        "PIP_NO_CACHE_DIR": "1",
    }.items():
        monkeypatch.setenv(name, value)
    for name in ("PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS", "PIP_NO_INDEX"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(SetupError) as raised:
        ModelCache(tmp_path).pull("smollm2-135m")
    assert raised.value.reason == "model-not-pulled"
    assert_shown(blocks, "model-not-pulled: no network", raised.value.message)


def test_a_provider_that_the_host_does_not_have_is_refused_as_the_page_says(
    blocks: Blocks, tmp_path: Path
) -> None:
    path = tmp_path / "host.toml"
    path.write_text(
        '[providers.gatekeeper]\nkind = "scripted"\n[providers.innkeeper]\nkind = "scripted"\n',
        encoding="utf-8",
    )
    with spawn_host(path) as host:
        client = host.client("gatekeper")
        give_up_at = time.monotonic() + 20
        while not client.closed and time.monotonic() < give_up_at:
            time.sleep(0.01)
        reason = client.close_reason
        refused = client.submit("May I pass?")
    assert reason is not None
    assert_shown(blocks, "unknown-provider", reason)
    assert isinstance(refused, Err)
    assert refused.error.detail.reason == "unknown-provider"
    assert refused.error.detail.message == reason


def test_a_saved_session_that_is_damaged_is_refused_as_the_page_says(blocks: Blocks) -> None:
    with pytest.raises(ValueError, match="SessionRef") as raised:
        SessionRef.from_json("{ half a save")
    assert_shown(blocks, "ValueError of SessionRef.from_json", str(raised.value))


SAVE_CASES = {
    "the save file is not JSON": "{ half a save",
    "the save file is of another game": '{"chapter": 3}',
    "the save file is of another provider": '{"version": 1, "session": {"providerId": "innkeeper", "id": "session-1"}}',
}


@pytest.mark.parametrize("title", SAVE_CASES)
def test_a_bad_save_file_is_reported_as_the_page_says(title: str, blocks: Blocks, tmp_path: Path) -> None:
    path = tmp_path / "gatekeeper.json"
    path.write_text(SAVE_CASES[title], encoding="utf-8")
    session, message = SaveFile(path).load("gatekeeper")
    assert session is None
    assert message is not None
    assert_shown(blocks, title, message.replace(str(tmp_path), PLAYER_FOLDER))
    assert [each.name for each in tmp_path.iterdir()] == ["gatekeeper.json.bad"]


def test_a_session_of_another_provider_is_refused_as_the_page_says(blocks: Blocks) -> None:
    provider = provider_over(create(Options()), "innkeeper")
    service = create_intelligence_runtime(provider)
    refused = service.submit("Do you know me?", session=SessionRef("gatekeeper", "session-1"))
    service.close()
    assert isinstance(refused, Err)
    assert_shown(blocks, "intelligence-session-provider-mismatch", str(refused.error))
