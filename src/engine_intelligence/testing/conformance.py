"""What a check finds, and the list of checks that one kit holds."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Generic, TypeVar

from engine_intelligence.scrubbing import describe_exception

StageT = TypeVar("StageT")


class ConformanceError(AssertionError):
    """A part does not do what a rule of the contract asks. `rule` is its id in `docs/spec.md`, `seen` what was seen."""

    def __init__(self, rule: str, seen: str) -> None:
        super().__init__(rule, seen)
        self.rule = rule
        self.seen = seen

    def __str__(self) -> str:
        return f"rule {self.rule}: {self.seen}"


def require(holds: bool, rule: str, seen: str) -> None:
    """Raise `ConformanceError` unless something holds."""
    if not holds:
        raise ConformanceError(rule, seen)


@contextmanager
def blamed(rule: str, call: str) -> Generator[None]:
    """What is raised inside breaks a rule. A finding of the kit itself passes through."""
    try:
        yield
    except ConformanceError:
        raise
    except GeneratorExit:
        raise  # the check itself is given up
    except BaseException as error:  # the border between the check and what is checked; it ends in one finding
        raise ConformanceError(rule, f"{call} raised {describe_exception(error)}") from error


@dataclass(frozen=True)
class Check(Generic[StageT]):
    """One behaviour, and the rules that it is about."""

    name: str
    rules: tuple[str, ...]
    summary: str
    run: Callable[[StageT], Awaitable[None]]


class Checks(Generic[StageT]):
    """The checks of one kind of part, in the order in which they run. Used as a decorator to add one."""

    def __init__(self) -> None:
        self._checks: dict[str, Check[StageT]] = {}

    def __iter__(self) -> Iterator[Check[StageT]]:
        return iter(self._checks.values())

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all, in order."""
        return tuple(self._checks)

    def about(
        self, *rules: str
    ) -> Callable[[Callable[[StageT], Awaitable[None]]], Callable[[StageT], Awaitable[None]]]:
        """Add a check. Its name is that of the function, in words; its docstring says what has to hold."""

        def add(run: Callable[[StageT], Awaitable[None]]) -> Callable[[StageT], Awaitable[None]]:
            name = run.__name__.replace("_", " ")
            summary = " ".join(inspect.cleandoc(run.__doc__ or "").split())
            self._checks[name] = Check(name, rules, summary, run)
            return run

        return add

    def select(self, only: str | Iterable[str] | None) -> list[Check[StageT]]:
        """The named ones, or all. Raises `ValueError` for a name that there is not."""
        if only is None:
            return list(self)
        names = [only] if isinstance(only, str) else list(only)
        unknown = [name for name in names if name not in self._checks]
        if unknown:
            raise ValueError(f"there is no check {unknown[0]!r}; there are: {', '.join(self._checks)}")
        return [self._checks[name] for name in names]
