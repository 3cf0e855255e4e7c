"""What the section on secrets shows is what is told (rule E2)."""

from collections.abc import Callable

import pytest

from engine_intelligence import Failed, IntelligenceFailure, create_intelligence_runtime
from engine_intelligence.providers.scripted import Script, ScriptedProvider

Table = Callable[[str, str], list[list[str]]]


def failure_of(text: str) -> IntelligenceFailure:
    """What a game is told of a provider that fails with a text."""
    provider = ScriptedProvider("gatekeeper", [Script(failure=text)])
    runtime = create_intelligence_runtime(provider)
    assert runtime.submit("May I pass?").ok
    provider.advance()
    (event,) = runtime.poll()
    assert isinstance(event, Failed)
    return event.error


@pytest.mark.spec("E2")
def test_the_examples_of_scrubbing_are_what_a_game_is_told(table: Table) -> None:
    rows = [
        (cells[0].strip(" `"), cells[1].strip(" `"))
        for cells in table("docs/concepts.md", "text of an exception")
    ]
    assert len(rows) >= 8
    assert [(text, failure_of(text).detail.cause) for text, _ in rows] == rows
