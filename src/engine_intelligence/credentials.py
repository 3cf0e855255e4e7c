"""Which variables of an environment may hold a credential, and are kept from a process that is not to have it (rule H2).

A name can only hint at what a variable holds, so the value is looked at too, and the rule is to deny by default: one
passes only if it is made of words, numbers and paths, as settings are. What remains is a secret that consists of ordinary
words under an ordinary name, which nobody can tell from a setting.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator, Mapping
from typing import NamedTuple

# What every program is given and none keeps a secret in, though some of it holds numbers that look like one.
_ORDINARY = re.compile(
    r"PATH|HOME|USER|LOGNAME|SHELL|PWD|OLDPWD|SHLVL|TMPDIR|TEMP|TMP|TZ|LANG|LANGUAGE|LC_[A-Z]+|TERM|COLORTERM"
    r"|TERM_PROGRAM(?:_VERSION)?|LS_COLORS|DISPLAY|WAYLAND_DISPLAY|XAUTHORITY|ICEAUTHORITY|SESSION_MANAGER"
    r"|XDG_(?:(?:CONFIG|DATA|CACHE|STATE|BIN)_HOME|(?:CONFIG|DATA)_DIRS|RUNTIME_DIR|CURRENT_DESKTOP|MENU_PREFIX|SEAT|VTNR"
    r"|SESSION_(?:ID|TYPE|CLASS|DESKTOP|PATH)|SEAT_PATH|GREETER_DATA_DIR)|DBUS_SESSION_BUS_ADDRESS"
    r"|LD_LIBRARY_PATH|DYLD_(?:FALLBACK_)?(?:LIBRARY|FRAMEWORK)_PATH|VIRTUAL_ENV"
    r"|PYTHON(?:PATH|HOME|UNBUFFERED|UTF8|IOENCODING|DONTWRITEBYTECODE|WARNINGS|HASHSEED)"
    r"|SYSTEMROOT|SYSTEMDRIVE|WINDIR|COMSPEC|PATHEXT|APPDATA|LOCALAPPDATA|ALLUSERSPROFILE|(?:COMMON)?PROGRAMFILES(?:\(X86\))?"
    r"|(?:COMMON)?PROGRAMW6432|PROGRAMDATA|USERPROFILE|USERNAME|USERDOMAIN(?:_ROAMINGPROFILE)?|COMPUTERNAME|HOMEDRIVE|HOMEPATH"
    r"|OS|PUBLIC|DRIVERDATA|(?:CUDA|HIP|ROCR)_VISIBLE_DEVICES|NUMBER_OF_PROCESSORS"
    r"|PROCESSOR_(?:ARCHITECTURE|ARCHITEW6432|IDENTIFIER|LEVEL|REVISION)",
    re.IGNORECASE,
)

# Words of a name that announce a credential, a way to one, or an address with one in it.
_TELLING = re.compile(
    r"(?i)(?:\w*key|keys|\w*tokens?|\w*secrets?|pass|\w*passw(?:or)?d|\w*passwds?|\w*passphrase|passcode|\w*passfile|pwd|pat"
    r"|pin|otp|\w*credentials?|creds?|auth|oauth2?|\w*authorization|cookies?|bearer|jwt|private|signature|sig|webhook|dsn"
    r"|netrc|kubeconfig|krb5ccname)\d*"
)
_WORDS_OF_A_NAME = re.compile(r"[A-Z]+(?![a-z])[0-9]*|[A-Z]?[a-z]+[0-9]*|[0-9]+")
_RUNS_OF_A_NAME = re.compile(r"[A-Za-z0-9]+")

# An address that names a user, with or without a password: scheme://user:password@host.
_USER_IN_ADDRESS = re.compile(r"://[^/\s]*@")

# One without a scheme: user:password@host.
_USER_AND_PASSWORD = re.compile(r"[^\s:/@]+:[^\s@]+@")

# What a value says that it holds: `token=...`, `"api_key": "..."`, `--password ...`, `Bearer ...`.
_NAMED_IN_VALUE = re.compile(
    r"""([A-Za-z][\w-]*)["']?\s*[=:]|--?([A-Za-z][\w-]*)\s|\b(bearer)\s""", re.IGNORECASE
)

_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)

_SEPARATORS = re.compile(r"[\s:;,=@/\\|&?+*#%~!<>()\[\]{}'\"._-]+")

# A piece of a setting: a word (also in CamelCase, or with letters beyond ASCII), a number, a word with a number behind it or
# before it, a size.
_PLAIN_PIECE = re.compile(
    r"(?:[A-Z]?[a-z]{1,16}|[A-Z]{1,14}|(?:[A-Z]?[a-z]{2,12}){2,3}|(?=.*[^\x00-\x7f])[^\W\d_]{1,16})\d{0,3}"
    r"|\d{1,12}[A-Za-z]{0,3}|\d{1,4}(?:[a-z]{1,10}|[A-Z]{1,10})|\d{1,5}x\d{1,5}"
)

# No piece of so many characters passes, whatever it looks like: 20 of base62 are 119 bits.
_MAX_PIECE_CHARS = 19

# What is no word and no number may take so much of a whole value, such as the colour ff00ff.
_MAX_UNEXPLAINED_CHARS = 6

# What base64 is written in, also that for addresses, as long as a token. Cut at its separators, a random one of 20 characters
# is words and numbers alone once in 16,000 times. Most of those have both cases and a digit, which no setting has but a path:
# without them one in 45,000 passes, and of 24 characters one in 400,000 (counted).
_BLOCK = re.compile(r"[A-Za-z0-9_+/=-]{20,}")
_KINDS_OF_CHARACTERS = tuple(re.compile(kind) for kind in ("[a-z]", "[A-Z]", "[0-9]"))
_PATH_LIKE = re.compile(r"~?/|\.{1,2}/|[A-Za-z]:[\\/]")


class Sifted(NamedTuple):
    """An environment without what may be a credential, and the names of what was withheld, sorted."""

    environment: dict[str, str]
    withheld: list[str]


def without_credentials(environment: Mapping[str, str], *, keep: Collection[str] = ()) -> Sifted:
    """Sift `environment`. The variables named in `keep` pass whatever they hold."""
    passed = {
        name: value
        for name, value in environment.items()
        if name in keep or not may_be_a_credential(name, value)
    }
    return Sifted(passed, sorted(environment.keys() - passed.keys()))


def may_be_a_credential(name: str, value: str) -> bool:
    """Whether the variable `name` with this value has to be taken for a credential. Total; any thread may call it.

    It looks at the file system: a path that exists passes whatever it is made of.
    """
    if _ORDINARY.fullmatch(name):
        return _USER_IN_ADDRESS.search(value) is not None
    return _is_telling(name) or _tells(value) or not _is_plain(value)


def _is_telling(name: str) -> bool:
    """Whether a word of a name announces a credential: of API_KEY, of apiKey and of APIKEY."""
    words = [*_RUNS_OF_A_NAME.findall(name.replace("_", " ")), *_WORDS_OF_A_NAME.findall(name)]
    return any(_TELLING.fullmatch(word) for word in words)


def _tells(value: str) -> bool:
    """Whether a value says itself that there is a credential in it."""
    if _USER_IN_ADDRESS.search(value) or _USER_AND_PASSWORD.search(value) or _UUID.search(value):
        return True
    return any(_is_telling("".join(named)) for named in _NAMED_IN_VALUE.findall(value))


def _is_plain(value: str) -> bool:
    """Whether a value consists of words, numbers and paths."""
    parts = [part for part in value.split(os.pathsep) if not _is_existing_path(part)]
    unexplained = [piece for part in parts for piece in _unexplained(part)]
    return (
        sum(map(len, unexplained)) <= _MAX_UNEXPLAINED_CHARS
        and all(len(piece) <= _MAX_PIECE_CHARS for part in parts for piece in _SEPARATORS.split(part))
        and not any(_holds_a_token(part) for part in parts)
    )


def _is_existing_path(part: str) -> bool:
    return os.path.isabs(part) and os.path.lexists(part)


def _unexplained(text: str) -> Iterator[str]:
    return (piece for piece in _SEPARATORS.split(text) if not _PLAIN_PIECE.fullmatch(piece))


def _holds_a_token(part: str) -> bool:
    """Whether a run of what base64 is written in could be a token."""
    for block in _BLOCK.findall(part):
        if any(_unexplained(block)):
            return True
        if not _PATH_LIKE.match(part) and all(kind.search(block) for kind in _KINDS_OF_CHARACTERS):
            return True
    return False
