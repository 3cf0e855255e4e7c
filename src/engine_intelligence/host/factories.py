"""Providers that a function of the user's makes, named as `package.module:function`."""

from __future__ import annotations

import importlib
from typing import Any

from engine_intelligence.contracts import IntelligenceProvider
from engine_intelligence.errors import SetupError
from engine_intelligence.scrubbing import describe_exception


def call_factory(name: str) -> list[IntelligenceProvider]:
    """The providers that the function `package.module:function` returns.

    Raises `SetupError` if it cannot be found or called.
    """
    module_name, _, function_name = name.partition(":")
    if module_name == "__main__":
        raise SetupError(
            "bad-factory",
            f"The factory {name!r} names the game's main module, which in the Host is another: "
            "put the factory into a module of its own, or name the main one as it is imported.",
        )
    if not module_name or not function_name:
        raise SetupError(
            "bad-factory", f'{name!r} is not the name of a factory: write it as "package.module:function".'
        )
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name and (module_name == error.name or module_name.startswith(error.name + ".")):
            raise SetupError(
                "bad-factory",
                f"The factory {name!r} cannot be imported: there is no module {error.name!r} where the game finds its own. "
                'Write it as "package.module:function", as the game would import it.',
            ) from None
        raise SetupError(
            "missing-package",
            f"The factory {name!r} needs a package that is not installed ({error.name}). Install it where the Host runs.",
        ) from None
    except SetupError:
        raise
    except BaseException as error:  # noqa: BLE001 - a border: a module of the user's, which may even exit
        raise SetupError(
            "bad-factory",
            f"The module of the factory {name!r} raised {describe_exception(error)}. Import it in Python to see where.",
        ) from None
    try:
        factory = getattr(module, function_name, None)  # a module may have a `__getattr__` of its own
        if not callable(factory):
            raise SetupError(
                "bad-factory",
                f"The module {module_name!r} has no function {function_name!r}: check the name.",
            )
        made: Any = factory()
        candidates: list[Any] = list(made) if hasattr(made, "__iter__") else [made]
    except SetupError:
        raise
    except BaseException as error:  # noqa: BLE001 - a border: a function of the user's, which may even exit
        raise SetupError(
            "bad-factory",
            f"The factory {name!r} raised {describe_exception(error)}. Call it in Python, without arguments, to see where.",
        ) from None
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


def _is_provider(candidate: Any) -> bool:
    try:
        has_id = isinstance(candidate.id, str)
    except BaseException:  # noqa: BLE001 - a border: an object of the user's
        return False
    return has_id and all(
        callable(getattr(candidate, method, None)) for method in ("start", "cancel", "close")
    )
