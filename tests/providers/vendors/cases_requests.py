"""Requests that are refused, errors in a stream, silence, and cancels."""

from collections.abc import Mapping

import pytest
from providers.vendors.case import PIECES, Case
from providers.vendors.games import (
    cancels_after_text,
    cancels_again_and_again,
    cancels_beside_an_error,
    cancels_when_answered,
    cancels_when_asked,
    comes_with_a_lost_session,
    submits_two_at_once,
    waits_out_first_text,
    waits_out_stall,
)
from providers.vendors.stage import EARLIER_INPUT
from support.vendor_behaviours import says
from support.vendor_misbehaviours import (
    answers,
    asks_for_pause_until,
    breaks_off_with,
    echoes_key_everywhere,
    fails_at_once,
    falls_silent_after,
    generates_on,
    reads_for_long,
    redirects_elsewhere,
    says_nothing,
)
from support.vendor_speech import Fault

from engine_intelligence.conversation import Turn

FIRST = PIECES[0]
FOR_NOBODY = 20
ONE_WAY = "not applicable: it has one form of an error in a stream"


def status(code: int, fault: Fault, what: str, outcome: str) -> Case:
    return Case(str(code), what, (answers(code, fault),), outcome)


def limit(
    name: str,
    headers: Mapping[str, str],
    what: str,
    outcome: str,
    *,
    shows: pytest.MarkDecorator | None = None,
) -> Case:
    return Case(name, f"429 {what}", (answers(429, "rate", headers),), outcome, shows=shows)


STATUSES = (
    status(400, "invalid", "400: the request is not understood.", "`refused`"),
    Case(
        "400 long", "400: the conversation is too long for the model.", (answers(400, "long"),), "`refused`"
    ),
    status(401, "key", "401: a wrong key.", "`auth`"),
    status(402, "quota", "402: the credit is used up.", "`rate-limited`"),
    Case(
        "quota",
        "429: the credit is used up.",
        (answers(429, "quota"),),
        "`rate-limited`",
        {"anthropic": "not applicable: it says so with 402"},
    ),
    status(403, "forbidden", "403: not with this key.", "`auth`"),
    status(404, "model", "404: no such model.", "`unavailable`"),
    status(413, "long", "413: too large.", "`refused`"),
    status(422, "invalid", "422: not understood.", "`refused`"),
    status(500, "server", "Always 500.", "`unavailable`; asked 3 times"),
    Case(
        "19",
        "Always 503.",
        (answers(503, "overloaded"),),
        "`unavailable`; asked 3 times",
        shows=pytest.mark.fault("C19"),
    ),
    Case(
        "19 passing",
        "503 twice, then a good answer.",
        (answers(503, "overloaded"), answers(503, "overloaded"), says(*PIECES)),
        "completed; asked 3 times",
        shows=pytest.mark.fault("C18"),
    ),
    status(529, "overloaded", "Always 529.", "`unavailable`; asked 3 times"),
    Case(
        "redirect",
        "A redirect to another host, with the key in its address.",
        (redirects_elsewhere,),
        "`protocol`",
    ),
    Case(
        "32",
        "401, with the key in headers, body, code and text.",
        (echoes_key_everywhere(401, "key"),),
        "`auth`",
        shows=pytest.mark.fault("C32"),
    ),
    Case(
        "32 stream",
        "An error after some text that quotes the key and the request.",
        (breaks_off_with("key", *PIECES),),
        "`auth`",
        shows=pytest.mark.fault("C32"),
    ),
)

LIMITS = (
    limit("429", {}, "without a time.", "`rate-limited`; asked 3 times"),
    limit("8 seconds", {"retry-after": "0"}, "with 0 s.", "`rate-limited`, retry after 0 s; asked 3 times"),
    limit(
        "8 ms",
        {"retry-after-ms": "20", "retry-after": "90"},
        "with 20 ms.",
        "`rate-limited`, retry after 0.02 s; asked 3 times",
    ),
    limit(
        "8 nonsense", {"retry-after": "soon"}, "with a time that is none.", "`rate-limited`; asked 3 times"
    ),
    limit(
        "8 negative",
        {"retry-after": "-5"},
        "with a time before now.",
        "`rate-limited`, retry after 0 s; asked 3 times",
    ),
    limit(
        "16",
        {"retry-after": "1209600"},
        "with two weeks.",
        "`rate-limited`, retry after 14 days",
        shows=pytest.mark.fault("C16"),
    ),
    limit(
        "16 huge",
        {"retry-after": "1" * 400},
        "with a number that no float holds.",
        "`rate-limited`; asked 3 times",
    ),
    Case(
        "16 date",
        "429 with a date in an hour.",
        (asks_for_pause_until(3600),),
        "`rate-limited`, retry after 60 min",
    ),
    Case(
        "8 date",
        "429 with a date that has passed.",
        (asks_for_pause_until(-60),),
        "`rate-limited`, retry after 0 s; asked 3 times",
    ),
    Case(
        "8 passing",
        "429 with 20 ms, then a good answer.",
        (answers(429, "rate", {"retry-after-ms": "20"}), says(*PIECES)),
        "completed; asked twice",
    ),
    Case(
        "8",
        "429 with 30 s; the game cancels meanwhile.",
        (answers(429, "rate", {"retry-after": "30"}),),
        "cancelled",
        game=cancels_when_answered,
        shows=pytest.mark.fault("C8"),
    ),
)

STREAMS = (
    Case(
        "17 first",
        "A rate limit as the first item of a stream.",
        (fails_at_once("rate"),),
        "`rate-limited`; asked 3 times",
        shows=pytest.mark.fault("C17"),
    ),
    Case(
        "17 late",
        "A rate limit after three pieces of text.",
        (breaks_off_with("rate", *PIECES),),
        "`rate-limited`",
        shows=pytest.mark.fault("C17"),
    ),
    Case(
        "17 overloaded",
        "Overload as the first item of a stream, then a good answer.",
        (fails_at_once("overloaded"), says(*PIECES)),
        "completed; asked twice",
    ),
    Case(
        "17 overloaded late",
        "Overload after three pieces of text.",
        (breaks_off_with("overloaded", *PIECES),),
        "`unavailable`",
    ),
    Case(
        "24 failed",
        "The server says after some text that it failed.",
        (breaks_off_with("server", *PIECES),),
        "`unavailable`",
        shows=pytest.mark.fault("C24"),
    ),
    Case(
        "24 event",
        "The same, in an event of its own.",
        (breaks_off_with("server", *PIECES, by_event=True),),
        "`unavailable`",
        {"openai, chat": ONE_WAY, "anthropic": ONE_WAY, "pydantic-ai": ONE_WAY},
        shows=pytest.mark.fault("C24"),
    ),
    Case(
        "20",
        "Some text, then silence.",
        (falls_silent_after(FIRST),),
        "`stalled`",
        game=waits_out_stall,
        shows=pytest.mark.fault("C20"),
    ),
    Case("20 silent", "Headers, then silence.", (reads_for_long,), "`timeout`", game=waits_out_first_text),
    Case("20 dead", "Nothing at all.", (says_nothing,), "`timeout`", game=waits_out_first_text),
)

SESSIONS = (
    Case(
        "14",
        "The game submits twice in one frame: the second Activity follows the first.",
        (says("Soon."), says(*PIECES)),
        "completed; asked twice",
        game=submits_two_at_once,
        earlier=(Turn(EARLIER_INPUT, "Soon."),),
        shows=pytest.mark.fault("C14"),
    ),
    Case(
        "15",
        "The game comes with a session that the Host does not have any more.",
        (),
        "`session-lost`; asked never",
        game=comes_with_a_lost_session,
        shows=pytest.mark.fault("C15"),
    ),
)
CANCELS = (
    Case(
        "6",
        "The server goes on generating when the game has cancelled.",
        (generates_on(FOR_NOBODY),),
        "cancelled",
        game=cancels_after_text,
        shows=pytest.mark.fault("C6"),
    ),
    Case(
        "7",
        "The server reads a long prompt; the game cancels.",
        (reads_for_long,),
        "cancelled",
        game=cancels_when_asked,
        shows=pytest.mark.fault("C7"),
    ),
    Case(
        "7 dead",
        "The server says nothing; the game cancels.",
        (says_nothing,),
        "cancelled",
        game=cancels_when_asked,
    ),
    Case(
        "9",
        "The game cancels after some text.",
        (falls_silent_after(FIRST),),
        "cancelled",
        game=cancels_after_text,
        shows=pytest.mark.fault("C9"),
    ),
    Case(
        "10",
        "An error is on its way when the game cancels.",
        (falls_silent_after(FIRST),),
        "cancelled",
        game=cancels_beside_an_error,
        shows=pytest.mark.fault("C10"),
    ),
    Case(
        "11",
        "The game cancels after some text, again, and once more when it is over.",
        (falls_silent_after(FIRST),),
        "cancelled",
        game=cancels_again_and_again,
        shows=pytest.mark.fault("C11"),
    ),
)
