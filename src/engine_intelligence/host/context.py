"""What the providers of one Host share, and what each is told of it when it is made."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from copy import copy
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from engine_intelligence.conversation import ConversationStore
from engine_intelligence.errors import SetupError
from engine_intelligence.host.store import StoreOptions, make_store
from engine_intelligence.limits import Deadlines


class Entry(NamedTuple):
    """A provider of a configuration, of which another can be made up."""

    kind: str | None
    """`None` for what a factory makes."""
    options: Mapping[str, object]
    where: str
    has_budget: bool = False

    def __repr__(self) -> str:
        return f"Entry(where={self.where!r})"


class KindContext:
    """What providers of one Host share, and what they are told of it."""

    def __init__(
        self, deadlines: Deadlines, folder: Path | None = None, store: StoreOptions | None = None
    ) -> None:
        """`folder` is where relative paths begin: the directory of a `host.toml`; by default the working directory.
        `store` is where conversations are kept; by default in the user's data directory.
        """
        self.deadlines = deadlines
        self.folder = folder
        self._store = StoreOptions() if store is None else store
        self.entries: dict[str, Entry] = {}
        """The providers of the configuration, by id."""
        self._shared: dict[str, Any] = {}
        self._making: list[str] = []

    def with_first_text_s(self, first_text_s: float) -> KindContext:
        """The same for a provider that has so long to its first text."""
        other = copy(self)
        other.deadlines = msgspec.structs.replace(self.deadlines, first_text_s=first_text_s)
        return other

    @contextmanager
    def making(self, provider_id: str, where: str) -> Generator[None]:
        """Inside, that provider is being made. Raises `SetupError` if it is already, to be a part of itself."""
        chain = [*self._making, provider_id]
        if provider_id in self._making:
            raise SetupError(
                "config-invalid",
                f"{where}: a provider cannot stand in for itself, and here they go in a circle ({', '.join(chain)}).",
            )
        self._making.append(provider_id)
        try:
            yield
        finally:
            self._making.pop()

    def shared(self, name: str, make: Callable[[], Any]) -> Any:
        """The thing of that name, made when it is first asked for."""
        if name not in self._shared:
            self._shared[name] = make()
        return self._shared[name]

    def store(self) -> ConversationStore:
        """A store for the conversations of one provider, which closes it."""
        return make_store(self._store)
