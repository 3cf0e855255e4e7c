"""Talking to a provider through the runtime, as a Host does, and looking at its server from outside."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx2

from engine_intelligence.activity import (
    ActivityRef,
    Cancelled,
    Completed,
    Failed,
    IntelligenceEvent,
    SessionRef,
    Terminal,
    TextDelta,
)
from engine_intelligence.conversation import ConversationStore
from engine_intelligence.limits import IntelligenceLimits
from engine_intelligence.providers.backend import provider_over
from engine_intelligence.providers.llama import LlamaBackend, Options, create
from engine_intelligence.providers.llama_server import LlamaServer, LlamaServers
from engine_intelligence.providers.stream import StreamProvider
from engine_intelligence.result import Ok
from engine_intelligence.runtime import IntelligenceRuntime, create_intelligence_runtime
from engine_intelligence.sessions.sqlite import SqliteConversationStore

FRAME_S = 0.005
LOOK_S = 0.01
PATIENCE_S = 60.0  # only a test that fails waits for it


@dataclass
class Talk:
    """A backend with its provider and runtime, and the events that were polled, by Activity."""

    backend: LlamaBackend
    provider: StreamProvider
    runtime: IntelligenceRuntime
    store: ConversationStore
    events: dict[str, list[IntelligenceEvent]] = field(default_factory=dict[str, list[IntelligenceEvent]])

    @property
    def server(self) -> LlamaServer:
        assert self.backend.server is not None
        return self.backend.server

    def submit(self, input: str, session: SessionRef | None = None) -> ActivityRef:
        started = self.runtime.submit(input, session)
        assert isinstance(started, Ok), started
        self.events[started.value.id] = []
        return started.value

    async def frame(self) -> None:
        for event in self.runtime.poll():
            self.events[event.activity_id].append(event)
        await asyncio.sleep(FRAME_S)

    def text(self, ref: ActivityRef) -> str:
        return "".join(event.text for event in self.events[ref.id] if isinstance(event, TextDelta))

    async def first_text(self, ref: ActivityRef) -> None:
        async with asyncio.timeout(PATIENCE_S):
            while not self.text(ref):
                await self.frame()

    async def end(self, ref: ActivityRef) -> Terminal:
        async with asyncio.timeout(PATIENCE_S):
            while True:
                for event in self.events[ref.id]:
                    if isinstance(event, Completed | Failed | Cancelled):
                        return event
                await self.frame()

    async def completed(self, ref: ActivityRef) -> Completed:
        end = await self.end(ref)
        assert isinstance(end, Completed), end
        return end

    async def failed(self, ref: ActivityRef) -> Failed:
        end = await self.end(ref)
        assert isinstance(end, Failed), end
        return end

    async def cancelled(self, ref: ActivityRef) -> Cancelled:
        assert self.runtime.cancel(ref.id).ok
        end = await self.end(ref)
        assert isinstance(end, Cancelled), end
        return end

    async def slots_are_free(self) -> bool:
        async with asyncio.timeout(PATIENCE_S):
            while await self.busy_slots():  # noqa: ASYNC110 - another process tells no event
                await asyncio.sleep(LOOK_S)
        return True

    async def read_tokens(self) -> int | None:
        """How many tokens of its prompt the first slot has read; `None` if it does nothing."""
        async with connected(self.server) as client:
            slot = (await client.get("/slots")).json()[0]
        return int(slot["n_prompt_tokens_processed"]) if slot["is_processing"] else None

    async def busy_slots(self) -> int:
        async with connected(self.server) as client:
            slots = (await client.get("/slots")).json()
        return sum(slot["is_processing"] for slot in slots)


@asynccontextmanager
async def talking(
    model_path: Path,
    options: Options | None = None,
    *,
    store: ConversationStore | None = None,
    servers: LlamaServers | None = None,
    limits: IntelligenceLimits | None = None,
) -> AsyncGenerator[Talk]:
    """A conversation with a real model in memory, or in `store`, which is closed with it."""
    store = SqliteConversationStore(None) if store is None else store
    backend = create(options or Options(seed=1, slots=1), model_path=model_path, servers=servers)
    provider = provider_over(backend, "gatekeeper", store=store)
    runtime = create_intelligence_runtime(provider, limits=limits)
    try:
        yield Talk(backend, provider, runtime, store)
    finally:
        await runtime.close()


@asynccontextmanager
async def connected(server: LlamaServer, key: str | None = None) -> AsyncGenerator[httpx2.AsyncClient]:
    """A client of the server itself, with its key or with another."""
    endpoint = await server.endpoint()
    headers = {"Authorization": f"Bearer {endpoint.key if key is None else key}"}
    async with httpx2.AsyncClient(base_url=endpoint.address, headers=headers, trust_env=False) as client:
        yield client
