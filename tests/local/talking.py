"""Talking to a local model, and looking at its server from outside."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx2
from support import dialogue as dialogues
from support.dialogue import Dialogue, dialogue
from support.model_server import busy_slots, connection_to, slots_are_free

from engine_intelligence.conversation import ConversationStore
from engine_intelligence.limits import IntelligenceLimits
from engine_intelligence.providers.llama import LlamaBackend, Options, create
from engine_intelligence.providers.llama_server import Endpoint, LlamaServer, LlamaServers

LOOK_S = 0.01
PATIENCE_S = dialogues.PATIENCE_S


@dataclass
class Talk(Dialogue):
    """A dialogue with a backend that has a server of its own."""

    backend: LlamaBackend | None = None

    @property
    def server(self) -> LlamaServer:
        assert self.backend is not None
        assert self.backend.server is not None
        return self.backend.server

    async def slots_are_free(self) -> bool:
        return await slots_are_free(await self.server.endpoint())

    async def read_tokens(self) -> int | None:
        """How many tokens of its prompt the first slot has read; `None` if it does nothing."""
        async with connected(self.server) as client:
            slot = (await client.get("/slots")).json()[0]
        return int(slot["n_prompt_tokens_processed"]) if slot["is_processing"] else None

    async def busy_slots(self) -> int:
        return await busy_slots(await self.server.endpoint())


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
    backend = create(options or Options(seed=1, slots=1), model_path=model_path, servers=servers)
    async with dialogue(backend, store=store, limits=limits) as begun:
        yield Talk(begun.provider, begun.runtime, begun.store, backend=backend)


@asynccontextmanager
async def connected(server: LlamaServer, key: str | None = None) -> AsyncGenerator[httpx2.AsyncClient]:
    """A client of the server itself, with its key or with another."""
    endpoint = await server.endpoint()
    async with connection_to(Endpoint(endpoint.address, endpoint.key if key is None else key)) as client:
        yield client
