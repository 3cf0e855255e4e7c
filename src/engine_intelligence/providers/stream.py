"""A provider as one async generator of text (rule P3).

    async def answer(prompt: Prompt) -> AsyncGenerator[str, None]:
        async for chunk in some_sdk.stream(prompt.input):
            yield chunk.text

    provider = StreamProvider("gatekeeper", answer)

The chunks joined are the output. A cancel reaches the generator as `asyncio.CancelledError` at whatever it
awaits, also before the first chunk; what it raises becomes one `Failed`. With a `store` it is handed the
turns so far, and a completed Activity is added.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing
from typing import Any, TypeAlias, cast

import msgspec

from engine_intelligence.activity import ActivitySubmission, FinishReason, SessionRef, Usage
from engine_intelligence.contracts import ActivitySink
from engine_intelligence.conversation import ConversationStore, Turn
from engine_intelligence.errors import IntelligenceError, ProviderError
from engine_intelligence.result import Ok, Result
from engine_intelligence.scrubbing import describe_exception, encodable, where_raised

_log = logging.getLogger(__name__)


class Prompt(msgspec.Struct, frozen=True):
    """What a generator is given: the text, whose it is, and the turns so far where the Host keeps them."""

    input: str
    session: SessionRef
    activity_id: str
    history: Sequence[Turn] = ()


class Finish(msgspec.Struct, frozen=True):
    """What a generator may yield besides text, at any time: how the output ended, and what it took.

    The last one counts.
    """

    usage: Usage | None = None
    finish: FinishReason | None = None
    remote: str | None = None
    """Kept as `Turn.remote` with the turn, for the next prompt of the session."""


Generate: TypeAlias = (
    Callable[[Prompt], AsyncGenerator[str | Finish, None]] | Callable[[Prompt], AsyncGenerator[str, None]]
)


class StreamProvider:
    """An `IntelligenceProvider` made of an async generator.

    It belongs to the thread of one running event loop.
    """

    def __init__(
        self,
        id: str,
        generate: Generate,
        *,
        store: ConversationStore | None = None,
        on_close: Callable[[], Awaitable[None]] | None = None,
        on_warm: Callable[[], None] | None = None,
    ) -> None:
        """`generate` is called once an Activity.

        `store` and `on_close` belong to the provider: it closes the one, awaits the other. A Host calls `on_warm` when a
        realm opens a port, ahead of the first Activity; it returns at once. Raises `TypeError` for what cannot be called.
        """
        if not callable(generate):
            raise TypeError(f"generate must be an async generator function, not {type(generate).__name__}")
        self._id = id
        self._generate = generate
        self._store = store
        self._on_close = on_close
        self._on_warm = on_warm
        self._tasks: dict[str, asyncio.Task[None]] = {}  # also what keeps them from being collected
        self._cancelled: set[str] = set()
        self.abandoned = 0
        """How many Activities were cancelled while they were at work, by a game, a deadline or a bound. What a service goes on
        with for them, when it ought to have stopped with its connection, is for nobody and is perhaps to be paid for.
        """

    @property
    def id(self) -> str:
        """The name of this provider."""
        return self._id

    def warm(self) -> None:
        """Begin what the first Activity would wait for, and return at once. Needs a running event loop."""
        if self._on_warm is not None:
            self._on_warm()

    def start(self, submission: ActivitySubmission, sink: ActivitySink) -> Result[None, IntelligenceError]:
        """Begin an Activity. Raises `RuntimeError` outside a running event loop, which refuses the submit."""
        task = asyncio.get_running_loop().create_task(self._run(submission, sink))
        self._tasks[submission.id] = task
        task.add_done_callback(lambda done: self._ended(submission.id, done, sink))
        return Ok(None)

    def cancel(self, activity_id: str) -> Result[None, IntelligenceError]:
        """Cancel the generator of an Activity. `Cancelled` follows when it has unwound."""
        task = self._tasks.get(activity_id)
        if task is not None:
            self._cancelled.add(activity_id)
            task.cancel()
        return Ok(None)

    async def close(self) -> None:
        """Cancel what is running, wait until it has unwound, and release what belongs to the provider."""
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        try:
            if tasks:
                await asyncio.wait(tasks)
        finally:
            if self.abandoned:
                _log.info("provider %r: %d Activities were cancelled at work", self._id, self.abandoned)
            if self._store is not None:
                self._store.close()
            if self._on_close is not None:
                await self._on_close()

    def _ended(self, activity_id: str, task: asyncio.Task[None], sink: ActivitySink) -> None:
        # Only its own entry: an id is free again once its Activity has ended for the runtime, which may be
        # earlier.
        if self._tasks.get(activity_id) is task:
            del self._tasks[activity_id]
            self._cancelled.discard(activity_id)
        if task.cancelled():
            sink.cancelled()  # cancelled before its first step: then `_run` was never entered

    async def _run(self, submission: ActivitySubmission, sink: ActivitySink) -> None:
        try:
            await self._stream(submission, sink)
        except asyncio.CancelledError as error:
            if submission.id in self._cancelled:
                self.abandoned += 1
                sink.cancelled()
            else:
                sink.fail(error)  # not ours: something inside the generator cancelled itself
        except BaseException as error:  # noqa: BLE001 - a border: also a SystemExit ends one Activity and not the Host (rule P3)
            if not isinstance(error, ProviderError):
                # For whoever writes the provider: its text is scrubbed here too, but where it was raised is not secret.
                where = where_raised(error.__traceback__)
                _log.warning("provider %r: %s, raised at %s", self._id, describe_exception(error), where)
            sink.fail(error)

    async def _stream(self, submission: ActivitySubmission, sink: ActivitySink) -> None:
        session, store = submission.session, self._store
        history = store.history(session) if store is not None else ()
        prompt = Prompt(submission.input, session, submission.id, history)
        chunks: list[str] = []
        end = Finish()
        # aclosing: a generator that is left early unwinds here, not whenever it happens to be collected.
        async with aclosing(_checked(self._generate(prompt))) as stream:
            async for item in stream:
                if isinstance(item, Finish):
                    end = item
                elif isinstance(item, str):  # pyright: ignore[reportUnnecessaryIsInstance] - a generator may yield anything
                    chunks.append(item)
                    sink.text(item)
                else:
                    raise ProviderError(
                        f"the generator yielded {type(item).__name__}, not text", reason="protocol"
                    )
        output = encodable(
            "".join(chunks)
        )  # as the realm is told it (rule D1): no later request could send the rest
        if not output:
            raise ProviderError("the provider ended without any text", reason="empty")
        if store is None:
            sink.complete(output, end.usage, end.finish)
        else:
            turn = Turn(submission.input, output, end.remote)
            store.append(session, turn, lambda: sink.complete(output, end.usage, end.finish))


def _checked(stream: Any) -> AsyncGenerator[str | Finish, None]:
    """What the function returned, if it is an async generator."""
    if isinstance(stream, AsyncGenerator):
        return cast("AsyncGenerator[str | Finish, None]", stream)
    name = type(stream).__name__
    if asyncio.iscoroutine(stream):
        stream.close()  # or Python warns that nobody awaited it
    raise ProviderError(
        f"the function returned {name}, not an async generator: write it as async def, with yield",
        reason="protocol",
    )
