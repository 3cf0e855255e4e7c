"""A bound on the lines of a body: the SDKs have none, and would collect a line without an end until memory is gone."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterable

import httpx2

from engine_intelligence.errors import ProviderError

# An event of a stream is one line. The longest repeats the whole answer: the default bound of an output, 65,536 characters,
# is 384 KiB where each is written as \\uXXXX, and this is twenty times that.
MAX_LINE_BYTES = 8 * 2**20


async def bound_lines(response: httpx2.Response) -> None:
    """Make the body of `response` raise `ProviderError` once it is in a line longer than `MAX_LINE_BYTES`."""
    body = response.stream
    assert isinstance(body, httpx2.AsyncByteStream)
    response.stream = _Lines(body)


class _Lines(httpx2.AsyncByteStream):
    def __init__(self, body: httpx2.AsyncByteStream) -> None:
        self._body = body

    def __aiter__(self) -> AsyncGenerator[bytes, None]:
        return with_bounded_lines(self._body)

    async def aclose(self) -> None:
        await self._body.aclose()


async def with_bounded_lines(pieces: AsyncIterable[bytes]) -> AsyncGenerator[bytes, None]:
    """The same pieces, as soon as each is there."""
    length = 0
    async for piece in pieces:
        last = max(piece.rfind(b"\n"), piece.rfind(b"\r"))
        length = len(piece) - 1 - last if last >= 0 else length + len(piece)
        if length > MAX_LINE_BYTES:
            raise ProviderError("the service sent a line without an end", reason="protocol")
        yield piece
