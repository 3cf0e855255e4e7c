"""Keys of services: found when a provider is made, from where its configuration says, and from nowhere else.

Environment variables are read here, in `host/config.py`, `host/directories.py` and in the command line only.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from engine_intelligence.errors import SetupError
from engine_intelligence.providers.options import check_address
from engine_intelligence.providers.vendor import Access, KeySource, VendorOptions, is_at, is_loopback

# What servers on one's own machine are given that want no key; the SDKs insist on one.
NO_KEY = "none"

PLACES = 'key = { env = "NAME" }, { file = "PATH" } or { keyring = "SERVICE" }'
"""The ways to say where a key is."""

# Names under which people write a key where none belongs.
_KEY_NAMES = ("key", "api_key", "apikey", "api-key", "token", "auth_token", "secret", "password")


class Vendor(NamedTuple):
    """How a person calls a vendor, the environment variables that its own SDK reads, and the host that it is at."""

    name: str
    key_variable: str
    url_variable: str
    host: str = ""


def refuse_keys_in(options: Mapping[str, object], where: str) -> None:
    """Raise `SetupError` if a key itself stands in a configuration; it is not told."""
    for name, value in options.items():
        if name.lower() in _KEY_NAMES and isinstance(value, str):
            raise SetupError(
                "key-in-configuration",
                f"{where}: {name} holds a key itself. Files are shared, committed and backed up, and so are keys in them. "
                f"Say where it is: {PLACES}.",
            )


def find_access(options: VendorOptions, vendor: Vendor, where: str) -> Access:
    """The key and the address for a provider of `vendor`.

    Raises `SetupError` with reason `missing-key`, `bad-key`, or `config-invalid` for an address that is none. The vendor's
    own variable holds a key for the vendor, so that it is sent to another host only if the configuration names it, or if the
    address is a variable of the vendor's too.
    """
    base_url = options.base_url or _address(vendor.url_variable, where)
    if options.key is not None:
        return Access(_checked(_read(options.key, where), where), base_url)
    address = options.base_url
    may_know = address is None or is_loopback(address) or is_at(address, vendor.host)
    key = os.environ.get(vendor.key_variable, "").strip() if may_know else ""
    if key:
        return Access(_checked(key, where), base_url)
    if base_url is not None:
        return Access(NO_KEY, base_url)
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


def _read(source: KeySource, where: str) -> str:
    if source.env is not None:
        key = os.environ.get(source.env, "")
        advice = f"the environment variable {source.env} is not set where the Host was started"
    elif source.file is not None:
        key = _read_file(Path(source.file).expanduser(), where)
        advice = f"the file {source.file} is empty"
    else:
        assert source.keyring is not None
        key = _read_keyring(source.keyring, source.user or source.keyring, where)
        advice = f"the system's keyring has no entry for the service {source.keyring}"
    if not key.strip():
        raise SetupError("missing-key", f"{where}: there is no key: {advice}.")
    return key.strip()


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
