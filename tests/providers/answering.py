"""A service on the loopback that answers as a test says, and notes what it was asked and when its clients went."""

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeAlias

PATIENCE_S = 60.0  # only a test that fails waits for it


@dataclass
class Asked:
    """One request, and its connection."""

    method: str
    path: str
    headers: dict[str, str]
    body: Any
    writer: asyncio.StreamWriter
    gone: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when the client has closed the connection, or the service is at its end."""

    async def send(self, text: str | bytes) -> None:
        """A piece of a chunked body."""
        data = text.encode() if isinstance(text, str) else text
        self.writer.write(b"%x\r\n%b\r\n" % (len(data), data))
        await self.writer.drain()

    async def head(self, status: int = 200, headers: dict[str, str] | None = None) -> None:
        lines = {"content-type": "text/event-stream", "transfer-encoding": "chunked", **(headers or {})}
        text = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
        self.writer.write(f"HTTP/1.1 {status} X\r\n{text}\r\n".encode())
        await self.writer.drain()

    async def end(self) -> None:
        self.writer.write(b"0\r\n\r\n")
        await self.writer.drain()


Answer: TypeAlias = Callable[[Asked], Awaitable[None]]


def event(data: object) -> str:
    """One event of a stream."""
    return f"data: {data if isinstance(data, str) else json.dumps(data, ensure_ascii=False)}\n\n"


def stream(*events: object, headers: dict[str, str] | None = None) -> Answer:
    """A whole stream of these events, whose text is JSON unless it is text already."""

    async def answer(asked: Asked) -> None:
        await asked.head(headers=headers)
        for data in events:
            await asked.send(event(data))
        await asked.end()

    return answer


def silence_after(*events: object) -> Answer:
    """These events, and then nothing until the client has gone."""

    async def answer(asked: Asked) -> None:
        await asked.head()
        for data in events:
            await asked.send(event(data))
        await asked.gone.wait()

    return answer


def status(code: int, body: object = None, headers: dict[str, str] | None = None) -> Answer:
    """An answer that is no stream."""

    async def answer(asked: Asked) -> None:
        await asked.head(code, {"content-type": "application/json", **(headers or {})})
        await asked.send(json.dumps(body))
        await asked.end()

    return answer


@dataclass
class Service:
    """Where it is, what it will answer in this order, and what it was asked."""

    address: str
    answers: list[Answer]
    asked: list[Asked] = field(default_factory=list[Asked])
    connections: int = 0
    arrived: asyncio.Event = field(default_factory=asyncio.Event)
    """Set by a request."""

    @property
    def bodies(self) -> list[Any]:
        return [each.body for each in self.asked]


@asynccontextmanager
async def answering(*answers: Answer) -> AsyncGenerator[Service]:
    """A service that gives these answers, one for each request."""
    service: Service
    tasks: set[asyncio.Task[None]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        service.connections += 1
        begun, more = b"", None
        try:
            while (asked := await _request(begun, reader, writer)) is not None:
                service.asked.append(asked)
                service.arrived.set()
                answer = asyncio.ensure_future(service.answers.pop(0)(asked))
                more = asyncio.ensure_future(reader.read(1))  # of the next request, or of nothing: the end
                more.add_done_callback(partial(_note_end, asked))
                await answer
                begun = await more
        except ConnectionError:
            pass
        finally:
            if more is not None:
                more.cancel()
            writer.close()

    def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        tasks.add(asyncio.ensure_future(serve(reader, writer)))

    server = await asyncio.start_server(connected, "127.0.0.1", 0)
    port: int = server.sockets[0].getsockname()[1]
    service = Service(f"http://127.0.0.1:{port}/v1", list(answers))
    try:
        yield service
    finally:
        server.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _note_end(asked: Asked, more: asyncio.Future[bytes]) -> None:
    if more.cancelled() or more.exception() or not more.result():
        asked.gone.set()


async def _request(begun: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> Asked | None:
    try:
        head = (begun + await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    except asyncio.IncompleteReadError:
        return None
    first, *lines = head.rstrip().split("\r\n")
    method, path, _ = first.split(" ")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Asked(method, path, headers, json.loads(body) if body else None, writer)


def texts(pieces: Sequence[object]) -> list[str]:
    """Those of the pieces of an answer that are text."""
    return [piece for piece in pieces if isinstance(piece, str)]
