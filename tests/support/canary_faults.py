"""Factories and a module that keep a Host from starting, with a secret in what they raise. A Host calls them by name."""

import os
from typing import NoReturn

from engine_intelligence import SetupError

SECRET_VARIABLE = "CANARY_OF_THE_FACTORY"
IMPORT_VARIABLE = "CANARY_OF_THE_IMPORT"

if IMPORT_VARIABLE in os.environ:
    raise RuntimeError(f"the settings hold {os.environ[IMPORT_VARIABLE]!r}, which is wrong")


def raises() -> NoReturn:
    raise ValueError(f"cannot log in with {os.environ[SECRET_VARIABLE]}")


def says_what_to_do() -> NoReturn:
    raise SetupError("missing-key", f"The key {os.environ[SECRET_VARIABLE]} is refused: put a new one in.")


def misses_a_module() -> NoReturn:
    raise ModuleNotFoundError(
        f"No module named {os.environ[SECRET_VARIABLE]!r}", name=os.environ[SECRET_VARIABLE]
    )


class Unnamed:
    """A candidate that raises when it is looked at."""

    @property
    def id(self) -> str:
        raise KeyboardInterrupt(os.environ[SECRET_VARIABLE])

    def __repr__(self) -> str:
        return os.environ[SECRET_VARIABLE]


def unnamed() -> Unnamed:
    return Unnamed()


def __getattr__(name: str) -> NoReturn:
    if name.startswith("__"):  # what the import system asks for
        raise AttributeError(name)
    raise RuntimeError(f"nothing of that name for {os.environ.get(SECRET_VARIABLE)}")
