"""Agents as a user writes them, which a configuration of a test names."""

import os
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from pydantic import BaseModel
from pydantic_ai import Agent, ModelSettings, NativeOutput
from pydantic_ai.messages import ModelMessage, ToolReturnPart
from pydantic_ai.models import StreamedResponse
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, DeltaToolCalls, FunctionModel
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.models.wrapper import WrapperModel
from pydantic_ai.providers.openai import OpenAIProvider

WHERE, KEY = "AGENT_MINDS_URL", "AGENT_MINDS_KEY"


def server_model(address: str, key: str) -> OpenAIChatModel:
    """A compatible server as a model."""
    return OpenAIChatModel("any", provider=OpenAIProvider(base_url=f"{address}/v1", api_key=key))


def make_gatekeeper(
    address: str, key: str, *, max_tokens: int = 24, system_prompt: str = "You are a gatekeeper."
) -> Agent[None, str]:
    """An agent whose model is a compatible server."""
    return Agent(
        server_model(address, key), system_prompt=system_prompt, model_settings={"max_tokens": max_tokens}
    )


class LooksFirst(WrapperModel):
    """A model that calls the tool `look` before it answers, which the smallest ones do not do by themselves."""

    @asynccontextmanager
    async def request_stream(
        self, messages: list[ModelMessage], *arguments: Any, **named: Any
    ) -> AsyncGenerator[StreamedResponse]:
        has_looked = any(isinstance(part, ToolReturnPart) for each in messages for part in each.parts)
        model = self.wrapped if has_looked else FunctionModel(stream_function=_look)
        async with model.request_stream(messages, *arguments, **named) as response:
            yield response


async def _look(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[DeltaToolCalls]:
    yield {0: DeltaToolCall(name="look", json_args='{"what": "gate"}', tool_call_id="call-1")}


def make_watchman(address: str, key: str, looked: list[str]) -> Agent[None, str]:
    """An agent with a tool, of whose calls `looked` is told."""
    settings = ModelSettings(max_tokens=24, temperature=0.0)
    agent: Agent[None, str] = Agent(LooksFirst(server_model(address, key)), model_settings=settings)

    @agent.tool_plain
    def look(what: str) -> str:
        """Look at something."""
        looked.append(what)
        return f"The {what} is made of blue glass."

    return agent


class Verdict(BaseModel):
    """What a judge says."""

    may_pass: bool
    reasons: int


def make_judge(address: str, key: str) -> Agent[None, Verdict]:
    """An agent whose output is no text, and whose server holds the model to its form."""
    output = NativeOutput(Verdict)
    return Agent(server_model(address, key), output_type=output, model_settings={"max_tokens": 100})


def gatekeeper() -> Agent[None, str]:
    """What a Host calls."""
    return make_gatekeeper(os.environ[WHERE], os.environ[KEY])


no_agent = "a text"


def raises() -> Agent[None, str]:
    raise RuntimeError("the gatekeeper is ill")
