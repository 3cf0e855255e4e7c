"""Trying again, in one place for every provider: bounded, with jitter, and only while nothing of an answer was told.

The SDKs of vendors retry by themselves, each in its own way; that is switched off, so that two owners do not multiply.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing

from tenacity import (
    AsyncRetrying,
    RetryCallState,
    retry_if_exception,
    stop_after_attempt,
    stop_any,
    stop_before_delay,
)
from tenacity.wait import wait_random_exponential

from engine_intelligence.errors import ProviderError
from engine_intelligence.providers.backend import Backend
from engine_intelligence.providers.begun import Begun, begin
from engine_intelligence.providers.stream import Finish, Prompt

# Each wait is drawn from zero up to a bound that doubles, so that a crowd of characters that were refused together does not
# come back together ("full jitter": Brooker, "Exponential Backoff And Jitter", AWS Architecture Blog, 2015).
FIRST_WAIT_S = 0.5
LONGEST_WAIT_S = 8.0

_backoff = wait_random_exponential(multiplier=FIRST_WAIT_S, max=LONGEST_WAIT_S)


class Retrying:
    """A `Backend` that asks another one again where it failed with a `transient` error before its first piece of text.

    A wait that the failure asks for (`retry_after_s`) is kept, with up to half a second more. One that would end after
    `within_s` is not begun: then the failure is raised at once, with the wait in it. A cancel ends a wait.
    """

    def __init__(
        self,
        backend: Backend,
        *,
        attempts: int,
        within_s: float,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        """`attempts` is how often it is asked in all, 1 or more; `within_s` is how long after the first the last may begin, in
        seconds, and `sleep` waits for so many.
        """
        self._backend = backend
        self._attempts = attempts
        self._within_s = within_s
        self._sleep = sleep

    def warm(self) -> None:
        """Warm what is asked."""
        self._backend.warm()

    async def answer(self, prompt: Prompt) -> AsyncGenerator[str | Finish, None]:
        """The first answer that begins. Raises the last failure if none does."""
        retrying = AsyncRetrying(
            retry=retry_if_exception(_is_transient),
            wait=_wait_s,
            stop=stop_any(stop_after_attempt(self._attempts), stop_before_delay(self._within_s)),
            reraise=True,
            sleep=self._sleep,
        )
        begun: Begun = await retrying(self._begun, prompt)
        async with aclosing(begun.whole()) as pieces:
            async for piece in pieces:
                yield piece

    async def close(self) -> None:
        """Close what is asked."""
        await self._backend.close()

    async def _begun(self, prompt: Prompt) -> Begun:
        return await begin(self._backend.answer(prompt))


def _is_transient(error: BaseException) -> bool:
    return isinstance(error, ProviderError) and error.transient


def _wait_s(state: RetryCallState) -> float:
    error = None if state.outcome is None else state.outcome.exception()
    asked_s = error.retry_after_s if isinstance(error, ProviderError) else None
    # Those who are told the same wait are not to come back together either.
    return _backoff(state) if asked_s is None else max(0.0, asked_s) + min(FIRST_WAIT_S, _backoff(state))
