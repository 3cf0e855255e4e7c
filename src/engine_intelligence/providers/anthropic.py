"""Anthropic's Messages, by the vendor's SDK: of the vendor, or of any service that offers the same interface.

It needs the packages of `pip install 'engine-intelligence[anthropic]'`. Of the environment only a proxy is heeded: key and
address are those that it is given, and the SDK's own variables, profiles and headers are not.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

import msgspec

from engine_intelligence.activity import FinishReason, Usage
from engine_intelligence.errors import ProviderError
from engine_intelligence.providers.failures import cut_off, declined, failures_of
from engine_intelligence.providers.options import check_number
from engine_intelligence.providers.sdk_client import VendorService, events_of, narrowed
from engine_intelligence.providers.stream import Finish, Prompt
from engine_intelligence.providers.turns import chat_messages, turns_to_send
from engine_intelligence.providers.vendor import Access, VendorOptions, http_client, hush, is_at

if TYPE_CHECKING:
    from anthropic import AsyncAnthropic

HOST = "api.anthropic.com"
ADDRESS = f"https://{HOST}"

# The fastest of the vendor's models: a player waits for the first word.
DEFAULT_MODEL = "claude-haiku-5-5"
"""The model where the configuration names none. A compatible service is asked which it has, and its first is taken."""


class Options(VendorOptions, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The options of a vendor's provider. `temperature` is 0.0 to 1.0 here, and some models of the vendor refuse any."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.temperature is not None:
            check_number("temperature", self.temperature, least=0.0, most=1.0)


class AnthropicBackend:
    """A `Backend` over a service that speaks Messages. Made by `create`; it asks nothing until its first answer.

    It belongs to the thread of one running event loop.
    """

    def __init__(self, options: Options, access: Access) -> None:
        self._options = options
        at_vendor = access.base_url is None or is_at(access.base_url, HOST)
        # The address of another may be the value of an environment variable, which is told to nobody (rule E2).
        self._service = VendorService(
            access,
            _make_client,
            name="Anthropic" if at_vendor else "the service",
            model=options.model or (DEFAULT_MODEL if at_vendor else None),
            models="/v1/models",
        )

    @property
    def model(self) -> str | None:
        """The name of the model; `None` until the service was asked for one."""
        return self._service.model

    def warm(self) -> None:
        """Begin to load the SDK, and ask for the model if none is named. Needs a running event loop."""
        self._service.warm()

    async def answer(self, prompt: Prompt) -> AsyncGenerator[str | Finish, None]:
        """The model's answer. Leaving it early closes its connection."""
        client = await self._service.client()
        import anthropic  # loaded by now

        with failures_of(anthropic, self._service.name):
            request = self._request(await self._service.chosen_model(client), prompt)
            answer = _Answer(self._service.name)
            stream = events_of(client, "/v1/messages", request, self._service.name, lambda: answer.has_ended)
            async with aclosing(stream) as events:
                async for event in events:
                    if text := answer.take(narrowed(event, _Event, self._service.name)):
                        yield text
            yield answer.finish()

    async def close(self) -> None:
        """Close the client."""
        await self._service.close()

    def _request(self, model: str, prompt: Prompt) -> dict[str, object]:
        options = self._options
        turns = turns_to_send(prompt.history, options.history_tokens)
        return {
            "model": model,
            "system": options.instructions if options.instructions.strip() else None,  # blanks are refused
            "messages": chat_messages("", turns, prompt.input),
            "max_tokens": options.max_tokens,
            "temperature": options.temperature,
            "stream": True,
        }


class _Counts(msgspec.Struct):
    input_tokens: int | None = None
    cache_creation_input_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    output_tokens: int | None = None


class _Message(msgspec.Struct):
    usage: _Counts | None = None


class _Content(msgspec.Struct):
    text: str | None = None
    stop_reason: str | None = None


class _Event(msgspec.Struct):
    """What is looked at of an event, whichever it is."""

    type: str
    message: _Message | None = None
    content_block: _Content | None = None
    delta: _Content | None = None
    usage: _Counts | None = None


class _Answer:
    """An answer, as its events tell it bit by bit."""

    def __init__(self, service: str) -> None:
        self.has_ended = False
        self._service = service
        self._reason: str | None = None
        self._input: int | None = None
        self._output: int | None = None

    def take(self, event: _Event) -> str | None:
        """The text in an event. Raises `ProviderError` for an end that is no completion."""
        match event:
            case _Event("message_start", message=_Message(usage)):
                self._count(usage)
            case _Event("content_block_start", content_block=_Content(text)):
                return text
            case _Event("content_block_delta", delta=_Content(text)):
                return text  # thinking is under another name
            case _Event("message_delta"):
                self._count(event.usage)
                if event.delta is not None and event.delta.stop_reason is not None:
                    self._reason = self._checked(event.delta.stop_reason)
            case _Event("message_stop"):
                self.has_ended = True
            case _:
                pass
        return None

    def finish(self) -> Finish:
        """The end of a stream. Raises `ProviderError` if that was not the end of the answer."""
        if self._reason is None:
            raise cut_off(self._service)
        counted = self._input is not None or self._output is not None
        usage = Usage(self._input or 0, self._output or 0) if counted else None
        return Finish(usage, _FINISHES.get(self._reason))

    def _count(self, usage: _Counts | None) -> None:
        # Each is the sum so far, so that the last one counts; the input may come with the first event, the last or both.
        if usage is None:
            return
        if usage.input_tokens:
            cached = (usage.cache_creation_input_tokens or 0) + (usage.cache_read_input_tokens or 0)
            self._input = usage.input_tokens + cached
        self._output = usage.output_tokens or self._output

    def _checked(self, reason: str) -> str:
        if reason == "refusal":
            raise declined(self._service)
        if reason in ("tool_use", "pause_turn"):
            raise ProviderError(
                f"{self._service} asked for a tool, of which it was offered none", reason="protocol"
            )
        return reason


# https://docs.anthropic.com/en/api/handling-stop-reasons
_FINISHES: dict[str, FinishReason] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",  # cut off like the other, by the model's own bound
}


def create(options: Options, access: Access) -> AnthropicBackend:
    """A backend over the service of `access`. Nothing is loaded or asked by this."""
    return AnthropicBackend(options, access)


def _make_client(access: Access) -> AsyncAnthropic:
    import anthropic

    hush("anthropic")
    client: Any = anthropic.AsyncAnthropic(
        api_key=access.key,  # an explicit one: then the SDK looks for no other
        base_url=(access.base_url or ADDRESS).rstrip("/").removesuffix("/v1"),  # which stands in the paths
        max_retries=0,  # `Retrying` is the one who tries again
        http_client=http_client(anthropic, access.base_url),
        open_telemetry=False,  # traces may hold what is said (rule E2)
    )
    # Those of ANTHROPIC_CUSTOM_HEADERS, among which could be another key. There is no public way to do without them.
    client._custom_headers = {}
    return client  # type: ignore[no-any-return]
