"""The providers of the table: each made as a Host makes it, for a double at some address."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from types import ModuleType

import pytest

from engine_intelligence import Deadlines
from engine_intelligence.host.context import KindContext
from engine_intelligence.host.kinds import make_backend
from engine_intelligence.providers.backend import Backend

VARIABLE = "GATEKEEPER_PLACE_OF_KEY"
AGENTS = "agents_of_the_double"
ALL_TURNS = 2**20
"""A bound of the turns that are sent along which none of these conversations comes near."""


@dataclass(frozen=True, eq=False)
class Column:
    """A provider: the kind, and the options for a double's address."""

    name: str
    kind: str
    options: Callable[[str, int], Mapping[str, object]]
    """Makes them of the address and the number of attempts."""

    @contextmanager
    def backend(self, address: str, key: str, attempts: int, deadlines: Deadlines) -> Generator[Backend]:
        """The backend, whose key is where its options say. Whoever runs it closes it."""
        with self.maker(key, attempts, deadlines) as make:
            yield make(address)

    @contextmanager
    def maker(
        self, key: str, attempts: int, deadlines: Deadlines, more: Mapping[str, object] | None = None
    ) -> Generator[Callable[[str], Backend]]:
        """What makes the backend for an address, with `more` options. Whoever runs it closes it."""
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv(VARIABLE, key)
            # Waits as short as a test needs; their lengths are proved where the retries are.
            patch.setattr("engine_intelligence.providers.retries._backoff", _at_once)

            def make(address: str) -> Backend:
                patch.setitem(sys.modules, AGENTS, _agents(address, key))
                options = {**self.options(address, attempts), **(more or {})}
                return make_backend(self.kind, options, KindContext(deadlines), "the table of providers")

            yield make


def _at_once(state: object) -> float:
    return 0.001


def _openai(interface: str) -> Callable[[str, int], Mapping[str, object]]:
    return lambda address, attempts: {
        "model": "double-1",
        "interface": interface,
        "base_url": f"{address}/v1",
        "instructions": "You keep a gate.",
        "attempts": attempts,
        "history_tokens": ALL_TURNS,
        "key": {"env": VARIABLE},
    }


def _anthropic(address: str, attempts: int) -> Mapping[str, object]:
    return {
        "model": "double-1",
        "base_url": address,
        "instructions": "You keep a gate.",
        "attempts": attempts,
        "history_tokens": ALL_TURNS,
        "key": {"env": VARIABLE},
    }


def _pydantic_ai(address: str, attempts: int) -> Mapping[str, object]:
    return {"agent": f"{AGENTS}:gatekeeper", "attempts": attempts, "history_tokens": ALL_TURNS}


def _agents(address: str, key: str) -> ModuleType:
    """A module of a user's with an agent, whose model is the double by the interface that most servers have."""

    class Agents(ModuleType):
        def __getattr__(self, name: str) -> object:
            if name != "gatekeeper":
                raise AttributeError(name)
            from pydantic_ai import Agent
            from pydantic_ai.models.openai import OpenAIChatModel
            from pydantic_ai.providers.openai import OpenAIProvider

            model = OpenAIChatModel(
                "double-1", provider=OpenAIProvider(base_url=f"{address}/v1", api_key=key)
            )
            return Agent(model, instructions="You keep a gate.")

    return Agents(AGENTS)


CHAT = Column("openai, chat", "openai", _openai("chat"))
RESPONSES = Column("openai, responses", "openai", _openai("responses"))
MESSAGES = Column("anthropic", "anthropic", _anthropic)
AGENT = Column("pydantic-ai", "pydantic-ai", _pydantic_ai)

COLUMNS = (CHAT, RESPONSES, MESSAGES, AGENT)
