"""The save file: one `SessionRef`, and nothing lost when it cannot be used."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

import msgspec

from engine_intelligence.activity import SessionRef
from engine_intelligence.cli.text import one_line

VERSION = 1

# A save is about a hundred bytes; what is longer than this is some other file.
_MAX_BYTES = 65_536


class Save(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is in a save file, as JSON: `{"version": 1, "session": {"providerId": ..., "id": ...}}`."""

    version: int
    session: SessionRef


class Loaded(NamedTuple):
    """What a save file gave: a session, or none, and what the player should know."""

    session: SessionRef | None
    message: str | None = None


class SaveFile:
    """A save file at one path. Methods tell what went wrong; they raise nothing for what is in the file or on the disk."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._untouchable = False  # a file that could be neither read nor moved aside

    def load(self, provider_id: str) -> Loaded:
        """The session of provider `provider_id` that was saved. A file that holds none is moved aside, never overwritten."""
        try:
            with self.path.open("rb") as file:
                data = file.read(_MAX_BYTES + 1)
        except FileNotFoundError:
            return Loaded(None)
        except OSError as error:
            self._untouchable = True
            return Loaded(
                None,
                f"The save file {self.path} cannot be read ({error.strerror}); the conversation begins anew. "
                "Check its permissions, or name another with --save.",
            )
        if len(data) > _MAX_BYTES:
            return self._set_aside("is no save file of this game: it is too large")
        try:
            save = msgspec.json.decode(data, type=Save)
        except msgspec.ValidationError as error:
            return self._set_aside(f"is JSON, but no save of this game ({one_line(str(error))})")
        except (msgspec.DecodeError, UnicodeError, RecursionError):
            return self._set_aside("is not JSON")
        if save.version != VERSION:
            return self._set_aside(f"is of version {save.version}, and this game reads version {VERSION}")
        if save.session.provider_id != provider_id:
            return self._set_aside(
                f"holds a conversation with the provider {one_line(save.session.provider_id, 60)!r}, "
                f"and this is {provider_id!r}",
                "To continue it, name that file with --save, and that provider.",
            )
        return Loaded(save.session)

    def store(self, session: SessionRef) -> str | None:
        """Write the file, whole or not at all. Returns what went wrong, in words, or `None`."""
        if self._untouchable:
            return f"The game is not saved: {self.path} holds something else. Name another file with --save."
        part = self.path.with_name(f"{self.path.name}.{os.getpid()}.part")
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            # Without fsync, which can take many frames: if the machine loses power in this second the file may be lost or
            # empty, and an unusable file is dealt with above.
            part.write_bytes(msgspec.json.encode(Save(VERSION, session)))
            os.replace(part, self.path)
        except OSError as error:
            try:
                part.unlink(missing_ok=True)
            except OSError:
                pass  # the folder is the trouble; what is said below names it
            return (
                f"The game cannot be saved in {self.path} ({error.strerror}): name another file with --save."
            )
        return None

    def _set_aside(
        self, fault: str, advice: str = "Delete it, or put it right and name it with --save."
    ) -> Loaded:
        aside = self.path.with_name(f"{self.path.name}.bad")
        number = 1
        while aside.exists():
            number += 1
            aside = self.path.with_name(f"{self.path.name}.bad{number}")
        try:
            os.replace(self.path, aside)
        except OSError as error:
            self._untouchable = True
            return Loaded(
                None,
                f"The save file {self.path} {fault}, and it cannot be moved aside ({error.strerror}): "
                "name another with --save.",
            )
        return Loaded(
            None,
            f"The save file {self.path} {fault}. It was kept as {aside.name}, and the conversation begins anew. {advice}",
        )
