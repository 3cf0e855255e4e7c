"""What may be told of somebody else's exception: a class name and a scrubbed, bounded text (rule E2).

The rule is to deny by default. A provider's message may quote a key, a header, an address with a token in it or a whole
request, in forms that nobody can list. So a word of it passes only if it looks like a word of prose: letters with ordinary
punctuation, an identifier made of such words, or a short number. All else becomes `[...]`, and so does whatever follows a
word that announces a secret, such as `Bearer` or `api_key=`.
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
    r"""[("'\[<`]{0,2}"""
    rf"""(?:{_PART}(?:[A-Z][a-z]{{1,24}}){{0,4}}(?:[-_./'’]{_PART}){{0,4}}(?:\(\))?"""
    r"""|[-+]?\d{1,5}(?:[.,]\d{1,4})?%?s?)"""
    r"""[)"'\]>`.,:;!?…]{0,3}""",
)
_PUNCTUATION = re.compile(r"[-–—=:;,.!?&|+*/]{1,3}")
_ANNOUNCES_SECRET = re.compile(
    r"""(?i)["'(\[]?"""
    r"""(?:[\w-]*(?:api[-_]?key|secret|token|passw(?:or)?d|credential|authorization|bearer|basic|cookie)s?)"""
    r"""["')\]]?\s*[:=]*"""
)


def scrub(text: str, *, limit: int = MAX_CAUSE_CHARS) -> str:
    """`text` with all that might be a secret replaced by `[...]`, on one line, of at most `limit` characters.

    Pure and total: it never raises, whatever the text holds, and takes time bounded by a constant. Any thread may call it.
    """
    kept: list[str] = []
    deny_next = False
    for word in text[:_MAX_SCANNED_CHARS].split():
        announces = _ANNOUNCES_SECRET.fullmatch(word) is not None
        plain = _WORD.fullmatch(word) or _PUNCTUATION.fullmatch(word)
        if announces and plain:
            kept.append(word)
        elif plain and not deny_next:
            kept.append(word)
        elif not kept or kept[-1] != _REDACTED:
            kept.append(_REDACTED)
        # "authorization: Bearer abc": the second word announces in its turn, so denial lasts until a word was denied.
        deny_next = announces
    line = " ".join(kept)
    return line if len(line) <= limit else line[: limit - 1] + "…"


def describe_exception(error: BaseException) -> str:
    """The class name of `error` and its scrubbed text: `ConnectError: connection refused`. It never raises.

    An exception whose `__str__` raises, or returns something that is not a string, is described by its class alone.
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
