"""Tells a coverage-guided fuzzer how far an input got.

The decoders are native code, which the fuzzer cannot look into. What it sees instead are the branches of these
functions: of a message that was read its kind, the kinds of its events and what is set in them; of one that was
refused where the decoder stopped, which is what the fuzzer then gets past.
"""

from __future__ import annotations

from typing import Any

from engine_intelligence.activity import Cancelled, Completed, Failed, TextDelta
from engine_intelligence.failure import IntelligenceFailure
from engine_intelligence.protocol.codec import ProtocolError
from engine_intelligence.protocol.messages import (
    Cancel,
    ChannelOpen,
    Close,
    Closed,
    Events,
    Heartbeat,
    Hello,
    Introduction,
    Poll,
    Rejected,
    Submit,
)


def shape_of(message: Any) -> int:
    """A number for the shape of a message, or of a refusal. The number means nothing; the way to it does."""
    match message:
        case ProtocolError():
            return place_of_refusal(str(message.__context__))
        case Submit(submission=submission):
            return 1 + text_shape(submission.input) + text_shape(submission.session.id)
        case Poll(max_events=number):
            return 2 + number_shape(number)
        case Cancel(activity_id=id):
            return 3 + text_shape(id)
        case Close():
            return 4
        case Hello(protocol=protocol, features=features, limits=limits):
            return 5 + number_shape(protocol) + len(features) % 3 + number_shape(limits.max_poll_events)
        case Events(events=events):
            return 6 + sum(event_shape(event) for event in events[:4])
        case Rejected(error=error):
            return 7 + failure_shape(error)
        case Closed(reason=reason, message=text):
            return 8 + (reason is not None) + 2 * (text is not None)
        case Heartbeat():
            return 9
        case ChannelOpen(channel=number):
            return 10 + number_shape(number)
        case Introduction():
            return 11
        case _:
            return 0


def event_shape(event: Any) -> int:
    match event:
        case TextDelta(text=text, sequence=number):
            return 1 + text_shape(text) + number_shape(number)
        case Completed(usage=None, finish=None):
            return 2
        case Completed(usage=None):
            return 3
        case Completed(finish=None):
            return 4
        case Completed():
            return 5
        case Failed(error=error):
            return 6 + failure_shape(error)
        case Cancelled():
            return 7
        case _:
            return 0


def failure_shape(error: IntelligenceFailure) -> int:
    shape = 0
    detail = error.detail
    if detail.field is not None:
        shape += 1
    if detail.reason is not None:
        shape += 2
    if detail.activity_id is not None:
        shape += 4
    if detail.limit is not None:
        shape += 8
    if detail.retry_after_seconds is not None:
        shape += 16 if detail.retry_after_seconds == detail.retry_after_seconds else 32
    return shape


def text_shape(text: str) -> int:
    if not text:
        return 0
    if text.isascii():
        return 1
    if max(text) < "\u0800":
        return 2
    return 3 if max(text) < "\U00010000" else 4


def number_shape(number: int) -> int:
    if number < -(2**31):
        return 0
    if number < 0:
        return 1
    if number < 2**31:
        return 2
    if number < 2**63:
        return 3
    return 4 if number < 2**64 else 5


def place_of_refusal(text: str) -> int:
    """By the words of the decoder: what it missed, found too many of or could not read, and in which field."""
    return what_was_refused(text) + where(text)


def what_was_refused(text: str) -> int:
    if "truncated" in text:
        return 1
    if "malformed" in text:
        return 2
    if "Invalid UTF-8" in text or "utf-8" in text or "surrogate" in text:
        return 3
    if "missing required field" in text:
        return 4
    if "unknown field" in text:
        return 5
    if "Expected `int`" in text:
        return 6
    if "Expected `str`" in text:
        return 7
    if "Expected `object`" in text:
        return 8
    if "Expected `array`" in text:
        return 9
    if "Invalid value" in text or "Invalid enum" in text:
        return 10
    if "must be a whole number" in text:
        return 11
    return 12 if "recursion" in text else 0


def where(text: str) -> int:
    place = 0
    if "submission" in text:
        place += 1
    if "session" in text:
        place += 2
    if "events[0]" in text:
        place += 4
    if "events[1]" in text:
        place += 8
    if "limits" in text:
        place += 16
    if "features" in text:
        place += 32
    if "error" in text:
        place += 64
    if "detail" in text:
        place += 128
    if "usage" in text:
        place += 256
    if "key" in text:
        place += 512
    return place
