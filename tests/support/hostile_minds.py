"""Providers for Hosts whose realm is hostile. A Host imports this module by name; it is no test itself."""

import asyncio
import json
import threading
from collections.abc import AsyncGenerator, Iterator

from engine_intelligence.providers.stream import Prompt, StreamProvider
from support.process_minds import AN_HOUR_S, behave

HONEST = "honest"
CROWD = 120


async def count(prompt: Prompt) -> AsyncGenerator[str, None]:
    """How many tasks and threads the Host has besides this Activity's own."""
    await asyncio.sleep(0)
    yield json.dumps({"tasks": len(asyncio.all_tasks()), "threads": threading.active_count()})


def answer(prompt: Prompt) -> AsyncGenerator[str, None]:
    return count(prompt) if prompt.input == "census" else behave(prompt)


async def repeat(prompt: Prompt) -> AsyncGenerator[str, None]:
    """What was asked, as it is."""
    yield prompt.input


def mind_of(name: str) -> StreamProvider:
    return StreamProvider(name, repeat if name.startswith("repeat") else answer)


def crowd() -> Iterator[StreamProvider]:
    """One for honest work, and one for each port that a test has closed."""
    yield mind_of(HONEST)
    yield mind_of("repeat")
    for number in range(CROWD):
        yield mind_of(f"mark-{number}")


async def _never() -> None:
    await asyncio.sleep(AN_HOUR_S)


def slow_to_close() -> Iterator[StreamProvider]:
    """One whose close takes as long as it is given, and one for honest work."""
    yield mind_of(HONEST)
    yield StreamProvider("mark-0", answer, on_close=_never)
