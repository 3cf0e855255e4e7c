"""An answer by the Responses interface, where OpenAI itself can keep the conversation."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING

import msgspec

from engine_intelligence.activity import Usage
from engine_intelligence.conversation import Turn
from engine_intelligence.errors import ProviderError
from engine_intelligence.providers.failures import cut_off, declined, status_failure, unreadable
from engine_intelligence.providers.sdk_client import events_of, narrowed
from engine_intelligence.providers.stream import Finish
from engine_intelligence.providers.turns import chat_messages

if TYPE_CHECKING:
    from openai import AsyncOpenAI


class _Tokens(msgspec.Struct):
    input_tokens: int | None = None
    output_tokens: int | None = None


class _Error(msgspec.Struct):
    code: str | int | None = None


class _Details(msgspec.Struct):
    reason: str | None = None


class _Response(msgspec.Struct):
    id: str | None = None
    usage: _Tokens | None = None
    error: _Error | None = None
    incomplete_details: _Details | None = None


class _Event(msgspec.Struct):
    type: str


class _Text(msgspec.Struct):
    delta: str


class _End(msgspec.Struct):
    type: str
    response: _Response | None = None
    code: str | int | None = None


def input_messages(history: Sequence[Turn], input: str) -> list[dict[str, str]]:
    """The conversation as this interface takes it. llama.cpp insists on the type, which the vendor lets one leave off."""
    return [{"type": "message", **message} for message in chat_messages("", history, input)]


async def responses_answer(
    client: AsyncOpenAI, request: Mapping[str, object], service: str
) -> AsyncGenerator[str | Finish, None]:
    """The text of an answer as it comes, and at its end a `Finish`; its `remote` is the id of a response that is stored.

    Leaving it early closes the connection at once. `request` is the rest of what is sent; what of it is `None` is left off.
    Raises what the SDK raises, and `ProviderError`.
    """
    finish: Finish | None = None
    stream = events_of(client, "/responses", {**request, "stream": True}, service, lambda: finish is not None)
    async with aclosing(stream) as events:
        async for event in events:
            match narrowed(event, _Event, service).type:
                case "response.output_text.delta":
                    yield narrowed(event, _Text, service).delta
                case "response.refusal.delta" | "response.refusal.done":
                    raise declined(service)
                case "response.completed" | "response.incomplete" | "response.failed" | "error":
                    finish = finish or _finish(narrowed(event, _End, service), service, request)
                case _:  # the parts that text comes in, and what a model thinks
                    pass
    if finish is None:
        raise cut_off(service)
    yield finish


def _finish(event: _End, service: str, request: Mapping[str, object]) -> Finish:
    """The end of an answer. Raises `ProviderError` for one that is none."""
    if event.type == "error":
        raise status_failure(service, None, {"code": event.code})
    response = event.response
    if response is None:
        raise unreadable(service)
    if event.type == "response.failed":
        raise status_failure(service, None, {"code": None if response.error is None else response.error.code})
    usage, tokens = None, response.usage
    if tokens is not None and tokens.input_tokens is not None and tokens.output_tokens is not None:
        usage = Usage(tokens.input_tokens, tokens.output_tokens)
    remote = response.id if request.get("store") is True else None
    if event.type == "response.completed":
        # llama.cpp says so of an answer too that its bound has cut off.
        is_cut = usage is not None and usage.output_tokens == request.get("max_output_tokens")
        return Finish(usage, "length" if is_cut else "stop", remote)
    match response.incomplete_details and response.incomplete_details.reason:
        case "max_output_tokens":
            return Finish(usage, "length", remote)
        case "content_filter":
            raise declined(service)
        case _:
            raise ProviderError(f"{service} did not complete its answer", reason="truncated")
