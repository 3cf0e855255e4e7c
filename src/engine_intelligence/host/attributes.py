"""What the source of a struct says of its fields: the text below each, and the bounds that its checks keep.

So an editor is told what the code holds, and nothing is written down twice.
"""

from __future__ import annotations

import ast
import inspect
import itertools
import re
import sys
import textwrap
from collections.abc import Callable, Iterator, Mapping
from typing import TypeAlias

import msgspec

# What a check of `providers/options.py` allows, in the words of JSON Schema.
_KEYWORDS = {"least": "minimum", "most": "maximum"}
_PATTERNS = {"check_address": "^https?://[^@?#]+$"}

_RULES = re.compile(r" \(rules? [A-Z]\d+(?:, [A-Z]\d+)*\)")

Number: TypeAlias = int | float

_OPERATORS: Mapping[type[ast.operator], Callable[[Number, Number], Number]] = {
    ast.Add: lambda left, right: left + right,
    ast.Sub: lambda left, right: left - right,
    ast.Mult: lambda left, right: left * right,
    ast.Pow: lambda left, right: left**right,
}


def attribute_texts(struct: type[msgspec.Struct]) -> dict[str, str]:
    """The text below each field, also of an inherited one, on one line. Empty where there is no source, as in a frozen game."""
    texts: dict[str, str] = {}
    for _, body in _bodies(struct):
        for field, below in itertools.pairwise(body):
            if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
                match below:
                    case ast.Expr(value=ast.Constant(value=str(text))):
                        texts[field.target.id] = in_one_line(text)
                    case _:
                        pass
    return texts


def in_one_line(text: str) -> str:
    """A docstring on one line, without the ids of rules, which say nothing to who configures a Host."""
    return _RULES.sub("", " ".join(text.split()))


def attribute_bounds(struct: type[msgspec.Struct]) -> dict[str, dict[str, object]]:
    """What the checks in `__post_init__` allow of each field, in JSON Schema, as far as it is the same for every value of the
    others.
    """
    bounds: dict[str, dict[str, object]] = {}
    for owner, body in _bodies(struct):
        for node in body:
            if isinstance(node, ast.FunctionDef) and node.name == "__post_init__":
                for name, found in _checks(node, vars(sys.modules[owner.__module__])):
                    bounds[name] = found
    return bounds


def _bodies(struct: type[msgspec.Struct]) -> Iterator[tuple[type, list[ast.stmt]]]:
    """A struct's class and those that it is derived from, base first, with what stands in each."""
    for owner in reversed(struct.__mro__):
        try:
            tree = ast.parse(textwrap.dedent(inspect.getsource(owner)))
        except (OSError, TypeError):
            continue
        if isinstance(tree.body[0], ast.ClassDef):
            yield owner, tree.body[0].body


def _checks(
    function: ast.FunctionDef, names: Mapping[str, object]
) -> Iterator[tuple[str, dict[str, object]]]:
    for node in ast.walk(function):
        match node:
            case ast.Call(
                func=ast.Name(id=check), args=[ast.Constant(value=str(field)), *_], keywords=keywords
            ):
                found: dict[str, object] = {}
                for keyword in keywords:
                    number = _number(keyword.value, names)
                    if keyword.arg in _KEYWORDS and number is not None:
                        found[_KEYWORDS[keyword.arg]] = number
                if check in _PATTERNS:
                    found["pattern"] = _PATTERNS[check]
                yield field, found
            case _:
                pass


def _number(node: ast.expr, names: Mapping[str, object]) -> Number | None:
    """What an expression of numbers comes to; `None` for anything else, such as one with another field in it."""
    match node:
        case ast.Constant(value=int() | float() as value):
            return value
        case ast.Name(id=name):
            named = names.get(name)
            return named if isinstance(named, int | float) else None
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            number = _number(operand, names)
            return None if number is None else -number
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
            first, second = _number(left, names), _number(right, names)
            return None if first is None or second is None else _OPERATORS[type(op)](first, second)
        case _:
            return None
