"""What a kind of provider has to bring: an answer to a prompt. All else that a provider does is the same for each kind."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Protocol

from engine_intelligence.conversation import ConversationStore
from engine_intelligence.providers.stream import Finish, Prompt, StreamProvider


class Backend(Protocol):
    """The part of a provider that knows one vendor or program. It belongs to the thread of one running event loop.

    Conversations, their order, events and cancels are the affair of `StreamProvider`; trying again that of `Retrying`.
    """

    def warm(self) -> None:
        """Begin what the first answer would wait for, and return at once."""
        ...

    def answer(self, prompt: Prompt) -> AsyncGenerator[str | Finish, None]:
        """The answer, a piece at a time, and a `Finish` before the end.

        Raises `ProviderError` in the ways of rule E1. One whose `transient` is set is raised before the first piece, or
        is not tried again.
        """
        ...

    async def close(self) -> None:
        """Release what the backend holds. Called once, when no answer is under way."""
        ...


def provider_over(
    backend: Backend, provider_id: str, *, store: ConversationStore | None = None
) -> StreamProvider:
    """A provider that answers with `backend`, which belongs to it, as `store` does.

    With a `store` each prompt carries the turns of its session, and a completed one is added to them (rule P5).
    """
    return StreamProvider(
        provider_id, backend.answer, store=store, on_close=backend.close, on_warm=backend.warm
    )
