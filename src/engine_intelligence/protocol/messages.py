"""The messages of a port (section 5 of the contract), and the two that a connection of several ports adds.

All are frozen structs tagged by `kind`, so that inside a process they can be handed over as they are (rule
M2).
"""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from engine_intelligence.activity import ActivitySubmission, IntelligenceEvent
from engine_intelligence.failure import IntelligenceFailure
from engine_intelligence.limits import IntelligenceLimits

PROTOCOL_VERSION = 1
"""What `hello` announces. A side that does not speak the other's version closes the port."""

STREAM_CREDIT = "stream-credit"
"""The feature of rule M4: credit counts events, and the Host sends them as they occur."""

HEARTBEAT = "heartbeat"
"""The feature by which a Host shows that it is alive when it has nothing to say."""

FEATURES: tuple[str, ...] = (STREAM_CREDIT, HEARTBEAT)
"""All that this version knows."""


class Hello(msgspec.Struct, frozen=True, tag_field="kind", tag="intelligence-hello", rename="camel"):
    """Either side: who speaks, and what it can do. Fields that this version does not know are ignored."""

    protocol: int
    provider_id: str
    limits: IntelligenceLimits
    features: tuple[str, ...] = ()


class Submit(
    msgspec.Struct,
    frozen=True,
    tag_field="kind",
    tag="intelligence-submit",
    rename="camel",
    forbid_unknown_fields=True,
):
    """Realm: carry out this Activity."""

    submission: ActivitySubmission


class Poll(
    msgspec.Struct,
    frozen=True,
    tag_field="kind",
    tag="intelligence-poll",
    rename="camel",
    forbid_unknown_fields=True,
):
    """Realm: credit for `max_events` more events (rule M4)."""

    max_events: int


class Cancel(
    msgspec.Struct,
    frozen=True,
    tag_field="kind",
    tag="intelligence-cancel",
    rename="camel",
    forbid_unknown_fields=True,
):
    """Realm: stop this Activity."""

    activity_id: str


class Close(
    msgspec.Struct, frozen=True, tag_field="kind", tag="intelligence-close", forbid_unknown_fields=True
):
    """Realm: this port is about to be released."""


class Events(
    msgspec.Struct,
    frozen=True,
    tag_field="kind",
    tag="intelligence-events",
    rename="camel",
    forbid_unknown_fields=True,
):
    """Host: what has occurred, in order."""

    events: tuple[IntelligenceEvent, ...]


class Rejected(
    msgspec.Struct,
    frozen=True,
    tag_field="kind",
    tag="intelligence-rejected",
    rename="camel",
    forbid_unknown_fields=True,
):
    """Host: this submission is refused."""

    activity_id: str
    error: IntelligenceFailure


class Closed(
    msgspec.Struct,
    frozen=True,
    tag_field="kind",
    tag="intelligence-closed",
    omit_defaults=True,
    forbid_unknown_fields=True,
):
    """Host: this port is closed; `reason` is a name in kebab-case and `message` a sentence for a log."""

    reason: str | None = None
    message: str | None = None


class Heartbeat(msgspec.Struct, frozen=True, tag_field="kind", tag="intelligence-heartbeat"):
    """Host: still here."""


class ChannelOpen(
    msgspec.Struct,
    frozen=True,
    tag_field="kind",
    tag="channel-open",
    rename="camel",
    forbid_unknown_fields=True,
):
    """Realm, on the control channel: this channel is a port for that provider."""

    channel: int
    provider_id: str


class Introduction(
    msgspec.Struct, frozen=True, tag_field="kind", tag="introduction", forbid_unknown_fields=True
):
    """Host, first on a loopback connection: the one-time token that proves who connects."""

    token: str


RealmMessage: TypeAlias = Submit | Poll | Cancel | Close | Hello
"""What a realm sends on a port."""

HostMessage: TypeAlias = Events | Rejected | Closed | Hello | Heartbeat
"""What a Host sends on a port."""

RealmControl: TypeAlias = ChannelOpen
"""What a realm sends on the control channel."""

HostControl: TypeAlias = Closed | Introduction
"""What a Host sends on the control channel: a `Closed` there is of all ports."""
