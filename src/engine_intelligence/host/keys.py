"""Keys of services: found when a provider is made, from where its configuration says, and from nowhere else.

Environment variables are read here, in `host/config.py`, `host/directories.py` and in the command line only.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple, cast

from engine_intelligence.errors import SetupError
from engine_intelligence.providers.options import check_address
from engine_intelligence.providers.vendor import Access, KeySource, VendorOptions, is_at, is_loopback

# What servers on one's own machine are given that want no key; the SDKs insist on one.
NO_KEY = "none"

PLACES = 'key.env = "NAME", key.file = "PATH" or key.keyring = "SERVICE"'
"""The ways to say where a key is."""

# Words of a name under which people write a key: of `api_key`, `apiKey`, `OPENAI_API_KEY` and `Authorization`.
_KEY_WORDS = frozenset(
    (
        "key",
        "apikey",
        "token",
        "secret",
        "password",
        "passwd",
        "passphrase",
        "authorization",
        "bearer",
        "credential",
        "credentials",
    )
)
_WORDS_OF_A_NAME = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")

# What services issue as keys begins so, and so does a header with one; a digit tells them from prose.
_KEY = re.compile(
    r"(?<![A-Za-z0-9])(?:(?:sk|pk|rk|gsk|xai|hf|ghp|glpat|nvapi|pplx|csk|fw|r8)[-_]|AIza)"
    r"(?=[A-Za-z_-]*[0-9])[A-Za-z0-9_-]{16,}|\bBearer\s+\S{8}"
)

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class Vendor(NamedTuple):
    """How a person calls a vendor, the environment variables that its own SDK reads, and the host that it is at."""

    name: str
    key_variable: str
    url_variable: str
    host: str = ""


class Found(NamedTuple):
    """A key and an address, and in words where the key was found."""

    access: Access
    place: str


def refuse_keys_in(values: Mapping[str, object], where: str) -> None:
    """Raise `SetupError` with reason `key-in-configuration` if a key itself stands in a configuration, at any depth.

    It is recognised by the name that it stands under, or by its own form, and never told.
    """
    _refuse_in_table(values, where, ())


def _refuse_in_table(values: Mapping[str, object], where: str, path: tuple[str, ...]) -> None:
    for name, value in values.items():
        if _KEY.search(name):
            raise _key_in_configuration(where, path, "the name of a value")
        _refuse_key(name, value, where, path)


def _refuse_key(name: str, value: object, where: str, path: tuple[str, ...]) -> None:
    if isinstance(value, Mapping):
        _refuse_in_table(cast("Mapping[str, object]", value), where, (*path, name))
    elif isinstance(value, list):
        for each in cast("list[object]", value):
            _refuse_key(name, each, where, path)
    elif isinstance(value, str) and value.strip():
        if _names_a_key(name) or _KEY.search(value):
            raise _key_in_configuration(where, path, name)
        if name == "env" and not _VARIABLE.fullmatch(value):
            raise SetupError(
                "key-in-configuration",
                f"{_place(where, path)}: env holds no name of an environment variable. If it is a key itself: set a variable "
                'to it where the Host is started, and say the name of that, such as env = "GATEKEEPER_KEY".',
            )


def _names_a_key(name: str) -> bool:
    return any(word.lower() in _KEY_WORDS for word in _WORDS_OF_A_NAME.findall(name))


def _key_in_configuration(where: str, path: tuple[str, ...], what: str) -> SetupError:
    return SetupError(
        "key-in-configuration",
        f"{_place(where, path)}: {what} holds a key itself. Files are shared, committed and backed up, and so are keys in "
        f"them. Say where it is: {PLACES}.",
    )


def _place(where: str, path: tuple[str, ...]) -> str:
    return f"{where}: {'.'.join(path)}" if path else where


def find_access(options: VendorOptions, vendor: Vendor, where: str) -> Access:
    """The key and the address for a provider of `vendor`. Raises like `look_for_access`."""
    return look_for_access(options, vendor, where).access


def look_for_access(options: VendorOptions, vendor: Vendor, where: str) -> Found:
    """The key and the address for a provider of `vendor`, and where the key is.

    Raises `SetupError` with reason `missing-key`, `bad-key`, or `config-invalid` for an address that is none. The vendor's
    own variable holds a key for the vendor, so that it is sent to another host only if the configuration names it, or if the
    address is a variable of the vendor's too.
    """
    base_url = options.base_url or _address(vendor.url_variable, where)
    if options.key is not None:
        place, key = _read(options.key, where)
        return Found(Access(_checked(key, where), base_url), place)
    address = options.base_url
    may_know = address is None or is_loopback(address) or is_at(address, vendor.host)
    key = os.environ.get(vendor.key_variable, "").strip() if may_know else ""
    if key:
        place = f"the environment variable {vendor.key_variable}"
        return Found(Access(_checked(key, where), base_url), place)
    if base_url is not None:
        return Found(Access(NO_KEY, base_url), "none, which a server of one's own needs not")
    raise SetupError(
        "missing-key",
        f"{where}: {vendor.name} needs a key: set the environment variable {vendor.key_variable} where the Host is started, "
        f"or say where it is: {PLACES}.",
    )


def _address(variable: str, where: str) -> str | None:
    address = os.environ.get(variable, "").strip()
    if not address:
        return None
    try:
        check_address(variable, address)
    except ValueError as error:
        raise SetupError("config-invalid", f"{where}: the environment variable {error}.") from None
    return address


def _read(source: KeySource, where: str) -> tuple[str, str]:
    """Where the key is, in words, and the key."""
    if source.env is not None:
        place = f"the environment variable {_shown_variable(source.env)}"
        key = os.environ.get(source.env, "") if _VARIABLE.fullmatch(source.env) else ""
        fault = f"{place} is not set where the Host was started"
    elif source.file is not None:
        place = f"the file {source.file}"
        key = _read_file(Path(source.file).expanduser(), where)
        fault = f"{place} is empty"
    else:
        assert source.keyring is not None
        place = f"the system's keyring, service {source.keyring}"
        key = _read_keyring(source.keyring, source.user or source.keyring, where)
        fault = f"the system's keyring has no entry for the service {source.keyring}"
    if not key.strip():
        raise SetupError("missing-key", f"{where}: there is no key: {fault}.")
    return place, key.strip()


def _shown_variable(name: str) -> str:
    """The name, if it can be no key that was pasted in its place."""
    return name if _VARIABLE.fullmatch(name) and name.isupper() else "that env names"


def _read_file(path: Path, where: str) -> str:
    try:
        with path.open(encoding="utf-8") as file:
            return file.read(16_384)  # a key is one line; this is a wrong file at most
    except (OSError, UnicodeDecodeError) as error:
        raise SetupError(
            "missing-key", f"{where}: the file with the key, {path}, cannot be read ({type(error).__name__})."
        ) from None


def _read_keyring(service: str, user: str, where: str) -> str:
    try:
        import keyring
    except ModuleNotFoundError:
        raise SetupError(
            "missing-package",
            f'{where}: a key in the keyring needs a package: pip install "engine-intelligence[keyring]"',
        ) from None
    try:
        return keyring.get_password(service, user) or ""
    except Exception as error:  # noqa: BLE001 - a border: each system has a keyring of its own, with its own errors
        raise SetupError(
            "missing-key", f"{where}: the system's keyring cannot be read ({type(error).__name__})."
        ) from None


def _checked(key: str, where: str) -> str:
    # A key travels in a header: anything else in it is a paste gone wrong, and would be an injection.
    if not key.isascii() or not key.isprintable() or " " in key:
        raise SetupError(
            "bad-key",
            f"{where}: what was found as the key holds blanks, line ends or letters that no key has: check its place.",
        )
    return key
