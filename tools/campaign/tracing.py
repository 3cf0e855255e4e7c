"""The system calls that a game makes inside its calls, as `strace` writes them down, and whether any of them could wait."""

import re
import shutil
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from campaign.costs_realm import MARK

# A process and its threads are traced, and let go of at the moment at which a child becomes another program.
OPTIONS = ("-f", "-b", "execve", "-tt", "-T", "-s", "64")

LINE = re.compile(r"(?P<pid>\d+) +\S+ +(?P<rest>.*)")
WHOLE = re.compile(r"(?P<name>\w+)\((?P<arguments>.*)\) += (?P<result>.*?)(?: <(?P<seconds>[\d.]+)>)?$")
RESUMED = re.compile(r"<\.\.\. \w+ resumed>")
UNFINISHED = " <unfinished ...>"

# These never wait for anything but the processor. Memory may have to be fetched from a disk that it was moved to, as any
# instruction's may; `getrandom` waits at most once in the life of a system, until its source of randomness is ready.
_MEMORY = {"brk", "mmap", "munmap", "mremap", "madvise", "mprotect"}
_TIME = {"clock_gettime", "clock_gettime64", "gettimeofday"}
_SIGNALS = {"rt_sigaction", "rt_sigprocmask", "rt_sigreturn", "kill"}
_SETTINGS = {"getsockname", "getsockopt", "setsockopt", "ioctl", "fcntl", "getpid", "gettid", "getppid"}
AT_ONCE = {*_MEMORY, *_TIME, *_SIGNALS, *_SETTINGS, "close", "shutdown", "dup", "getrandom", "pidfd_open"}

# These wait unless their descriptor was set not to.
_RECEIVE = {"recvfrom", "recvmsg", "read", "readv", "accept", "accept4"}
ON_DESCRIPTORS = {*_RECEIVE, "sendto", "sendmsg", "write", "writev"}


class NoTrace(Exception):
    """Why system calls cannot be traced here."""


def tracer(output: Path) -> list[str]:
    """The command under which a program is traced. Raises `NoTrace` where there is no `strace`."""
    found = shutil.which("strace")
    if found is None:
        raise NoTrace("strace is not installed")
    return [found, *OPTIONS, "-o", str(output)]


@dataclass(frozen=True)
class SystemCall:
    """One of them, and how long it took."""

    name: str
    arguments: str
    result: str
    seconds: float

    @property
    def descriptor(self) -> str:
        return self.arguments.partition(",")[0]


@dataclass
class Watch:
    """Goes through the system calls of a process, and keeps those that were made inside a call of the game."""

    inside: str = ""
    """The name of the call of the game; empty between two of them."""
    seen: dict[str, dict[str, dict[str, Any]]] = field(default_factory=dict[str, dict[str, dict[str, Any]]])
    entered: Counter[str] = field(default_factory=Counter[str])
    """How often each call of the game was entered, whether or not it asked anything of the system."""
    could_wait: list[str] = field(default_factory=list[str])
    _never_block: set[str] = field(default_factory=set[str])
    _last: str = ""

    def follow(self, calls: Iterable[SystemCall]) -> None:
        for call in calls:
            self._descriptors(call)
            if f'"{MARK}' in call.arguments:
                name = call.arguments.partition(MARK)[2].partition('"')[0]
                self.inside = "" if name == "end" else name
                self.entered[self.inside] += 1
            elif self.inside:
                self._note(call)
            self._last = call.name

    def _note(self, call: SystemCall) -> None:
        of_call = self.seen.setdefault(self.inside, {})
        entry = of_call.setdefault(call.name, {"calls": 0, "longest_us": 0.0})
        entry["calls"] += 1
        entry["longest_us"] = max(entry["longest_us"], round(call.seconds * 1e6, 1))
        if not self._returns_at_once(call):
            self.could_wait.append(f"{self.inside}: {call.name}({call.arguments[:120]})")

    def _returns_at_once(self, call: SystemCall) -> bool:
        if call.name in ON_DESCRIPTORS:
            return call.descriptor in self._never_block or "MSG_DONTWAIT" in call.arguments
        match call.name:
            case "poll":
                return call.arguments.endswith(", 0")
            case "restart_syscall":  # what a signal interrupted goes on, with the same arguments
                return self._last == "poll"
            case "wait4" | "waitid":
                return "WNOHANG" in call.arguments
            case "futex":
                return "FUTEX_WAKE" in call.arguments
            case name:
                return name in AT_ONCE

    def _descriptors(self, call: SystemCall) -> None:
        """Keep the account of the descriptors that were set never to block."""
        if call.result.startswith("-1"):
            return
        if call.name == "close" or (call.name == "ioctl" and "FIONBIO, [0]" in call.arguments):
            self._never_block.discard(call.descriptor)
        elif call.name == "ioctl" and "FIONBIO, [1]" in call.arguments:
            self._never_block.add(call.descriptor)
        elif call.name in ("socket", "accept4"):
            new = call.result.split()[0]
            (self._never_block.add if "SOCK_NONBLOCK" in call.arguments else self._never_block.discard)(new)


def read_trace(lines: Sequence[str]) -> Iterator[SystemCall]:
    """The system calls of the process that the trace begins with, and of its threads; not of what it forks."""
    begun: dict[str, str] = {}
    game = next((m["pid"] for m in map(LINE.match, lines) if m), "")
    ours = {game, *threads_of(lines)}
    for match in filter(None, map(LINE.match, lines)):
        pid, rest = match["pid"], match["rest"]
        if pid not in ours:
            continue
        if rest.endswith(UNFINISHED):
            begun[pid] = rest.removesuffix(UNFINISHED)
            continue
        if RESUMED.match(rest):
            rest = begun.pop(pid, "") + RESUMED.sub("", rest, count=1)
        if whole := WHOLE.match(rest):
            yield SystemCall(whole["name"], whole["arguments"], whole["result"], float(whole["seconds"] or 0))


def threads_of(lines: Iterable[str]) -> Iterator[str]:
    """The numbers of the threads that were started."""
    for line in lines:
        if "CLONE_THREAD" in line and (found := re.search(r" = (\d+)", line)):
            yield found[1]
