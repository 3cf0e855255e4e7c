"""What an agent of Pydantic AI is given and what it answers, in the words of each side."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable
from typing import TYPE_CHECKING, Any

from engine_intelligence.activity import FinishReason, Usage
from engine_intelligence.conversation import Turn
from engine_intelligence.errors import ProviderError
from engine_intelligence.providers.agent_failures import SERVICE
from engine_intelligence.providers.failures import cut_off, declined

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelMessage, ModelResponse


def agent_messages(history: Iterable[Turn]) -> list[ModelMessage]:
    """The turns, as the agent would have kept them: what was said, without what its tools did."""
    from pydantic_ai.messages import ModelRequest, ModelResponse, TextPart, UserPromptPart

    messages: list[ModelMessage] = []
    for turn in history:
        messages.append(ModelRequest(parts=[UserPromptPart(turn.input)]))
        messages.append(ModelResponse(parts=[TextPart(turn.output)]))
    return messages


async def texts(events: Any) -> AsyncGenerator[str, None]:
    """The text in the events of a response; thinking, and what a tool is called with, are none."""
    from pydantic_ai.messages import PartDeltaEvent, PartStartEvent, TextPart, TextPartDelta

    async for event in events:
        match event:
            case (
                PartStartEvent(part=TextPart(content=text))
                | PartDeltaEvent(delta=TextPartDelta(content_delta=text))
            ):
                if text:
                    yield text
            case _:
                pass


def as_text(output: object) -> str:
    """The output as text; empty for one that allows `None`, and is."""
    import pydantic_core

    if isinstance(output, str) or output is None:
        return output or ""
    try:
        return pydantic_core.to_json(output).decode()
    except pydantic_core.PydanticSerializationError:
        raise ProviderError(
            f"the agent's output cannot be written as JSON: {type(output).__name__}", reason="protocol"
        ) from None


def usage(of_run: Any) -> Usage | None:
    """What all requests of a run took; `None` where no model says."""
    tokens = (of_run.input_tokens, of_run.output_tokens)
    return Usage(*tokens) if any(tokens) else None


def finish(response: ModelResponse) -> FinishReason | None:
    """How the last response ended. Raises `ProviderError` for an end that is no completion."""
    details = response.provider_details or {}
    match response.finish_reason:
        case "content_filter":
            raise declined(SERVICE)
        case "error":
            raise ProviderError(f"{SERVICE} failed in the middle of its answer", reason="other")
        case "length":
            return "length"
        case "stop" | None as reason:
            # For a service that said no end the agent says "stop". What the service itself said is in the details, but for
            # xAI's; and a model without a service has none.
            is_told = bool(details.get("finish_reason")) or response.provider_name == "xai"
            if response.provider_url is not None and not is_told:
                raise cut_off(SERVICE)
            return reason
        case _:
            return None
