"""A provider of your own over an SDK: `sdk_minds:sage`. The Host imports this, and the key is in its environment alone."""

import os
from collections.abc import AsyncGenerator

from openai import APIConnectionError, AsyncOpenAI, RateLimitError

from engine_intelligence import (
    Finish,
    Prompt,
    ProviderError,
    SqliteConversationStore,
    StreamProvider,
    Usage,
)


class Sage:
    """What is told to the model, and what comes back."""

    def __init__(self) -> None:
        self.client = AsyncOpenAI(max_retries=0)  # one who tries again is enough, and here it is the game

    async def answer(self, prompt: Prompt) -> AsyncGenerator[str | Finish, None]:
        """One Activity. Leaving the `async with`, also by a cancel, closes the connection."""
        said = "".join(f"Player: {turn.input}\nSage: {turn.output}\n" for turn in prompt.history)
        try:
            async with await self.client.completions.create(
                model=os.environ["SAGE_MODEL"],
                prompt=f"{said}Player: {prompt.input}\nSage:",
                max_tokens=60,
                stop="\nPlayer:",
                stream=True,
            ) as stream:
                async for chunk in stream:
                    if chunk.usage is not None:
                        yield Finish(Usage(chunk.usage.prompt_tokens, chunk.usage.completion_tokens))
                    for choice in chunk.choices:
                        yield choice.text
        except RateLimitError as error:
            wait_s = float(error.response.headers.get("retry-after", "1"))
            raise ProviderError("too many ask", reason="rate-limited", retry_after_s=wait_s) from None
        except APIConnectionError:
            raise ProviderError("the sage cannot be reached", reason="network") from None


def sage() -> StreamProvider:
    """The factory. The store belongs to the provider, which adds each completed turn to it."""
    mind, store = Sage(), SqliteConversationStore(os.environ["SAGE_STORE"])
    return StreamProvider("sage", mind.answer, store=store, on_close=mind.client.close)
