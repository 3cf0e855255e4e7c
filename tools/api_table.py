"""Write the tables of public names into `docs/reference.md` and of the test kit's checks into `docs/testing.md`, from
the package's own docstrings.

python tools/api_table.py          print the tables
python tools/api_table.py --write  put them into the pages
"""

import inspect
import re
import sys
import types
import typing
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import engine_intelligence
import engine_intelligence.testing
from engine_intelligence.testing import port_checks, provider_checks, service_checks, strategies
from engine_intelligence.testing.conformance import Check

PAGE = Path(__file__).parents[1] / "docs" / "reference.md"
TESTING_PAGE = PAGE.with_name("testing.md")

GROUPS = {
    "For a game": [
        "spawn_host",
        "connect",
        "freeze_support",
        "HostConnection",
        "IntelligenceService",
        "IntelligencePortClient",
        "create_intelligence_port_client",
        "CloseTask",
        "intelligence_plugin",
        "IntelligenceLimits",
        "Deadlines",
    ],
    "Data": [
        "SessionRef",
        "ActivityRef",
        "ActivityRequest",
        "ActivitySubmission",
        "IntelligenceEvent",
        "TextDelta",
        "Completed",
        "Failed",
        "Cancelled",
        "Usage",
        "FinishReason",
    ],
    "Results and errors": [
        "Result",
        "Ok",
        "Err",
        "IntelligenceError",
        "IntelligenceFailure",
        "FailureDetail",
        "ErrorCode",
        "FailureReason",
        "intelligence_failure",
        "SetupError",
        "PortEnded",
    ],
    "For a provider": [
        "StreamProvider",
        "Prompt",
        "Finish",
        "ConversationStore",
        "Turn",
        "SqliteConversationStore",
        "latest_turns",
        "estimated_tokens",
        "ProviderError",
        "IntelligenceProvider",
        "ActivitySink",
    ],
    "For a Host or a runtime of your own": [
        "create_intelligence_runtime",
        "IntelligenceRuntime",
        "bind_intelligence_port",
        "IntelligencePortBinding",
        "MessagePort",
    ],
}

TESTING_GROUPS = {
    "For a test, from `engine_intelligence.testing`": [
        "check_provider",
        "PROVIDER_CHECKS",
        "check_port",
        "PORT_CHECKS",
        "PortPair",
        "check_service",
        "SERVICE_CHECKS",
        "ConformanceError",
        "CHECK_DEADLINES",
        "ManualClock",
        "ManualProvider",
        "ScriptedProvider",
        "Script",
        "Transcript",
        "FaultyPort",
        "PortFault",
        "Raise",
        "Drop",
        "Delay",
        "End",
        "Garble",
    ],
}


def summary(docstring: str | None) -> str:
    """The first sentence of a docstring, on one line."""
    paragraph = " ".join(inspect.cleandoc(docstring or "").split("\n\n", 1)[0].split())
    first = re.match(r".*?\.(?= |$)", paragraph)
    return (first.group() if first else paragraph).replace("|", "\\|")


def value_summary(value: object) -> str:
    """What a constant is, or what a type alias stands for; neither has a docstring that a program could read."""
    if isinstance(value, tuple):
        return "The names of the checks, which stand on [the page on testing](testing.md)."
    if not typing.get_args(value):
        return f"`{value!r}`"
    return alias_summary(value)


def alias_summary(alias: object) -> str:
    """What a type alias stands for."""
    arguments = typing.get_args(alias)
    if typing.get_origin(alias) is typing.Literal:
        return "One of " + ", ".join(f"`{argument!r}`" for argument in arguments) + "."
    names = [f"`{getattr(each, '__origin__', each).__name__}`" for each in arguments]
    return f"{', '.join(names[:-1])} or {names[-1]}."


def members(cls: type) -> Iterator[tuple[str, str]]:
    """The public methods and properties of a class that it documents itself, with their summaries."""
    for name, value in vars(cls).items():
        if name.startswith("_"):
            continue
        if isinstance(value, property):
            yield name, summary(value.__doc__)
        elif inspect.isroutine(value):
            parameters = [each for each in inspect.signature(getattr(cls, name)).parameters if each != "self"]
            yield f"{name}({', '.join(parameters)})", summary(value.__doc__)


def rows() -> Iterator[str]:
    """The lines of the page of names between its two marks."""
    yield from rows_of(engine_intelligence, GROUPS)
    yield from rows_of(engine_intelligence.testing, TESTING_GROUPS)


def rows_of(module: types.ModuleType, groups: dict[str, list[str]]) -> Iterator[str]:
    """One table for each group of names of a module."""
    for group, names in groups.items():
        yield f"## {group}"
        yield ""
        yield "| name | |"
        yield "| --- | --- |"
        for name in names:
            value = getattr(module, name)
            if isinstance(value, type):
                fields = ", ".join(getattr(value, "__struct_fields__", ()))
                title = f"**`{name}`**" + (f" `({fields})`" if fields else "")
                yield f"| {title} | {summary(value.__doc__)} |"
                yield from (f"| `.{member}` | {text} |" for member, text in members(value))
            elif isinstance(value, types.FunctionType):
                yield f"| **`{name}()`** | {summary(value.__doc__)} |"
            else:
                yield f"| **`{name}`** | {value_summary(value)} |"
        yield ""


def check_rows(checks: Iterable[Check[Any]]) -> Iterator[str]:
    """The table of the checks of one kind of part."""
    yield "| check | rules | what has to hold |"
    yield "| --- | --- | --- |"
    for check in checks:
        yield f"| {check.name} | {', '.join(check.rules)} | {check.summary} |"
    yield ""


def strategy_rows() -> Iterator[str]:
    """The table of the strategies."""
    yield "| strategy | |"
    yield "| --- | --- |"
    for name, value in vars(strategies).items():
        own = isinstance(value, types.FunctionType) and value.__module__ == strategies.__name__
        if own and not name.startswith("_"):
            parameters = ", ".join(inspect.signature(value).parameters)
            yield f"| `{name}({parameters})` | {summary(value.__doc__)} |"
    yield ""


def with_table(page: str) -> str:
    """The page of names, with fresh tables."""
    return between_marks(page, "table", rows())


def with_checks(page: str) -> str:
    """The page on testing, with fresh tables."""
    page = between_marks(page, "provider checks", check_rows(provider_checks.CHECKS))
    page = between_marks(page, "port checks", check_rows(port_checks.CHECKS))
    page = between_marks(page, "service checks", check_rows(service_checks.CHECKS))
    return between_marks(page, "strategies", strategy_rows())


def between_marks(page: str, name: str, lines: Iterable[str]) -> str:
    """`page` with these lines between the two marks of that name."""
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    before, found, rest = page.partition(begin)
    _, found_end, after = rest.partition(end)
    if not (found and found_end):
        raise ValueError(f"the page has no marks {begin} and {end}")
    return f"{before}{begin}\n\n" + "\n".join(lines) + f"\n{end}{after}"


def main() -> None:
    """See the module."""
    for page, renew in ((PAGE, with_table), (TESTING_PAGE, with_checks)):
        fresh = renew(page.read_text(encoding="utf-8"))
        if sys.argv[1:] == ["--write"]:
            page.write_text(fresh, encoding="utf-8")
        else:
            print(fresh)


if __name__ == "__main__":
    main()
