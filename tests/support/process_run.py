"""`engine-intelligence run` in a process of its own, and all that it starts, seen from the test that started it."""

import ctypes
import os
import select
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import msgspec
import psutil

from engine_intelligence.realm.spawning import Transport
from support.process_marks import PATIENCE_S, until
from support.process_minds import MIND
from support.process_run_games import Line, RunPlan

TESTS = Path(__file__).parents[1]

_PR_CAPBSET_DROP = 24  # linux/prctl.h
_MOST_CAPABILITIES = 64  # a kernel has 41 of them by now, and refuses those that it has not

MODULE = (sys.executable, "-m", "engine_intelligence.cli", "run")


def host_file(folder: Path, factory: str = "mind", *, grace_s: float = 0.3) -> Path:
    """A TOML file with one provider of `process_minds`, and a grace that does not hold a test up."""
    file = folder / f"{factory}.toml"
    file.write_text(
        f'[deadlines]\nclose_grace_s = {grace_s}\n\n[providers.{MIND}]\nfactory = "support.process_minds:{factory}"\n'
    )
    return file


def game(plan: RunPlan) -> list[str]:
    """The command of such a game."""
    return [sys.executable, "-m", "support.process_run_games", msgspec.json.encode(plan).decode()]


def environment(more: Mapping[str, str] | None = None, first_on_path: Path | None = None) -> dict[str, str]:
    """An environment in which the modules of the tests are found, and before them those in `first_on_path`."""
    path = [first_on_path, TESTS, TESTS.parent / "src"]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(str(each) for each in path if each), **(more or {})}


class Run:
    """A launcher, its Host, its game and their descendants."""

    def __init__(
        self,
        config: Path,
        command: Sequence[str],
        *,
        transport: Transport = "auto",
        options: Sequence[str] = (),
        variables: Mapping[str, str] | None = None,
        first_on_path: Path | None = None,
        terminal: int | None = None,
        prepare: Callable[[], None] | None = None,
    ) -> None:
        """Its standard streams are pipes, but for a `terminal`, which `prepare` may make the controlling one."""
        self.process = subprocess.Popen(
            [*MODULE, "--config", str(config), "--transport", transport, *options, "--", *command],
            env=environment(variables, first_on_path),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            pass_fds=() if terminal is None else (terminal,),
            start_new_session=terminal is not None,
            preexec_fn=prepare,
        )
        self._seen: set[psutil.Process] = set()
        self._unread = b""

    @property
    def pid(self) -> int:
        """The process id of the launcher."""
        return self.process.pid

    def line(self) -> Line:
        """Wait for the next line of the game."""
        assert self.process.stdout is not None
        while b"\n" not in self._unread:
            if not select.select([self.process.stdout], [], [], PATIENCE_S)[0]:
                raise AssertionError("the game says nothing")
            more = os.read(self.process.stdout.fileno(), 65536)
            if not more:
                raise AssertionError(f"the game ended: {self.ended()[1]}")
            self._unread += more
        line, _, self._unread = self._unread.partition(b"\n")
        return msgspec.json.decode(line, type=Line)

    def processes(self, *others: int) -> list[psutil.Process]:
        """The launcher, what descends from it by now, and `others`. They are ended with this object at the latest."""
        launcher = psutil.Process(self.pid)
        found = [launcher, *launcher.children(recursive=True), *(psutil.Process(pid) for pid in others)]
        self._seen.update(found)
        return found

    def send(self, number: int) -> None:
        """Send a signal to the launcher alone."""
        self.process.send_signal(number)

    def tell(self, text: str) -> None:
        """Give the game something to read on its standard input."""
        assert self.process.stdin is not None
        self.process.stdin.write(text.encode())
        self.process.stdin.flush()

    def finish(self) -> int:
        """Have the game end, and wait for the launcher's end. Returns its exit code, or minus a signal."""
        self.end_input()
        return self.code()

    def end_input(self) -> None:
        """Have the game end, whenever it comes to it."""
        if self.process.stdin is not None:
            self.process.stdin.close()
            self.process.stdin = None

    def code(self) -> int:
        """Wait for the launcher's end. Returns its exit code, or minus a signal."""
        return self.process.wait(PATIENCE_S)

    def ended(self) -> tuple[str, str]:
        """The rest of both outputs; waits until neither the launcher, nor the Host and its guardian, nor the game has any."""
        out, err = self.process.communicate(timeout=PATIENCE_S)
        rest, self._unread = self._unread + out, b""
        return rest.decode(), err.decode()

    def rest(self) -> list[Line]:
        """The lines of the game that were not read yet, when all has ended."""
        return [msgspec.json.decode(line, type=Line) for line in self.ended()[0].splitlines()]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self.process.poll() is None:
            self.processes()
            self.process.kill()
            self.process.wait(PATIENCE_S)
        for process in self._seen:
            try:
                process.send_signal(signal.SIGKILL)
            except psutil.Error:
                continue
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            if stream is not None:
                stream.close()


def until_gone(processes: Iterable[psutil.Process]) -> None:
    """Wait until none of them runs; fail the test if that never comes, and say which do."""
    left = list(processes)

    def gone() -> bool:
        left[:] = [process for process in left if not has_ended(process)]
        return not left

    try:
        until(gone, "the end")
    except AssertionError:
        raise AssertionError(f"still there: {left}") from None


def has_ended(process: psutil.Process) -> bool:
    try:
        return process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def give_privileges_up() -> Callable[[], None] | None:
    """What a new process has to do so that the system treats it as that of any user; nothing where it is one already.

    A process of root without a capability is another's equal and no more, as far as reading it goes.
    """
    if os.geteuid() != 0:
        return None
    libc: Any = ctypes.CDLL(None)

    def drop() -> None:
        for capability in range(_MOST_CAPABILITIES):
            libc.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0)

    return drop
