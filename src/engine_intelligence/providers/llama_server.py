"""The life of the local model's server: one child process for each model, started when it is needed, ended with its last user.

What it is told and what it answers is in `llama_child`, which also says why it is a process.
"""

from __future__ import annotations

import asyncio
import logging
import os
import secrets
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Sequence
from pathlib import Path

import msgspec

from engine_intelligence.credentials import without_credentials
from engine_intelligence.errors import ProviderError
from engine_intelligence.process_tree import NO_WINDOW
from engine_intelligence.protocol.bootstrap import MODEL_CHILD_VARIABLE
from engine_intelligence.providers.llama_child import Order, Report

_log = logging.getLogger(__name__)

_FROZEN = bool(getattr(sys, "frozen", False))

# `-P`: no file of the working directory takes a module's place. A frozen program is started again as a whole, and finds
# its part in `freeze_support`.
_PYTHON = (sys.executable, "-P", "-m", "engine_intelligence.providers.llama_child")
CHILD_COMMAND = (sys.executable,) if _FROZEN else _PYTHON
"""What starts the child."""

# A dead process is known a moment after its connections break.
NOTICE_S = 1.0


class Endpoint(msgspec.Struct, frozen=True):
    """Where a server listens, such as `http://127.0.0.1:40123`, and the key that it wants, which no `repr` shows (rule E2)."""

    address: str
    key: str

    def __repr__(self) -> str:
        return f"Endpoint(address={self.address!r})"


def threads_beside_a_game(cores: int | None = None) -> int:
    """How many threads a model may compute with, so that the game keeps a core (rule H8); at least 1.

    `cores` defaults to what this process may run on, which in a container or under an affinity is less than the machine has.
    """
    if cores is None:
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, cores - 1)


class LlamaServer:
    """The server of one model. It belongs to the thread of one running event loop.

    Nothing is started until `warm` or `endpoint`. A process that crashed is replaced by the next call.
    """

    def __init__(self, model_path: Path, *, context: int, slots: int, command: Sequence[str]) -> None:
        """`context` is in tokens per slot; `slots` is how many answers it works on at a time; `command` starts the child."""
        self._key = secrets.token_urlsafe(32)
        self._order = Order(
            model_path=os.fspath(model_path),
            context=context,
            slots=slots,
            threads=threads_beside_a_game(),
            key=self._key,
        )
        self._command = tuple(command)
        self._process: Process | None = None
        self._load_task: asyncio.Task[Endpoint] | None = None
        self._closed = False
        # The queue for the slots is here, in order of arrival, rather than in the server: there each that waits would hold one
        # of its few HTTP threads, and a cancel would have to find it.
        self.slot = asyncio.Semaphore(slots)

    @property
    def order(self) -> Order:
        """What its process is told."""
        return self._order

    @property
    def process_id(self) -> int | None:
        """The id of its process; `None` where none runs."""
        process = self._process
        return process.pid if process is not None and process.returncode is None else None

    def warm(self) -> None:
        """Start the process and return at once, so that the first Activity need not wait for the load. Needs a running loop."""
        if not self._closed:
            self._loading()

    async def endpoint(self) -> Endpoint:
        """Where it listens, once the model is loaded. Cancelling one that waits leaves the load to the others.

        Raises `ProviderError`: `unavailable` if the model cannot be loaded or the server is closed, `crashed` if its process
        ended during the load.
        """
        if self._closed:
            raise ProviderError("the local model is closed", reason="unavailable")
        loading = self._loading()
        try:
            return await asyncio.shield(loading)
        except asyncio.CancelledError:
            if loading.cancelled():  # by `close`, and not the one who waits
                raise ProviderError("the local model is closed", reason="unavailable") from None
            raise

    async def has_ended(self) -> bool:
        """Whether the process is gone. Waits up to a second: broken connections are seen before the end that broke them."""
        process = self._process
        if process is None:
            return True
        try:
            await asyncio.wait_for(process.wait(), NOTICE_S)
        except TimeoutError:
            return False
        return True

    async def close(self) -> None:
        """End the process, also while it loads. Idempotent; takes as long as the system needs to end a killed process."""
        self._closed = True
        loading = self._load_task
        if loading is not None:
            loading.cancel()
            await asyncio.wait([loading])
        await self._end()

    def _loading(self) -> asyncio.Task[Endpoint]:
        task = self._load_task
        if task is None or (
            task.done() and (task.cancelled() or task.exception() or self.process_id is None)
        ):
            task = asyncio.get_running_loop().create_task(self._load())
            # Its failure may interest nobody, when it was only warmed.
            task.add_done_callback(lambda done: done.cancelled() or done.exception())
            self._load_task = task
        return task

    async def _load(self) -> Endpoint:
        await self._end()  # a crashed one: its pipes
        try:
            self._process = process = await asyncio.create_subprocess_exec(
                *self._command,
                stdin=PIPE,
                stdout=PIPE,
                stderr=DEVNULL,
                creationflags=NO_WINDOW,
                env=_child_environment(),
            )
        except OSError as error:
            raise ProviderError(
                f"the process of the local model could not be started: {error.strerror}", reason="unavailable"
            ) from None
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            # It stays open: its end is the child's end.
            process.stdin.write(msgspec.json.encode(self._order) + b"\n")
            line = await process.stdout.readline()
            report = _report(line)
            if report is None:
                code = await process.wait()
                raise ProviderError(
                    f"the process of the local model ended with code {code} during the load", reason="crashed"
                )
            if report.address is None:
                raise ProviderError(
                    f"the local model could not be loaded: {report.error}", reason="unavailable"
                )
        except BaseException:
            await self._end()
            raise
        _log.info("the local model is loaded: %s slots of %s tokens", self._order.slots, self._order.context)
        return Endpoint(report.address, self._key)

    async def _end(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        assert process.stdin is not None
        process.stdin.close()
        # Killed at once, rather than asked: it holds nothing that would be lost, and native code that loads cannot be asked.
        try:
            process.kill()
        except ProcessLookupError:
            pass
        await process.wait()


def _child_environment() -> dict[str, str]:
    """The environment of the child: it needs no credential, and a game of the same user could read it there (rule H2)."""
    ours = [name for name in os.environ if name.startswith("ENGINE_INTELLIGENCE_")]
    environment = without_credentials(os.environ, keep=ours).environment
    return {**environment, MODEL_CHILD_VARIABLE: "1"} if _FROZEN else environment


def _report(line: bytes) -> Report | None:
    if not line.endswith(b"\n"):
        return None
    try:
        return msgspec.json.decode(line, type=Report)
    except msgspec.DecodeError:
        return None


class LlamaServers:
    """The servers of a Host: providers with the same model, context and slots share one. Like them, it belongs to one loop."""

    def __init__(self, *, command: Sequence[str] = CHILD_COMMAND) -> None:
        """`command` starts the child."""
        self._command = command
        self._servers: dict[tuple[Path, int, int], LlamaServer] = {}
        self._users: dict[LlamaServer, int] = {}

    def acquire(self, model_path: Path, *, context: int, slots: int) -> LlamaServer:
        """The server for a model, which is not started by this. Hand it back with `release`."""
        key = (model_path.resolve(), context, slots)
        server = self._servers.get(key)
        if server is None:
            server = LlamaServer(key[0], context=context, slots=slots, command=self._command)
            self._servers[key] = server
        self._users[server] = self._users.get(server, 0) + 1
        return server

    async def release(self, server: LlamaServer) -> None:
        """Hand a server back; the last one to do so ends it and waits for that."""
        self._users[server] -= 1
        if self._users[server]:
            return
        del self._users[server]
        for key, kept in list(self._servers.items()):
            if kept is server:
                del self._servers[key]
        await server.close()
