"""An answer up to its first text: as far as something else can still be asked in its place."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import NamedTuple

from engine_intelligence.providers.stream import Finish


class Begun(NamedTuple):
    """An answer of which the first text has come, or which has ended without any."""

    pieces: list[str | Finish]
    """What has come of it."""
    rest: AsyncGenerator[str | Finish, None]
    """What is still to come, and to be closed."""

    @property
    def has_text(self) -> bool:
        """Whether text has come."""
        return any(isinstance(piece, str) and piece for piece in self.pieces)

    async def whole(self) -> AsyncGenerator[str | Finish, None]:
        """All of it, once."""
        async with aclosing(self.rest):
            for piece in self.pieces:
                yield piece
            async for piece in self.rest:
                yield piece


async def begin(answer: AsyncGenerator[str | Finish, None]) -> Begun:
    """Wait for the first text of `answer`, or for its end. Raises what it raises, and then it is closed."""
    begun = Begun([], answer)
    try:
        async for piece in answer:
            begun.pieces.append(piece)
            if begun.has_text:
                break
    except BaseException:
        await answer.aclose()
        raise
    return begun
