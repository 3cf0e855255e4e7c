"""A provider that stands for others of its file, under a real Host and under the kit of checks."""

import asyncio
import os
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from support.backends import DoubleBackend
from support.conversations import MemoryConversations
from support.process_marks import PATIENCE_S, until
from support.process_play import MINDS, answer, closed_because, code_of_close
from support.process_start import Starter
from support.programs import python

from engine_intelligence import (
    Completed,
    Deadlines,
    IntelligenceLimits,
    IntelligencePortClient,
    ProviderError,
    SessionRef,
    create_intelligence_runtime,
)
from engine_intelligence.host.config import plan_host
from engine_intelligence.protocol.bootstrap import FileSource
from engine_intelligence.providers.backend import Backend, provider_over
from engine_intelligence.providers.command import Options, create
from engine_intelligence.providers.fallback import FallbackBackend
from engine_intelligence.providers.stream import StreamProvider
from engine_intelligence.testing import Transcript, check_provider

# Fails where there is a file of that name, and else says its name and how many turns it was told of.
COUNTS = """
import json, os, sys
prompt = json.loads(sys.stdin.read())
if os.path.exists(sys.argv[2]):
    sys.exit(3)
print(sys.argv[1], len(prompt["history"]), end="")
"""


def entry(name: str, down: Path) -> str:
    command = ", ".join(
        repr(word) if "\n" not in word else f"'''{word}'''" for word in python(COUNTS, name, str(down))
    )
    return f'[providers.{name}]\nkind = "command"\nprompt = "json"\ncommand = [{command}]\n'


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A file of three providers: `cloud`, `local`, and `smith`, which asks the one and then the other."""
    path = tmp_path / "host.toml"
    path.write_text(
        "[deadlines]\nclose_grace_s = 2\n"
        + entry("cloud", tmp_path / "cloud.down")
        + entry("local", tmp_path / "local.down")
        + '[providers.smith]\nkind = "fallback"\nproviders = ["cloud", "local"]\n'
    )
    return path


def said(client: IntelligencePortClient, session: SessionRef | None = None) -> Completed:
    """Submit, and wait for what has to complete."""
    assert client.submit("Hello.", session).ok
    ends: list[Completed] = []

    def ended() -> bool:
        ends.extend(event for event in client.poll() if isinstance(event, Completed))
        return bool(ends)

    until(ended, f"an answer (closed: {client.close_reason})")
    return ends[0]


@pytest.mark.spec("P7")
def test_each_of_them_continues_a_conversation_also_with_another_host(
    start: Starter, file: Path, tmp_path: Path
) -> None:
    first = said(start(str(file)).client("smith"))
    assert first.output == "cloud 0"
    (tmp_path / "cloud.down").touch()
    client = start(str(file)).client("smith")
    second = said(client, first.session)
    assert second.output == "local 1"
    assert said(client, first.session).output == "local 2"
    (tmp_path / "cloud.down").unlink()
    assert said(client, first.session).output == "cloud 3"


def test_its_conversations_are_its_own(start: Starter, file: Path) -> None:
    host = start(str(file))
    assert said(host.client("smith")).output == "cloud 0"
    assert said(host.client("cloud")).output == "cloud 0"


def test_kinds_can_be_mixed(start: Starter, tmp_path: Path) -> None:
    path = tmp_path / "host.toml"
    path.write_text("""
[providers.smith]
kind = "fallback"
providers = ["broken", "script"]
first_text_s = 30

[providers.broken]
kind = "command"
command = ["sh", "-c", "exit 3"]

[providers.script]
kind = "scripted"
text = "Well met."
""")
    assert answer(start(str(path)).client("smith"), "Hello.") == "Well met."


# Files that are wrong

TWO = '[providers.a]\nkind = "scripted"\n[providers.b]\nkind = "scripted"\n'
WRONG = {
    "unknown": ('providers = ["a", "c"]', "there is no provider 'c'"),
    "misspelt": ('providers = ["a", "smiht"]', "did you mean 'smith'?"),
    "itself": ('providers = ["a", "smith"]', "in a circle (smith, smith)"),
    "too few": ('providers = ["a"]', "two or more"),
    "no time for the last": ('providers = ["a", "b"]\nfirst_text_s = 60', "first_text_s = 60"),
    "a circle": (
        'providers = ["a", "other"]\n[providers.other]\nkind = "fallback"\nproviders = ["b", "smith"]',
        "in a circle (smith, other, smith)",
    ),
    "a factory": (
        f'providers = ["a", "ann"]\n[providers.ann]\nfactory = "{MINDS}:ann"',
        "'ann' is made by a factory",
    ),
    "a member with a budget": (
        'providers = ["a", "poor"]\n[providers.poor]\nkind = "scripted"\nbudget = { activities_per_minute = 1 }',
        "'poor' has a budget",
    ),
    "a member that cannot be": (
        'providers = ["a", "blind"]\n[providers.blind]\nkind = "command"\ncommand = []',
        "providers.blind: command must name a program",
    ),
}


@pytest.mark.parametrize(("table", "named"), WRONG.values(), ids=list(WRONG))
@pytest.mark.spec("H4")
def test_what_is_wrong_with_a_fallback_is_told(
    start: Starter, tmp_path: Path, table: str, named: str
) -> None:
    path = tmp_path / "host.toml"
    path.write_text(TWO + f'[providers.smith]\nkind = "fallback"\n{table}\n')
    host = start(str(path))
    assert named in closed_because(host.client("smith"))
    assert code_of_close(host.client("smith")) == "config-invalid"
    assert answer(host.client("a"), "Hello.")  # the others go on


@pytest.mark.spec("H4")
def test_without_a_file_there_is_nobody_to_fall_back_on(start: Starter) -> None:
    client = start("fallback", provider_id="smith", options={"providers": ["a", "b"]}).client("smith")
    assert "name them in a TOML file" in closed_because(client)


# The contract


@pytest.mark.spec("D1", "P2", "P3", "P5", "P6", "P7", "S12", "S13", "S14", "B4", "H6")
def test_a_fallback_keeps_the_contract_of_a_provider() -> None:
    source = "import os, sys\nif sys.stdin.read() == 'fail': sys.exit(1)\nfor _ in range(20): os.write(1, b'word ')"

    def make() -> StreamProvider:
        program = create(Options(command=python(source)), environment=os.environ)
        members: dict[str, Backend] = {"broken": DoubleBackend(ProviderError("gone")), "program": program}
        return provider_over(FallbackBackend(members, first_text_s=10), "smith", store=MemoryConversations())

    check_provider(
        make, failing_input="fail", deadlines=Deadlines(first_text_s=10, stall_s=10, activity_s=20)
    )


# Beside what tries again


class Busy(BaseHTTPRequestHandler):
    """A service that asks everybody to come back in twelve seconds."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        self.send_response(429)
        self.send_header("retry-after", "12")
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def busy_address() -> Iterator[str]:
    """Where such a service listens."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Busy) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/v1"
        server.shutdown()
        thread.join()


def test_one_that_has_to_wait_for_longer_than_its_share_is_left_at_once(
    busy_address: str, tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its share is ten seconds of twenty. With the twenty of the Host it would wait for twelve."""
    monkeypatch.setenv("ENGINE_INTELLIGENCE_DATA_DIR", str(tmp_path))
    path = tmp_path / "host.toml"
    path.write_text(f"""
[deadlines]
first_text_s = 20

[providers.smith]
kind = "fallback"
providers = ["busy", "script"]

[providers.busy]
kind = "openai"
model = "any"
base_url = "{busy_address}"

[providers.script]
kind = "scripted"
text = "Well met."
""")
    plan = plan_host(FileSource(str(path)), IntelligenceLimits(), Deadlines())

    async def play() -> None:
        runtime = create_intelligence_runtime(plan.providers["smith"].make())
        told = Transcript()
        assert runtime.submit("Hello.").ok
        async with asyncio.timeout(PATIENCE_S):
            while not told.ended:
                told.take(runtime.poll())
                await asyncio.sleep(0.003)
        assert told.text(told.ended[0]) == "Well met."
        await runtime.close()

    asyncio.run(play())
    assert "provider busy failed before its first text (rate-limited: " in caplog.text
