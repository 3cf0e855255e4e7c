"""The JSON Schema accepts what a Host accepts and refuses what it refuses, and is told by the code alone."""

import inspect
import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from support.bad_host_files import BAD_HOST_FILES

from engine_intelligence import SetupError
from engine_intelligence.host.building import build, struct_fields
from engine_intelligence.host.config import HostTables, ProviderTables
from engine_intelligence.host.kinds import KINDS, options_type
from engine_intelligence.host.schema import host_schema

jsonschema: Any = pytest.importorskip("jsonschema", reason="needs the extra test")

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def schema() -> Any:
    return host_schema()


@pytest.fixture(scope="module")
def validator(schema: Any) -> Any:
    return jsonschema.Draft7Validator(schema)


def faults(validator: Any, text: str) -> list[str]:
    return [error.message for error in validator.iter_errors(tomllib.loads(text))]


def test_it_is_a_schema(schema: Any) -> None:
    jsonschema.Draft7Validator.check_schema(schema)


def host_files() -> Iterator[tuple[str, str]]:
    """Each file for a Host that the project shows: in examples, and as a whole on a page."""
    for path in sorted((ROOT / "examples").rglob("*.toml")):
        yield path.name, path.read_text(encoding="utf-8")
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        for text in re.findall(r"^```toml.*?\n(.*?)^```$", page.read_text("utf-8"), re.MULTILINE | re.DOTALL):
            if "[providers." in text:
                yield page.name, text


SHOWN = list(host_files())


def test_there_are_files_that_are_shown() -> None:
    assert len(SHOWN) >= 2


@pytest.mark.parametrize(
    "text", [text for _, text in SHOWN], ids=[f"{place}-{n}" for n, (place, _) in enumerate(SHOWN)]
)
def test_a_file_that_is_shown_is_valid(text: str, validator: Any) -> None:
    assert faults(validator, text) == []


@pytest.mark.parametrize("title", [title for title in BAD_HOST_FILES if title != "config-invalid: not TOML"])
def test_a_documented_mistake_is_invalid(title: str, validator: Any) -> None:
    assert faults(validator, BAD_HOST_FILES[title])


# What a kind cannot do without, so that one more option can be tried.
REQUIRED: dict[str, dict[str, object]] = {
    "kind command": {"command": ["smith"]},
    "kind fallback": {"providers": ["ann", "bob"]},
    "kind pydantic-ai": {"agent": "minds:ann"},
}

ALL_STRUCTS: dict[str, type[msgspec.Struct]] = {
    **{f"kind {name}": options_type(name) for name in KINDS},
    **struct_fields(HostTables),
    **{f"provider's {name}": struct for name, struct in struct_fields(ProviderTables).items()},
}


def schema_of(schema: Any, name: str) -> Any:
    """The schema of one of `ALL_STRUCTS`."""
    tables = schema["properties"]
    if name in tables:
        return tables[name]
    providers = tables["providers"]["additionalProperties"]["oneOf"]
    if name.startswith("kind "):
        (found,) = [
            each for each in providers if each["properties"].get("kind", {}).get("enum") == [name[5:]]
        ]
        return found
    return providers[0]["properties"][name.removeprefix("provider's ")]


@pytest.mark.parametrize("name", ALL_STRUCTS)
def test_it_has_the_names_of_the_fields_as_a_host_reads_them(name: str, schema: Any) -> None:
    struct = ALL_STRUCTS[name]
    names = set(schema_of(schema, name)["properties"])
    if name.startswith("kind "):
        names -= {"kind", *ProviderTables.__struct_fields__, "instructions_file"}
    assert names == set(struct.__struct_fields__)


def descriptions(schema: Any, place: str = "") -> Iterator[tuple[str, str]]:
    for name, field in schema.get("properties", {}).items():
        yield f"{place}.{name}", field.get("description", "")
        yield from descriptions(field, f"{place}.{name}")
    kinds: list[Any] = schema["additionalProperties"]["oneOf"] if place == ".providers" else []
    for each in kinds:
        yield from descriptions(
            each, f"{place}.{each['properties'].get('kind', {}).get('enum', ['factory'])[0]}"
        )


def test_every_field_is_described(schema: Any) -> None:
    found = dict(descriptions(schema))
    found |= dict(descriptions(schema["properties"]["providers"], ".providers"))
    assert ".providers.llama.temperature" in found
    assert ".limits.max_input_chars" in found
    assert [place for place, text in found.items() if not text] == []


def test_a_description_names_no_rule(schema: Any) -> None:
    assert not re.search(r"\(rules? [A-Z]\d", json.dumps(schema))


def bounds(schema: Any) -> Iterator[tuple[str, str, Any]]:
    """Each number with bounds: the struct, the field, and its schema."""
    for name in ALL_STRUCTS:
        for field, found in schema_of(schema, name)["properties"].items():
            if {"minimum", "maximum", "exclusiveMinimum"} & set(found) and field in ALL_STRUCTS[
                name
            ].__struct_fields__:
                yield name, field, found


BOUNDS = list(bounds(host_schema()))


def test_there_are_bounds_of_tables_and_of_kinds() -> None:
    assert {("kind llama", "temperature"), ("limits", "max_poll_events"), ("deadlines", "stall_s")} <= {
        (name, field) for name, field, _ in BOUNDS
    }


def accepted(name: str, field: str, value: object) -> bool:
    """Whether a Host says nothing against this value; it may say something against another that goes with it."""
    try:
        build(ALL_STRUCTS[name], REQUIRED.get(name, {}) | {field: value}, "here")
    except SetupError as error:
        return not error.message.startswith(f"here: {field} must be")
    return True


@pytest.mark.parametrize(
    ("name", "field", "found"), BOUNDS, ids=[f"{name} {field}" for name, field, _ in BOUNDS]
)
def test_a_host_has_the_bounds_of_the_schema(name: str, field: str, found: Any) -> None:
    step = 1 if found["type"] == "integer" else 0.001
    if "minimum" in found:
        assert accepted(name, field, found["minimum"])
        assert not accepted(name, field, found["minimum"] - step)
    if "maximum" in found:
        assert accepted(name, field, found["maximum"])
        assert not accepted(name, field, found["maximum"] + step)
    if "exclusiveMinimum" in found:
        assert accepted(name, field, found["exclusiveMinimum"] + step)
        assert not accepted(name, field, found["exclusiveMinimum"])


def numbers() -> Iterator[tuple[str, str]]:
    """Each number, with or without bounds: the struct and the field."""
    for name, struct in ALL_STRUCTS.items():
        for field, found in schema_of(host_schema(), name)["properties"].items():
            if (name, field) == ("kind llama", "max_tokens"):
                continue  # it is bounded by another field, `context`
            if found.get("type") in ("integer", "number") and field in struct.__struct_fields__:
                yield name, field


@pytest.mark.parametrize("value", [-1, 0, 2**70])
@pytest.mark.parametrize(("name", "field"), list(numbers()))
def test_a_number_without_sense_is_judged_as_a_host_judges_it(
    name: str, field: str, value: int, schema: Any
) -> None:
    found = schema_of(schema, name)["properties"][field]
    assert jsonschema.Draft7Validator(found).is_valid(value) == accepted(name, field, value)


SDKS = ("openai", "anthropic", "pydantic_ai", "xllamacpp", "httpx2", "tenacity", "keyring", "platformdirs")

WITHOUT_SDKS = f"""
import json, sys
for name in {SDKS}:
    sys.modules[name] = None
from engine_intelligence.host.schema import host_schema
print(json.dumps(host_schema()))
"""

LOADED = f"""
import sys
from engine_intelligence.host.schema import host_schema
host_schema()
print(sorted(set({SDKS}) & set(sys.modules)))
"""


def output_of(program: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_it_is_the_same_where_no_sdk_is_installed(schema: Any) -> None:
    assert json.loads(output_of(WITHOUT_SDKS)) == schema


def test_no_sdk_is_loaded_for_it() -> None:
    assert output_of(LOADED).strip() == "[]"


def test_without_sources_it_says_the_same_with_fewer_words(
    schema: Any, validator: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_source(_: object) -> str:
        raise OSError("could not get source code")

    monkeypatch.setattr(inspect, "getsource", no_source)
    bare: Any = host_schema()
    jsonschema.Draft7Validator.check_schema(bare)
    assert set(bare["properties"]) == set(schema["properties"])
    assert "description" not in bare["properties"]["limits"]["properties"]["max_input_chars"]


def test_the_command_prints_it(schema: Any) -> None:
    testing = pytest.importorskip("typer.testing", reason="needs the extra cli")
    from engine_intelligence.cli.app import app

    done = testing.CliRunner().invoke(app, ["schema"])
    assert done.exit_code == 0
    assert json.loads(done.stdout) == schema
