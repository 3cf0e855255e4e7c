"""Providers that spend, for Hosts that are tests' own. A Host imports this module by name; it is no test itself."""

import asyncio
import os
from collections.abc import AsyncGenerator
from pathlib import Path

from engine_intelligence.providers.stream import Prompt, StreamProvider

UNWOUND_VARIABLE = "SPENDING_MINDS_UNWOUND"


async def speak(prompt: Prompt) -> AsyncGenerator[str, None]:
    """Forty characters, or text that never ends."""
    if prompt.input != "talk":
        yield "x" * 40
        return
    try:
        while True:
            yield "y" * 40
            await asyncio.sleep(0.01)
    finally:
        # As a connection to a vendor would be closed here.
        tell_unwound()


def tell_unwound() -> None:
    """Show a test that waits for it, by a file, that a generator has come to its end."""
    if UNWOUND_VARIABLE in os.environ:
        Path(os.environ[UNWOUND_VARIABLE]).touch()


class Spender(StreamProvider):
    """A provider that says itself that it may cost money."""

    spends = True


def oracle() -> StreamProvider:
    return StreamProvider("oracle", speak)


def smith() -> StreamProvider:
    return StreamProvider("smith", speak)


def spender() -> Spender:
    return Spender("oracle", speak)
