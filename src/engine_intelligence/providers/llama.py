"""The embedded default: a real language model on this machine, served by llama.cpp and spoken to as an OpenAI interface.

    backend = create(Options(instructions="..."), model_path=path)
    provider = provider_over(backend, "gatekeeper", store=store)

It needs the packages of `pip install 'engine-intelligence[local]'` and the weights, which `engine-intelligence models pull`
fetches. It sends nothing to another machine: the server listens on loopback, behind a random key, and is asked directly,
whatever proxy the environment names.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from engine_intelligence.errors import ProviderError, SetupError
from engine_intelligence.providers.failures import vendor_failure
from engine_intelligence.providers.llama_server import LlamaServer, LlamaServers
from engine_intelligence.providers.openai_chat import chat_answer
from engine_intelligence.providers.openai_client import make_client
from engine_intelligence.providers.options import NameOrPath, check_number, check_text, check_whole_number
from engine_intelligence.providers.sdk_client import Connection, narrowed
from engine_intelligence.providers.stream import Finish, Prompt
from engine_intelligence.providers.turns import chat_messages
from engine_intelligence.providers.vendor import Access

if TYPE_CHECKING:
    from openai import AsyncOpenAI

GGUF_MAGIC = b"GGUF"

SERVICE = "the local model"
"""What failures call it."""

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
        if self.seed is not None:
            check_whole_number("seed", self.seed, least=0, most=MAX_SEED)
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
        self._connection = Connection(make_client)

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
            endpoint = await server.endpoint()
            # A server that crashed comes back at another address.
            client = await self._connection.client(Access(endpoint.key, f"{endpoint.address}/v1"))
            try:
                request = self._request(await self._fitting(client, prompt))
                async with aclosing(chat_answer(client, request, SERVICE)) as pieces:
                    async for piece in pieces:
                        yield piece
            except Exception as error:
                failure = await _failure(error, server)
                if failure is None:
                    raise
                raise failure from None

    async def close(self) -> None:
        """Hand the server back, which ends it with its last user."""
        server, self._server = self._server, None
        try:
            await self._connection.close()
        finally:
            if server is not None:
                await self._servers.release(server)

    def _request(self, messages: list[dict[str, str]]) -> dict[str, Any]:
        options = self._options
        return {
            "model": options.model,
            "messages": messages,
            "max_tokens": options.max_tokens,
            "temperature": options.temperature,
            "seed": options.seed,
            # The server sees that a connection was closed only when it writes to it. So let it write while it still reads the
            # prompt: then a cancel frees the slot at the next step, and not when all is read.
            "return_progress": True,
        }

    async def _fitting(self, client: AsyncOpenAI, prompt: Prompt) -> list[dict[str, str]]:
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


class _Count(msgspec.Struct):
    input_tokens: int


async def _count_tokens(client: AsyncOpenAI, messages: list[dict[str, str]]) -> int:
    # The server's own count, by the model's own template: not an interface of OpenAI.
    body = {"model": "local", "messages": messages}
    counted: object = await client.post("/chat/completions/input_tokens", cast_to=object, body=body)
    return narrowed(counted, _Count, SERVICE).input_tokens


async def _failure(error: Exception, server: LlamaServer) -> ProviderError | None:
    """In which way a request failed, in the words of a process of our own where those are better; `None` if by no request."""
    import openai

    failure = vendor_failure(error, openai, SERVICE)
    if failure is not None and failure.reason == "network" and await server.has_ended():
        return ProviderError("the process of the local model ended", reason="crashed")
    if getattr(error, "status_code", None) == 503:
        return ProviderError("the local model is not ready", reason="unavailable")
    return failure
