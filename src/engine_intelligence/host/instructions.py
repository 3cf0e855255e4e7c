"""Instructions that stand in a file of their own."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import msgspec

from engine_intelligence.errors import SetupError
from engine_intelligence.host.building import starting_at

KEY = "instructions_file"
"""The key for the path, beside the options of a kind that has `instructions`."""

# A page of instructions is a few thousand characters; a file beyond this is a wrong one.
MAX_INSTRUCTIONS_BYTES = 1 << 20


def with_instructions(
    struct: type[msgspec.Struct], options: Mapping[str, object], folder: Path | None, where: str
) -> Mapping[str, object]:
    """`options` with the instructions themselves in the place of the path of a file that holds them.

    A relative path begins at `folder`. Raises `SetupError`. Of a `struct` without instructions nothing is changed.
    """
    if KEY not in options or "instructions" not in struct.__struct_fields__:
        return options
    if "instructions" in options:
        raise SetupError("config-invalid", f"{where}: say either instructions or {KEY}, not both.")
    others = {name: value for name, value in options.items() if name != KEY}
    return others | {"instructions": _read(options[KEY], folder, where)}


def _read(path: object, folder: Path | None, where: str) -> str:
    if not isinstance(path, str):
        raise SetupError("config-invalid", f"{where}: {KEY} must be the path of a text file.")
    file = Path(starting_at(folder, path))
    try:
        with file.open("rb") as stream:
            content = stream.read(MAX_INSTRUCTIONS_BYTES + 1)
        text = content.decode("utf-8-sig")
    except (OSError, UnicodeDecodeError, ValueError) as error:
        raise SetupError(
            "config-invalid",
            f"{where}: the file of {KEY}, {file}, cannot be read ({type(error).__name__}).",
        ) from None
    if len(content) > MAX_INSTRUCTIONS_BYTES:
        raise SetupError("config-invalid", f"{where}: the file of {KEY}, {file}, is over 1 MiB.")
    return text.strip()
