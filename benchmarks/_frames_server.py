"""A double of an OpenAI-compatible server: streams that all begin at one time, at 50 tokens a second each.

It is run as a program and prints its port. What a block is to be stands in the request, as its model: "32x150" are 32 streams
of 150 tokens each. The first token is sent when all of them have come; each token's text is the time at which it is sent, by
the monotonic clock, which is one for all processes of a Linux system. `GET /begin` is answered with the time of the first
token.
"""

from __future__ import annotations

import asyncio
import json
import re
import sys
import time

TOKENS_A_SECOND = 50
BEFORE_FIRST_TOKEN_S = 0.2

_HEAD = b"HTTP/1.1 200 OK\r\nConnection: close\r\n"
_STREAM_HEAD = (
    _HEAD + b"Content-Type: text/event-stream; charset=utf-8\r\nCache-Control: no-cache\r\n"
    b"Transfer-Encoding: chunked\r\n\r\n"
)
_LENGTH = re.compile(rb"(?i)\r\ncontent-length: *(\d+)\r\n")


def plan_of(streams: int, tokens: int) -> str:
    """The name of the model that asks for so many streams of so many tokens."""
    return f"{streams}x{tokens}"


def sizes_of(plan: str) -> tuple[int, int]:
    """The streams of a block, and the tokens of each."""
    streams, _, tokens = plan.partition("x")
    return int(streams), int(tokens)


def _event(delta: dict[str, str], finish: str | None) -> bytes:
    choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
    chunk = {
        "id": "chatcmpl-0123456789abcdef",
        "object": "chat.completion.chunk",
        "created": 1_700_000_000,
        "model": "double",
        "system_fingerprint": "fp_double",
        "choices": [choice],
    }
    return b"data: " + json.dumps(chunk, separators=(",", ":")).encode() + b"\n\n"


def _chunked(body: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(body), body)


_BEFORE, _AFTER = _event({"content": "@"}, None).split(b"@")
_LAST = _chunked(_event({}, "stop")) + _chunked(b"data: [DONE]\n\n") + b"0\r\n\r\n"


class Double:
    """The streams and the watchers of the block that is being gathered."""

    def __init__(self) -> None:
        self._streams: list[asyncio.StreamWriter] = []
        self._watchers: list[asyncio.StreamWriter] = []
        self._sending: set[asyncio.Task[None]] = set()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Take one request, which is the only one of its connection."""
        head = await reader.readuntil(b"\r\n\r\n")
        if head.startswith(b"GET /begin "):
            self._watchers.append(writer)
            return
        length = _LENGTH.search(head)
        body = json.loads(await reader.readexactly(int(length[1]) if length else 0))
        writer.write(_STREAM_HEAD)
        self._streams.append(writer)
        streams, tokens = sizes_of(body["model"])
        if len(self._streams) == streams:
            task = asyncio.create_task(self._send(tokens))
            self._sending.add(task)
            task.add_done_callback(self._sending.discard)

    async def _send(self, tokens: int) -> None:
        """All tokens of all streams, in the order in which they are due: no two streams speak at the same moment."""
        streams, self._streams = self._streams, []
        watchers, self._watchers = self._watchers, []
        begin = time.monotonic() + BEFORE_FIRST_TOKEN_S
        for watcher in watchers:
            watcher.write(_HEAD + b"\r\n%.6f\n" % begin)
            watcher.close()
        step = 1 / TOKENS_A_SECOND
        for number in range(tokens):
            for at, writer in enumerate(streams):
                ahead = begin + (number + at / len(streams)) * step - time.monotonic()
                if ahead > 0:
                    await asyncio.sleep(ahead)
                writer.write(_chunked(_BEFORE + b"%.6f " % time.monotonic() + _AFTER))
        for writer in streams:
            writer.write(_LAST)
            writer.close()


async def main() -> None:
    """Serve until standard input ends, which is when whoever started this ends."""
    server = await asyncio.start_server(Double().serve, "127.0.0.1", 0, backlog=256)
    print(server.sockets[0].getsockname()[1], flush=True)
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), sys.stdin
    )
    await reader.read()
    server.close()


if __name__ == "__main__":
    asyncio.run(main())
