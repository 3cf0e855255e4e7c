"""The SDK's side of the benchmark `frames`: what every contender reads its tokens with, and the SDK's own loop as a program.

As a program it reads plans from standard input, a line each, takes all streams of a plan, drops their chunks and prints how
many held a token. That is what the same tokens cost without anything of this package.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress
from typing import TYPE_CHECKING

from _frames_server import sizes_of

if TYPE_CHECKING:
    from openai import AsyncOpenAI, AsyncStream
    from openai.types.chat import ChatCompletionChunk

URL_VARIABLE = "BENCHMARK_FRAMES_URL"
"""Where the double is, for the processes of the benchmark."""
NICENESS = 10
"""That of a Host (rule H8)."""


def client() -> AsyncOpenAI:
    """A client of the double."""
    import openai  # not at the top: it takes a second, and the game of most contenders is without it

    return openai.AsyncOpenAI(
        base_url=os.environ[URL_VARIABLE],
        api_key="none",
        max_retries=0,
        timeout=60,
        http_client=openai.DefaultAsyncHttpxClient(trust_env=False),
    )


async def open_stream(sdk: AsyncOpenAI, plan: str) -> AsyncStream[ChatCompletionChunk]:
    """One stream of a plan."""
    return await sdk.chat.completions.create(
        model=plan, messages=[{"role": "user", "content": "Speak."}], stream=True
    )


async def tokens(sdk: AsyncOpenAI, plan: str) -> AsyncGenerator[str, None]:
    """The texts of one stream of a plan."""
    async with await open_stream(sdk, plan) as stream:
        async for chunk in stream:
            for choice in chunk.choices:
                if choice.delta.content:
                    yield choice.delta.content


async def count_tokens(sdk: AsyncOpenAI, plan: str) -> int:
    """Take all streams of a plan and drop their texts; the number of these."""

    async def one() -> int:
        count = 0
        async with aclosing(tokens(sdk, plan)) as texts:
            async for _ in texts:
                count += 1
        return count

    return sum(await asyncio.gather(*(one() for _ in range(sizes_of(plan)[0]))))


async def count_chunks(sdk: AsyncOpenAI, plan: str) -> int:
    """The same with nothing at all between the SDK and the bin: all chunks but the last of each stream hold a token."""

    async def one() -> int:
        count = 0
        async with await open_stream(sdk, plan) as stream:
            async for _ in stream:
                count += 1
        return count - 1

    return sum(await asyncio.gather(*(one() for _ in range(sizes_of(plan)[0]))))


async def main() -> None:
    """Answer plans until standard input ends."""
    with suppress(OSError):
        os.nice(NICENESS)
    sdk = client()
    print("ready", flush=True)
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), sys.stdin
    )
    while line := await reader.readline():
        print(await count_chunks(sdk, line.decode().strip()), flush=True)
    await sdk.close()


if __name__ == "__main__":
    asyncio.run(main())
