"""Write the table of public names into `docs/reference.md`, from the package's own docstrings.

python tools/api_table.py          print the table
python tools/api_table.py --write  put it into the page
"""

import inspect
import re
import sys
import types
import typing
from collections.abc import Iterator
from pathlib import Path

import engine_intelligence

PAGE = Path(__file__).parents[1] / "docs" / "reference.md"
BEGIN, END = "<!-- table: begin -->", "<!-- table: end -->"

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


def summary(docstring: str | None) -> str:
    """The first sentence of a docstring, on one line."""
    paragraph = " ".join(inspect.cleandoc(docstring or "").split("\n\n", 1)[0].split())
    first = re.match(r".*?\.(?= |$)", paragraph)
    return (first.group() if first else paragraph).replace("|", "\\|")


def alias_summary(alias: object) -> str:
    """What a type alias stands for; it has no docstring that a program could read."""
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
    """The lines of the page between its two marks."""
    for group, names in GROUPS.items():
        yield f"## {group}"
        yield ""
        yield "| name | |"
        yield "| --- | --- |"
        for name in names:
            value = getattr(engine_intelligence, name)
            if isinstance(value, type):
                fields = ", ".join(getattr(value, "__struct_fields__", ()))
                title = f"**`{name}`**" + (f" `({fields})`" if fields else "")
                yield f"| {title} | {summary(value.__doc__)} |"
                yield from (f"| `.{member}` | {text} |" for member, text in members(value))
            elif isinstance(value, types.FunctionType):
                yield f"| **`{name}()`** | {summary(value.__doc__)} |"
            else:
                yield f"| **`{name}`** | {alias_summary(value)} |"
        yield ""


def with_table(page: str) -> str:
    """`page` with a fresh table between its two marks."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n\n" + "\n".join(rows()) + f"\n{END}{after}"


def main() -> None:
    """See the module."""
    if sys.argv[1:] == ["--write"]:
        PAGE.write_text(with_table(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    else:
        print("\n".join(rows()))


if __name__ == "__main__":
    main()
