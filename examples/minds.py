"""Providers of your own. The Host imports this module by its name, as `minds:gatekeeper`; the game never does."""

import asyncio
from collections.abc import AsyncGenerator

from engine_intelligence import Prompt, ProviderError, StreamProvider


async def answer(prompt: Prompt) -> AsyncGenerator[str, None]:
    """One Activity. Each text that this yields becomes a `TextDelta`; all of them joined are the output."""
    if "gold" in prompt.input:
        raise ProviderError("the gatekeeper takes no bribes", reason="refused")
    for word in f"You ask me: {prompt.input} The answer is no.".split():
        await asyncio.sleep(0.02)  # here an SDK would be awaited; a cancel arrives here as CancelledError
        yield word + " "


def gatekeeper() -> StreamProvider:
    """The factory: it takes no arguments and returns a provider, or several in a list."""
    return StreamProvider("gatekeeper", answer)


async def repeat(prompt: Prompt) -> AsyncGenerator[str, None]:
    """Say what was said."""
    yield prompt.input


def parrot() -> StreamProvider:
    """Another factory, for `characters/host.toml`."""
    return StreamProvider("parrot", repeat)
