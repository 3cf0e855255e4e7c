"""The event loop, moved on without waiting for time to pass."""

import asyncio

# No chain of callbacks in a test is longer.
TURNS = 50


async def settle(turns: int = TURNS) -> None:
    """Let everything that is ready run, and what becomes ready by that."""
    for _ in range(turns):
        await asyncio.sleep(0)
