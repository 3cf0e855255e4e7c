"""Rule P4: what a provider is told comes from the Host's configuration, and the package brings none of it."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

import engine_intelligence
from engine_intelligence import ActivityRequest, ActivitySubmission, SessionRef
from engine_intelligence.protocol.messages import Cancel, Close, Hello, Poll, Submit
from engine_intelligence.providers.llama import Options

PACKAGE = Path(engine_intelligence.__file__).parent
# The command line may hold what its demonstrations say.
MODULES = sorted(path for path in PACKAGE.rglob("*.py") if path.relative_to(PACKAGE).parts[0] != "cli")
# How a text speaks that is meant for a model.
TO_A_MODEL = re.compile(
    r"(?i)\byou are (?:a|an|the)\b|\bas an ai\b|\byour (?:role|task|job) is\b|\bpretend\b|\bin character\b"
)


def texts(tree: ast.Module) -> Iterator[ast.Constant]:
    """The texts of a module that are no docstrings."""
    documentation = {
        id(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documentation:
            yield node


@pytest.mark.spec("P4")
def test_no_text_of_the_package_speaks_to_a_model() -> None:
    found = [
        f"{path.relative_to(PACKAGE)}:{node.lineno}"
        for path in MODULES
        for node in texts(ast.parse(path.read_text(encoding="utf-8")))
        if TO_A_MODEL.search(str(node.value))
    ]
    assert found == []


@pytest.mark.spec("P4")
def test_the_package_defines_no_agents_tools_skills_or_characters() -> None:
    found = [
        f"{path.relative_to(PACKAGE)}:{node.lineno} {node.name}"
        for path in MODULES
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ClassDef)
        and re.search(r"Agent|Tool|Skill|Npc|NPC|Character|Quest", node.name)
    ]
    assert found == []


@pytest.mark.spec("P4", "M5")
@pytest.mark.parametrize(
    ("message", "fields"),
    [
        (Submit, {"submission"}),
        (ActivitySubmission, {"id", "session", "input"}),
        (ActivityRequest, {"input", "session"}),
        (SessionRef, {"provider_id", "id"}),
        (Poll, {"max_events"}),
        (Cancel, {"activity_id"}),
        (Close, set[str]()),
        (Hello, {"protocol", "provider_id", "limits", "features"}),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_a_realm_has_no_words_for_a_model_instructions_or_tools(
    message: type[msgspec.Struct], fields: set[str]
) -> None:
    assert set(message.__struct_fields__) == fields


@pytest.mark.spec("P4")
def test_a_local_model_has_no_instructions_of_its_own() -> None:
    assert Options().instructions == ""
