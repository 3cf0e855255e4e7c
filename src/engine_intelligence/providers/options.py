"""What the options of providers have in common: types that mark a path, and checks.

Each check raises `ValueError` that names the field and the value.
"""

from __future__ import annotations

import math
from typing import Annotated, TypeAlias
from urllib.parse import urlsplit

import msgspec

from engine_intelligence.scrubbing import is_encodable

IS_PATH = {"path": "always"}
MAY_BE_PATH = {"path": "sometimes"}

PathOption: TypeAlias = Annotated[str, msgspec.Meta(extra=IS_PATH)]
"""The path of a file or directory. In a `host.toml` a relative one begins at the directory of that file."""
NameOrPath: TypeAlias = Annotated[str, msgspec.Meta(extra=MAY_BE_PATH)]
"""A name, or a path, which is told by a slash in it or by its ending `.gguf`."""


def check_whole_number(name: str, value: object, *, least: int, most: int) -> None:
    """Refuse what is no whole number from `least` to `most`; a bool is none."""
    # `type() is int` rather than isinstance: True would pass for 1.
    if type(value) is not int or not least <= value <= most:
        raise ValueError(f"{name} must be a whole number from {least} to {most}, not {value!r}")


def check_number(name: str, value: float, *, least: float, most: float) -> None:
    """Refuse what is no finite number from `least` to `most`."""
    is_number = type(value) in (int, float)  # a bool is a number to isinstance
    if not is_number or not math.isfinite(value) or not least <= value <= most:
        raise ValueError(f"{name} must be a number from {least} to {most}, not {value!r}")


def check_text(name: str, value: str) -> None:
    """Refuse text that UTF-8 cannot encode."""
    if not is_encodable(value):
        raise ValueError(f"{name} must be text that UTF-8 can encode, not text with a lone surrogate")


def check_address(name: str, value: str) -> None:
    """Refuse what is no address of a service, and one that holds a password, without saying it."""
    try:
        parts = urlsplit(value)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        raise ValueError(f"{name} must be an address such as https://host/v1") from None
    if not usable or parts.query or parts.fragment:
        raise ValueError(f"{name} must be an address such as https://host/v1, without ? and #")
    if "@" in parts.netloc:
        raise ValueError(
            f"{name} must not hold a name or password: say where the key is with key.env, key.file or key.keyring"
        )
