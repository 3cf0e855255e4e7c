"""A local model in the Host that started the game: no credential gets as far as its process, which the game could read."""

import sys
from pathlib import Path

import psutil
import pytest
from support.process_minds import MIND
from support.process_run import Run, game, until_gone
from support.process_run_games import RunPlan

SECRET = {
    "OPENAI_API_KEY": "sk-proj-4fJx9QmT2bVw7ZkLpR8sHn3D",
    "CASTLE_BACKEND": "8f14e45fceea167a5a36dedd4bea2543",
}


@pytest.mark.spec("H2", "H5")
@pytest.mark.skipif(sys.platform != "linux", reason="reads the environment of a process of another's")
def test_the_process_of_the_model_has_no_credential_and_ends_with_the_game(
    model_path: Path, tmp_path: Path
) -> None:
    config = tmp_path / "host.toml"
    config.write_text(
        f'[providers.{MIND}]\nkind = "llama"\nmodel = "{model_path}"\nmax_tokens = 4\nslots = 1\n'
    )
    variables = {**SECRET, "ENGINE_INTELLIGENCE_DATA_DIR": str(tmp_path)}
    with Run(config, game(RunPlan(exit_code=7)), variables=variables) as run:
        assert run.line().text
        everything = run.processes()
        model = next(each for each in everything if _command(each).endswith("llama_child"))
        environment = model.environ()
        assert environment["PATH"]
        assert [name for name in SECRET if name in environment] == []
        assert [value for value in SECRET.values() if value in str(environment)] == []
        assert run.finish() == 7
        until_gone(everything)


def _command(process: psutil.Process) -> str:
    return " ".join(process.cmdline())
