"""A loop of 60 frames a second with a fixed amount of Python work in each, and what is measured of it.

A frame takes from the moment at which it is due to the end of its work, so that a loop that is woken late, or gets the
interpreter lock late, is late. One that is not done when the next is due is missed; the next then begins at once.
"""

from __future__ import annotations

import asyncio
import gc
import time
from typing import Protocol, TypedDict

FRAME_S = 1 / 60
WORK_S = 0.004
# A block that hangs ends the benchmark with a word instead.
HANGS_S = 60.0


class Contender(Protocol):
    """What a game has beside its frames."""

    tokens: int
    """How many tokens of this block it knows to have been taken."""
    ages_s: list[float]
    """How old each was when the game saw it; none where the game sees no tokens."""
    pid: int | None
    """The process that takes them, if it is another."""

    def start(self, plan: str) -> None:
        """Begin a block."""
        ...

    def begun(self, now: float) -> float | None:
        """When the tokens begin, as soon as that is known."""
        ...

    def look(self, measured: bool) -> bool:
        """Once a frame: see what has come, and tell whether the block is over; `measured` for the frames that count."""
        ...

    def reckon(self) -> None:
        """Work out tokens and ages, when the block is over."""
        ...


class Block(TypedDict):
    """What one block found. Times in milliseconds but for those of the look, which are in microseconds."""

    frames_ms: list[float]
    looks_us: list[float]
    ages_ms: list[float]
    tokens: int
    host_cpu_s: float | None
    server_cpu_s: float | None
    took_s: float


def work(turns: int) -> int:
    """What a frame computes: the state of a few hundred things, in plain Python."""
    state = 1
    things = [0] * 64
    for turn in range(turns):
        state = (state * 1103515245 + 12345) & 0x7FFFFFFF
        things[turn & 63] += state & 7
    return sum(things)


def calibrated() -> int:
    """How many turns of the work take 4 ms when nothing is in the way: the fastest of many tries."""
    turns = 5000
    fastest = min(_timed(turns) for _ in range(60))
    return max(1, round(turns * WORK_S / fastest))


def _timed(turns: int) -> float:
    began = time.perf_counter()
    work(turns)
    return time.perf_counter() - began


def cpu_s(pid: int | None) -> float | None:
    """Processor time of all threads of a process so far, to the nanosecond; of Linux alone."""
    # man 3 clock_getcpuclockid: this is how Linux makes the id of another process's clock.
    return None if pid is None else time.clock_gettime((~pid << 3) | 2)


class Frames:
    """The frames of one block; whoever drives them sleeps until each is due."""

    def __init__(self, contender: Contender, turns: int, *, seconds: float, server_pid: int | None) -> None:
        self._contender = contender
        self._turns = turns
        self._seconds = seconds
        self._server_pid = server_pid
        self._frames: list[float] = []
        self._looks: list[float] = []
        self._begin: float | None = None
        self._end = 0.0
        self._cpu_before: tuple[float | None, float | None] = (None, None)
        self._give_up = time.monotonic() + seconds + HANGS_S
        self.due = time.monotonic()

    def run(self) -> bool:
        """One frame, and whether there is another."""
        contender = self._contender
        measured = self._begin is not None and self._begin <= self.due < self._end
        began = time.perf_counter()
        over = contender.look(measured)
        looked = time.perf_counter()
        work(self._turns)
        done = time.monotonic()
        if measured:
            self._frames.append((done - self.due) * 1e3)
            self._looks.append((looked - began) * 1e6)
        if self._begin is None:
            self._see_begin(done)
        elif over and self.due >= self._end:
            return False
        if done > self._give_up:
            raise TimeoutError(f"{type(contender).__name__}: {contender.tokens} tokens and no end")
        self.due = max(self.due + FRAME_S, done)
        return True

    def found(self) -> Block:
        """What the block found, when it is over."""
        assert self._begin is not None
        took_s = time.monotonic() - self._begin
        host, server = self._cpu()
        self._contender.reckon()
        before_host, before_server = self._cpu_before
        return Block(
            frames_ms=self._frames,
            looks_us=self._looks,
            ages_ms=[age * 1e3 for age in self._contender.ages_s],
            tokens=self._contender.tokens,
            host_cpu_s=None if host is None or before_host is None else host - before_host,
            server_cpu_s=None if server is None or before_server is None else server - before_server,
            took_s=took_s,
        )

    def _see_begin(self, now: float) -> None:
        self._begin = self._contender.begun(now)
        if self._begin is not None:
            self._end = self._begin + self._seconds
            self._cpu_before = self._cpu()

    def _cpu(self) -> tuple[float | None, float | None]:
        return cpu_s(self._contender.pid), cpu_s(self._server_pid)


def play(frames: Frames) -> Block:
    """The loop that most games have: it sleeps until the next frame is due."""
    gc.collect()
    more = True
    while more:
        _sleep(frames.due - time.monotonic())
        more = frames.run()
    return frames.found()


def _sleep(seconds: float) -> None:
    if seconds > 0:
        time.sleep(seconds)


async def play_in_loop(frames: Frames) -> Block:
    """The same in an event loop, which has other things to do between two frames."""
    gc.collect()
    more = True
    while more:
        await asyncio.sleep(max(0.0, frames.due - time.monotonic()))
        more = frames.run()
    return frames.found()
