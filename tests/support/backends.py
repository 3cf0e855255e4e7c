"""A `Backend` that a test tells what to answer, and that notes what it is asked."""

import asyncio
from collections.abc import AsyncGenerator

from engine_intelligence.providers.stream import Finish, Prompt


class Hang:
    """A piece of a script that never comes."""


class DoubleBackend:
    """Each answer follows the script: text and finishes are yielded, exceptions raised. Another may be set at any time."""

    def __init__(self, *script: str | Finish | BaseException | type[Hang]) -> None:
        self.script = script
        self.prompts: list[Prompt] = []
        self.warmed = 0
        self.closes = 0
        self.unwound = 0
        """How many answers have ended, in whatever way."""
        self.on_close: BaseException | None = None

    def warm(self) -> None:
        self.warmed += 1

    async def answer(self, prompt: Prompt) -> AsyncGenerator[str | Finish, None]:
        self.prompts.append(prompt)
        try:
            for step in self.script:
                await asyncio.sleep(0)
                if isinstance(step, BaseException):
                    raise step
                if isinstance(step, type):
                    await asyncio.Event().wait()
                else:
                    yield step
        finally:
            self.unwound += 1

    async def close(self) -> None:
        self.closes += 1
        if self.on_close is not None:
            raise self.on_close
