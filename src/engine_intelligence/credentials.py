"""Which variables of an environment may hold a credential, and are kept from a process that is not to have it (rule H2).

A name can only hint at what a variable holds, so the value is looked at too, and the rule is to deny by default: one
passes only if every piece of it looks like a word, a number or a path, as settings do. What remains is a secret that is
an ordinary word under an ordinary name, which nobody can tell from a setting.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Mapping
from typing import NamedTuple

# What every program is given and none keeps a secret in, though some of it holds numbers that look like one.
_ORDINARY = re.compile(
    r"PATH|HOME|USER|LOGNAME|SHELL|PWD|OLDPWD|SHLVL|TMPDIR|TEMP|TMP|TZ|LANG|LANGUAGE|LC_[A-Z]+|TERM|COLORTERM|TERM_PROGRAM\w*"
    r"|LS_COLORS|DISPLAY|WAYLAND_DISPLAY|XAUTHORITY|ICEAUTHORITY|XDG_[A-Z_]+|DBUS_SESSION_BUS_ADDRESS|SESSION_MANAGER"
    r"|LD_LIBRARY_PATH|DYLD_\w+|VIRTUAL_ENV|PYTHON(?:PATH|HOME|UNBUFFERED|UTF8|IOENCODING|DONTWRITEBYTECODE|WARNINGS|HASHSEED)"
    r"|SYSTEMROOT|SYSTEMDRIVE|WINDIR|COMSPEC|PATHEXT|APPDATA|LOCALAPPDATA|ALLUSERSPROFILE|PROGRAM(?:DATA|FILES|W6432)\S*"
    r"|COMMONPROGRAM\S+|USERPROFILE|USERNAME|USERDOMAIN\w*|COMPUTERNAME|HOMEDRIVE|HOMEPATH|OS|PUBLIC|DRIVERDATA"
    r"|(?:CUDA|HIP|ROCR)_VISIBLE_DEVICES"
    r"|NUMBER_OF_PROCESSORS|PROCESSOR_[A-Z0-9]+",
    re.IGNORECASE,
)

# Words of a name that announce a credential, a way to one, or an address with one in it.
_TELLING = re.compile(
    r"(?i)(?:\w*key|keys|\w*tokens?|\w*secrets?|pass|\w*passw(?:or)?d|passwds?|passphrase|pwd|pat|pin|\w*credentials?|creds?"
    r"|auth|oauth|\w*authorization|cookies?|bearer|jwt|private|signature|webhook|dsn|netrc)\d*"
)
_WORDS_OF_A_NAME = re.compile(r"[A-Za-z0-9]+")

# An address that names a user, with or without a password: scheme://user:password@host.
_USER_IN_ADDRESS = re.compile(r"://[^/\s]*@")

_SEPARATORS = re.compile(r"[\s:;,=@/\\|&?+*#%~!<>()\[\]{}'\"._-]+")

# A piece of a setting: a short one, a word (also in CamelCase), a number, a word with a number behind it or before it.
_MAX_SHORT_CHARS = 7
_PLAIN_PIECE = re.compile(
    r"(?:[A-Z]?[a-z]{1,24}|[A-Z]{1,16}|(?:[A-Z]?[a-z]{1,16}){1,4})\d{0,4}|\d{1,12}[A-Za-z]{0,3}|\d{1,4}[a-z]{1,10}"
)


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
    """Whether the variable `name` with this value has to be taken for a credential. Pure and total; any thread may call it."""
    if _ORDINARY.fullmatch(name):
        return _USER_IN_ADDRESS.search(value) is not None
    if any(_TELLING.fullmatch(word) for word in _words(name)):
        return True
    if _USER_IN_ADDRESS.search(value):
        return True
    return not all(
        (os.path.isabs(part) and os.path.lexists(part)) or _is_plain(part) for part in value.split(os.pathsep)
    )


def _words(name: str) -> list[str]:
    return _WORDS_OF_A_NAME.findall(name.replace("_", " "))


def _is_plain(text: str) -> bool:
    return all(
        len(piece) <= _MAX_SHORT_CHARS or _PLAIN_PIECE.fullmatch(piece) for piece in _SEPARATORS.split(text)
    )
