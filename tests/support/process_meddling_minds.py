"""A provider that cancels every task of its Host, its own and those that are none of its business."""

import asyncio
from collections.abc import AsyncGenerator

from engine_intelligence.providers.stream import Prompt, StreamProvider
from support.process_minds import AN_HOUR_S, MIND


async def behave(prompt: Prompt) -> AsyncGenerator[str, None]:
    """The input says after how many turns of the event loop, and how often."""
    turns, times = map(int, prompt.input.split())
    yield "about "
    for _ in range(turns):
        await asyncio.sleep(0)
    for _ in range(times):
        for task in asyncio.all_tasks():
            task.cancel()
    await asyncio.sleep(AN_HOUR_S)


async def close_slowly() -> None:
    await asyncio.sleep(0.01)


def mind() -> StreamProvider:
    return StreamProvider(MIND, behave, on_close=close_slowly)
