"""Things of the user's that a configuration names as `package.module:name`, and their code, which may do anything."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import TypeVar

from engine_intelligence.errors import SetupError
from engine_intelligence.scrubbing import describe_exception

T = TypeVar("T")


def named_object(name: str, what: str, form: str) -> object | None:
    """What the module of `name` has under that name; `None` if it has nothing. The module is imported for it.

    `what` it is, such as "factory", and the `form` of its name are for the texts. Raises `SetupError`: `missing-package`, or
    `bad-factory` if `what` is "factory".
    """
    module_name, _, attribute = name.partition(":")
    if module_name == "__main__":
        raise SetupError(
            f"bad-{what}",
            f"The {what} {name!r} names the game's main module, which in the Host is another: "
            f"put the {what} into a module of its own, or name the main one as it is imported.",
        )
    if not module_name or not attribute:
        raise SetupError(f"bad-{what}", f'{name!r} is not the name of a {what}: write it as "{form}".')
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name and (module_name == error.name or module_name.startswith(error.name + ".")):
            raise SetupError(
                f"bad-{what}",
                f"The {what} {name!r} cannot be imported: there is no module {error.name!r} where the game finds its own. "
                f'Write it as "{form}", as the game would import it.',
            ) from None
        raise SetupError(
            "missing-package",
            f"The {what} {name!r} needs a package that is not installed ({error.name}). Install it where the Host runs.",
        ) from None
    except SetupError:
        raise
    except BaseException as error:  # noqa: BLE001 - a border: a module of the user's, which may even exit
        raise SetupError(
            f"bad-{what}",
            f"The module of the {what} {name!r} raised {describe_exception(error)}. Import it in Python to see where.",
        ) from None
    # A module may have a `__getattr__` of its own.
    return called(lambda: getattr(module, attribute, None), name, what)


def called(function: Callable[[], T], name: str, what: str) -> T:
    """What `function` returns, which calls the code of what `name` names. Raises `SetupError` for all that it raises."""
    try:
        return function()
    except SetupError:
        raise
    except BaseException as error:  # noqa: BLE001 - a border: a function of the user's, which may even exit
        raise SetupError(
            f"bad-{what}",
            f"The {what} {name!r} raised {describe_exception(error)}. Call it in Python, without arguments, to see where.",
        ) from None
