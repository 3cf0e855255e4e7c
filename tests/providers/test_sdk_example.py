"""The provider around an SDK that the guide shows, in a real Host and against a real server."""

import sys
from pathlib import Path

import pytest
from support.dialogue import ask

from engine_intelligence import Completed, Failed, Usage, spawn_host

EXAMPLES = Path(__file__).parents[2] / "examples"
KEY = "sk-4fJx9QmT2bVw7ZkLpR8sHn3D"


@pytest.fixture
def at(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> pytest.MonkeyPatch:
    """The environment of a Host that finds the example; where the service is, each test says."""
    monkeypatch.setattr(sys, "path", [str(EXAMPLES), *sys.path])
    for name, value in {
        "OPENAI_API_KEY": KEY,
        "SAGE_MODEL": "any",
        "SAGE_STORE": str(tmp_path / "sage.sqlite3"),
    }.items():
        monkeypatch.setenv(name, value)
    return monkeypatch


@pytest.mark.spec("P3", "P7")
def test_it_answers_counts_and_continues_after_a_restart_of_the_host(
    at: pytest.MonkeyPatch, model_server: tuple[str, str]
) -> None:
    address, key = model_server
    at.setenv("OPENAI_BASE_URL", f"{address}/v1")
    at.setenv("OPENAI_API_KEY", key)
    with spawn_host("sdk_minds:sage") as host:
        first = ask(host, "sage", "Who are you?")
    assert isinstance(first, Completed), first
    assert first.usage is not None
    assert isinstance(first.usage, Usage)
    with spawn_host("sdk_minds:sage") as host:
        second = ask(host, "sage", "And who am I?", first.session)
    assert isinstance(second, Completed), second
    assert second.usage is not None
    assert second.usage.input_tokens > first.usage.input_tokens  # the first turn was sent along


@pytest.mark.spec("E1", "E2")
def test_a_service_that_is_not_there_is_told_as_such(at: pytest.MonkeyPatch, free_port: int) -> None:
    at.setenv("OPENAI_BASE_URL", f"http://127.0.0.1:{free_port}/v1")
    with spawn_host("sdk_minds:sage") as host:
        end = ask(host, "sage", "Who are you?")
    assert isinstance(end, Failed)
    assert (end.error.detail.reason, end.error.detail.cause) == ("network", "the sage cannot be reached")
