"""An agent that a user wrote with Pydantic AI: its model, tools, instructions and output are its own.

It needs the packages of `pip install 'engine-intelligence[pydantic-ai]'`, and those that the agent's model needs.

What the agent says is told as it says it, also before it calls a tool; between that and what it says next stands an empty line.
Where the output is no plain text, where the agent checks it itself, and with `final_only`, the final output alone is told, in
one piece; what is no text is told as JSON. An agent is run without `deps`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterable
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, cast

import msgspec

from engine_intelligence.errors import ProviderError, SetupError
from engine_intelligence.providers.agent_failures import agent_failure
from engine_intelligence.providers.agent_messages import agent_messages, as_text, finish, texts, usage
from engine_intelligence.providers.options import check_whole_number
from engine_intelligence.providers.stream import Finish, Prompt
from engine_intelligence.providers.turns import turns_to_send
from engine_intelligence.providers.vendor import hush

if TYPE_CHECKING:
    from pydantic_ai import ModelSettings, RunContext
    from pydantic_ai.agent import AbstractAgent

    Agent = AbstractAgent[None, Any]

BETWEEN = "\n\n"
"""What stands between the text before a tool was called and the text after it."""


class Options(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a Host's configuration may say of an agent. A bad value raises `ValueError` that names field and value."""

    agent: str
    """The name of an `Agent`, or of a function without arguments that returns one: "package.module:name"."""
    final_only: bool = False
    """Whether nothing but the final answer is told, in one piece, and not what the model says before it calls a tool. The model
    is asked without streaming then, as some models have to be.
    """
    # As of a vendor's provider.
    history_tokens: int = 16_384
    """Bound of the earlier turns that the agent is given, in estimated tokens, 0 to 1048576; the newest whole ones that fit."""
    attempts: int = 4
    """How often the agent is run in all, 1 to 10, where a fault may pass, nothing was said yet and no tool was called."""

    def __post_init__(self) -> None:
        check_whole_number("history_tokens", self.history_tokens, least=0, most=2**20)
        check_whole_number("attempts", self.attempts, least=1, most=10)


class PydanticAIBackend:
    """A `Backend` over an agent. Made by `create`. It belongs to the thread of one running event loop."""

    def __init__(self, options: Options, agent: Agent) -> None:
        self._options = options
        self._agent = agent
        self._tells_at_once = not options.final_only and _says_plain_text(agent)
        self._opened: asyncio.Future[None] | None = None
        self._keeper: asyncio.Task[None] | None = None
        self._closing = asyncio.Event()

    def warm(self) -> None:
        """Open what the agent's tools and model are connected to. Needs a running event loop."""
        self._opening()

    async def answer(self, prompt: Prompt) -> AsyncGenerator[str | Finish, None]:
        """What the agent says. Leaving it early cancels its tools and closes its model's connection."""
        run = _Run()
        try:
            await asyncio.shield(self._opening())
            async with aclosing(self._run(run, prompt)) as pieces:
                async for piece in pieces:
                    yield piece
        except Exception as error:
            failure = agent_failure(error, of_model=run.is_asking)
            if failure is None:
                raise
            if run.has_acted:  # it is not known what a tool has done: it is not done twice
                failure.transient = False
            raise failure from None

    async def close(self) -> None:
        """Close what was opened."""
        self._closing.set()
        keeper, opened = self._keeper, self._opened
        if keeper is not None and opened is not None:
            if not opened.done():
                keeper.cancel()
            await asyncio.wait([keeper])

    async def _run(self, said: _Run, prompt: Prompt) -> AsyncGenerator[str | Finish, None]:
        from pydantic_ai import Agent
        from pydantic_ai.capabilities import ReinjectSystemPrompt

        async with self._agent.iter(
            prompt.input,
            message_history=agent_messages(turns_to_send(prompt.history, self._options.history_tokens)),
            model_settings=_without_retries,
            # A `system_prompt` is part of no turn, and the agent itself adds it to the first request of a conversation only.
            capabilities=[ReinjectSystemPrompt()],
            infer_name=False,
        ) as run:
            async for node in run:
                if Agent.is_call_tools_node(node):
                    if node.model_response.tool_calls:
                        said.has_acted, said.has_answered = True, False
                elif Agent.is_model_request_node(node) and not self._options.final_only:
                    said.begin()
                    async with node.stream(run.ctx) as events, aclosing(texts(events)) as pieces:
                        async for text in pieces:
                            if self._tells_at_once:
                                yield said.told(text)
                    said.heard()
            result = run.result
            if result is None:
                raise ProviderError("the agent ended without an output", reason="empty")
            if not self._tells_at_once and (text := as_text(result.output)):
                yield text
            yield Finish(usage(result.usage), finish(result.response))

    def _opening(self) -> asyncio.Future[None]:
        opened = self._opened
        if opened is None or (opened.done() and (opened.cancelled() or opened.exception())):
            loop = asyncio.get_running_loop()
            self._opened = opened = loop.create_future()
            # Its failure may interest nobody, when it was only warmed.
            opened.add_done_callback(lambda done: done.cancelled() or done.exception())
            self._keeper = loop.create_task(self._keep_open(opened))
        return opened

    async def _keep_open(self, opened: asyncio.Future[None]) -> None:
        # One task for both ends of it: what a tool server is connected by has to be left where it was entered.
        try:
            async with self._agent:
                opened.set_result(None)
                await self._closing.wait()
        except BaseException as error:  # noqa: BLE001 - it is raised where the agent is wanted
            if opened.done():
                return  # it was open, and is closed now, in whatever way
            if isinstance(error, Exception):
                opened.set_exception(error)
            else:
                opened.set_exception(ProviderError("the agent was closed", reason="unavailable"))


class _Run:
    """What one run of an agent has said and done so far."""

    def __init__(self) -> None:
        self.has_acted = False
        """Whether it called a tool."""
        self.has_answered = False
        """Whether its last response calls none, which ends a run unless the agent itself does not take it."""
        self.is_asking = False
        """Whether it listens to its model."""
        self._has_told = False
        self._at_start = True

    def begin(self) -> None:
        """The model is asked. Raises `ProviderError` if its answer was told and was none: that cannot be taken back."""
        if self.has_answered and self._has_told:
            raise ProviderError("the agent rejected an answer that was told already", reason="protocol")
        self._at_start = self.is_asking = True

    def heard(self) -> None:
        """The model has said all of a response."""
        self.is_asking, self.has_answered = False, True

    def told(self, text: str) -> str:
        """How `text` is told."""
        between = BETWEEN if self._has_told and self._at_start else ""
        self._has_told, self._at_start = True, False
        return between + text


def create(options: Options, agent: object) -> PydanticAIBackend:
    """A backend over `agent`, an `Agent` or a function without arguments that returns one. Nothing is connected by this.

    Raises `SetupError` with reason `bad-agent` if it is neither, and whatever the function raises.
    """
    made = agent() if callable(agent) and not _is_agent(agent) else agent
    if not _is_agent(made):
        raise SetupError(
            "bad-agent",
            f"{options.agent!r} is {type(made).__name__}, and no agent: name an Agent of Pydantic AI, or a function without "
            "arguments that returns one.",
        )
    hush("pydantic_ai", "openai", "anthropic", "httpx", "httpcore", "httpx2", "httpcore2")
    return PydanticAIBackend(options, cast("Agent", made))


def _is_agent(value: object) -> bool:
    from pydantic_ai.agent import AbstractAgent

    return isinstance(value, AbstractAgent)


def _without_retries(context: RunContext[None]) -> ModelSettings:
    """The SDK below the model tries nothing again: that is done for the whole run, or not at all (`Retrying`)."""
    ignored: Iterable[str] = getattr(context.model, "unsupported_settings", ())
    return (
        {} if "max_retries" in ignored else {"max_retries": 0}
    )  # one that cannot do it warns, and has no retries


def _says_plain_text(agent: Any) -> bool:
    while hasattr(agent, "wrapped"):
        agent = agent.wrapped
    # There is no public way to see whether it has validators.
    return agent.output_type is str and not getattr(agent, "_output_validators", ())
