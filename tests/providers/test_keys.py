"""Where keys are found, to whom they are sent, and that none is ever shown."""

import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from engine_intelligence.errors import SetupError
from engine_intelligence.host.keys import NO_KEY, Vendor, find_access, refuse_keys_in
from engine_intelligence.providers.vendor import Access, KeySource, VendorOptions, is_loopback

VENDOR = Vendor("Oracle", "ORACLE_API_KEY", "ORACLE_BASE_URL", "api.oracle.example")
KEY = "sk-4fJx9QmT2bVw7ZkLpR8sHn3D"
OTHER = "sk-8f14e45fceea167a5a36dedd"


@pytest.fixture(autouse=True)
def no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (VENDOR.key_variable, VENDOR.url_variable):
        monkeypatch.delenv(name, raising=False)


def found(**options: Any) -> Access:
    return find_access(VendorOptions(**options), VENDOR, "host.toml: providers.sage")


def refused(**options: Any) -> SetupError:
    with pytest.raises(SetupError, match=r"^host\.toml: providers\.sage") as error:
        found(**options)
    return error.value


def test_the_vendors_variable_is_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VENDOR.key_variable, f" {KEY}\n")
    assert found() == Access(KEY)


def test_the_vendors_address_variable_is_the_default_and_its_key_goes_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(VENDOR.url_variable, "https://gateway.example/v1")
    assert found() == Access(NO_KEY, "https://gateway.example/v1")
    monkeypatch.setenv(VENDOR.key_variable, KEY)
    assert found() == Access(KEY, "https://gateway.example/v1")
    assert found(base_url="http://localhost:1/v1").base_url == "http://localhost:1/v1"


@pytest.mark.spec("E2")
@pytest.mark.parametrize(
    ("address", "key"),
    [
        ("https://elsewhere.example/v1", NO_KEY),
        ("https://api.oracle.example/v1", KEY),
        ("https://eu.api.oracle.example/v1", KEY),
        ("https://evil-api.oracle.example/v1", NO_KEY),
        ("https://api.oracle.example.evil/v1", NO_KEY),
        ("https://127.0.0.1.example/v1", NO_KEY),
        ("http://localhost:11434/v1", KEY),
        ("http://127.0.0.1:11434/v1", KEY),
        ("http://[::1]:11434/v1", KEY),
    ],
)
def test_the_vendors_key_goes_to_no_other_host(
    address: str, key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VENDOR.key_variable, KEY)
    assert found(base_url=address) == Access(key, address)


def test_a_key_that_is_named_goes_to_any_host(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VENDOR.key_variable, OTHER)
    monkeypatch.setenv("MY_KEY", KEY)
    address = "https://elsewhere.example/v1"
    assert found(base_url=address, key=KeySource(env="MY_KEY")) == Access(KEY, address)
    assert found(key=KeySource(env="MY_KEY")) == Access(KEY)


@pytest.mark.spec("H4")
def test_no_key_for_the_vendor_says_where_one_is_looked_for() -> None:
    error = refused()
    assert error.reason == "missing-key"
    for text in ("Oracle", "ORACLE_API_KEY", "env =", "file =", "keyring ="):
        assert text in error.message


@pytest.mark.spec("H4")
@pytest.mark.parametrize("value", [None, "", " \n"])
def test_a_variable_without_a_key_is_named(value: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    if value is not None:
        monkeypatch.setenv("MY_KEY", value)
    error = refused(key=KeySource(env="MY_KEY"))
    assert error.reason == "missing-key"
    assert "MY_KEY" in error.message


def test_a_key_is_read_from_a_file_also_of_the_home_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "key").write_text(f"{KEY}\n")
    assert found(key=KeySource(file=str(tmp_path / "key"))) == Access(KEY)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    assert found(key=KeySource(file="~/key")) == Access(KEY)


@pytest.mark.spec("H4")
@pytest.mark.parametrize("content", [None, b"", b"\n", b"\xff\xfe"])
def test_a_file_without_a_key_is_named(content: bytes | None, tmp_path: Path) -> None:
    path = tmp_path / "place"
    if content is not None:
        path.write_bytes(content)
    error = refused(key=KeySource(file=str(path)))
    assert error.reason == "missing-key"
    assert str(path) in error.message


def test_a_directory_in_the_place_of_the_file_is_told(tmp_path: Path) -> None:
    assert refused(key=KeySource(file=str(tmp_path))).reason == "missing-key"


@pytest.mark.spec("E2")
@pytest.mark.parametrize(
    "text", [f"{KEY}\n{OTHER}", f"{KEY} # mine", f"{KEY}é", f"{KEY}\x00", "x: " + KEY, f"\ufeff{KEY}"]
)
def test_what_is_no_key_is_refused_without_being_shown(text: str, tmp_path: Path) -> None:
    path = tmp_path / "place"
    path.write_bytes(text.encode())
    error = refused(key=KeySource(file=str(path)))
    assert error.reason == "bad-key"
    assert KEY not in error.message + repr(error)


def keyring(get: Any) -> ModuleType:
    module: Any = ModuleType("keyring")
    module.get_password = get
    made: ModuleType = module
    return made


def test_a_key_is_read_from_the_systems_keyring(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, str]] = []

    def get(service: str, user: str) -> str:
        asked.append((service, user))
        return KEY

    monkeypatch.setitem(sys.modules, "keyring", keyring(get))
    assert found(key=KeySource(keyring="oracle")) == Access(KEY)
    assert found(key=KeySource(keyring="oracle", user="me")) == Access(KEY)
    assert asked == [("oracle", "oracle"), ("oracle", "me")]


@pytest.mark.spec("E2", "H4")
def test_a_keyring_that_has_none_or_fails_is_told_without_its_words(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(service: str, user: str) -> str:
        raise RuntimeError(f"locked, and {KEY} is in it")

    def has_none(service: str, user: str) -> None:
        return None

    for get in (has_none, fails):
        monkeypatch.setitem(sys.modules, "keyring", keyring(get))
        error = refused(key=KeySource(keyring="oracle"))
        assert error.reason == "missing-key"
        assert KEY not in error.message


@pytest.mark.spec("H4")
def test_a_keyring_that_is_not_installed_is_told_with_what_installs_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "keyring", None)
    error = refused(key=KeySource(keyring="oracle"))
    assert error.reason == "missing-package"
    assert "engine-intelligence[keyring]" in error.message


@pytest.mark.spec("E2")
@pytest.mark.parametrize("name", ["key", "api_key", "API_KEY", "token", "secret", "password"])
def test_a_key_in_the_configuration_is_refused_and_not_shown(name: str) -> None:
    with pytest.raises(SetupError, match=f"{name} holds a key itself") as error:
        refuse_keys_in({"model": "m", name: KEY}, "host.toml")
    assert error.value.reason == "key-in-configuration"
    assert KEY not in error.value.message + repr(error.value)
    refuse_keys_in({"model": "m", "key": {"env": "MY_KEY"}, "max_tokens": 5}, "host.toml")


@pytest.mark.parametrize(
    "places", [{}, {"env": ""}, {"env": "A", "file": "b"}, {"env": "A", "user": "me"}, {"user": "me"}]
)
def test_a_key_has_one_place(places: dict[str, str]) -> None:
    with pytest.raises(ValueError, match=r"^key"):
        KeySource(**places)


@pytest.mark.spec("E2")
@pytest.mark.parametrize(
    "address",
    [
        "https://me:s3cr3t-word@gateway.example/v1",
        "gateway.example/v1",
        "ftp://gateway.example",
        "https://gateway.example/v1?key=s3cr3t-word",
        "https://[gateway",
    ],
)
def test_a_bad_address_in_the_vendors_variable_is_refused_and_not_shown(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VENDOR.url_variable, address)
    error = refused()
    assert error.reason == "config-invalid"
    assert VENDOR.url_variable in error.message
    assert address not in error.message
    assert "s3cr3t-word" not in error.message


@pytest.mark.spec("E2")
def test_access_does_not_show_its_key() -> None:
    assert KEY not in repr(Access(KEY, "https://gateway.example/v1")) + str(SimpleNamespace(it=Access(KEY)))


@pytest.mark.parametrize(
    ("address", "here"),
    [
        ("http://localhost/v1", True),
        ("http://LOCALHOST:1/v1", True),
        ("http://127.9.9.9/v1", True),
        ("http://[::1]/v1", True),
        ("http://127.0.0.1.example", False),
        ("http://localhost.example", False),
        ("https://example.org/localhost", False),
        ("http://0.0.0.0", False),
        ("not an address", False),
    ],
)
def test_what_is_on_this_machine_is_known(address: str, here: bool) -> None:
    assert is_loopback(address) is here
