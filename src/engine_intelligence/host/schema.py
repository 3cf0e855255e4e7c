"""The JSON Schema of a `host.toml`, for editors: from the structs that a Host reads it with, their texts and their checks.

It is of draft 7 and without references, which is what editors of TOML understand. It accepts what a Host accepts as far as
one value can be judged without another, a file, or a key.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any, TypeAlias

import msgspec

from engine_intelligence.host.attributes import attribute_bounds, attribute_texts, in_one_line
from engine_intelligence.host.building import struct_fields
from engine_intelligence.host.config import HostTables, ProviderTables
from engine_intelligence.host.instructions import KEY as INSTRUCTIONS_FILE
from engine_intelligence.host.kinds import KINDS, options_type
from engine_intelligence.limits import Deadlines, IntelligenceLimits
from engine_intelligence.providers.vendor import KeySource
from engine_intelligence.spending.budget import Budget

Schema: TypeAlias = dict[str, Any]

_AT_LEAST_ONE: Schema = {name: {"minimum": 1} for name in IntelligenceLimits.__struct_fields__}

# What a struct asks of its fields in words of its own, and not by the checks that providers share.
_FIELDS: Mapping[type[msgspec.Struct], Mapping[str, Schema]] = {
    IntelligenceLimits: {**_AT_LEAST_ONE, "max_pending_events_per_activity": {"minimum": 2}},
    Deadlines: {name: {"exclusiveMinimum": 0} for name in Deadlines.__struct_fields__},
    Budget: {name: {"minimum": 1, "maximum": 2**53} for name in Budget.__struct_fields__},
    KeySource: {
        "env": {"pattern": "^[A-Za-z_][A-Za-z0-9_]*$"},
        "file": {"minLength": 1},
        "keyring": {"minLength": 1},
    },
}
_WHOLE: Mapping[type[msgspec.Struct], Schema] = {
    KeySource: {
        "oneOf": [{"required": ["env"]}, {"required": ["file"]}, {"required": ["keyring"]}],
        "dependencies": {"user": ["keyring"]},
    },
}

_INSTRUCTIONS_FILE_TEXT = "The path of a text file with the instructions, instead of `instructions`."


def host_schema() -> Schema:
    """The schema of a `host.toml`, as plain data."""
    schema = _struct_schema(HostTables)
    schema["properties"]["providers"] |= {
        "minProperties": 1,
        "additionalProperties": {"oneOf": [*(_kind_schema(name) for name in KINDS), _factory_schema()]},
    }
    whole = {"$schema": "http://json-schema.org/draft-07/schema#", "title": "host.toml", **schema}
    plain: Schema = msgspec.json.decode(msgspec.json.encode(whole))  # a default may be a tuple
    return plain


def _kind_schema(name: str) -> Schema:
    """The table of a provider of that kind."""
    struct = options_type(name)
    schema = _struct_schema(struct)
    properties = schema["properties"]
    if "instructions" in properties:
        properties[INSTRUCTIONS_FILE] = {"type": "string", "description": _INSTRUCTIONS_FILE_TEXT}
        schema["not"] = {"required": ["instructions", INSTRUCTIONS_FILE]}
    extra = KINDS[name].extra
    needs = f' It needs: pip install "engine-intelligence[{extra}]"' if extra else ""
    kind = {"enum": [name], "description": f"A provider of the kind {name}.{needs}"}
    schema["properties"] = {"kind": kind, **properties, **_struct_schema(ProviderTables)["properties"]}
    schema["required"] = ["kind", *schema["required"]]
    return schema


def _factory_schema() -> Schema:
    schema = _struct_schema(ProviderTables)
    text = "A function of your own that makes the provider: module and function. It takes no options."
    factory = {"type": "string", "pattern": "^[^:]+:[^:]+$", "description": text}
    schema["properties"] = {"factory": factory, **schema["properties"]}
    schema["required"] = ["factory"]
    return schema


def _struct_schema(struct: type[msgspec.Struct]) -> Schema:
    """The schema of a struct, with the names that its fields have in TOML and all that it refers to put in its place."""
    (root,), components = msgspec.json.schema_components([struct], ref_template="{name}")
    schema: Schema = copy.deepcopy(components[root["$ref"]])
    names = dict(zip(struct.__struct_encode_fields__, struct.__struct_fields__, strict=True))
    texts, bounds = attribute_texts(struct), attribute_bounds(struct)
    nested = struct_fields(struct)
    properties: Schema = {}
    for wire_name, found in schema["properties"].items():
        name = names[wire_name]
        field = _struct_schema(nested[name]) if name in nested else _without_null(found)
        field |= bounds.get(name, {}) | _FIELDS.get(struct, {}).get(name, {})
        if name in texts:
            field["description"] = texts[name]
        properties[name] = field
    return {
        "description": in_one_line(struct.__doc__ or ""),
        "type": "object",
        "properties": properties,
        "required": [names[wire_name] for wire_name in schema["required"]],
        "additionalProperties": False,
        **_WHOLE.get(struct, {}),
    }


def _without_null(field: Schema) -> Schema:
    """The schema of a field that may be left off: TOML has no null."""
    field = dict(field)
    options = [each for each in field.pop("anyOf", []) if each != {"type": "null"}]
    if len(options) == 1:
        field |= options[0]
    elif options:
        field["anyOf"] = options
    if field.get("default", ...) is None:
        del field["default"]
    return field
