"""The client of the OpenAI SDK that a backend uses."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine_intelligence.providers.vendor import Access, http_client, hush, is_at

if TYPE_CHECKING:
    from openai import AsyncOpenAI


def is_vendor(base_url: str | None) -> bool:
    """Whether that is an address of OpenAI itself, of which there is one in each region, or none and so the vendor's."""
    return base_url is None or is_at(base_url, "api.openai.com")


def make_client(access: Access) -> AsyncOpenAI:
    """A client for that service. This imports the SDK, which takes most of a second."""
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
