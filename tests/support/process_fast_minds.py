"""A provider that says more than a game reads, once a test opens its gate. A Host imports this module by name."""

import asyncio
import os
from collections.abc import AsyncGenerator
from pathlib import Path

from engine_intelligence.providers.stream import Prompt, StreamProvider
from support.process_minds import GATE_VARIABLE, MIND, tell_stage

COUNTED = 6000
COUNT_VARIABLE = "PROCESS_MINDS_COUNT"


def gate_is_open() -> bool:
    return Path(os.environ[GATE_VARIABLE]).exists()


async def behave(prompt: Prompt) -> AsyncGenerator[str, None]:
    """`count` says the numbers up to `COUNTED`, `flood` never ends by itself. Either shows when it has.

    A number alone is the length of what comes in one piece.
    """
    if prompt.input.isdecimal():
        yield "x" * int(prompt.input)
        return
    yield "ready "
    while not gate_is_open():  # noqa: ASYNC110 - another process opens the gate, by a file
        await asyncio.sleep(0.005)
    number, last = 0, int(os.environ.get(COUNT_VARIABLE, COUNTED))
    try:
        while prompt.input == "flood" or number < last:
            yield f"{number} "
            number += 1
            await asyncio.sleep(0)
    finally:
        tell_stage()


def mind() -> StreamProvider:
    return StreamProvider(MIND, behave)
