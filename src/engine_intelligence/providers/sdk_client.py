"""The SDK of a vendor as a backend uses it: one client, made off the event loop when it is needed, and its streams."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing
from typing import Any, Generic, Protocol, TypeVar

import msgspec

from engine_intelligence.errors import ProviderError
from engine_intelligence.providers.failures import unreadable
from engine_intelligence.providers.vendor import Access, until_end


class Client(Protocol):
    """What is used of the SDKs' clients, which are of one make."""

    @property
    def post(self) -> Any:
        """Makes a request with a body."""
        ...

    @property
    def get(self) -> Any:
        """Makes one without."""
        ...

    async def close(self) -> None:
        """Closes the connections."""
        ...


ClientT = TypeVar("ClientT", bound=Client)
StructT = TypeVar("StructT", bound=msgspec.Struct)


class Connection(Generic[ClientT]):
    """The one client that a backend has at a time. It belongs to the thread of one running event loop."""

    def __init__(self, make: Callable[[Access], ClientT]) -> None:
        """`make` is called in another thread, and may import the SDK."""
        self._make = make
        self._client: ClientT | None = None
        self._access: Access | None = None
        self._making = asyncio.Lock()
        self._closed = False

    async def client(self, access: Access) -> ClientT:
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
                client = await asyncio.to_thread(self._make, access)
                self._client, self._access = client, access
            return client

    async def close(self) -> None:
        """Close the client, and make no other. Idempotent."""
        self._closed = True
        client, self._client = self._client, None
        if client is not None:
            await client.close()


class VendorService(Generic[ClientT]):
    """The service that a backend of a vendor speaks to: the client for it, and which of its models answers.

    It loads and asks nothing until `warm` or `client`. It belongs to the thread of one running event loop.
    """

    def __init__(
        self, access: Access, make: Callable[[Access], ClientT], *, name: str, model: str | None, models: str
    ) -> None:
        """`name` is how a person calls it. Where `model` is `None`, the first is taken that is listed at the path `models`."""
        self.name = name
        self.model = model
        """The name of the model; `None` until the service was asked for one."""
        self._access = access
        self._models = models
        self._connection = Connection(make)
        self._asking = asyncio.Lock()
        self._warming: asyncio.Task[None] | None = None

    def warm(self) -> None:
        """Begin to load the SDK, and ask for the model if none is named. Needs a running event loop."""
        if self._warming is None:
            self._warming = asyncio.get_running_loop().create_task(self._warm())

    async def client(self) -> ClientT:
        """The client, for which the SDK is loaded."""
        return await self._connection.client(self._access)

    async def chosen_model(self, client: ClientT) -> str:
        """The model that answers. Raises what the SDK raises, and `ProviderError` if there is none."""
        async with self._asking:
            if self.model is None:
                self.model = await first_model(client, self._models, self.name)
            return self.model

    async def close(self) -> None:
        """Close the client."""
        if self._warming is not None:
            self._warming.cancel()
            await asyncio.wait([self._warming])
        await self._connection.close()

    async def _warm(self) -> None:
        try:
            await self.chosen_model(await self.client())
        except Exception:  # noqa: BLE001 - a border: the first answer meets it as well, and tells
            pass


async def events_of(
    client: Client, path: str, body: Mapping[str, object], service: str, has_ended: Callable[[], bool]
) -> AsyncGenerator[object, None]:
    """The events that `path` answers `body` with, each as soon as it is there; what of the body is `None` is left off.

    Once `has_ended()` says so, only what follows at once. Leaving it early closes the connection. Raises what the SDK raises,
    and `ProviderError` for what is no stream.
    """
    sdk: Any = sys.modules[type(client).__module__.partition(".")[0]]
    # As plain data: the first time that the SDK makes its own types of a response, it holds the event loop for half a second.
    stream = await client.post(
        path,
        cast_to=object,
        body={name: value for name, value in body.items() if value is not None},
        stream=True,
        stream_cls=sdk.AsyncStream[object],
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


class _Model(msgspec.Struct):
    id: str


class _Models(msgspec.Struct):
    data: list[_Model]


async def first_model(client: Client, path: str, service: str) -> str:
    """The model that a service lists first at `path`. Raises what the SDK raises, and `ProviderError` if it has none."""
    models = narrowed(await client.get(path, cast_to=object), _Models, service).data
    if not models:
        raise ProviderError(
            f"{service} has no model: load one, or name it in the options", reason="unavailable"
        )
    return models[0].id


def narrowed(value: object, struct: type[StructT], service: str) -> StructT:
    """A `struct` of an answer's data. Raises `ProviderError` if it is none."""
    try:
        return msgspec.convert(value, struct)
    except (msgspec.ValidationError, RecursionError):
        raise unreadable(service) from None
