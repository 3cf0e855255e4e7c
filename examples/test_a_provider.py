"""A provider of your own, held to the contract: `pytest test_a_provider.py`. No plugin of pytest is needed."""

import asyncio
from collections.abc import AsyncGenerator

from engine_intelligence import Prompt, ProviderError, StreamProvider
from engine_intelligence.testing import check_provider


async def answer(prompt: Prompt) -> AsyncGenerator[str, None]:
    if "gold" in prompt.input:
        raise ProviderError("the gatekeeper takes no bribes", reason="refused")
    for word in f"You ask me: {prompt.input[:40]} The answer is no.".split(" "):
        await asyncio.sleep(0.01)  # here an SDK would be awaited
        yield word + " "


def test_the_gatekeeper_keeps_the_contract() -> None:
    check_provider(lambda: StreamProvider("gatekeeper", answer), failing_input="Not even for gold?")
