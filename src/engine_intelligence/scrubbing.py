"""What may be told of somebody else's exception: a class name and a scrubbed, bounded text (rule E2).

The rule is to deny by default. A provider's message may quote a key, a header, an address with a token in it
or a whole request, in forms that nobody can list. So a word of it passes only if it looks like a word of
prose, and not where prose puts a value: in quotation marks, in a structure, or after a word that announces a
secret. All else becomes `[...]`.
"""

from __future__ import annotations

import re

MAX_CAUSE_CHARS = 200
"""Bound of a `cause`, in characters: one sentence that fits a line of a log."""

# Text beyond this is not even looked at: an exception may carry a hundred megabytes of response body.
_MAX_SCANNED_CHARS = 2000

_REDACTED = "[...]"

# Letters of a natural word or of an identifier's parts; up to 24, the length of "internationalizationally".
# Unlike base64, they mix upper and lower case only as a capital, as an acronym or in CamelCase.
_PART = r"(?:[A-Z]?[a-z]{1,24}|[A-Z]{1,12})"
_WORD = re.compile(
    rf"""\(?(?:{_PART}(?:[A-Z][a-z]{{1,24}}){{0,4}}(?:[-_./'’]{_PART}){{0,4}}(?:\(\))?"""
    r"""|[-+]?\d{1,5}(?:[.,]\d{1,4})?%?s?)[).,:;!?…]{0,3}""",
)
_PUNCTUATION = re.compile(r"[-–—=:;,.!?&|+*/]{1,3}")

# A quotation mark that is no apostrophe: not between two letters.
_QUOTE = re.compile(r"""(?<![A-Za-z])['’]|['’](?![A-Za-z])|["`“”‘«»]""")
_CLOSING = {"“": "”", "‘": "’", "«": "»"}

# A structure, a tag, or a program's representation of one: what follows is values to the end.
_STRUCTURE = re.compile(r"[\[\]{}<>]")

_SECRET = re.compile(
    r"(?i)\(?[\w-]*(?:key|secret|token|passw(?:or)?d|passphrase|credential|authorization|cookie)s?[:=]*[).,;!?]*"
)
_SCHEME = re.compile(r"(?i)\(?(?:bearer|basic|digest)[:=]*")

# What prose puts after such a word when it goes on about it, rather than telling it.
_GOES_ON = re.compile(
    r"an?|and|are|as|at|be|but|by|cannot|could|did|does|error|exceeded|expired|failed|for|format|found|from|had|has|have"
    r"|however|in|invalid|is|it|limits?|missing|must|not|of|on|or|per|provided|rejected|required|requested|revoked|should"
    r"|that|the|this|too?|used|was|were|when|which|with|without|you|your"
)


def scrub(text: str, *, limit: int = MAX_CAUSE_CHARS) -> str:
    """`text` with all that might be a secret replaced by `[...]`, on one line, of at most `limit` characters.

    Pure and total: it never raises, whatever the text holds, and takes time bounded by a constant. Any thread
    may call it.
    """
    kept: list[str] = []
    quote: str | None = None  # what closes the quotation that the word stands in
    secret_named = False  # since the last sentence ended
    value_next = False  # the word before announced a secret

    def redact() -> None:
        if not kept or kept[-1] != _REDACTED:
            kept.append(_REDACTED)

    for word in text[:_MAX_SCANNED_CHARS].split():
        bare = word.rstrip(".,:;!?)")
        if quote is not None:
            redact()
            quote = None if bare.endswith(quote) else quote
            continue
        opening = _QUOTE.search(word)
        if _STRUCTURE.search(word):
            redact()
            break
        if opening is not None:
            redact()
            closing = _CLOSING.get(opening[0], opening[0])
            quote = None if closing in word[opening.end() :] else closing
            value_next = False
            continue
        plain = _WORD.fullmatch(word) or _PUNCTUATION.fullmatch(word)
        goes_on = _GOES_ON.fullmatch(bare.lower()) or _PUNCTUATION.fullmatch(word)
        if not plain or (value_next and not goes_on):
            redact()
        else:
            kept.append(word)
        names_secret = _SECRET.fullmatch(word) is not None
        secret_named |= names_secret
        if _SCHEME.fullmatch(word) or (secret_named and word.endswith((":", "="))):
            redact()
            break
        value_next = names_secret
        if word.endswith((".", "!", "?")):
            secret_named = value_next = False
    line = " ".join(kept)
    return line if len(line) <= limit else line[: limit - 1] + "…"


def describe_exception(error: BaseException) -> str:
    """The class name of `error` and its scrubbed text: `ConnectError: connection refused`. It never raises.

    An exception whose `__str__` raises, or returns something that is not a string, is described by its class
    alone.
    """
    name = scrub(type(error).__name__) or "Exception"
    try:
        text = scrub(str(error))
    except BaseException:  # noqa: BLE001 - a border: a foreign __str__ must not replace the failure itself
        text = ""
    return f"{name}: {text}"[:MAX_CAUSE_CHARS] if text else name


def encodable(text: str) -> str:
    """`text` with every lone surrogate, which UTF-8 cannot encode, replaced by U+FFFD (rule D1)."""
    if is_encodable(text):
        return text
    return "".join("\N{REPLACEMENT CHARACTER}" if "\ud800" <= char <= "\udfff" else char for char in text)


def is_encodable(text: str) -> bool:
    """Whether UTF-8 can encode `text`, that is, whether it holds no lone surrogate (rule D1)."""
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
