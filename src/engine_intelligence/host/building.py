"""Structs from the tables of a configuration, and what is said of a table that cannot become one."""

from __future__ import annotations

import difflib
import functools
import os
import re
import types
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, Union, cast, get_args, get_origin, get_type_hints

import msgspec

from engine_intelligence.errors import SetupError
from engine_intelligence.providers.options import IS_PATH, MAY_BE_PATH

StructT = TypeVar("StructT", bound=msgspec.Struct)

# What msgspec says of a value of the wrong type, and where that is.
_WRONG_TYPE = re.compile(r"Expected `(?P<expected>[^`]+)`, got `(?P<got>[^`]+)`(?: - at `\$\.?(?P<at>.*)`)?")
_NOT_LISTED = re.compile(r"Invalid enum value .* - at `\$\.(?P<at>\w+)`", re.DOTALL)
_MISSING = re.compile(r"Object missing required field `(?P<name>\w+)`")

# The names of msgspec for types, as a person who writes TOML calls them.
_IN_WORDS = {
    "int": "a whole number",
    "float": "a number",
    "str": "text",
    "bool": "true or false",
    "array": "a list",
    "object": "a table",
    "datetime": "a date and time",
    "date": "a date",
    "time": "a time",
}


def build(
    struct: type[StructT], values: Mapping[str, object], where: str, folder: Path | None = None
) -> StructT:
    """A struct from a table. Relative paths in it begin at `folder` if it is given.

    Raises `SetupError` naming the key that is unknown, is missing or has a bad value, also in a table within the table.
    """
    names = struct.__struct_fields__
    for key in values:
        if key not in names:
            raise SetupError(
                "config-invalid",
                f"{where}: there is no key {key!r}{did_you_mean(key, names)}. The keys are {listed(names)}.",
            )
    encoded = dict(zip(names, struct.__struct_encode_fields__, strict=True))
    hints = _hints(struct)
    prepared = {
        encoded[key]: _prepared(hints[key], value, f"{where}.{key}", folder) for key, value in values.items()
    }
    try:
        return msgspec.convert(prepared, struct, strict=True)
    except msgspec.ValidationError as error:
        text = _in_words(str(error), struct, prepared)
        raise SetupError("config-invalid", f"{where}: {text}.") from None


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """` (did you mean 'x'?)` if one of `known` is nearly `name`, and otherwise nothing."""
    near = difflib.get_close_matches(name, list(known), n=1)
    return f" (did you mean {near[0]!r}?)" if near else ""


def listed(names: Iterable[str]) -> str:
    """The names, in order of the alphabet."""
    return ", ".join(sorted(names))


def starting_at(folder: Path | None, path: str) -> str:
    """`path`, which begins at `folder` if it is relative; `~` is the home directory."""
    expanded = os.path.expanduser(path)
    return expanded if folder is None else os.path.join(folder, expanded)


def _nested_structs(hint: Any) -> Iterator[type[msgspec.Struct]]:
    """The structs that a field of this type can hold."""
    for part in _parts(hint):
        if isinstance(part, type) and issubclass(part, msgspec.Struct):
            yield part


def struct_fields(struct: type[msgspec.Struct]) -> dict[str, type[msgspec.Struct]]:
    """The fields of a struct that hold one, and which."""
    return {name: nested for name, hint in _hints(struct).items() for nested in _nested_structs(hint)}


@functools.cache
def _hints(struct: type[msgspec.Struct]) -> dict[str, Any]:
    return get_type_hints(struct, include_extras=True)


def _parts(hint: Any) -> Iterator[Any]:
    """The members of a union, each with its annotation; a type that is none."""
    if get_origin(hint) in (Union, types.UnionType):
        for member in get_args(hint):
            yield from _parts(member)
    else:
        yield hint


def _prepared(hint: Any, value: object, where: str, folder: Path | None) -> object:
    if isinstance(value, dict):
        structs = list(_nested_structs(hint))
        return (
            build(structs[0], cast("dict[str, object]", value), where, folder)
            if structs
            else cast("object", value)
        )
    if isinstance(value, str) and value and folder is not None and _is_path(hint, value):
        return starting_at(folder, value)
    return value


def _is_path(hint: Any, value: str) -> bool:
    marks = [
        mark.extra
        for part in _parts(hint)
        if get_origin(part) is Annotated
        for mark in get_args(part)[1:]
        if isinstance(mark, msgspec.Meta)
    ]
    looks_like_one = value.endswith(".gguf") or "/" in value or os.sep in value
    return IS_PATH in marks or (MAY_BE_PATH in marks and looks_like_one)


def _in_words(text: str, struct: type[msgspec.Struct], values: Mapping[str, object]) -> str:
    """What msgspec says of `values`, as a person who wrote them can use it. Values are not told, but for a word of a list."""
    names = dict(zip(struct.__struct_encode_fields__, struct.__struct_fields__, strict=True))
    if found := _WRONG_TYPE.fullmatch(text):
        at = re.sub(r"^\w+", lambda name: names.get(name[0], name[0]), found["at"] or "it")
        expected = [_IN_WORDS.get(name, name) for name in found["expected"].split(" | ") if name != "null"]
        return f"{at} must be {' or '.join(expected)}, not {_IN_WORDS.get(found['got'], found['got'])}"
    if found := _NOT_LISTED.fullmatch(text):
        name = names[found["at"]]
        words = [repr(word) for word in _words(_hints(struct)[name])]
        guess = did_you_mean(str(values[found["at"]]), [word.strip("'") for word in words])
        return f"{name} must be {' or '.join(words)}{guess}"
    if found := _MISSING.fullmatch(text):
        return f"{names[found['name']]} is missing"
    for wire_name, name in names.items():
        text = text.replace(f"$.{wire_name}", name)
    return text


def _words(hint: Any) -> Iterator[object]:
    for part in _parts(hint):
        if get_origin(part) is Literal:
            yield from get_args(part)
