"""The nouns of the contract: references, requests, submissions and events (section 1).

All are frozen `msgspec` structs. Python names are snake_case; on the wire they are camelCase with kebab-case
tags, and a field whose value is `None` is left off.
"""

from __future__ import annotations

from typing import ClassVar, Literal, TypeAlias

import msgspec

from engine_intelligence.failure import IntelligenceFailure

FinishReason: TypeAlias = Literal["stop", "length"]


class SessionRef(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True, gc=False):
    """A conversation, opaque to the game and scoped to one provider.

    It is the only thing that a game keeps. `to_json` and `from_json` carry it through a save-game.
    """

    provider_id: str
    id: str

    def to_json(self) -> str:
        """This reference as one line of JSON text: `{"providerId": ..., "id": ...}`."""
        return msgspec.json.encode(self).decode()

    @classmethod
    def from_json(cls, text: str | bytes) -> SessionRef:
        """The reference that `to_json` wrote.

        Raises `ValueError` that says what is wrong with any other text.
        """
        try:
            return msgspec.json.decode(text, type=cls)
        except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
            raise ValueError(f"not a saved SessionRef ({error}); start without a session instead") from None


class ActivityRef(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """What an accepted `submit` returns: the Activity's id, and the session that it continues or began."""

    id: str
    session: SessionRef


class ActivityRequest(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True, gc=False):
    """What a game asks for: some text, and the session to continue, if any."""

    input: str
    session: SessionRef | None = None


class ActivitySubmission(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True, gc=False):
    """A request with its identities: what the wire and a provider see."""

    id: str
    session: SessionRef
    input: str


class Usage(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True, gc=False):
    """What an Activity consumed, in the provider's own tokens; both are 0 or more."""

    input_tokens: int
    output_tokens: int


class TextDelta(
    msgspec.Struct,
    frozen=True,
    tag_field="type",
    tag="text-delta",
    rename="camel",
    forbid_unknown_fields=True,
    gc=False,
):
    """More text of an Activity. The deltas of one Activity, joined in order, are the text so far."""

    type: ClassVar[Literal["text-delta"]] = "text-delta"
    activity_id: str
    sequence: int
    text: str


class Completed(
    msgspec.Struct,
    frozen=True,
    tag_field="type",
    tag="completed",
    rename="camel",
    forbid_unknown_fields=True,
    omit_defaults=True,
):
    """The terminal of an Activity that ran to its end: the whole `output`, and the `session` to save.

    `finish` is `"length"` where the provider stopped at its own token limit, `"stop"` where it had finished,
    and `None` where it does not tell.
    """

    type: ClassVar[Literal["completed"]] = "completed"
    activity_id: str
    sequence: int
    session: SessionRef
    output: str
    usage: Usage | None = None
    finish: FinishReason | None = None


class Failed(
    msgspec.Struct, frozen=True, tag_field="type", tag="failed", rename="camel", forbid_unknown_fields=True
):
    """The terminal of an Activity that could not be completed.

    Its session is as it was before and can be used again.
    """

    type: ClassVar[Literal["failed"]] = "failed"
    activity_id: str
    sequence: int
    error: IntelligenceFailure


class Cancelled(
    msgspec.Struct,
    frozen=True,
    tag_field="type",
    tag="cancelled",
    rename="camel",
    forbid_unknown_fields=True,
    gc=False,
):
    """The terminal of an Activity that the game cancelled.

    Its session is as it was before and can be used again.
    """

    type: ClassVar[Literal["cancelled"]] = "cancelled"
    activity_id: str
    sequence: int


Terminal: TypeAlias = Completed | Failed | Cancelled
IntelligenceEvent: TypeAlias = TextDelta | Completed | Failed | Cancelled
