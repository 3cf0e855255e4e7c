"""The OpenAI SDK as a backend uses it: one client, made off the event loop when it is needed, and its streams."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing
from typing import TYPE_CHECKING, TypeVar

import msgspec

from engine_intelligence.errors import ProviderError
from engine_intelligence.providers.failures import unreadable
from engine_intelligence.providers.vendor import Access, http_client, hush, is_at, until_end

if TYPE_CHECKING:
    from openai import AsyncOpenAI

StructT = TypeVar("StructT", bound=msgspec.Struct)


def is_vendor(base_url: str | None) -> bool:
    """Whether that is an address of OpenAI itself, of which there is one in each region, or none and so the vendor's."""
    return base_url is None or is_at(base_url, "api.openai.com")


class Connection:
    """The one client that a backend has at a time. It belongs to the thread of one running event loop."""

    def __init__(self) -> None:
        self._client: AsyncOpenAI | None = None
        self._access: Access | None = None
        self._making = asyncio.Lock()
        self._closed = False

    async def client(self, access: Access) -> AsyncOpenAI:
        """The client for that service. One of another address or key, which a server had before it crashed, is closed.

        Raises `ProviderError` once it is closed.
        """
        async with self._making:
            if self._closed:
                raise ProviderError("the provider is closed", reason="unavailable")
            client = self._client
            if client is None or self._access != access:
                if client is not None:
                    self._client = None
                    await client.close()
                # The import takes most of a second, and certificates are read; in a thread of its own, the loop has its turn
                # every few milliseconds of that.
                client = await asyncio.to_thread(_make_client, access)
                self._client, self._access = client, access
            return client

    async def close(self) -> None:
        """Close the client, and make no other. Idempotent."""
        self._closed = True
        client, self._client = self._client, None
        if client is not None:
            await client.close()


def _make_client(access: Access) -> AsyncOpenAI:
    import openai

    hush("openai")
    client = openai.AsyncOpenAI(
        api_key=access.key,
        base_url=access.base_url,
        max_retries=0,  # `Retrying` is the one who tries again
        http_client=http_client(openai, access.base_url),
    )
    if not is_vendor(access.base_url):
        # The SDK found them in the environment. They are for the vendor.
        client.organization = client.project = None
    return client


async def events_of(
    client: AsyncOpenAI, path: str, body: Mapping[str, object], service: str, has_ended: Callable[[], bool]
) -> AsyncGenerator[object, None]:
    """The events that `path` answers `body` with, each as soon as it is there; what of the body is `None` is left off.

    Once `has_ended()` says so, only what follows at once. Leaving it early closes the connection. Raises what the SDK raises,
    and `ProviderError` for what is no stream.
    """
    import openai

    # As plain data: the first time that the SDK makes its own types of a response, it holds the event loop for half a second.
    stream = await client.post(
        path,
        cast_to=object,
        body={name: value for name, value in body.items() if value is not None},
        stream=True,
        stream_cls=openai.AsyncStream[object],
    )
    async with stream, aclosing(until_end(stream, has_ended)) as events:
        # Some servers, and what is before them, answer with a page or a document of status 200.
        content_type = stream.response.headers.get("content-type", "").partition(";")[0].strip().lower()
        if content_type in ("text/html", "application/json"):
            raise ProviderError(
                f"{service} answered with {content_type}, not with a stream", reason="protocol"
            )
        async for event in events:
            yield event


def narrowed(value: object, struct: type[StructT], service: str) -> StructT:
    """A `struct` of an answer's data. Raises `ProviderError` if it is none."""
    try:
        return msgspec.convert(value, struct)
    except (msgspec.ValidationError, RecursionError):
        raise unreadable(service) from None
