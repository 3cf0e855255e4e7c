"""A new user's path: a key in the environment, and `chat --provider openai`, here with the embedded model's own server."""

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.model_server import running_server

pytest.importorskip("typer", reason="needs the extra cli")
pytest.importorskip("openai", reason="needs the extra openai")
pytest.importorskip("xllamacpp", reason="needs the extra local")

from engine_intelligence.cli.host_checks import ADVICE
from engine_intelligence.providers.llama_server import Endpoint

SERVICE_VARIABLES = ("OPENAI_API_KEY", "OPENAI_BASE_URL")
WRONG_KEY = "sk-Yx3kQ9vT7mLr2Wb8NcHd4ZfJ"


@pytest.fixture(scope="module")
def server(model_path: Path) -> Iterator[Endpoint]:
    with running_server(model_path) as endpoint:
        yield endpoint


@pytest.fixture
def closed_port() -> int:
    """A port of the loopback on which nothing listens."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


def run_cli(*arguments: str, input: str = "", **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if name not in SERVICE_VARIABLES}
    return subprocess.run(
        [sys.executable, "-m", "engine_intelligence.cli", *arguments],
        input=input,
        capture_output=True,
        encoding="utf-8",
        env={**environment, "PYTHONIOENCODING": "utf-8", "COLUMNS": "300", **variables},
        timeout=120,
        check=False,
    )


def chat(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return run_cli("chat", "--provider", "openai", *arguments, input="Hello\n", **variables)


def test_with_the_variables_of_the_vendor_it_answers(server: Endpoint) -> None:
    done = chat("--max-tokens", "20", OPENAI_BASE_URL=f"{server.address}/v1", OPENAI_API_KEY=server.key)
    assert done.stdout.startswith("You: Hello\nOpenai: "), done.stdout + done.stderr
    assert (done.stderr, done.returncode) == ("", 0)


def test_with_options_it_answers(server: Endpoint) -> None:
    done = chat(
        *("--instructions", "Answer in one word.", "--temperature", "0", "--max-tokens", "8"),
        *("--option", f"base_url={server.address}/v1", "--option", "key.env=GATEKEEPER_KEY"),
        GATEKEEPER_KEY=server.key,
    )
    assert done.stdout.startswith("You: Hello\nOpenai: "), done.stdout + done.stderr
    assert done.returncode == 0


def test_a_missing_key_is_one_sentence_before_anything_is_said() -> None:
    done = chat()
    assert (done.stdout, done.returncode) == ("", 1)
    assert "OpenAI needs a key: set the environment variable OPENAI_API_KEY" in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_wrong_key_is_one_sentence_and_not_shown(server: Endpoint) -> None:
    done = chat(OPENAI_BASE_URL=f"{server.address}/v1", OPENAI_API_KEY=WRONG_KEY)
    question, failure, rest = done.stdout.split("\n")
    assert (question, rest, done.stderr, done.returncode) == ("You: Hello", "", "", 1)
    assert failure.startswith("[failed: ")
    assert "[...]" not in failure
    assert failure.endswith("(auth)]")
    assert WRONG_KEY not in done.stdout


def test_a_service_that_is_not_there_is_one_sentence(closed_port: int) -> None:
    done = chat("--option", "attempts=1", OPENAI_BASE_URL=f"http://127.0.0.1:{closed_port}/v1")
    question, failure, rest = done.stdout.split("\n")
    assert (question, rest, done.stderr, done.returncode) == ("You: Hello", "", "", 1)
    assert failure.endswith("(network)]")


def host_file(folder: Path, address: str) -> str:
    path = folder / "host.toml"
    path.write_text(
        f'[providers.oracle]\nkind = "openai"\nbase_url = "{address}/v1"\nmax_tokens = 8\nkey.env = "ORACLE_KEY"\n',
        encoding="utf-8",
    )
    return str(path)


def test_the_doctor_says_where_the_key_is_and_how_soon_the_answer_came(
    server: Endpoint, tmp_path: Path
) -> None:
    path = host_file(tmp_path, server.address)
    done = run_cli("doctor", "--host-file", path, "--ask", ORACLE_KEY=server.key)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"at {server.address}/v1, key: the environment variable ORACLE_KEY" in done.stdout
    assert "first text after" in done.stdout
    assert server.key not in done.stdout + done.stderr


def test_the_doctor_does_not_tell_the_value_of_a_variable(tmp_path: Path) -> None:
    (tmp_path / "host.toml").write_text('[providers.oracle]\nkind = "openai"\n', encoding="utf-8")
    done = run_cli(
        *("doctor", "--host-file", str(tmp_path / "host.toml")),
        OPENAI_BASE_URL="http://gateway.example/of/ann/v1",
        OPENAI_API_KEY=WRONG_KEY,
    )
    assert "at the address in OPENAI_BASE_URL, key: the environment variable OPENAI_API_KEY" in done.stdout
    assert "gateway.example" not in done.stdout + done.stderr
    assert WRONG_KEY not in done.stdout + done.stderr


def test_the_doctor_says_what_to_do_about_a_wrong_key(server: Endpoint, tmp_path: Path) -> None:
    path = host_file(tmp_path, server.address)
    done = run_cli("doctor", "--host-file", path, "--ask", ORACLE_KEY=WRONG_KEY)
    assert done.returncode == 1
    assert f"To do, oracle, asked: {ADVICE['auth']}" in done.stdout
    assert WRONG_KEY not in done.stdout + done.stderr


def test_without_being_told_to_the_doctor_asks_nobody(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.setblocking(False)
        path = host_file(tmp_path, f"http://127.0.0.1:{listener.getsockname()[1]}")
        done = run_cli("doctor", "--host-file", path, ORACLE_KEY="none")
        assert done.returncode == 0, done.stdout + done.stderr
        with pytest.raises(BlockingIOError):
            listener.accept()
