"""The embedded default: a real language model on this machine, served by llama.cpp and spoken to as an OpenAI interface.

    backend = create(Options(instructions="..."), model_path=path)
    provider = provider_over(backend, "gatekeeper", store=store)

It needs the packages of `pip install 'engine-intelligence[local]'` and the weights, which `engine-intelligence models pull`
fetches. It sends nothing to another machine: the server listens on loopback, behind a random key, and is asked directly,
whatever proxy the environment names.
"""

from __future__ import annotations

import asyncio
import importlib
import logging
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import msgspec

from engine_intelligence.activity import FinishReason, Usage
from engine_intelligence.conversation import Turn
from engine_intelligence.errors import ProviderError, SetupError
from engine_intelligence.providers.llama_server import Endpoint, LlamaServer, LlamaServers
from engine_intelligence.providers.options import NameOrPath, check_number, check_text, check_whole_number
from engine_intelligence.providers.stream import Finish, Prompt

if TYPE_CHECKING:
    from openai import AsyncOpenAI, OpenAIError
    from openai.types.chat import ChatCompletionMessageParam

GGUF_MAGIC = b"GGUF"

# An Activity that has a slot answers within `Deadlines.activity_s`, which is what ends a slow one; this only ends a dead one.
REQUEST_TIMEOUT_S = 600.0

# llama.cpp takes 32 bits, and the highest of them for "random".
MAX_SEED = 2**32 - 2


class Options(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a Host's configuration may say of a local model. A bad value raises `ValueError` that names field and value."""

    model: NameOrPath = "smollm2-135m"
    """A name of the catalogue, or the path of a GGUF file."""
    instructions: str = ""
    """What the model is told before the conversation; empty: nothing (rule P4)."""
    # Two or three sentences of dialogue are 60 tokens; 256 is a long speech, and three seconds of the default model.
    max_tokens: int = 256
    """Bound of one answer, in tokens: 1 to `context` - 1."""
    # Lively without rambling: the value that the makers of small instruct models give in their examples is 0.2 to 0.8.
    temperature: float = 0.7
    """Randomness, 0.0 (none) to 2.0, the range of the OpenAI interface."""
    seed: int | None = None
    """0 to 4294967294 for answers that can be repeated; `None` for another answer each time."""
    # Twenty exchanges of 100 tokens. Each slot of the default model takes 47 MiB of memory for it.
    context: int = 2048
    """What the model reads and writes in one Activity, in tokens: 64 to 1048576."""
    # Half of `max_concurrent_activities`: more at a time would each be slower than a player reads.
    slots: int = 4
    """How many Activities are worked on at a time, 1 to 64. Further ones wait."""

    def __post_init__(self) -> None:
        check_whole_number("context", self.context, least=64, most=2**20)
        check_whole_number("slots", self.slots, least=1, most=64)
        check_whole_number("max_tokens", self.max_tokens, least=1, most=self.context - 1)
        seed: object = self.seed
        if seed is not None and (type(seed) is not int or not 0 <= seed <= MAX_SEED):
            raise ValueError(f"seed must be a whole number from 0 to {MAX_SEED}, or absent, not {seed!r}")
        check_number("temperature", self.temperature, least=0.0, most=2.0)
        if not self.model:
            raise ValueError(f"model must be a name or a path, not {self.model!r}")
        check_text("instructions", self.instructions)


class LlamaBackend:
    """A `Backend` over a local model. Made by `create`; it starts nothing until `warm` or its first answer.

    It belongs to the thread of one running event loop.
    """

    def __init__(self, options: Options, *, servers: LlamaServers, model_path: Path) -> None:
        """`servers` is handed its server back by `close`."""
        self._options = options
        self._servers = servers
        self._server: LlamaServer | None = servers.acquire(
            model_path, context=options.context, slots=options.slots
        )
        self._client: AsyncOpenAI | None = None
        self._client_of: Endpoint | None = None  # a server that crashed comes back at another address

    @property
    def server(self) -> LlamaServer | None:
        """The server that it shares with backends of the same model; `None` once it is closed."""
        return self._server

    def warm(self) -> None:
        """Begin to load the model and return at once. Needs a running event loop. A failure shows in the next answer."""
        if self._server is not None:
            self._server.warm()

    async def answer(self, prompt: Prompt) -> AsyncGenerator[str | Finish, None]:
        """The model's answer. Leaving it early closes its connection, which frees its slot."""
        server = self._server
        if server is None:
            raise ProviderError("the local model is closed", reason="unavailable")
        async with server.slot:
            client = await self._connected(server)
            from openai import OpenAIError

            try:
                messages = await self._fitting(client, prompt)
                async with aclosing(self._stream(client, messages)) as parts:
                    async for part in parts:
                        yield part
            except OpenAIError as error:
                raise await _provider_error(error, server) from None

    async def close(self) -> None:
        """Hand the server back, which ends it with its last user."""
        server, self._server = self._server, None
        client, self._client = self._client, None
        try:
            if client is not None:
                await client.close()
        finally:
            if server is not None:
                await self._servers.release(server)

    async def _stream(
        self, client: AsyncOpenAI, messages: Sequence[ChatCompletionMessageParam]
    ) -> AsyncGenerator[str | Finish, None]:
        options = self._options
        stream = await client.chat.completions.create(
            model=options.model,
            messages=messages,
            max_tokens=options.max_tokens,
            temperature=options.temperature,
            seed=options.seed,
            stream=True,
            stream_options={"include_usage": True},
            # The server sees that a connection was closed only when it writes to it. So let it write while it still reads the
            # prompt: then a cancel frees the slot at the next step, and not when all is read.
            extra_body={"return_progress": True},
        )
        finish: str | None = None
        usage: Usage | None = None
        # Leaving the block closes the connection, which is what frees the slot of a cancelled Activity.
        async with stream:
            async for chunk in stream:
                if chunk.usage is not None:
                    usage = Usage(chunk.usage.prompt_tokens, chunk.usage.completion_tokens)
                for choice in chunk.choices:
                    finish = choice.finish_reason or finish
                    if choice.delta.content:
                        yield choice.delta.content
        if finish is None:
            raise ProviderError("the local model stopped before the end of its answer", reason="truncated")
        yield Finish(usage, _finish_reason(finish))

    async def _connected(self, server: LlamaServer) -> AsyncOpenAI:
        endpoint = await server.endpoint()
        # The import takes most of a second; in a thread of its own, the loop has its turn every few milliseconds of it.
        openai = await asyncio.to_thread(importlib.import_module, "openai")
        _hush_sdk()
        client, stale = self._client, None
        if client is None or self._client_of != endpoint:
            stale, client = client, _client(openai, endpoint)
            self._client, self._client_of = client, endpoint
        if stale is not None:
            await stale.close()
        return client

    async def _fitting(self, client: AsyncOpenAI, prompt: Prompt) -> Sequence[ChatCompletionMessageParam]:
        """The messages, with as many of the latest turns as leave room for the answer; whole turns, instructions kept."""
        room = self._options.context - self._options.max_tokens
        history = prompt.history
        kept = len(history)
        least, most = (
            0,
            kept,
        )  # the number of turns that fit is searched for: a dozen questions of 2 ms for a thousand turns
        while True:
            messages = chat_messages(self._options.instructions, history[len(history) - kept :], prompt.input)
            tokens = await _count_tokens(client, messages)
            if tokens <= room:
                least = kept
                if least == most:
                    return messages
            elif not kept:
                raise ProviderError(
                    f"the input is too long: with the instructions it takes {tokens} tokens, and beside an answer of "
                    f"{self._options.max_tokens} there is room for {room}",
                    reason="refused",
                )
            else:
                most = kept - 1
            kept = (least + most + 1) // 2


def chat_messages(instructions: str, history: Sequence[Turn], input: str) -> list[ChatCompletionMessageParam]:
    """What the model is given: the instructions if there are any, the turns, the input, and nothing else (rule P4)."""
    messages: list[ChatCompletionMessageParam] = []
    if instructions:
        messages.append({"role": "system", "content": instructions})
    for turn in history:
        messages.append({"role": "user", "content": turn.input})
        messages.append({"role": "assistant", "content": turn.output})
    messages.append({"role": "user", "content": input})
    return messages


def create(options: Options, *, model_path: Path, servers: LlamaServers | None = None) -> LlamaBackend:
    """A backend over the model in the file `model_path`. Nothing is started or loaded by this.

    Backends that are given the same `servers` share a process where model, context and slots are the same. Raises
    `SetupError`: `missing-package`, `model-missing`, or `model-corrupt` for a file that is no GGUF file.
    """
    for package in ("xllamacpp", "openai"):
        if find_spec(package) is None:
            raise SetupError(
                "missing-package",
                f"The local model needs the package {package}: pip install 'engine-intelligence[local]'",
            )
    try:
        with model_path.open("rb") as file:
            magic = file.read(len(GGUF_MAGIC))
    except OSError as error:
        raise SetupError(
            "model-missing",
            f"The model {model_path} cannot be read ({error.strerror}): give the path of a GGUF file.",
        ) from None
    if magic != GGUF_MAGIC:
        raise SetupError(
            "model-corrupt", f"{model_path} is not a GGUF file: fetch or convert the model again."
        )
    return LlamaBackend(options, servers=servers or LlamaServers(), model_path=model_path)


def _hush_sdk() -> None:
    """Keep the SDK from logging request bodies, which it does at DEBUG, unless its logger was set to that by name (E2)."""
    log = logging.getLogger("openai")
    if log.level == logging.NOTSET:
        log.setLevel(logging.INFO)


def _client(openai: Any, endpoint: Endpoint) -> AsyncOpenAI:
    return cast(
        "AsyncOpenAI",
        openai.AsyncOpenAI(
            base_url=f"{endpoint.address}/v1",
            api_key=endpoint.key,
            max_retries=0,
            timeout=REQUEST_TIMEOUT_S,
            # Without the environment: a proxy that it names cannot reach this machine's loopback.
            http_client=openai.DefaultAsyncHttpxClient(trust_env=False),
        ),
    )


async def _count_tokens(client: AsyncOpenAI, messages: Sequence[ChatCompletionMessageParam]) -> int:
    # The server's own count, by the model's own template: not an interface of OpenAI.
    counted: Any = await client.post(
        "/chat/completions/input_tokens", cast_to=object, body={"model": "local", "messages": messages}
    )
    try:
        return int(counted["input_tokens"])
    except (KeyError, TypeError, ValueError):
        raise ProviderError("the local model's server did not count the tokens", reason="protocol") from None


def _finish_reason(reason: str) -> FinishReason | None:
    match reason:
        case "stop" | "length":
            return reason
        case _:
            return None


async def _provider_error(error: OpenAIError, server: LlamaServer) -> ProviderError:
    """In which way a request failed. Texts are our own: the server's may quote the request (rule E2)."""
    import openai

    match error:
        case openai.APITimeoutError():
            return ProviderError("the local model did not answer in time", reason="timeout")
        case openai.APIConnectionError():
            if await server.has_ended():
                return ProviderError("the process of the local model ended", reason="crashed")
            return ProviderError("the connection to the local model broke", reason="network")
        case openai.AuthenticationError() | openai.PermissionDeniedError():
            return ProviderError("the local model's server does not know its key", reason="auth")
        case openai.APIStatusError(status_code=400 | 413 | 422):
            return ProviderError("the local model cannot take this request", reason="refused")
        case openai.APIStatusError(status_code=503):
            return ProviderError("the local model is not ready", reason="unavailable")
        case openai.APIStatusError(status_code=code):
            return ProviderError(f"the local model's server answered with status {code}", reason="other")
        case openai.APIError():
            return ProviderError("the local model failed in the middle of its answer", reason="other")
        case _:
            return ProviderError(
                f"the local model's answer cannot be used: {type(error).__name__}", reason="protocol"
            )
