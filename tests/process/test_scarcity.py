"""No descriptor, thread, process, memory or room on a disk is left, in the game or in its Host (rules H4, H6, S14)."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from support.process_marks import PATIENCE_S, Mark, until
from support.process_minds import MIND
from support.process_play import MINDS, QUICK, answer, closed_because, code_of_close, submitted
from support.process_start import Starter

from engine_intelligence import Failed, IntelligenceEvent, IntelligencePortClient, spawn_host
from engine_intelligence.realm.spawning import Transport

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="sets limits of Linux, and reads /proc")

SCARCE = "support.process_scarce_minds"


def failure(client: IntelligencePortClient, input: str) -> Failed:
    """The failure that an Activity has to end with."""
    submitted(client, input)
    events: list[IntelligenceEvent] = []

    def ended() -> bool:
        events.extend(client.poll())
        return client.closed or any(event.type != "text-delta" for event in events)

    until(ended, "the end of the Activity")
    assert not client.closed, client.close_reason
    (last,) = [event for event in events if event.type != "text-delta"]
    assert isinstance(last, Failed), last
    return last


# In the game

GAME = """
import json, os, resource, sys, time
sys.path.insert(0, sys.argv[1])
from engine_intelligence import Deadlines, spawn_host
from support.process_play import answer

def start():
    return spawn_host("support.process_minds:mind", transport=sys.argv[2], deadlines=Deadlines(close_grace_s=0.3))

outcomes = []
count = len(os.listdir("/proc/self/fd")) - 1
_, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
for spare in (0, 1, 2, 3, 4, 5, 6, 8, 16):
    resource.setrlimit(resource.RLIMIT_NOFILE, (count + spare, hard))
    try:
        host = start()
        host.client("mind").submit("hello")
        host.client("mind").poll()
        outcomes.append("started")
    except OSError as error:
        outcomes.append(error.strerror)
        host = None
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    if host is not None:
        client = host.client("mind")
        # The Host has the limit that it was started with, and may not get far.
        while not client.closed and "completed" not in [event.type for event in client.poll()]:
            time.sleep(0.001)
        assert host.close().wait(20)
    assert len(os.listdir("/proc/self/fd")) - 1 == count, (spare, count)
with start() as host:
    print(json.dumps([outcomes, answer(host.client("mind"), "after")]))
"""


@pytest.mark.fault("R33")
@pytest.mark.spec("H6")
def test_a_game_without_descriptors_is_refused_a_host_and_starts_one_when_there_are_some(
    mark: Mark, transport: Transport
) -> None:
    tests = Path(__file__).parents[1]
    game = subprocess.run(
        [sys.executable, "-c", GAME, str(tests), transport],
        env={**mark.environment, "PYTHONPATH": str(tests.parent / "src")},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert game.returncode == 0, game.stderr
    import json

    outcomes, after = json.loads(game.stdout)
    assert after == "after "
    assert outcomes[0] == "Too many open files"
    assert outcomes[-1] == "started"
    assert set(outcomes) == {"Too many open files", "started"}
    mark.until_gone()


# In the Host


@pytest.mark.fault("R33")
@pytest.mark.spec("H4", "H6")
def test_a_host_with_too_few_descriptors_closes_its_client_with_a_reason_or_serves(
    start_auto: Starter, tmp_path: Path, mark: Mark, capfd: pytest.CaptureFixture[str]
) -> None:
    outcomes: list[str] = []
    for limit in (3, 4, 5, 6, 7, 8, 16, 32):
        script = tmp_path / f"python-{limit}"
        script.write_text(f'#!/bin/sh\nulimit -n {limit}\nexec {sys.executable} "$@"\n')
        script.chmod(0o755)
        connection = start_auto(python=str(script))
        client = connection.client(MIND)
        client.submit("hello")
        events: list[str] = []

        def over(client: IntelligencePortClient = client, events: list[str] = events) -> bool:
            events.extend(event.type for event in client.poll())
            return "completed" in events or client.closed

        until(over, "an answer or the end")
        outcomes.append("completed" if "completed" in events else "closed")
        assert client.close_reason or "completed" in events
        assert connection.close().wait(PATIENCE_S)
    mark.until_gone()
    capfd.readouterr()
    assert outcomes == sorted(outcomes)  # `closed` for the few, and from some number on `completed`
    assert set(outcomes) == {"closed", "completed"}


@pytest.mark.fault("R33", "R34", "R59")
@pytest.mark.spec("S14", "P3", "E1")
@pytest.mark.parametrize(
    ("lack", "name"),
    [
        ("descriptors", "OSError: (Errno 24) Too many open files"),
        ("threads", "RuntimeError"),
        ("processes", "BlockingIOError: (Errno 11) Resource temporarily unavailable"),
        ("memory", "MemoryError"),
    ],
)
def test_an_activity_whose_provider_lacks_something_fails_and_the_host_goes_on(
    start: Starter, capfd: pytest.CaptureFixture[str], lack: str, name: str
) -> None:
    client = start(f"{SCARCE}:mind").client(MIND)
    error = failure(client, lack).error
    assert error.code == "intelligence-provider-failed"
    assert str(error.detail.cause).startswith(name)
    assert answer(client, "and now") == "and now"
    capfd.readouterr()


@pytest.mark.fault("R59")
@pytest.mark.spec("S10", "H6")
def test_a_host_with_little_memory_left_carries_out_what_the_limits_allow(
    start_auto: Starter,
) -> None:
    client = start_auto(f"{SCARCE}:mind").client(MIND)
    answer(client, "narrow")
    text = "y" * client.limits.max_input_chars
    assert [answer(client, text) == text for _ in range(16)] == [True] * 16


# What a start of Python runs first: here every fork, or every thread, is refused.
REFUSED = {
    "fork": "import os\ndef no(*_): raise BlockingIOError(11, 'Resource temporarily unavailable')\nos.fork = no\n",
    "thread": 'import threading\ndef no(*_): raise RuntimeError("can\'t start new thread")\nthreading.Thread.start = no\n',
}


@pytest.mark.fault("R34")
@pytest.mark.spec("H4", "H6")
@pytest.mark.parametrize(("refused", "reason"), [("fork", "host-ended"), ("thread", "bad-factory")])
def test_a_host_that_is_refused_what_it_needs_to_start_closes_its_client(
    start: Starter, tmp_path: Path, mark: Mark, capfd: pytest.CaptureFixture[str], refused: str, reason: str
) -> None:
    (tmp_path / "sitecustomize.py").write_text(REFUSED[refused])
    start.environment["PYTHONPATH"] = str(tmp_path)
    client = start(f"{SCARCE}:needs_a_thread").client(MIND)
    submitted(client, "hello")
    assert code_of_close(client) == reason
    mark.until_gone()
    capfd.readouterr()


# A disk that is full


@pytest.fixture
def full_disk() -> Iterator[None]:
    """The standard error of this process, and so where a Host logs, is a device that takes nothing."""
    before = os.dup(2)
    full = os.open("/dev/full", os.O_WRONLY)
    os.dup2(full, 2)
    os.close(full)
    try:
        yield
    finally:
        os.dup2(before, 2)
        os.close(before)


@pytest.mark.fault("R35")
@pytest.mark.spec("H6", "C6")
def test_a_host_whose_log_goes_to_a_full_disk_works_and_ends_in_order(
    transport: Transport, mark: Mark, full_disk: None
) -> None:
    with spawn_host(
        f"{MINDS}:mind", transport=transport, environment=mark.environment, deadlines=QUICK
    ) as connection:
        client = connection.client(MIND)
        assert [answer(client, word) for word in ("noise", "say", "after")] == [
            "said it all",
            "said",
            "after ",
        ]
    mark.until_gone()


@pytest.mark.fault("R35", "R41")
@pytest.mark.spec("P3", "H6")
def test_a_failure_that_cannot_be_logged_is_told_to_the_game_all_the_same(
    start_auto: Starter, full_disk: None
) -> None:
    client = start_auto(f"{SCARCE}:mind").client(MIND)
    assert failure(client, "memory").error.code == "intelligence-provider-failed"
    assert answer(client, "after") == "after"


# Hosts that crash, one after the other


@pytest.mark.fault("R68", "R2")
@pytest.mark.spec("H4", "H6")
def test_a_game_that_starts_host_after_host_that_crashes_is_told_each_time_and_is_left_nothing(
    transport: Transport, mark: Mark, tmp_path: Path
) -> None:
    script = tmp_path / "python"
    script.write_text("#!/bin/sh\nexit 9\n")
    script.chmod(0o755)
    before = psutil.Process().num_fds()
    for number in range(20):
        crashes_first = number % 5 != 0
        with spawn_host(
            f"{SCARCE}:dies",
            transport=transport,
            environment=mark.environment,
            deadlines=QUICK,
            python=str(script) if crashes_first else None,
        ) as connection:
            client = connection.client(MIND)
            client.submit("hello")  # which a Host that has crashed already refuses
            assert "host" in closed_because(client).lower()
            assert code_of_close(client) == "host-ended"
    assert psutil.Process().num_fds() == before
    mark.until_gone()
