"""Several processes on one ledger: no bound is passed, and what a killed one has written stays."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from support.process_marks import PATIENCE_S
from support.spending_parts import A_TIME_MS, WallClock, account, tokens_of, wait_s

from engine_intelligence.spending.ledger import Ledger

PROCESSES = 5
BOUND = 40

# Each has the same clock, which stands still: however long it takes, all of it is one minute.
ASKING = """
import sys
from engine_intelligence.errors import ProviderError
from support.spending_parts import WallClock, account
from engine_intelligence.spending.ledger import Ledger
ledger, accounts = Ledger(sys.argv[1], clock_ns=WallClock()), [account(a_minute=40, a_day=10**9)]
print("ready", flush=True)
sys.stdin.readline()
reasons = []
for _ in range(30):
    try:
        ledger.admit(accounts)
        reasons.append("admitted")
        ledger.spend(accounts, 3)
    except ProviderError as error:
        reasons.append(error.reason)
print(*reasons, flush=True)
"""

# One place on each of many accounts: each is a race of its own.
RACING = """
import sys
from engine_intelligence.errors import ProviderError
from support.spending_parts import WallClock, account
from engine_intelligence.spending.ledger import Ledger
ledger = Ledger(sys.argv[1], clock_ns=WallClock())
print("ready", flush=True)
sys.stdin.readline()
admitted = 0
for number in range(400):
    try:
        ledger.admit([account(str(number), a_minute=1)])
        admitted += 1
    except ProviderError as error:
        assert error.reason == "rate-limited", error
print(admitted, flush=True)
"""

SPENDING = """
import sys
from support.spending_parts import WallClock, account
from engine_intelligence.spending.ledger import Ledger
ledger, accounts = Ledger(sys.argv[1], clock_ns=WallClock()), [account(a_minute=10**6)]
while True:
    ledger.admit(accounts)
    ledger.spend(accounts, 1)
    print("spent", flush=True)
"""


class Processes:
    """Processes of one test, each with its standard streams."""

    def __init__(self, until_the_end: ExitStack, path: Path) -> None:
        self._until_the_end = until_the_end
        self._path = path

    def start(self, code: str) -> "subprocess.Popen[str]":
        process = self._until_the_end.enter_context(
            subprocess.Popen(
                [sys.executable, "-c", f"import sys; sys.path[:0] = {sys.path!r}\n{code}", str(self._path)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
        )
        self._until_the_end.callback(process.kill)
        return process


@pytest.fixture
def processes(path: Path) -> Iterator[Processes]:
    with ExitStack() as until_the_end:
        yield Processes(until_the_end, path)


def read_line(process: "subprocess.Popen[str]") -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def test_processes_that_ask_at_once_for_a_ledger_that_is_not_there_yet_pass_no_bound(
    processes: Processes, path: Path
) -> None:
    started = [processes.start(ASKING) for _ in range(PROCESSES)]
    assert [read_line(process) for process in started] == ["ready"] * PROCESSES
    for process in started:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    reasons = [reason for process in started for reason in process.communicate(timeout=PATIENCE_S)[0].split()]
    assert reasons.count("admitted") == BOUND
    assert reasons.count("rate-limited") == PROCESSES * 30 - BOUND
    ledger = Ledger(path, clock_ns=WallClock())
    assert tokens_of(ledger) == 3 * BOUND
    assert wait_s(ledger, [account(a_minute=BOUND)]) == 60
    ledger.close()


def test_two_processes_at_once_do_not_both_get_the_last_place(processes: Processes) -> None:
    started = [processes.start(RACING) for _ in range(2)]
    assert [read_line(process) for process in started] == ["ready"] * 2
    for process in started:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    assert sum(int(process.communicate(timeout=PATIENCE_S)[0]) for process in started) == 400


@pytest.mark.parametrize("lines", [1, 7, 50])
def test_what_a_process_has_counted_stays_when_it_is_killed(
    processes: Processes, path: Path, lines: int
) -> None:
    process = processes.start(SPENDING)
    assert [read_line(process) for _ in range(lines)] == ["spent"] * lines
    process.kill()
    assert process.stdout is not None
    told = lines + process.stdout.read().count(
        "spent"
    )  # not by `communicate`, which reads past the lines that are buffered
    process.wait(PATIENCE_S)
    ledger = Ledger(path, clock_ns=WallClock(A_TIME_MS))
    (line,) = ledger.lines()
    # It is killed anywhere: also after a start or tokens were counted, and before it could tell.
    assert (line.activities - told, line.tokens - told) in [(0, 0), (1, 0), (1, 1)]
    ledger.close()
