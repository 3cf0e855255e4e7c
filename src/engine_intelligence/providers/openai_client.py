"""The OpenAI SDK as a backend uses it: one client, made off the event loop when it is needed, and what it reads narrowed."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import urlsplit

import msgspec

from engine_intelligence.errors import ProviderError
from engine_intelligence.providers.failures import unreadable
from engine_intelligence.providers.vendor import Access, http_client, hush

if TYPE_CHECKING:
    import httpx2
    from openai import AsyncOpenAI

StructT = TypeVar("StructT", bound=msgspec.Struct)


def is_vendor(base_url: str | None) -> bool:
    """Whether that is an address of OpenAI itself, of which there is one in each region, or none and so the vendor's."""
    host = "api.openai.com" if base_url is None else urlsplit(base_url).hostname or ""
    return host == "api.openai.com" or host.endswith(".api.openai.com")


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
    _ = (
        client.chat.completions,
        client.responses,
        client.models,
    )  # each is imported when it is first looked at
    return client


def narrowed(value: object, struct: type[StructT], service: str) -> StructT:
    """What the SDK made of an answer, which it does not check. Raises `ProviderError` if it is no `struct`."""
    try:
        return msgspec.convert(value, struct, from_attributes=True)
    except (msgspec.ValidationError, RecursionError):
        raise unreadable(service) from None


def check_is_stream(response: httpx2.Response, service: str) -> None:
    """Raise `ProviderError` for a page or a document, which some servers and what is before them send with status 200."""
    content_type = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    if content_type in ("text/html", "application/json"):
        raise ProviderError(f"{service} answered with {content_type}, not with a stream", reason="protocol")
