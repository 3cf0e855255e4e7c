"""Rule S1 by what the kernel is asked: every system call of `submit`, `poll` and `cancel`, traced with real Hosts."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from campaign.costs_realm import CALLS, MARK
from campaign.tracing import Watch, read_trace, tracer
from campaign.workers import Worker

from engine_intelligence.realm.spawning import Transport

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="system calls are traced on Linux"),
    pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed"),
]

PATIENCE_S = 120.0
TRACED = 20

LOOK = {"poll", "restart_syscall"}
"""A signal, such as that of a child that is stopped or ends, has the system begin a look anew."""
TALK = {*LOOK, "recvfrom", "sendto"}
RANDOM = {"getrandom"}
"""For the ids of an Activity and of a session."""
MEMORY = {"brk", "mmap", "munmap", "mremap", "madvise"}
CONNECT = {"accept4", "ioctl", "setsockopt", "getsockname", "fcntl", "wait4", "close"}
"""Over the loopback: the Host may have come, or ended before it came."""
END = {"wait4", "getpid", "shutdown", "close"}

# Against a Host in each state, what any of the three may do besides memory.
ALLOWED: dict[str, set[str]] = {
    "starting": {*TALK, *RANDOM, *CONNECT},
    "streaming": {*TALK, *RANDOM},
    "flooding": {*TALK, *RANDOM},
    "frozen": {*TALK, *RANDOM},  # what it said before may still lie there
    "dying": {*TALK, *RANDOM, *END},
    "dead": set(),
}


def watched(trace: Path) -> Watch:
    watch = Watch()
    watch.follow(read_trace(trace.read_text(errors="replace").splitlines()))
    return watch


@pytest.mark.spec("S1", "C3", "H7")
@pytest.mark.parametrize("state", ALLOWED)
def test_no_system_call_of_a_frame_could_wait_and_none_is_made_but_these(
    transport: Transport, tmp_path: Path, state: str
) -> None:
    worker = Worker(
        "campaign.costs_realm", [state, transport, TRACED, "marked"], within=tracer(tmp_path / "trace")
    )
    result = worker.result(PATIENCE_S)
    watch = watched(tmp_path / "trace")
    made = {name for calls in watch.seen.values() for name in calls}
    assert (result.get("failed"), result.get("wrong")) == (None, [])
    assert watch.could_wait == []
    assert made - MEMORY <= ALLOWED[state]
    # Where nothing is asked of the system at all, the trace shows the calls themselves no less.
    assert all(watch.entered[name] >= TRACED for name in CALLS)


WAITS = {
    "a receive on a socket that blocks": "a.sendall(b'x'); b.recv(1)",
    "a send on a socket that blocks": "a.send(b'x')",
    "a sleep": "time.sleep(0.001)",
    "a look with a timeout": "p = select.poll(); p.register(b, 1); p.poll(1)",
    "a select with a timeout": "select.select([b], [], [], 0.001)",
    "a lock that another thread holds": "lock.acquire(timeout=0.001)",
    "a wait for a child": "os.waitpid(os.posix_spawnp('true', ['true'], os.environ), 0)",
    "a file that is read": "open('/proc/self/stat').read()",
}


@pytest.mark.parametrize("what", WAITS)
def test_what_could_wait_is_found(tmp_path: Path, what: str) -> None:
    program = "import os, select, socket, threading, time\na, b = socket.socketpair()\n"
    program += "lock = threading.Lock()\nlock.acquire()\n"
    program += f"os.access({MARK + 'poll'!r}, 0)\n{WAITS[what]}\nos.access({MARK + 'end'!r}, 0)\n"
    subprocess.run(
        [*tracer(tmp_path / "trace"), sys.executable, "-c", program], check=True, timeout=PATIENCE_S
    )
    assert watched(tmp_path / "trace").could_wait != []


def test_a_socket_that_was_set_never_to_block_may_be_read(tmp_path: Path) -> None:
    program = "import os, socket\na, b = socket.socketpair()\nb.setblocking(False)\na.sendall(b'x')\n"
    program += f"os.access({MARK + 'poll'!r}, 0)\nb.recv(1)\nos.access({MARK + 'end'!r}, 0)\n"
    subprocess.run(
        [*tracer(tmp_path / "trace"), sys.executable, "-c", program], check=True, timeout=PATIENCE_S
    )
    watch = watched(tmp_path / "trace")
    assert (watch.could_wait, set(watch.seen["poll"])) == ([], {"recvfrom"})
