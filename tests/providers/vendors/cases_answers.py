"""Answers that are good, in a form that is not: their text, end and usage arrive all the same."""

import pytest
from providers.vendors.case import PIECES, Case
from support.vendor_behaviours import (
    says,
    says_and_closes,
    says_and_stays,
    says_byte_by_byte,
    says_compressed,
    says_halves_of_a_character,
    says_in_pairs,
    says_its_end_twice,
    says_line_of,
    says_with_garnish,
    thinks_and_says,
)
from support.vendor_misbehaviours import (
    body,
    closes_after,
    cut_in_event,
    ends_without_mark,
    refuses_with,
    resets_after,
    resets_at_once,
    resets_in_headers,
    says_bad_gzip,
    says_in_another_shape,
    says_no_json,
    stream_of,
)

MIXED = "Türe, 門, 🏰 and 👩‍👧: ½ ₿."  # characters of one to four bytes

HTML = {"content-type": "text/html; charset=utf-8"}
# An agent tells its model that there was no output, as often as the user has set there.
ASKS_AGAIN = "`empty`; asked twice"
NO_REFUSALS = "not applicable: it has no events for a refusal; see the next row"

GOOD = (
    Case("good", "A good answer.", (says(*PIECES),), "completed"),
    Case(
        "22 bytes",
        "Each byte comes in a packet of its own, also those of one character.",
        (says_byte_by_byte(MIXED),),
        "completed",
        shows=pytest.mark.fault("C22"),
    ),
    Case(
        "22 pairs",
        "The bytes come in pairs.",
        (says_in_pairs(MIXED),),
        "completed",
        shows=pytest.mark.fault("C22"),
    ),
    Case(
        "22 halves",
        "The halves of a character come in two pieces of text.",
        (says_halves_of_a_character(*PIECES),),
        "completed",
        shows=pytest.mark.fault("C22"),
    ),
    Case("compressed", "The stream is compressed.", (says_compressed(*PIECES),), "completed"),
    Case(
        "garnish",
        "The stream has comments, ids, waits to reconnect and line ends of two characters.",
        (says_with_garnish(*PIECES),),
        "completed",
    ),
    Case(
        "23",
        "The finish comes twice, then the usage, then the end mark twice.",
        (says_its_end_twice(*PIECES),),
        "completed",
        shows=pytest.mark.fault("C23"),
    ),
    Case(
        "open end",
        "The stream stays open after its end mark.",
        (says_and_stays(*PIECES),),
        "completed",
    ),
    Case(
        "thinking",
        "The model thinks aloud before it answers.",
        (thinks_and_says("Who is that?", *PIECES),),
        "completed",
    ),
    Case(
        "closing",
        "The server closes the connection after the answer.",
        (says_and_closes(*PIECES),),
        "completed",
    ),
    Case(
        "24 length",
        "The answer stops at the bound of tokens.",
        (says(*PIECES, finish="length"),),
        "completed, `length`",
        shows=pytest.mark.fault("C24"),
    ),
)

LINES = (
    Case(
        "25 65,537",
        "One line of 65,537 bytes.",
        (says_line_of(65_537),),
        "completed",
        shows=pytest.mark.fault("C25"),
    ),
    Case(
        "25 2 MB",
        "One line of 2 MB.",
        (says_line_of(2_000_000),),
        "`intelligence-output-overflow`",
        heard="",
        shows=pytest.mark.fault("C25"),
    ),
    Case(
        "25 20 MB",
        "One line of 20 MB.",
        (says_line_of(20_000_000),),
        "`protocol`",
        {"pydantic-ai": "`intelligence-output-overflow`"},
        heard="",
        shows=pytest.mark.fault("C25"),
    ),
)

ENDS = (
    Case(
        "21 empty",
        "An answer without text.",
        (says(),),
        "`empty`",
        {"pydantic-ai": ASKS_AGAIN},
        shows=pytest.mark.fault("C21"),
    ),
    Case(
        "21 no body",
        "Status 200 and an empty body.",
        (body(b"", {"content-type": "text/event-stream"}),),
        "`truncated`",
        {"pydantic-ai": "`protocol`"},
        shows=pytest.mark.fault("C21"),
    ),
    Case(
        "21 no events",
        "A stream without an event.",
        (stream_of(b""),),
        "`truncated`",
        {"pydantic-ai": "`protocol`"},
    ),
    Case(
        "21 HTML",
        "Status 200 and a page of HTML.",
        (body(b"<html><body>Welcome</body></html>", HTML),),
        "`protocol`",
        shows=pytest.mark.fault("C21"),
    ),
    Case(
        "21 JSON",
        "Status 200 and JSON of another shape.",
        (body(b'{"hello": ["world"]}'),),
        "`protocol`",
        shows=pytest.mark.fault("C21"),
    ),
    Case(
        "21 shape",
        "A stream of events of another shape.",
        (says_in_another_shape,),
        "`protocol`",
        shows=pytest.mark.fault("C21"),
    ),
    Case("21 no JSON", "A stream of events that are no JSON.", (says_no_json,), "`protocol`"),
    Case(
        "21 cut",
        "After some text an event whose JSON breaks off.",
        (cut_in_event(*PIECES),),
        "`protocol`",
    ),
    Case("bad gzip", "A compressed stream that is damaged.", (says_bad_gzip,), "`protocol`"),
    Case(
        "24 no mark",
        "The stream ends in good order after some text, without an end mark.",
        (ends_without_mark(*PIECES),),
        "`truncated`",
        shows=pytest.mark.fault("C24"),
    ),
    Case(
        "24 no text",
        "The same, before any text.",
        (ends_without_mark(),),
        "`truncated`",
        {"pydantic-ai": ASKS_AGAIN},
    ),
    Case(
        "closed",
        "The connection is closed in the body, after some text.",
        (closes_after(*PIECES),),
        "`network`",
    ),
    Case(
        "reset",
        "The connection is reset in the body, after some text.",
        (resets_after(*PIECES),),
        "`network`",
    ),
    Case(
        "reset early",
        "The connection is reset in the body, before any text.",
        (resets_after(),),
        "`network`; asked 3 times",
    ),
    Case(
        "reset in headers",
        "The connection is reset in the headers.",
        (resets_in_headers,),
        "`network`; asked 3 times",
    ),
    Case(
        "reset at once",
        "The connection is reset before the status.",
        (resets_at_once,),
        "`network`; asked 3 times",
    ),
    Case(
        "refused",
        "Nobody listens at the address.",
        (says(*PIECES),),
        "`network`; asked never",
        listening=False,
    ),
    Case(
        "24 refusal",
        "A refusal in events of its own.",
        (refuses_with("I can", "not."),),
        "`refused`",
        {"anthropic": NO_REFUSALS},
        shows=pytest.mark.fault("C24"),
    ),
    Case(
        "24 filter",
        "A filter for content stops the answer before any text.",
        (says(finish="filter"),),
        "`refused`",
        shows=pytest.mark.fault("C24"),
    ),
    Case(
        "24 filter late",
        "The same, after some text.",
        (says(*PIECES, finish="filter"),),
        "`refused`",
    ),
)
