"""OpenAI, and every server that is compatible with it: OpenRouter, Ollama, LM Studio, vLLM, llama.cpp and others.

    backend = create(Options(instructions="..."), Access(key, base_url))

The SDK is the vendor's (`pip install 'engine-intelligence[openai]'`), loaded with the first answer. Conversations are kept by
OpenAI where the Responses interface is used with it, and by the Host otherwise, and as well.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from engine_intelligence.conversation import latest_turns
from engine_intelligence.errors import ProviderError, SetupError
from engine_intelligence.providers.failures import failures_of
from engine_intelligence.providers.openai_chat import chat_answer
from engine_intelligence.providers.openai_client import is_vendor, make_client
from engine_intelligence.providers.openai_responses import input_messages, responses_answer
from engine_intelligence.providers.options import check_whole_number
from engine_intelligence.providers.sdk_client import VendorService
from engine_intelligence.providers.stream import Finish, Prompt
from engine_intelligence.providers.turns import chat_messages
from engine_intelligence.providers.vendor import Access, VendorOptions

if TYPE_CHECKING:
    from openai import AsyncOpenAI

# The small one of the vendor's models that does not think before it speaks unless it is told to: the first word is soon there.
DEFAULT_MODEL = "gpt-5.4-mini"
"""What answers where the vendor is asked and no model is named."""

# Of a response, by the vendor. What another provider left in a session is none.
REMOTE_PREFIX = "resp"

Interface: TypeAlias = Literal["chat", "responses"]


class Options(VendorOptions, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a Host's configuration may say. A bad value raises `ValueError` that names field and value.

    Without `model` it is `DEFAULT_MODEL` at the vendor, and elsewhere the first that the server lists.
    """

    interface: Interface | None = None
    """Absent: "responses" with the vendor, and "chat" with another server, which all of them have."""
    store: bool = True
    """Whether the vendor keeps the conversation (for 30 days), so that only what is new is sent. Otherwise, and with other
    servers, the Host sends the earlier turns along. For "responses".
    """
    reasoning_effort: Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"] | None = None
    """How much a model that thinks does so before it speaks; absent: the model's default."""
    seed: int | None = None
    """0 to 9223372036854775807 for answers that repeat themselves where the server can; for "chat"."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.seed is not None:
            check_whole_number("seed", self.seed, least=0, most=2**63 - 1)


class OpenAIBackend:
    """A `Backend` over the SDK. Made by `create`; it loads and connects nothing until `warm` or its first answer.

    It belongs to the thread of one running event loop.
    """

    def __init__(self, options: Options, access: Access, *, at_vendor: bool) -> None:
        """`at_vendor` says whether `access` leads to OpenAI itself, with what only that offers."""
        self._options = options
        self._at_vendor = at_vendor
        self.interface: Interface = options.interface or ("responses" if at_vendor else "chat")
        # The address of another may be the value of an environment variable, which is told to nobody (rule E2).
        self._service = VendorService(
            access,
            make_client,
            name="OpenAI" if at_vendor else "the service",
            model=options.model or (DEFAULT_MODEL if at_vendor else None),
            models="/models",
        )

    def warm(self) -> None:
        """Begin to load the SDK, and ask for the model if none is named. Needs a running event loop."""
        self._service.warm()

    async def answer(self, prompt: Prompt) -> AsyncGenerator[str | Finish, None]:
        """The model's answer. Leaving it early closes its connection."""
        client = await self._service.client()
        import openai

        with failures_of(openai, self._service.name):
            model = await self._service.chosen_model(client)
            ask = self._respond if self.interface == "responses" else self._chat
            async with aclosing(ask(client, model, prompt)) as pieces:
                async for piece in pieces:
                    yield piece

    async def close(self) -> None:
        """Close the client."""
        await self._service.close()

    def _chat(self, client: AsyncOpenAI, model: str, prompt: Prompt) -> AsyncGenerator[str | Finish, None]:
        options = self._options
        turns = latest_turns(prompt.history, max_tokens=options.history_tokens)
        # The vendor's newer models refuse the older name, and other servers do not all know the newer one.
        bound = "max_completion_tokens" if self._at_vendor else "max_tokens"
        request = {
            "model": model,
            "messages": chat_messages(options.instructions, turns, prompt.input),
            bound: options.max_tokens,
            "temperature": options.temperature,
            "reasoning_effort": options.reasoning_effort,
            "seed": options.seed,
        }
        return chat_answer(client, request, self._service.name)

    async def _respond(
        self, client: AsyncOpenAI, model: str, prompt: Prompt
    ) -> AsyncGenerator[str | Finish, None]:
        request = self._request(model)
        remote = self._remote(prompt)
        if remote is not None:
            new = {"input": input_messages((), prompt.input), "previous_response_id": remote}
            begun = False
            try:
                async with aclosing(
                    responses_answer(client, {**request, **new}, self._service.name)
                ) as pieces:
                    async for piece in pieces:
                        begun = True
                        yield piece
                return
            except Exception as error:
                if begun or not _is_forgotten(error):
                    raise
        turns = latest_turns(prompt.history, max_tokens=self._options.history_tokens)
        if remote is not None and not turns:
            raise ProviderError(
                f"{self._service.name} has forgotten this conversation", reason="session-lost"
            )
        whole = {"input": input_messages(turns, prompt.input)}
        async with aclosing(responses_answer(client, {**request, **whole}, self._service.name)) as pieces:
            async for piece in pieces:
                yield piece

    def _request(self, model: str) -> dict[str, Any]:
        options = self._options
        effort = options.reasoning_effort
        return {
            "model": model,
            "instructions": options.instructions
            or None,  # those of the response before do not hold for the next
            "max_output_tokens": options.max_tokens,
            "temperature": options.temperature,
            "reasoning": None if effort is None else {"effort": effort},
            "store": self._kept_there,
            # A conversation that is longer than the model can read loses its beginning, rather than its end.
            "truncation": "auto" if self._at_vendor else None,
        }

    @property
    def _kept_there(self) -> bool:
        return self._at_vendor and self._options.store

    def _remote(self, prompt: Prompt) -> str | None:
        """Under which id the vendor knows the conversation up to here: that of the last turn that completed (rule P5)."""
        remote = prompt.history[-1].remote if prompt.history and self._kept_there else None
        return remote if remote is not None and remote.startswith(REMOTE_PREFIX) else None


def create(options: Options, access: Access) -> OpenAIBackend:
    """A backend for the service that `access` leads to. Nothing is loaded or connected by this.

    Raises `SetupError` for an option that the interface does not have.
    """
    backend = OpenAIBackend(options, access, at_vendor=is_vendor(access.base_url))
    if options.seed is not None and backend.interface == "responses":
        raise SetupError(
            "config-invalid", 'seed is an option of interface = "chat": name that, or leave the seed out.'
        )
    return backend


def _is_forgotten(error: Exception) -> bool:
    """Whether a request failed because the vendor does not have the response that it continues."""
    status, code = getattr(error, "status_code", None), getattr(error, "code", None)
    told = isinstance(error, ProviderError) and error.reason == "session-lost"
    return told or status == 404 or code == "previous_response_not_found"
