"""The three interfaces of vendors, as their servers speak them: the events of one answer, their errors, and what was asked.

The shapes are those of the vendors' own SDKs (`openai.types.chat`, `openai.types.responses`, `anthropic.types`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, Protocol, TypeAlias

import msgspec

Finish: TypeAlias = Literal["stop", "length", "filter"]
Fault: TypeAlias = Literal[
    "rate", "overloaded", "quota", "key", "forbidden", "model", "long", "invalid", "server"
]
Table: TypeAlias = dict[str, Any]

TOKENS_IN, TOKENS_OUT = 7, 3
MODEL = "double-1"


class Speech(Protocol):
    """One answer, event by event. Each method returns the bytes of whole events."""

    def opening(self) -> bytes:
        """What comes before the first text."""
        ...

    def thought(self, text: str) -> bytes:
        """What the model thinks before it says anything."""
        ...

    def text(self, text: str) -> bytes: ...

    def refusal(self, text: str) -> bytes | None:
        """A piece of a refusal that is told in events of its own; `None` where there are none."""
        ...

    def finish(self, finish: Finish) -> bytes:
        """That the model has stopped, and why; it may be said twice."""
        ...

    def closing(self) -> bytes:
        """What is left to say after that, up to the mark of the end; it may be said twice."""
        ...

    def failure(self, fault: Fault, message: str) -> bytes:
        """An error in the middle of a stream."""
        ...


def speech(target: str) -> Speech:
    """The speech of the interface that is asked at this path."""
    path = target.partition("?")[0]
    if path.endswith("/chat/completions"):
        return ChatSpeech()
    if path.endswith("/responses"):
        return ResponsesSpeech()
    assert path.endswith("/messages"), f"there is no interface at {path}"
    return MessagesSpeech()


def event(data: Table, *, named: bool = True) -> bytes:
    """A server-sent event, with its type as its name as OpenAI's Responses and Anthropic's Messages have it."""
    name = f"event: {data['type']}\n".encode() if named else b""
    return name + b"data: " + msgspec.json.encode(data) + b"\n\n"


# The code or type by which each interface calls a fault.
OPENAI_CODES: Mapping[Fault, tuple[str, str]] = {
    "rate": ("requests", "rate_limit_exceeded"),
    "overloaded": ("server_error", "server_error"),
    "quota": ("insufficient_quota", "insufficient_quota"),
    "key": ("invalid_request_error", "invalid_api_key"),
    "forbidden": ("invalid_request_error", "unsupported_country_region_territory"),
    "model": ("invalid_request_error", "model_not_found"),
    "long": ("invalid_request_error", "context_length_exceeded"),
    "invalid": ("invalid_request_error", "unknown_parameter"),
    "server": ("server_error", "server_error"),
}
ANTHROPIC_TYPES: Mapping[Fault, str] = {
    "rate": "rate_limit_error",
    "overloaded": "overloaded_error",
    "quota": "billing_error",
    "key": "authentication_error",
    "forbidden": "permission_error",
    "model": "not_found_error",
    "long": "invalid_request_error",
    "invalid": "invalid_request_error",
    "server": "api_error",
}


def error_body(target: str, fault: Fault, message: str) -> bytes:
    """The body of an error response."""
    if target.partition("?")[0].endswith("/messages"):
        return msgspec.json.encode(anthropic_error(fault, message))
    return msgspec.json.encode({"error": openai_error(fault, message)})


def openai_error(fault: Fault, message: str) -> Table:
    type_, code = OPENAI_CODES[fault]
    return {"message": message, "type": type_, "param": None, "code": code}


def anthropic_error(fault: Fault, message: str) -> Table:
    return {
        "type": "error",
        "error": {"type": ANTHROPIC_TYPES[fault], "message": message},
        "request_id": "req_1",
    }


class ChatSpeech:
    """OpenAI's Chat Completions, which most other servers speak too."""

    def opening(self) -> bytes:
        return self._choice({"role": "assistant", "content": ""})

    def thought(self, text: str) -> bytes:
        # Not of OpenAI, which keeps it to itself: the field of DeepSeek, vLLM and llama.cpp.
        return self._choice({"content": None, "reasoning_content": text})

    def text(self, text: str) -> bytes:
        return self._choice({"content": text})

    def refusal(self, text: str) -> bytes | None:
        return self._choice({"refusal": text})

    def finish(self, finish: Finish) -> bytes:
        return self._choice({}, "content_filter" if finish == "filter" else finish)

    def closing(self) -> bytes:
        usage = {
            "prompt_tokens": TOKENS_IN,
            "completion_tokens": TOKENS_OUT,
            "total_tokens": TOKENS_IN + TOKENS_OUT,
        }
        return self._chunk([], usage) + b"data: [DONE]\n\n"

    def failure(self, fault: Fault, message: str) -> bytes:
        return event({"error": openai_error(fault, message)}, named=False)

    def _choice(self, delta: Table, finish: str | None = None) -> bytes:
        return self._chunk([{"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}], None)

    def _chunk(self, choices: list[Table], usage: Table | None) -> bytes:
        data = {
            "id": "chatcmpl-1",
            "object": "chat.completion.chunk",
            "created": 1_800_000_000,
            "model": MODEL,
            "system_fingerprint": "fp_1",
            "choices": choices,
            "usage": usage,
        }
        return event(data, named=False)


class ResponsesSpeech:
    """OpenAI's Responses."""

    def __init__(self) -> None:
        self._sequence = -1
        self._part: Table = {"type": "output_text", "annotations": [], "logprobs": [], "text": ""}
        self._finish: Finish = "stop"
        self._is_begun = False
        self._output_index = 0

    def opening(self) -> bytes:
        return self._event("response.created", response=self._response("in_progress")) + self._event(
            "response.in_progress", response=self._response("in_progress")
        )

    def thought(self, text: str) -> bytes:
        item: Table = {"id": "rs_1", "type": "reasoning", "summary": [{"type": "summary_text", "text": text}]}
        place = {"item_id": "rs_1", "output_index": 0, "summary_index": 0}
        self._output_index = 1
        return (
            self._event("response.output_item.added", output_index=0, item={**item, "summary": []})
            + self._event(
                "response.reasoning_summary_part.added", part={"type": "summary_text", "text": ""}, **place
            )
            + self._event("response.reasoning_summary_text.delta", delta=text, **place)
            + self._event("response.reasoning_summary_text.done", text=text, **place)
            + self._event("response.output_item.done", output_index=0, item=item)
        )

    def text(self, text: str) -> bytes:
        begun = b"" if self._is_begun else self._begin()
        self._part = {**self._part, "text": self._part["text"] + text}
        return begun + self._part_event("response.output_text.delta", delta=text, logprobs=[])

    def refusal(self, text: str) -> bytes | None:
        begun = b""
        if not self._is_begun:
            self._part = {"type": "refusal", "refusal": ""}
            begun = self._begin()
        self._part = {**self._part, "refusal": self._part["refusal"] + text}
        return begun + self._part_event("response.refusal.delta", delta=text)

    def finish(self, finish: Finish) -> bytes:
        self._finish = finish
        if not self._is_begun:
            return b""
        item = self._item()
        if self._part["type"] == "refusal":
            done = self._part_event("response.refusal.done", refusal=self._part["refusal"])
        else:
            done = self._part_event("response.output_text.done", text=self._part["text"], logprobs=[])
        return (
            done
            + self._part_event("response.content_part.done", part=self._part)
            + self._event("response.output_item.done", output_index=self._output_index, item=item)
        )

    def closing(self) -> bytes:
        if self._finish == "stop":
            return self._event("response.completed", response=self._response("completed"))
        return self._event("response.incomplete", response=self._response("incomplete"))

    def failure(self, fault: Fault, message: str) -> bytes:
        failed = self._response("failed")
        failed["error"] = {"code": OPENAI_CODES[fault][1], "message": message}
        return self._event("response.failed", response=failed)

    def error_event(self, fault: Fault, message: str) -> bytes:
        """The other way in which a stream can fail: an event of its own, without a response."""
        return self._event("error", code=OPENAI_CODES[fault][1], message=message, param=None)

    def _begin(self) -> bytes:
        self._is_begun = True
        item: Table = {**self._item(), "status": "in_progress", "content": []}
        added = self._event("response.output_item.added", output_index=self._output_index, item=item)
        return added + self._part_event("response.content_part.added", part=self._part)

    def _item(self) -> Table:
        status = "completed" if self._finish == "stop" else "incomplete"
        return {
            "id": "msg_1",
            "type": "message",
            "status": status,
            "role": "assistant",
            "content": [self._part],
        }

    def _part_event(self, type_: str, **fields: Any) -> bytes:
        return self._event(type_, item_id="msg_1", output_index=self._output_index, content_index=0, **fields)

    def _event(self, type_: str, **fields: Any) -> bytes:
        self._sequence += 1
        return event({"type": type_, "sequence_number": self._sequence, **fields})

    def _response(self, status: str) -> Table:
        ended = status in ("completed", "incomplete")
        reason = {"length": "max_output_tokens", "filter": "content_filter"}.get(self._finish)
        usage = {
            "input_tokens": TOKENS_IN,
            "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
            "output_tokens": TOKENS_OUT,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": TOKENS_IN + TOKENS_OUT,
        }
        return {
            "id": "resp_1",
            "object": "response",
            "created_at": 1_800_000_000,
            "status": status,
            "error": None,
            "incomplete_details": {"reason": reason} if status == "incomplete" else None,
            "instructions": None,
            "metadata": {},
            "model": MODEL,
            "output": [self._item()] if ended and self._is_begun else [],
            "parallel_tool_calls": True,
            "temperature": 1.0,
            "tool_choice": "auto",
            "tools": [],
            "top_p": 1.0,
            "usage": usage if ended else None,
        }


class MessagesSpeech:
    """Anthropic's Messages."""

    def __init__(self) -> None:
        self._block_is_open = False
        self._index = 0

    def opening(self) -> bytes:
        message: Table = {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": MODEL,
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": {"input_tokens": TOKENS_IN, "output_tokens": 1},
        }
        return event({"type": "message_start", "message": message}) + event({"type": "ping"})

    def thought(self, text: str) -> bytes:
        block = {"type": "thinking", "thinking": "", "signature": ""}
        thought = (
            self._event("content_block_start", content_block=block)
            + self._event("content_block_delta", delta={"type": "thinking_delta", "thinking": text})
            + self._event("content_block_delta", delta={"type": "signature_delta", "signature": "c2lnbmVk"})
            + self._event("content_block_stop")
        )
        self._index = 1
        return thought

    def text(self, text: str) -> bytes:
        begun = b""
        if not self._block_is_open:
            begun = self._event("content_block_start", content_block={"type": "text", "text": ""})
        self._block_is_open = True
        return begun + self._event("content_block_delta", delta={"type": "text_delta", "text": text})

    def refusal(self, text: str) -> bytes | None:
        return None

    def finish(self, finish: Finish) -> bytes:
        stopped = self._event("content_block_stop") if self._block_is_open else b""
        self._block_is_open = False
        reason = {"stop": "end_turn", "length": "max_tokens", "filter": "refusal"}[finish]
        return stopped + event(
            {
                "type": "message_delta",
                "delta": {"stop_reason": reason, "stop_sequence": None},
                "usage": {"output_tokens": TOKENS_OUT},
            }
        )

    def closing(self) -> bytes:
        return event({"type": "message_stop"})

    def failure(self, fault: Fault, message: str) -> bytes:
        return event(anthropic_error(fault, message))

    def _event(self, type_: str, **fields: Any) -> bytes:
        return event({"type": type_, "index": self._index, **fields})


def told_so_far(request: Table) -> list[tuple[str, str]]:
    """The conversation in a request's body, as role and text, without instructions."""
    messages: list[Table] | str = request["messages"] if "messages" in request else request["input"]
    if isinstance(messages, str):
        return [("user", messages)]
    return [
        (each["role"], _plain(each["content"]))
        for each in messages
        if each["role"] not in ("system", "developer")
    ]


def _plain(content: str | list[Table]) -> str:
    return content if isinstance(content, str) else "".join(part["text"] for part in content)
