"""Small programs that a provider runs, and what a test does with them."""

import asyncio
import os
import sys
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import Any

from engine_intelligence import (
    ActivityRef,
    Deadlines,
    IntelligenceLimits,
    IntelligenceRuntime,
    Ok,
    Prompt,
    SessionRef,
    create_intelligence_runtime,
)
from engine_intelligence.conversation import Turn
from engine_intelligence.providers.backend import Backend, provider_over
from engine_intelligence.providers.command import CommandBackend, Options, create
from engine_intelligence.providers.command_process import Invocation
from engine_intelligence.testing import Transcript
from support.conversations import MemoryConversations
from support.process_marks import MARK_VARIABLE, PATIENCE_S, Mark

SESSION = SessionRef("smith", "s-1")

# Without the site module a program starts in a tenth of the time.
PYTHON = (sys.executable, "-I", "-S")

# Says what it was given.
ECHO = "import sys; sys.stdout.write(sys.stdin.read())"

# Says a word, and no more until it is ended.
HANGS = "import sys, time; sys.stdout.write('Hm. '); sys.stdout.flush(); time.sleep(3600)"


def python(source: str, *arguments: str) -> tuple[str, ...]:
    """The command of a Python program."""
    return (*PYTHON, "-c", source, *arguments)


def backend_of(source: str, *arguments: str, mark: Mark | None = None, **options: Any) -> CommandBackend:
    """A backend over a Python program; with a `mark` it and all that it starts carry that."""
    environment = dict(os.environ) if mark is None else mark.environment
    named = () if mark is None else (MARK_VARIABLE,)
    made = Options(command=python(source, *arguments), environment=named, **options)
    return create(made, environment=environment)


def invocation_of(source: str) -> Invocation:
    """What a backend would run for a Python program."""
    return Invocation(arguments=python(source), directory=os.getcwd(), environment=os.environ)


def prompt_of(input: str, history: Sequence[Turn] = ()) -> Prompt:
    return Prompt(input, SESSION, "a-1", history)


async def pieces(backend: Backend, input: str = "Hello.", history: Sequence[Turn] = ()) -> list[str]:
    """The pieces of a whole answer. The backend is closed after it."""
    try:
        async with aclosing(backend.answer(prompt_of(input, history))) as answer:
            return [piece async for piece in answer if isinstance(piece, str)]
    finally:
        await backend.close()


def answer(backend: Backend, input: str = "Hello.", history: Sequence[Turn] = ()) -> str:
    """The whole answer, in an event loop of its own."""
    return "".join(asyncio.run(pieces(backend, input, history)))


class Talk:
    """A runtime over a backend and a store, for one test."""

    def __init__(self, runtime: IntelligenceRuntime, store: MemoryConversations) -> None:
        self.runtime = runtime
        self.store = store
        self.told = Transcript()

    def submit(self, input: str, session: SessionRef | None = SESSION) -> ActivityRef:
        result = self.runtime.submit(input, session)
        assert isinstance(result, Ok), result
        return result.value

    async def until(self, condition: Callable[[], bool], what: str) -> None:
        """Poll until `condition` holds."""
        async with asyncio.timeout(PATIENCE_S):
            while True:
                self.told.take(self.runtime.poll())
                if condition():
                    return
                await asyncio.sleep(0.003)
        raise AssertionError(f"this never came: {what}")

    async def until_text(self, id: str) -> str:
        await self.until(lambda: bool(self.told.text(id)), f"text of {id}")
        return self.told.text(id)

    async def end(self, id: str) -> Any:
        """The terminal of an Activity."""
        await self.until(lambda: self.told.terminal(id) is not None, f"the end of {id}")
        return self.told.terminal(id)


@asynccontextmanager
async def talk(
    backend: Backend, *, deadlines: Deadlines | None = None, limits: IntelligenceLimits | None = None
) -> AsyncGenerator[Talk]:
    """A runtime over `backend`, closed at the end, after which the event loop holds no task but the caller's."""
    store = MemoryConversations()
    provider = provider_over(backend, SESSION.provider_id, store=store)
    runtime = create_intelligence_runtime(provider, deadlines=deadlines, limits=limits)
    try:
        yield Talk(runtime, store)
    finally:
        await runtime.close()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        assert not others, others


async def until_file(path: Path) -> str:
    """Wait for a file that a program writes, and return what is in it, which ends with a line end."""

    def text() -> str:
        return path.read_text() if path.exists() else ""

    async with asyncio.timeout(PATIENCE_S):
        while not text().endswith("\n"):  # noqa: ASYNC110 - a file sets no event
            await asyncio.sleep(0.003)
    return text()
