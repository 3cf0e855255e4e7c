"""Programs under a real Host: it ends, it comes back, it is configured wrongly, and it keeps its keys."""

import os
import signal
import sys
from pathlib import Path

import pytest
from support.process_agents import AGENT
from support.process_marks import MARK_VARIABLE, Mark, until
from support.process_play import answer, closed_because, code_of_close, submitted, until_text
from support.process_start import Starter
from support.programs import ECHO, python

from engine_intelligence import Completed, Err, Failed, HostConnection, SessionRef

pytestmark = pytest.mark.skipif(os.name != "posix", reason="ends processes by signals")

KEY = "sk-proj-Zk81Qm4TtX9bWvR2nLpYc7"


def smith(start: Starter, source: str, **options: object) -> HostConnection:
    """A Host of one program."""
    return start("command", provider_id="smith", options={"command": python(source), **options})


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM], ids=["killed", "told to end"])
@pytest.mark.fault("R6", "C26", "C28")
@pytest.mark.spec("H5")
def test_a_host_that_ends_takes_its_programs_and_their_trees_along(
    start: Starter, mark: Mark, number: signal.Signals
) -> None:
    host = smith(start, AGENT, environment=[MARK_VARIABLE])
    client = host.client("smith")
    submitted(client, "Go.")
    until_text(client)
    os.kill(host.pid, number)
    closed_because(client)
    host.close().wait(20)
    mark.until_gone()


@pytest.mark.fault("R14", "C28")
@pytest.mark.spec("B6", "H5")
def test_a_close_of_the_game_ends_programs_and_their_trees(start: Starter, mark: Mark) -> None:
    host = smith(start, AGENT, environment=[MARK_VARIABLE])
    client = host.client("smith")
    submitted(client, "Go.")
    until_text(client)
    assert host.close().wait(20)
    mark.until_gone()


def said(host: HostConnection, input: str, session: SessionRef | None = None) -> Completed:
    """Submit, and wait for what has to complete."""
    client = host.client("smith")
    assert client.submit(input, session).ok
    ends: list[Completed] = []

    def ended() -> bool:
        ends.extend(event for event in client.poll() if isinstance(event, Completed))
        return bool(ends)

    until(ended, f"an answer to {input} (closed: {client.close_reason})")
    return ends[0]


@pytest.mark.spec("P7")
def test_a_conversation_goes_on_with_another_host(start: Starter) -> None:
    first = said(smith(start, ECHO, prompt="conversation"), "Who are you?")
    host = smith(start, ECHO, prompt="conversation")
    second = said(host, "And now?", first.session)
    assert second.session == first.session
    assert second.output == (
        "User: Who are you?\n\nAssistant: User: Who are you?\n\nAssistant:\n\n\nUser: And now?\n\nAssistant:\n"
    )


def test_a_file_of_a_host_names_a_program_that_is_beside_it(start: Starter, tmp_path: Path) -> None:
    file = tmp_path / "host.toml"
    (tmp_path / "smith.py").write_text("print('Well met.')")
    file.write_text(f"""
[providers.smith]
kind = "command"
command = ["{sys.executable}", "smith.py"]
prompt = "json"
instructions = "You are a smith."
""")
    assert answer(start(str(file)).client("smith"), "Hello.") == "Well met.\n"


@pytest.mark.spec("H4")
def test_a_program_that_is_not_there_closes_its_port_with_the_reason(start: Starter) -> None:
    client = start("command", provider_id="smith", options={"command": ["no-such-smith"]}).client("smith")
    assert "no-such-smith" in closed_because(client)
    assert code_of_close(client) == "missing-program"


TELLS = """
import os, sys
for name, value in os.environ.items():
    print(name, value, file=sys.stderr)
    print(name, value)
sys.exit(1)
"""


@pytest.mark.fault("C32")
@pytest.mark.spec("E2")
def test_a_key_of_the_host_is_not_the_program_s_to_tell(
    start: Starter, capfd: pytest.CaptureFixture[str]
) -> None:
    start.environment["SMITH_API_KEY"] = KEY
    events = all_events(smith(start, TELLS))
    assert isinstance(events[-1], Failed)
    assert "PATH" in str(events)
    assert KEY not in repr(events)
    assert KEY not in capfd.readouterr().err


@pytest.mark.fault("C32")
@pytest.mark.spec("E2")
def test_a_key_that_a_program_has_and_prints_as_it_fails_is_in_no_event_and_no_log(
    start: Starter, capfd: pytest.CaptureFixture[str]
) -> None:
    start.environment["SMITH_API_KEY"] = KEY
    source = "import os, sys; sys.exit('bad key ' + os.environ['SMITH_API_KEY'])"
    host = smith(start, source, environment=["SMITH_API_KEY"])
    events = all_events(host)
    assert isinstance(events[-1], Failed)
    assert KEY not in repr(events)
    host.close().wait(20)
    logged = capfd.readouterr().err
    assert "the end of its standard error: [...] key [...]" in logged
    assert KEY not in logged


def all_events(host: HostConnection) -> list[object]:
    """What comes of one Activity."""
    client = host.client("smith")
    result = client.submit("Hello.")
    assert not isinstance(result, Err)
    events: list[object] = []

    def ended() -> bool:
        events.extend(client.poll())
        return any(isinstance(event, Completed | Failed) for event in events)

    until(ended, f"an end (closed: {client.close_reason})")
    return events
