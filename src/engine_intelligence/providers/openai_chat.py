"""An answer by the Chat Completions interface, which OpenAI and nearly every other server offer."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from typing import TYPE_CHECKING

import msgspec

from engine_intelligence.activity import FinishReason, Usage
from engine_intelligence.errors import ProviderError
from engine_intelligence.providers.failures import cut_off, declined, unreadable
from engine_intelligence.providers.sdk_client import events_of, narrowed
from engine_intelligence.providers.stream import Finish

if TYPE_CHECKING:
    from openai import AsyncOpenAI

# What an answer that the server gave up ends with: vLLM's and DeepSeek's words, and OpenRouter's.
_FAILURES = ("abort", "error", "insufficient_system_resource")


class _Delta(msgspec.Struct):
    content: str | None = None
    refusal: str | None = None


class _Choice(msgspec.Struct):
    delta: _Delta | None = None
    finish_reason: str | None = None


class _Tokens(msgspec.Struct):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None


class _Chunk(msgspec.Struct):
    choices: list[_Choice] | None = None
    usage: _Tokens | None = None


async def chat_answer(
    client: AsyncOpenAI, request: Mapping[str, object], service: str
) -> AsyncGenerator[str | Finish, None]:
    """The text of an answer as it comes, and at its end a `Finish`. Leaving it early closes the connection at once.

    `request` is the rest of what is sent; what of it is `None` is left off. Raises what the SDK raises, and `ProviderError`.
    """
    body = {**request, "stream": True, "stream_options": {"include_usage": True}}
    ending: str | None = None
    usage: Usage | None = None
    stream = events_of(client, "/chat/completions", body, service, lambda: ending is not None)
    async with aclosing(stream) as chunks:
        async for each in chunks:
            chunk = narrowed(each, _Chunk, service)
            if chunk.choices is None and chunk.usage is None:
                raise unreadable(service)
            usage = _usage(chunk.usage) or usage
            for choice in chunk.choices or ():
                if choice.delta is not None:
                    if choice.delta.refusal:
                        raise declined(service)
                    if choice.delta.content:
                        yield choice.delta.content
                if choice.finish_reason:
                    ending = choice.finish_reason
    yield Finish(usage, _finish(ending, service))


def _usage(tokens: _Tokens | None) -> Usage | None:
    if tokens is None or tokens.prompt_tokens is None or tokens.completion_tokens is None:
        return None
    return Usage(tokens.prompt_tokens, tokens.completion_tokens)


def _finish(ending: str | None, service: str) -> FinishReason | None:
    """How an answer ended; `None` where the server has a word of its own for it."""
    match ending:
        case None:
            raise cut_off(service)
        case "stop" | "length":
            return ending
        case "content_filter":
            raise declined(service)
        case "tool_calls" | "function_call":
            raise ProviderError(
                f"{service} asked for a tool, of which it was offered none", reason="protocol"
            )
        case _ if ending in _FAILURES:
            raise ProviderError(f"{service} failed in the middle of its answer", reason="other")
        case _:
            return None
