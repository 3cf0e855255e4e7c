"""An answer by the Responses interface, where OpenAI itself can keep the conversation."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

import msgspec

from engine_intelligence.activity import Usage
from engine_intelligence.errors import ProviderError
from engine_intelligence.providers.failures import cut_off, declined, status_failure, unreadable
from engine_intelligence.providers.openai_client import check_is_stream, narrowed
from engine_intelligence.providers.stream import Finish
from engine_intelligence.providers.vendor import until_end

if TYPE_CHECKING:
    from openai import AsyncOpenAI, AsyncStream
    from openai.types.responses import ResponseStreamEvent


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
    response: _Response | None = None
    code: str | int | None = None


class _Text(msgspec.Struct):
    delta: str


async def responses_answer(
    client: AsyncOpenAI, request: Mapping[str, Any], service: str
) -> AsyncGenerator[str | Finish, None]:
    """The text of an answer as it comes, and at its end a `Finish`; its `remote` is the id of a response that is stored.

    Leaving it early closes the connection at once. `request` is the rest of what is sent; what of it is `None` is left off.
    Raises what the SDK raises, and `ProviderError`.
    """
    responses: Any = (
        client.responses
    )  # untyped: which parameters a server takes is known when it is configured
    stream: AsyncStream[ResponseStreamEvent] = await responses.create(
        **{name: value for name, value in request.items() if value is not None}, stream=True
    )
    finish: Finish | None = None
    async with stream, aclosing(until_end(stream, lambda: finish is not None)) as events:
        check_is_stream(stream.response, service)
        async for event in events:
            match getattr(event, "type", None):
                case "response.output_text.delta":
                    yield narrowed(event, _Text, service).delta
                case "response.refusal.delta" | "response.refusal.done":
                    raise declined(service)
                case "response.completed" | "response.incomplete" | "response.failed" | "error":
                    finish = finish or _finish(
                        narrowed(event, _Event, service), service, bool(request["store"])
                    )
                case None:
                    raise unreadable(service)
                case _:  # the parts that text comes in, and what a model thinks
                    pass
    if finish is None:
        raise cut_off(service)
    yield finish


def _finish(event: _Event, service: str, is_stored: bool) -> Finish:
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
    remote = response.id if is_stored else None
    if event.type == "response.completed":
        return Finish(usage, "stop", remote)
    match response.incomplete_details and response.incomplete_details.reason:
        case "max_output_tokens":
            return Finish(usage, "length", remote)
        case "content_filter":
            raise declined(service)
        case _:
            raise ProviderError(f"{service} did not complete its answer", reason="truncated")
