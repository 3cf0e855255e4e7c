"""One run of a program: its input written, its output read and its errors drained at the same time, and its whole tree ended.

The life of a run is a task of its own, which nobody cancels: however often those who read are cancelled, the tree is ended.
"""

from __future__ import annotations

import asyncio
import os
import signal
from asyncio.subprocess import PIPE
from collections.abc import Mapping, Sequence
from typing import Any, cast

import msgspec

from engine_intelligence.process_tree import (
    NO_WINDOW,
    ask_group_to_end,
    environment_mark,
    kill_tree,
)

RUN_VARIABLE = "ENGINE_INTELLIGENCE_COMMAND"
"""What the processes of one run carry in their environment."""

# A quarter of `cancel_grace_s`: time for a program to put its files in order, and for us to end one that does not go.
TERM_GRACE_S = 0.5

# A killed process is gone in milliseconds, if it is not stuck in the kernel, where nobody can end it.
REAP_S = 1.0

# When a program has ended and so has all that is found of its tree, what it wrote is in the pipe and is read at once. Only a
# process that cannot be found, and holds the pipe, makes this pass.
DRAIN_S = 0.5

# Twice what a pipe holds. The event loop reads up to 256 KiB at a time, so that a run takes less than half a megabyte.
_MAX_UNREAD_BYTES = 128 * 1024

MAX_TAIL_BYTES = 2000
"""What is kept of the standard error: as much as `scrub` looks at."""

# The lines in which programs say why they end; what stands above is a traceback.
_LAST_LINES = 3


class Invocation(msgspec.Struct, frozen=True, kw_only=True):
    """What is run, and with what around it. `repr` does not show the environment (rule E2)."""

    arguments: Sequence[str]
    """The program, as a path, and its arguments."""
    directory: str
    environment: Mapping[str, str]

    def __repr__(self) -> str:
        return f"Invocation(arguments={self.arguments!r}, directory={self.directory!r})"


class _Pipes(asyncio.SubprocessProtocol):
    """What the event loop tells of a program."""

    def __init__(self) -> None:
        self.changed = asyncio.Event()
        self.unread = bytearray()
        self.tail = b""
        self.tail_is_cut = False
        self.exited = False
        self.lost = False
        """The process is reaped and every pipe is closed."""
        self.output_ended = False
        self._transport: asyncio.SubprocessTransport | None = None
        self._paused = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.SubprocessTransport", transport)

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        if fd == 2:
            self.tail += data
            self.tail_is_cut |= len(self.tail) > MAX_TAIL_BYTES
            self.tail = self.tail[-MAX_TAIL_BYTES:]
            return
        self.unread += data
        if len(self.unread) > _MAX_UNREAD_BYTES and not self._paused:
            self._paused = True
            self._output().pause_reading()
        self.changed.set()

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        # Of the standard input it is no failure: a program need not read it, and may close it.
        if fd == 1:
            self.output_ended = True
            self.changed.set()

    def process_exited(self) -> None:
        self.exited = True
        self.changed.set()

    def connection_lost(self, exc: Exception | None) -> None:
        self.lost = True
        self.changed.set()

    def take(self) -> bytes:
        """What was read and not taken yet."""
        data = bytes(self.unread)
        self.unread.clear()
        if self._paused:
            self._paused = False
            self._output().resume_reading()
        return data

    def _output(self) -> Any:
        assert self._transport is not None
        return self._transport.get_pipe_transport(1)


class ProgramRun:
    """One run of a program. It belongs to the thread of the running event loop, in which it is made, and starts at once."""

    def __init__(self, invocation: Invocation, input: bytes) -> None:
        """`input` is what the program finds on its standard input, before the end of it."""
        self._invocation = invocation
        self._input = input
        self._pipes = _Pipes()
        self._stopped = False
        self._returncode: int | None = None
        self._life = asyncio.get_running_loop().create_task(self._live(), name="engine-intelligence-command")
        self._life.add_done_callback(lambda _: self._pipes.changed.set())

    @property
    def returncode(self) -> int | None:
        """The exit code, or minus the signal that ended it; `None` while it is not known."""
        return self._returncode

    @property
    def last_words(self) -> str:
        """The last lines that it said on its standard error, each of them whole: a half one may be half a credential."""
        text = self._pipes.tail.decode("utf-8", "replace")
        if self._pipes.tail_is_cut:
            text = text.partition("\n")[2]
        return "\n".join(text.splitlines()[-_LAST_LINES:])

    async def read(self) -> bytes:
        """The next piece of its output; empty when there is no more and its whole tree has ended.

        Raises `OSError` if it could not be started. One task at a time.
        """
        while not (data := self._pipes.take()):
            if self._life.done():
                self._life.result()
                return b""
            await self._change()
        return data

    def stop(self) -> None:
        """Begin to end it, and return at once."""
        self._stopped = True
        self._pipes.changed.set()

    async def over(self) -> None:
        """Wait until its tree has ended; for at most some seconds after a `stop`. Raises nothing for how it ended."""
        await asyncio.wait([self._life])
        if not self._life.cancelled():
            self._life.exception()  # which makes it known: nobody may have read

    async def _live(self) -> None:
        pipes, value = self._pipes, os.urandom(16).hex()
        mark = environment_mark(RUN_VARIABLE, value)
        transport, _ = await asyncio.get_running_loop().subprocess_exec(
            lambda: pipes,
            *self._invocation.arguments,
            stdin=PIPE,
            stdout=PIPE,
            stderr=PIPE,
            cwd=self._invocation.directory,
            env={**self._invocation.environment, RUN_VARIABLE: value},
            start_new_session=True,  # its own group, and no terminal that it could ask a person on
            creationflags=NO_WINDOW,
        )
        stdin: Any = transport.get_pipe_transport(0)
        try:
            # All of it is kept until it has been taken; meanwhile the output is read.
            stdin.write(self._input)
            stdin.write_eof()
            await self._until(lambda: pipes.exited or self._stopped)
            await self._end_tree(transport.get_pid(), mark)
            self._returncode = transport.get_returncode()
            await self._drain()
        except BaseException:
            # Such as the end of the event loop, which has no time to wait.
            kill_tree(transport.get_pid(), mark, root_runs=not pipes.exited)
            raise
        finally:
            if stdin.get_write_buffer_size():
                stdin.abort()  # nobody will read it any more; one that has been written is closed already
            transport.close()
            await self._until(lambda: pipes.lost, REAP_S)

    async def _end_tree(self, pid: int, mark: bytes) -> None:
        """End the program if it runs, and all that it started, wherever that went."""
        pipes = self._pipes
        if not pipes.exited:
            ask_group_to_end(pid)
            await self._until(lambda: pipes.exited, TERM_GRACE_S)
        # In a thread: where thousands of processes run it takes long enough to keep others waiting.
        await asyncio.to_thread(kill_tree, pid, mark, root_runs=not pipes.exited)
        await self._until(lambda: pipes.exited, REAP_S)

    async def _drain(self) -> None:
        """Wait until what was written before the end has been read, where somebody reads."""
        pipes = self._pipes
        while not (pipes.output_ended or self._stopped):
            unread = len(pipes.unread)
            if not await self._change(DRAIN_S) and len(pipes.unread) == unread == 0:
                return

    async def _until(self, condition: Any, within_s: float | None = None) -> None:
        """Wait until `condition` holds, or for `within_s`."""
        try:
            async with asyncio.timeout(within_s):
                while not condition():
                    await self._change()
        except TimeoutError:
            pass

    async def _change(self, within_s: float | None = None) -> bool:
        """Wait until something has changed, or for `within_s`; whether it has."""
        # Several may wait: each clears what it has seen, looks at the state, and only then waits.
        self._pipes.changed.clear()
        try:
            async with asyncio.timeout(within_s):
                await self._pipes.changed.wait()
        except TimeoutError:
            return False
        return True


def how_it_ended(returncode: int) -> str:
    """`with exit code 3`, or `by SIGKILL`."""
    if returncode >= 0:
        return f"with exit code {returncode}"
    try:
        return f"by {signal.Signals(-returncode).name}"
    except ValueError:
        return f"by signal {-returncode}"
