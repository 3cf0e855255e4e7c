"""What may be told of somebody else's text: words that cannot be a secret (rule E2).

The rule is to deny by default. A provider's message may quote a key, a header, an address with a token in it
or a whole request, in forms that nobody can list. So a word of it passes only if it looks like a word of
prose, and not where prose puts a value: in quotation marks, in a structure, or in a sentence that speaks of a
secret, where only the words of a short list pass. All else becomes `[...]`.

`scrub` is for texts of others. `presentable` is for sentences of this package that name what others chose: it
keeps quotation marks, paths and commands, and takes out the names that look like keys.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from types import TracebackType

from engine_intelligence.lettering import looks_like_word

MAX_CAUSE_CHARS = 200
"""Bound of a `cause`, in characters: one sentence that fits a line of a log."""

# Text beyond this is not even looked at: an exception may carry a hundred megabytes of response body.
_MAX_SCANNED_CHARS = 2000

# Three places say which function of whose module raised, and who had called it.
_MAX_PLACES = 3

_REDACTED = "[...]"

_AROUND = re.compile(r"\(?(.*?)[).,:;!?…]{0,3}", re.DOTALL)
_LETTERS = re.compile(r"[A-Za-z]{1,120}(?:[-_./'’][A-Za-z]{1,120}){0,4}(?:\(\))?")
_LETTER_RUNS = re.compile(r"[A-Za-z]+")
_NUMBER = re.compile(r"[-+]?\d{1,5}(?:[.,]\d{1,4})?%?s?")
_PUNCTUATION = re.compile(r"[-–—=:;,.!?&|+*/]{1,3}")
_ENDS_SENTENCE = (".", "!", "?")

# A quotation mark that is no apostrophe: not between two letters.
_QUOTE = re.compile(r"""(?<![A-Za-z])['’]|['’](?![A-Za-z])|["`“”‘«»]""")
_CLOSING = {"“": "”", "‘": "’", "«": "»"}

# A structure, a tag, a program's representation of one, or the frame of a key's file: what follows is values to the end.
_STRUCTURE = re.compile(r"[\[\]{}<>]|-{4}")

_SECRET_NAMES = r"(?:key|secret|token|passw(?:or)?d|passphrase|credential|authorization|cookie)s?"
_SECRET = re.compile(rf"(?i)\(?[\w-]*{_SECRET_NAMES}[:=]*[).,;!?]*")
_SECRET_ASSIGNMENT = re.compile(rf"(?i){_SECRET_NAMES}[:=]+[^:=]")
_ASSIGNMENT = re.compile(r"\w=")
# How much a model reads and writes is counted in tokens; those are no secret unless something follows.
_COUNTED = re.compile(r"(?i)\(?tokens[).,;!?]*")
_SCHEME = re.compile(r"(?i)\(?(?:bearer|basic|digest)[:=]*")
_STATUS = re.compile(r"[1-5]\d\d")

# How Python begins the text of an error of the system: no structure, and worth a look at.
_SYSTEM_ERROR = re.compile(r"\[((?:Errno|WinError) -?\d{1,5})\]")

# What prose says of a secret without telling it.
_ABOUT_SECRETS_TEXT = (
    "a access account again an and api are as at auth authentication authorization be because been before but by can "
    "cannot check client code configuration configured console could deactivated denied did disabled do does empty "
    "environment error exceeded expired failed file for forbidden format found from generate had has have header "
    "headers host however http if in incorrect insufficient invalid is it its length limit limits log login long "
    "longer malformed missing must new no not of on or organization per permission permissions please project provide "
    "provided provider quota rate received refused rejected request requested requests required requires response "
    "revoked server service set settings short should status supplied supported that the then this to too "
    "unauthenticated unauthorized unknown unset unsupported used user valid value variable was were when which with "
    "without wrong you your"
)
_ABOUT_SECRETS = frozenset(_ABOUT_SECRETS_TEXT.split())

# Names of models hold numbers, so they pass by a list of families and of what stands behind one.
_FAMILY = re.compile(
    r"(?:chatgpt|claude|codestral|command|deepseek|dolphin|falcon|gemini|gemma|glm|gpt|granite|grok|kimi|llama|ministral"
    r"|mistral|mixtral|olmo|phi|qwen|qwq|smollm|tinyllama|yi)\d{0,2}|o\d"
)
_OF_MODEL = re.compile(
    r"\d{1,3}|\d{1,3}[bkmo]|\d{1,2}x\d{1,3}b|v\d{1,2}|i?q\d|[a-z]|fp?16|bf16|20\d{6}|nano|mini|small|medium|large|xl|xs|max|pro"
    r"|plus|turbo|flash|lite|instruct|chat|base|it|hf|latest|preview|exp|vision|audio|code|coder|sonnet|opus|haiku|nemo"
    r"|distill|reasoner|thinking|omni|gguf|bin|safetensors"
)
_MODEL_PARTS = re.compile(r"[-_.:/]")
_MAX_MODEL_PARTS = 9


def scrub(text: str, *, limit: int = MAX_CAUSE_CHARS) -> str:
    """`text` with all that might be a secret replaced by `[...]`, on one line, of at most `limit` characters.

    Pure and total: it never raises, whatever the text holds, and takes time bounded by a constant. Any thread
    may call it.
    """
    kept: list[str] = []
    chars = 0
    for word in _Reader(_SYSTEM_ERROR.sub(r"(\1)", text[:_MAX_SCANNED_CHARS]).split()).scrubbed():
        if word == _REDACTED and kept and kept[-1] == _REDACTED:
            continue
        kept.append(word)
        chars += len(word) + 1
        if chars > limit + 1:
            break
    line = " ".join(kept)
    return line if len(line) <= limit else line[: limit - 1] + "…"


class _Reader:
    """Goes through the words of a text, and knows of the place where it is what prose puts there."""

    def __init__(self, words: list[str]) -> None:
        self._words = words
        self._quote: str | None = None  # what closes the quotation that the word stands in
        self._number_before = False
        self._begin_sentence(0)

    def scrubbed(self) -> Iterator[str]:
        """The words, each as it is or `[...]`, up to where nothing more can be told."""
        for place, word in enumerate(self._words):
            if self._in_quotation(word):
                yield _REDACTED
                continue
            yield word if self._passes(word) else _REDACTED
            if self._values_follow(word):
                yield _REDACTED
                return
            if word.endswith(_ENDS_SENTENCE):
                self._begin_sentence(place + 1)

    def _begin_sentence(self, place: int) -> None:
        self._speaks_of_secret = _names_secret(self._words, place)
        self._secret_named = False  # by now, in this sentence
        self._told = False  # a value has come: what follows in this sentence may belong to it

    def _in_quotation(self, word: str) -> bool:
        """Whether the word stands in quotation marks, opens or closes them."""
        if self._quote is not None:
            if word.rstrip(".,:;!?)").endswith(self._quote):
                self._quote = None
            return True
        if _STRUCTURE.search(word):
            return False
        opening = _QUOTE.search(word)
        if opening is None:
            return False
        closing = _CLOSING.get(opening[0], opening[0])
        self._quote = None if closing in word[opening.end() :] else closing
        return True

    def _passes(self, word: str) -> bool:
        is_number = _NUMBER.fullmatch(_inner(word)) is not None
        # Two numbers in a row may be a long one in groups.
        plain = _is_plain(word) and not (is_number and self._number_before)
        self._number_before = is_number
        passes = plain and not self._told and (not self._speaks_of_secret or _is_about_secrets(word))
        self._secret_named |= _is_secret_name(word)
        if _ASSIGNMENT.search(word) or (self._secret_named and not passes):
            self._told = True
        return passes

    def _values_follow(self, word: str) -> bool:
        """Whether all that comes after the word may be values."""
        return (
            _STRUCTURE.search(word) is not None
            or _SCHEME.fullmatch(word) is not None
            or _SECRET_ASSIGNMENT.search(word) is not None
            or (self._secret_named and word.endswith((":", "=")))
        )


def _names_secret(words: list[str], start: int) -> bool:
    """Whether the sentence that begins at `start` speaks of a secret."""
    for word in words[start:]:
        if _is_secret_name(word):
            return True
        if word.endswith(_ENDS_SENTENCE):
            return False
    return False


def _is_secret_name(word: str) -> bool:
    if _SCHEME.fullmatch(word):
        return True
    return _SECRET.fullmatch(word) is not None and not _COUNTED.fullmatch(word)


def _is_about_secrets(word: str) -> bool:
    inner = _inner(word)
    return (
        inner.lower() in _ABOUT_SECRETS
        or _SECRET.fullmatch(inner) is not None
        or _SCHEME.fullmatch(inner) is not None
        or _STATUS.fullmatch(inner) is not None
        or _PUNCTUATION.fullmatch(word) is not None
    )


def _inner(word: str) -> str:
    """`word` without the parenthesis before it and the punctuation behind it."""
    around = _AROUND.fullmatch(word)
    return word if around is None else around[1]


def _is_plain(word: str) -> bool:
    """Whether it is a word of prose, a short number, punctuation or the name of a model."""
    if _PUNCTUATION.fullmatch(word):
        return True
    inner = _inner(word)
    if _LETTERS.fullmatch(inner):
        return all(looks_like_word(run) for run in _LETTER_RUNS.findall(inner))
    return _NUMBER.fullmatch(inner) is not None or _is_model(inner)


def _is_model(name: str) -> bool:
    first, *others = _MODEL_PARTS.split(name.lower())
    if len(others) >= _MAX_MODEL_PARTS or not _FAMILY.fullmatch(first):
        return False
    return all(_OF_MODEL.fullmatch(part) or _FAMILY.fullmatch(part) for part in others)


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


def where_raised(trace: TracebackType | None) -> str:
    """The last places that an exception came through: file, line and function, without any source text or value."""
    places: list[str] = []
    while trace is not None:
        code = trace.tb_frame.f_code
        places.append(f"{os.path.basename(code.co_filename)}:{trace.tb_lineno} in {code.co_name}")
        trace = trace.tb_next
    return " > ".join(places[-_MAX_PLACES:])


# What `presentable` looks at as one: a path, which holds neither space nor what stands around a name; its segments; and the
# punctuation around one, which stays.
_PATH = re.compile(r"""[^\s'"`‘’“”]+""")
_SEGMENT = re.compile(r"[^/\\]+")
_OF_SEGMENT = re.compile(r"([(\[]*)(.*?)([)\],;:.!?]*)", re.DOTALL)
_FOREIGN_TO_NAMES = re.compile(r"[\x00-\x1f#$%&*@^{|}]")
_RUNS = re.compile(r"[A-Za-z0-9]+")
_MIXED = re.compile(r"([A-Za-z]{2,24})\d{1,3}|\d{1,3}[A-Za-z]{1,2}|[A-Za-z]\d{1,2}|\d{1,2}x\d{1,3}b")
_MAX_MIXED = 3
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]")
_CAMEL = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
# As many as C:\Users\Ann\AppData\LocalLow\MyCompany\MyGame has. Random base64 with slashes in it has more, but for one in
# thousands.
_MAX_ODDITIES = 4
_TYPO = re.compile(r"[a-z]{1,7}|[A-Z]{1,7}")  # one to a segment: several may be a password in groups
_SHORT_NUMBER = re.compile(r"\d{1,5}|20\d{6}")
_LONE_NUMBER = re.compile(r"[-+]?\d{1,9}(?:\.\d{1,9})?")


def presentable(text: str) -> str:
    """A sentence of this package with the names in it that look like keys replaced by `[...]`.

    For what says which key of a file, which path or which module is wrong: somebody may have put a credential
    there by mistake. Its own words, commands and punctuation stay as they are. Pure, total, for any thread.
    """
    return _PATH.sub(lambda found: _presentable(found[0]), text[:_MAX_SCANNED_CHARS])


def _presentable(path: str) -> str:
    # Base64 has slashes too: beside what is no name, a segment stays only if it is words.
    segments = [_bare(segment) for segment in _SEGMENT.findall(path)]
    passes = _is_name if all(map(_is_name, segments)) and _oddities(path) <= _MAX_ODDITIES else _is_words
    return _SEGMENT.sub(lambda found: found[0] if passes(_bare(found[0])) else _redacted(found[0]), path)


def _oddities(path: str) -> int:
    """How much there is in it that random letters are full of and names have now and then."""
    odd = [run for run in _LETTER_RUNS.findall(path) if not _WORD.fullmatch(run)]
    short = sum(len(part) <= 3 for run in odd for part in _CAMEL.findall(run))
    mixed = sum(not run.isalpha() and not run.isdigit() for run in _RUNS.findall(path))
    typos = sum(_TYPO.fullmatch(run) is not None and not looks_like_word(run) for run in _RUNS.findall(path))
    return short + mixed + 2 * typos + path.count("+")


def _bare(segment: str) -> str:
    around = _OF_SEGMENT.fullmatch(segment)
    return segment if around is None else around[2]


def _redacted(segment: str) -> str:
    around = _OF_SEGMENT.fullmatch(segment)
    return _REDACTED if around is None else f"{around[1]}{_REDACTED}{around[3]}"


def _is_words(segment: str) -> bool:
    """Whether it is whole words, of which none has a capital inside or a digit."""
    if not _is_name(segment):
        return False
    return all(_WORD.fullmatch(run) and looks_like_word(run) for run in _RUNS.findall(segment))


def _is_name(segment: str) -> bool:
    """Whether a person might have named something so: words, with a small number here and there."""
    if _LONE_NUMBER.fullmatch(segment):
        return True
    if _FOREIGN_TO_NAMES.search(segment):
        return False
    mixed = typos = 0
    for run in _RUNS.findall(segment):
        if run.isdigit():
            if not _SHORT_NUMBER.fullmatch(run):
                return False
        elif _TYPO.fullmatch(run) and not looks_like_word(run):
            typos += 1
        elif not looks_like_word(run):
            parts = _MIXED.fullmatch(run)
            if parts is None or (parts[1] is not None and not looks_like_word(parts[1])):
                return False
            mixed += 1
    return mixed <= _MAX_MIXED and typos <= 1


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
