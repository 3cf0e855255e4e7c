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

from typing import ClassVar, Generic, Literal, Never, TypeAlias, TypeVar

import msgspec

ValueT = TypeVar("ValueT", covariant=True)
ErrorT = TypeVar("ErrorT", covariant=True)

_TRUTH_MESSAGE = "a result is neither true nor false: test its `.ok`, or match it against Ok and Err"


class Ok(msgspec.Struct, Generic[ValueT], frozen=True):
    """The call was carried out; `value` is what it returns."""

    ok: ClassVar[Literal[True]] = True
    value: ValueT

    def __bool__(self) -> Never:
        raise TypeError(_TRUTH_MESSAGE)


class Err(msgspec.Struct, Generic[ErrorT], frozen=True):
    """The call was refused and changed nothing; `error` says why and what to do next."""

    ok: ClassVar[Literal[False]] = False
    error: ErrorT

    def __bool__(self) -> Never:
        raise TypeError(_TRUTH_MESSAGE)


Result: TypeAlias = Ok[ValueT] | Err[ErrorT]
