"""Services that keep the contract, of every kind: beside their provider, across a memory port, and a Host's."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from itertools import count
from typing import Any

from engine_intelligence import (
    HostConnection,
    IntelligenceLimits,
    IntelligenceRuntime,
    IntelligenceService,
    Prompt,
    ProviderError,
    StreamProvider,
    bind_intelligence_port,
    create_intelligence_port_client,
    create_intelligence_runtime,
)
from engine_intelligence.ports.memory import memory_port_pair

LIMITS = IntelligenceLimits(max_input_chars=200, max_output_chars=1000, max_concurrent_activities=3)
INPUTS: dict[str, Any] = {
    "endless_input": "for ever",
    "failing_input": "fail",
    "overflowing_input": "too much",
}

# How many checks there may be: each has a service of its own, and a Host has one port for each provider.
HOST_PROVIDERS = 32


async def answer(prompt: Prompt) -> AsyncGenerator[str, None]:
    """Says three chunks, or what the input asks for."""
    match prompt.input:
        case "fail":
            raise ProviderError("it was asked to fail", reason="refused")
        case "too much":
            while True:
                await asyncio.sleep(0)
                yield "and more " * 20
        case "for ever":
            yield "Hm. "
            await asyncio.Event().wait()
        case _:
            for chunk in ("Who ", "goes ", "there? \U0001f6e1"):
                await asyncio.sleep(0.001)
                yield chunk


def runtime() -> IntelligenceRuntime:
    """A service beside its provider."""
    return create_intelligence_runtime(StreamProvider("p", answer), limits=LIMITS)


@asynccontextmanager
async def across_a_memory_port() -> AsyncGenerator[IntelligenceService]:
    """A service across a port, with the limits of its Host."""
    realm, host = memory_port_pair()
    binding = bind_intelligence_port(host, runtime())
    try:
        yield create_intelligence_port_client("p", realm)
    finally:
        await binding.close()


@asynccontextmanager
async def across_a_plain_memory_port() -> AsyncGenerator[IntelligenceService]:
    """The same without `hello`, as with the TypeScript package."""
    realm, host = memory_port_pair()
    binding = bind_intelligence_port(host, runtime(), announce=False)
    try:
        yield create_intelligence_port_client("p", realm, limits=LIMITS)
    finally:
        await binding.close()


MakeService = Callable[[], IntelligenceService | AbstractAsyncContextManager[IntelligenceService]]


def many() -> list[StreamProvider]:
    """The factory of a Host: as many providers as there may be checks."""
    return [StreamProvider(f"p-{number}", answer) for number in range(HOST_PROVIDERS)]


def of_a_host(host: HostConnection) -> Callable[[], IntelligenceService]:
    """Services of one Host, a new one each time."""
    numbers = count()
    return lambda: host.client(f"p-{next(numbers)}")
