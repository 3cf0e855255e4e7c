"""Secrets of every shape that must not be seen, and the search for them in whatever forms they may have taken (rule E2)."""

import base64
import json
import secrets
import string
import uuid
from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import quote

# A leak is as much of a secret as this; less could be there by chance.
WINDOW_CHARS = 10
STEP_CHARS = 3

LETTERS_AND_DIGITS = string.ascii_letters + string.digits


class Canary(NamedTuple):
    """What is put somewhere, and what of it is secret."""

    text: str
    secret: str


def _characters(alphabet: str, count: int) -> str:
    return "".join(secrets.choice(alphabet) for _ in range(count))


def _groups(count: int) -> str:
    """Groups that hold a digit between letters, such as a person is told to choose."""
    return " ".join(
        _characters(string.ascii_letters, 2)
        + secrets.choice(string.digits)
        + _characters(string.ascii_letters, 2)
        for _ in range(count)
    )


def make_canaries() -> dict[str, Canary]:
    """One of each shape, different each time."""
    token = {name: _characters(LETTERS_AND_DIGITS, 40) for name in ("key", "bearer", "user", "query")}
    encoded = base64.b64encode(secrets.token_bytes(33)).decode()
    pem = [base64.b64encode(secrets.token_bytes(48)).decode() for _ in range(4)]
    plain = {
        "letters": _characters(string.ascii_lowercase, 24),
        "mixed letters": _characters(string.ascii_letters, 32),
        "hexadecimal": secrets.token_hex(20),
        "uuid": str(uuid.UUID(bytes=secrets.token_bytes(16))),
        "passphrase": _groups(6),
        "symbols": _characters(LETTERS_AND_DIGITS + "!#$%&*+-=?@^_~", 32),
    }
    return {
        "key": Canary(f"sk-proj-{token['key']}", token["key"]),
        "bearer": Canary(f"Bearer {token['bearer']}", token["bearer"]),
        "base64": Canary(encoded, encoded.rstrip("=")),
        "user in address": Canary(f"https://bob:{token['user']}@models.example/v1", token["user"]),
        "query of address": Canary(f"https://models.example/v1?key={token['query']}&alt=sse", token["query"]),
        "private key": Canary(
            "\n".join(["-----BEGIN PRIVATE KEY-----", *pem, "-----END PRIVATE KEY-----"]), "\n".join(pem)
        ),
        **{name: Canary(value, value) for name, value in plain.items()},
    }


def encoded_forms(text: str) -> dict[str, str]:
    """`text` as programs write it: as it is, in an address, in JSON, as Python shows it, in base64 and in hexadecimal."""
    raw = text.encode()
    return {
        "as it is": text,
        "address": quote(text, safe=""),
        "JSON": json.dumps(text)[1:-1],
        "repr": repr(text)[1:-1],
        "base64": base64.b64encode(raw).decode().rstrip("="),
        "hexadecimal": raw.hex(),
    }


class Search:
    """Finds canaries, whole or in part, in what was seen."""

    def __init__(self, canaries: Mapping[str, Canary]) -> None:
        self._pieces: dict[bytes, str] = {}
        for name, canary in canaries.items():
            # What is around a secret moves its base64 along, so the whole text is looked for in that.
            forms = {**encoded_forms(canary.secret), "base64 of all": encoded_forms(canary.text)["base64"]}
            for form, value in forms.items():
                lines = value.splitlines() if form == "as it is" else [value]
                skipped = 8 if form == "base64 of all" else 0  # what comes before the secret is known to all
                for line in lines:
                    for start in range(skipped, len(line) - WINDOW_CHARS + 1, STEP_CHARS):
                        piece = line[start : start + WINDOW_CHARS].encode()
                        self._pieces[piece] = f"{name} ({form})"

    def found_in(self, *seen: str | bytes) -> set[str]:
        """The names of the canaries of which some part is there, each with the form that it has."""
        whole = b"\0".join(each.encode(errors="replace") if isinstance(each, str) else each for each in seen)
        return {name for piece, name in self._pieces.items() if piece in whole}
