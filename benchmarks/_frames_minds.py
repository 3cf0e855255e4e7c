"""The providers of the benchmark `frames`. Its Hosts import this module by its name."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING

from _frames_sdk import client, count_tokens, tokens

from engine_intelligence import (
    ActivitySubmission,
    FinishReason,
    Prompt,
    SessionRef,
    StreamProvider,
    Usage,
)

if TYPE_CHECKING:
    from openai import AsyncOpenAI

    from engine_intelligence.providers.llama import LlamaBackend


def voices() -> StreamProvider:
    """A provider around the SDK as one writes it: an Activity is one stream, its input is the plan."""
    sdk = client()

    async def answer(prompt: Prompt) -> AsyncGenerator[str, None]:
        async for text in tokens(sdk, prompt.input):
            yield text

    return StreamProvider("voices", answer, on_close=sdk.close)


def alone() -> StreamProvider:
    """The control: one Activity takes all streams of a plan by itself, and says only, at the end, the number of tokens."""
    sdk: AsyncOpenAI = client()

    async def answer(prompt: Prompt) -> AsyncGenerator[str, None]:
        yield str(await count_tokens(sdk, prompt.input))

    return StreamProvider("alone", answer, on_close=sdk.close)


class Bin:
    """A sink that counts what it is given, and drops it."""

    def __init__(self) -> None:
        self.texts = 0
        self.over = asyncio.Event()
        self.failure = ""

    def text(self, text: str) -> None:
        """One more."""
        self.texts += 1

    def complete(self, output: str, usage: Usage | None = None, finish: FinishReason | None = None) -> bool:
        """The end."""
        self.over.set()
        return True

    def fail(self, cause: str | BaseException) -> None:
        """The end, with what went wrong."""
        self.failure = repr(cause)
        self.over.set()

    def cancelled(self) -> None:
        """The end."""
        self.over.set()


class LocalAlone:
    """A local model that talks to itself for as many seconds as the input says, and then tells how many texts that were."""

    def __init__(self, backend: LlamaBackend, inner: StreamProvider) -> None:
        self._backend = backend
        self._inner = inner
        self._began = 0

    async def answer(self, prompt: Prompt) -> AsyncGenerator[str, None]:
        """One block."""
        server = self._backend.server
        assert server is not None
        await server.endpoint()  # the first time it is loaded, and that is not a part of the block
        seconds, _, question = prompt.input.partition(" ")
        until = time.monotonic() + float(seconds)
        texts = 0
        while (left := until - time.monotonic()) > 0:
            texts += await self._one(question, left)
        yield str(texts)

    async def _one(self, question: str, most_s: float) -> int:
        self._began += 1
        sink, number = Bin(), str(self._began)
        self._inner.start(ActivitySubmission(number, SessionRef(self._inner.id, number), question), sink)
        try:
            await asyncio.wait_for(sink.over.wait(), most_s)
        except TimeoutError:
            self._inner.cancel(number)
            await sink.over.wait()
        if sink.failure:
            raise RuntimeError(sink.failure)
        return sink.texts


def local_alone() -> StreamProvider:
    """The control of the local model."""
    from engine_intelligence.host.directories import cache_directory
    from engine_intelligence.models.cache import ModelCache, resolve_model
    from engine_intelligence.providers.backend import provider_over
    from engine_intelligence.providers.llama import Options, create
    from engine_intelligence.sessions.sqlite import SqliteConversationStore

    options = Options()
    backend = create(
        options, model_path=resolve_model(options.model, ModelCache(cache_directory() / "models"))
    )
    inner = provider_over(backend, "inner", store=SqliteConversationStore(None))
    return StreamProvider("alone", LocalAlone(backend, inner).answer, on_close=inner.close)
