"""The outcome of `submit` and `cancel`: `Ok` or `Err`, returned and never raised (rule D4).

A frame loop is no place for `try`, so a refusal is a value. Both kinds can be told apart by `.ok` or in
`match`:

    match service.submit("May I pass?"):
        case Ok(started):
            print(started.id)
        case Err(error):
            print(error.hint)
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Generic, Literal, Never, TypeAlias, TypeVar

ValueT = TypeVar("ValueT", covariant=True)
ErrorT = TypeVar("ErrorT", covariant=True)

_TRUTH_MESSAGE = "a result is neither true nor false: test its `.ok`, or match it against Ok and Err"


@dataclass(frozen=True, slots=True)
class Ok(Generic[ValueT]):
    """The call was carried out; `value` is what it returns."""

    value: ValueT
    ok: Literal[True] = field(default=True, init=False, repr=False)

    def __bool__(self) -> Never:
        raise TypeError(_TRUTH_MESSAGE)


@dataclass(frozen=True, slots=True)
class Err(Generic[ErrorT]):
    """The call was refused and changed nothing; `error` says why and what to do next."""

    error: ErrorT
    ok: Literal[False] = field(default=False, init=False, repr=False)

    def __bool__(self) -> Never:
        raise TypeError(_TRUTH_MESSAGE)


Result: TypeAlias = Ok[ValueT] | Err[ErrorT]
