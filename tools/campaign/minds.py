"""Providers for the Hosts of the campaign, besides those of the tests. A Host imports this module by name."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import suppress

from support.process_minds import MIND, behave
from support.process_minds import tell_stage as tell_stage

from engine_intelligence.providers.stream import Prompt, StreamProvider

STEADY_WORDS = 20
STEADY_INTERVAL_S = 0.002


class Tempers:
    """Generators by the first word of what they are asked."""

    @staticmethod
    async def steady(prompt: Prompt) -> AsyncGenerator[str, None]:
        """The same words for the same input, so that whoever asked knows what has to come."""
        for word in steady_words(prompt.input):
            yield word
            await asyncio.sleep(STEADY_INTERVAL_S)

    @staticmethod
    async def power(prompt: Prompt) -> AsyncGenerator[str, None]:
        """Native code that keeps the interpreter lock for longer than anyone waits: a power of 800 million digits."""
        yield "reckoning "
        await asyncio.sleep(0.05)
        tell_stage()
        yield str(7 ** (10**9) & 1)

    @staticmethod
    async def stubborn(prompt: Prompt) -> AsyncGenerator[str, None]:
        """It takes no cancel for an answer, for ten seconds."""
        yield "stubborn "
        tell_stage()
        for _ in range(100):
            with suppress(asyncio.CancelledError):
                await asyncio.sleep(0.1)

    @staticmethod
    async def broken(prompt: Prompt) -> AsyncGenerator[str, None]:
        yield "breaking "
        await asyncio.sleep(STEADY_INTERVAL_S)
        raise RuntimeError("it broke in the middle")

    @staticmethod
    async def refused(prompt: Prompt) -> AsyncGenerator[str, None]:
        if prompt.input:
            raise RuntimeError("it broke before the first word")
        yield "never"

    @staticmethod
    async def stalled(prompt: Prompt) -> AsyncGenerator[str, None]:
        yield "and then "
        await asyncio.sleep(3600)

    @staticmethod
    async def silent(prompt: Prompt) -> AsyncGenerator[str, None]:
        await asyncio.sleep(3600)
        yield "never"

    @staticmethod
    async def endless(prompt: Prompt) -> AsyncGenerator[str, None]:
        """More than any bound of the output."""
        while True:
            yield "y" * 4096
            await asyncio.sleep(0)

    @staticmethod
    async def surrogates(prompt: Prompt) -> AsyncGenerator[str, None]:
        """Halves of characters, which UTF-8 cannot encode."""
        for _ in range(5):
            yield "a\ud83d"
            await asyncio.sleep(STEADY_INTERVAL_S)


def steady_words(input: str) -> list[str]:
    """What the provider says to such an input."""
    return [f"{input}-{number} " for number in range(STEADY_WORDS)]


def temper(prompt: Prompt) -> AsyncGenerator[str, None]:
    """The generator that the first word names, here or among those of the tests."""
    words = prompt.input.split()
    kind: Callable[[Prompt], AsyncGenerator[str, None]] = getattr(Tempers, words[0], behave)
    return kind(prompt)


def mind() -> StreamProvider:
    return StreamProvider(MIND, temper)


async def _raise() -> None:
    raise RuntimeError("it raised in close")


def raises_in_close() -> StreamProvider:
    return StreamProvider(MIND, temper, on_close=_raise)
