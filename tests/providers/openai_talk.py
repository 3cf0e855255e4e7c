"""Asking a backend of the kind `openai` by itself, and the events of both interfaces."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing, asynccontextmanager

from engine_intelligence.activity import SessionRef
from engine_intelligence.conversation import Turn
from engine_intelligence.providers.backend import Backend
from engine_intelligence.providers.openai import OpenAIBackend, Options
from engine_intelligence.providers.stream import Finish, Prompt
from engine_intelligence.providers.vendor import Access

KEY = "sk-test-4fJx9QmT2bVw7ZkLpR8sHn3D"
SESSION = SessionRef("gatekeeper", "one")
HISTORY = (Turn("May I pass?", "No.", "resp_1"), Turn("Why?", "It is late.", "resp_2"))


@asynccontextmanager
async def backend_at(
    address: str, options: Options | None = None, *, at_vendor: bool = False
) -> AsyncGenerator[OpenAIBackend]:
    """A backend for the service at `address`, as one of the vendor's or as a compatible one."""
    options = Options(model="m") if options is None else options
    backend = OpenAIBackend(options, Access(KEY, address), at_vendor=at_vendor)
    try:
        yield backend
    finally:
        await backend.close()


async def ask(backend: Backend, input: str = "And now?", history: Sequence[Turn] = ()) -> list[str | Finish]:
    """All pieces of an answer."""
    async with aclosing(backend.answer(Prompt(input, SESSION, "activity", history))) as pieces:
        return [piece async for piece in pieces]


def said(text: str | None = None, finish: str | None = None, **delta: object) -> dict[str, object]:
    """A chunk of Chat Completions."""
    content: dict[str, object] = {} if text is None else {"content": text}
    return {
        "id": "c",
        "object": "chat.completion.chunk",
        "choices": [{"index": 0, "delta": {**content, **delta}, "finish_reason": finish}],
    }


TOOK: dict[str, object] = {
    "id": "c",
    "choices": (),
    "usage": {"prompt_tokens": 7, "completion_tokens": 2, "total_tokens": 9},
}
DONE = "[DONE]"
CHAT: tuple[object, ...] = (said("Go "), said("on."), said(finish="stop"), TOOK, DONE)


def delta(text: str) -> dict[str, object]:
    """A piece of text of Responses."""
    return {"type": "response.output_text.delta", "delta": text, "item_id": "msg_1", "output_index": 0}


def response(type_: str, id: str = "resp_9", **more: object) -> dict[str, object]:
    """An event of Responses that holds the response, with its usage."""
    usage = {"input_tokens": 7, "output_tokens": 2, "total_tokens": 9}
    return {"type": f"response.{type_}", "response": {"id": id, "usage": usage, **more}}


RESPONSE: tuple[object, ...] = (
    response("created", usage=None),
    {"type": "response.in_progress", "sequence_number": 1},
    delta("Go "),
    delta("on."),
    response("completed", status="completed"),
)
