"""What providers of vendors have in common: their options, where their key is, and how one connects to them."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import AsyncGenerator, AsyncIterable, Callable
from types import ModuleType
from typing import Any, TypeVar
from urllib.parse import urlsplit

import msgspec

from engine_intelligence.providers.options import (
    PathOption,
    check_address,
    check_number,
    check_text,
    check_whole_number,
)

# A service that does not take a connection in this time is down or unreachable. How long it may think after that is the affair
# of the Host's deadlines, so that there is one owner of them.
CONNECT_TIMEOUT_S = 10.0

# What follows the end of an answer, usage and the end of the body, is sent with it. A connection that has not ended by then is
# not worth waiting for.
LINGER_S = 1.0

T = TypeVar("T")


class KeySource(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where a key is: exactly one of `env`, `file` and `keyring`. The key itself never stands in a configuration."""

    env: str | None = None
    """The name of an environment variable of the Host."""
    file: PathOption | None = None
    """The path of a file that holds the key and nothing else; `~` is the home directory."""
    keyring: str | None = None
    """The name of a service in the system's keyring (`pip install 'engine-intelligence[keyring]'`)."""
    user: str | None = None
    """The name of the entry in the keyring; by default that of the service."""

    def __post_init__(self) -> None:
        places = [place for place in (self.env, self.file, self.keyring) if place is not None]
        if len(places) != 1 or not places[0]:
            raise ValueError('key must name one place: env = "NAME", file = "PATH" or keyring = "SERVICE"')
        if self.user is not None and self.keyring is None:
            raise ValueError("key: user belongs to keyring")


class Access(msgspec.Struct, frozen=True):
    """What a Host found out about a service: the key, which no `repr` shows (rule E2), and its address if not the vendor's."""

    key: str
    base_url: str | None = None

    def __repr__(self) -> str:
        return f"Access(base_url={self.base_url!r})"


class VendorOptions(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The options that each provider of a vendor has. A bad value raises `ValueError` that names field and value."""

    model: str | None = None
    """The vendor's name of a model."""
    instructions: str = ""
    """What the model is told before the conversation; empty: nothing (rule P4)."""
    max_tokens: int = 1024
    """Bound of one answer, in tokens, 1 to 1048576. An answer that it cuts off completes with `finish` "length"."""
    temperature: float | None = None
    """Randomness, 0.0 to 2.0; absent: the vendor's default."""
    # Two hundred turns of a game's dialogue; a conversation costs its whole length with each answer.
    history_tokens: int = 16_384
    """Bound of the earlier turns that are sent along, in estimated tokens, 0 to 1048576; the newest whole ones that fit."""
    key: KeySource | None = None
    """Where the key is; absent: in the vendor's own environment variable."""
    base_url: str | None = None
    """The address of a compatible service; absent: that of the vendor's own environment variable, or the vendor's."""
    # Waits of at most half a second, one and two between them: a passing fault is over, and a player still there.
    attempts: int = 4
    """How often a request is made in all, 1 to 10, where a fault may pass and nothing was said yet."""

    def __post_init__(self) -> None:
        if self.model is not None and not self.model:
            raise ValueError("model must be a name, not ''")
        check_text("instructions", self.instructions)
        check_whole_number("max_tokens", self.max_tokens, least=1, most=2**20)
        check_whole_number("history_tokens", self.history_tokens, least=0, most=2**20)
        check_whole_number("attempts", self.attempts, least=1, most=10)
        if self.temperature is not None:
            check_number("temperature", self.temperature, least=0.0, most=2.0)
        if self.base_url is not None:
            check_address("base_url", self.base_url)


def http_client(sdk: ModuleType, base_url: str | None) -> Any:
    """An HTTP client of `sdk` for the service at `base_url`, or the vendor's.

    It follows no redirect, which could carry a key to another host. A proxy that the environment names is used, except on
    loopback, which no proxy can reach. It takes no compressed answer, since what compresses a stream holds its text back. A
    line without an end is a failure, and not a Host without memory.
    """
    import httpx2

    is_here = base_url is not None and is_loopback(base_url)
    # llama.cpp promises to keep a connection, and closes it after a stream: a request that is made just then fails. On the
    # loopback a new one costs nothing. Elsewhere it costs round trips, and the request is made again.
    kept = 0 if is_here else 100
    from engine_intelligence.providers.lines import bound_lines

    hush("httpx2", "httpcore2")  # the headers of a response, which may quote the key
    return sdk.DefaultAsyncHttpxClient(
        follow_redirects=False,
        headers={"Accept-Encoding": "identity"},
        event_hooks={"response": [bound_lines]},
        trust_env=not is_here,
        limits=httpx2.Limits(max_connections=1000, max_keepalive_connections=kept),
        timeout=sdk.Timeout(None, connect=CONNECT_TIMEOUT_S),
    )


def is_loopback(address: str) -> bool:
    """Whether `address` is on this machine."""
    host = urlsplit(address).hostname or ""
    return host in ("localhost", "::1") or re.fullmatch(r"127(\.\d{1,3}){3}", host) is not None


def is_at(address: str, host: str) -> bool:
    """Whether `address` is at `host` or below it."""
    return bool(host) and f".{urlsplit(address).hostname or ''}".endswith(f".{host}")


def hush(*loggers: str) -> None:
    """Keep SDKs from logging request bodies, which they do at DEBUG, unless a logger was set to that by name (rule E2)."""
    for name in loggers:
        log = logging.getLogger(name)
        if log.level == logging.NOTSET:
            # No lower than it was: each request at INFO would be a line where warnings are wanted.
            log.setLevel(max(logging.INFO, log.getEffectiveLevel()))


async def until_end(stream: AsyncIterable[T], has_ended: Callable[[], bool]) -> AsyncGenerator[T, None]:
    """What comes on `stream`; once `has_ended()` says so, only what still comes within `LINGER_S`.

    A stream that is read to the end of its body leaves its connection to the next request.
    """
    events = aiter(stream)
    while True:
        try:
            async with asyncio.timeout(LINGER_S if has_ended() else None):
                event = await anext(events)
        except StopAsyncIteration:
            return
        except TimeoutError:
            if has_ended():
                return
            raise
        yield event
