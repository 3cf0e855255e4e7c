"""The agent that the guide shows, in a real Host and over a real server."""

import sys
from pathlib import Path

import pytest
from support.dialogue import ask

from engine_intelligence import Completed, spawn_host

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.mark.spec("P4")
def test_the_agent_of_the_guide_answers(
    model_server: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", [str(EXAMPLES), *sys.path])
    address, key = model_server
    for name, value in {
        "OPENAI_BASE_URL": f"{address}/v1",
        "OPENAI_API_KEY": key,
        "ENGINE_INTELLIGENCE_DATA_DIR": str(tmp_path / "data"),
    }.items():
        monkeypatch.setenv(name, value)
    config = tmp_path / "host.toml"
    config.write_text('[providers.watchman]\nkind = "pydantic-ai"\nagent = "watchman:watchman"\n')
    with spawn_host(config) as host:
        end = ask(host, "watchman", "Is the gate shut? Answer with one word.")
    assert isinstance(end, Completed), end
    assert end.output
