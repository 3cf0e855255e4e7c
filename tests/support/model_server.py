"""The server of the embedded model by itself, as a compatible service for providers that speak to one."""

import asyncio
import secrets
import subprocess
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import httpx2
import msgspec

from engine_intelligence.providers.llama_child import Order, Report
from engine_intelligence.providers.llama_server import CHILD_COMMAND, Endpoint


@contextmanager
def running_server(model_path: Path, *, slots: int = 2, context: int = 2048) -> Generator[Endpoint]:
    """A server of that model, which speaks the interfaces of OpenAI and Anthropic, until the block is left."""
    key = secrets.token_urlsafe(32)
    order = Order(model_path=str(model_path), context=context, slots=slots, threads=1, key=key)
    with subprocess.Popen(CHILD_COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(msgspec.json.encode(order) + b"\n")
            process.stdin.flush()  # and it stays open: its end is the child's end
            report = msgspec.json.decode(process.stdout.readline(), type=Report)
            assert report.address is not None, report.error
            yield Endpoint(report.address, key)
        finally:
            process.kill()


def connection_to(endpoint: Endpoint) -> httpx2.AsyncClient:
    """A client of the server itself, with its key."""
    headers = {"Authorization": f"Bearer {endpoint.key}"}
    return httpx2.AsyncClient(base_url=endpoint.address, headers=headers, trust_env=False)


async def busy_slots(endpoint: Endpoint) -> int:
    """How many answers the server works on."""
    async with connection_to(endpoint) as client:
        slots = (await client.get("/slots")).json()
    return sum(slot["is_processing"] for slot in slots)


async def slots_are_free(endpoint: Endpoint) -> bool:
    """Wait until the server works on no answer; `True`, or `TimeoutError`."""
    async with asyncio.timeout(60):
        while await busy_slots(endpoint):  # noqa: ASYNC110 - another process tells no event
            await asyncio.sleep(0.01)
    return True
