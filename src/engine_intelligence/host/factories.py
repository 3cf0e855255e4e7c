"""Providers that a function of the user's makes, named as `package.module:function`."""

from __future__ import annotations

from typing import Any

from engine_intelligence.contracts import IntelligenceProvider
from engine_intelligence.errors import SetupError
from engine_intelligence.host.naming import called, named_object


def call_factory(name: str) -> list[IntelligenceProvider]:
    """The providers that the function `package.module:function` returns.

    Raises `SetupError` if it cannot be found or called.
    """
    factory = named_object(name, "factory", "package.module:function")
    if not callable(factory):
        module_name, _, function_name = name.partition(":")
        raise SetupError(
            "bad-factory", f"The module {module_name!r} has no function {function_name!r}: check the name."
        )
    candidates = called(lambda: _all_of(factory()), name, "factory")
    for candidate in candidates:
        if not _is_provider(candidate):
            raise SetupError(
                "bad-factory",
                f"The factory {name!r} returned {type(candidate).__name__}, which is no provider: "
                "return an object with id, start, cancel and close, such as a StreamProvider, or several of them.",
            )
    if not candidates:
        raise SetupError("bad-factory", f"The factory {name!r} returned no provider.")
    ids = [candidate.id for candidate in candidates]
    if len(set(ids)) < len(ids):
        raise SetupError(
            "bad-factory", f"The factory {name!r} returned two providers of the same id: each needs its own."
        )
    return candidates


def made_by_factory(factory: str, provider_id: str, where: str) -> IntelligenceProvider:
    """The one of id `provider_id` among those that the factory makes. Raises `SetupError` if there is none."""
    for provider in call_factory(factory):
        if provider.id == provider_id:
            return provider
    raise SetupError(
        "bad-factory", f"{where}: the factory {factory!r} made no provider whose id is {provider_id!r}."
    )


def _all_of(made: Any) -> list[Any]:
    return list(made) if hasattr(made, "__iter__") else [made]


def _is_provider(candidate: Any) -> bool:
    try:
        has_id = isinstance(candidate.id, str)
    except BaseException:  # noqa: BLE001 - a border: an object of the user's
        return False
    return has_id and all(
        callable(getattr(candidate, method, None)) for method in ("start", "cancel", "close")
    )
