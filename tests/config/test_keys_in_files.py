"""A key in a configuration is refused, wherever it stands and whatever its form, and never shown."""

from collections.abc import Callable

import pytest

from engine_intelligence import SetupError
from engine_intelligence.host.keys import PLACES, refuse_keys_in

RefusalOf = Callable[[str], SetupError]

pytestmark = pytest.mark.spec("E2", "H4")

# No service issued these; they have the forms of those that do.
KEYS = {
    "openai": "sk-proj-Yx3kQ9vT7mLr2Wb8NcHd4ZfJ",
    "openai, short": "sk-Yx3kQ9",
    "anthropic": "sk-ant-api03-Yx3kQ9vT7mLr2Wb8NcHd4ZfJ-Qw5eRt6y",
    "openrouter": "sk-or-v1-9f3c1e7ab2d84c6f9f3c1e7ab2d84c6f",
    "google": "AIzaSyYx3kQ9vT7mLr2Wb8NcHd4ZfJQw5eRt6yU",
    "groq": "gsk_Yx3kQ9vT7mLr2Wb8NcHd4ZfJQw5eRt6y",
    "hexadecimal": "9f3c1e7ab2d84c6f9f3c1e7ab2d84c6f",
    "base64": "Yx3kQ9vT7mLr2Wb8NcHd4ZfJQw5eRt6y==",
}

NAMED = [
    "key",
    "api_key",
    "apiKey",
    "API_KEY",
    "api-key",
    "openai_api_key",
    "token",
    "auth_token",
    "Authorization",
    "secret",
]


@pytest.mark.parametrize("key", KEYS.values(), ids=KEYS)
@pytest.mark.parametrize("name", NAMED)
def test_a_key_under_a_name_for_keys_is_refused(name: str, key: str, refusal_of: RefusalOf) -> None:
    error = refusal_of(f'[providers.ann]\nkind = "llama"\n{name} = "{key}"\n')
    assert error.reason == "key-in-configuration"
    assert f"host.toml: providers.ann: {name} holds a key itself" in error.message
    assert PLACES in error.message
    assert key not in error.message


PLACES_OF_A_KEY = {
    "at the top": 'api_key = "{}"\n[providers.ann]\nkind = "llama"\n',
    "in a table of its own": '[openai]\napi_key = "{}"\n[providers.ann]\nkind = "llama"\n',
    "in headers": '[providers.ann]\nkind = "llama"\nheaders = {{ Authorization = "Bearer {}" }}\n',
    "in a list of headers": '[providers.ann]\nkind = "llama"\nheaders = [{{ x-api-key = "{}" }}]\n',
    "as the key of a place": '[providers.ann]\nkind = "llama"\nkey = {{ api_key = "{}" }}\n',
    "of a factory": '[providers.ann]\nfactory = "minds:ann"\napi_key = "{}"\n',
    "of one provider among others": '[providers.bob]\nkind = "scripted"\n[providers.ann]\nkind = "llama"\ntoken = "{}"\n',
}


@pytest.mark.parametrize("place", PLACES_OF_A_KEY)
def test_a_key_is_refused_at_any_depth(place: str, refusal_of: RefusalOf) -> None:
    for key in KEYS.values():
        error = refusal_of(PLACES_OF_A_KEY[place].format(key))
        assert error.reason == "key-in-configuration"
        assert key not in error.message


LONG_KEYS = [name for name in KEYS if name not in ("openai, short", "hexadecimal", "base64")]


@pytest.mark.parametrize("name", LONG_KEYS)
@pytest.mark.parametrize(
    "line",
    [
        'instructions = "Use {} when asked."',
        'model = "{}"',
        'base_url = "https://example.org/v1/{}"',
        'base_url = "https://example.org/v1?key={}"',
        'key.file = "{}"',
        'key.keyring = "{}"',
        'command = ["curl", "-H", "Authorization: Bearer {}"]',
        '"{}" = 1',
    ],
)
def test_what_has_the_form_of_a_key_is_refused_under_any_name(
    line: str, name: str, refusal_of: RefusalOf
) -> None:
    error = refusal_of(f'[providers.ann]\nkind = "llama"\n{line.format(KEYS[name])}\n')
    assert error.reason == "key-in-configuration"
    assert KEYS[name] not in error.message


# What could be the name of a variable, and is a key.
NAMELIKE = {"letters first": "f9c1e7ab2d84c6f9f3c1e7ab2d84c6f", "words": "correct_horse_battery_staple"}


@pytest.mark.parametrize("key", [*KEYS.values(), *NAMELIKE.values()], ids=[*KEYS, *NAMELIKE])
def test_a_key_that_was_pasted_as_the_name_of_a_variable_is_not_shown(
    key: str, refusal_of: RefusalOf
) -> None:
    pytest.importorskip("openai", reason="needs the extra openai")
    error = refusal_of(f'[providers.ann]\nkind = "openai"\nkey.env = "{key}"\n')
    assert error.reason in ("key-in-configuration", "missing-key")
    assert key not in error.message


INNOCENT = {
    "instructions": "You sell keys and tokens. Your secret: the password is sesame. Say sk-short or Bearer of news.",
    "max_tokens": 40,
    "key": {"env": "GATEKEEPER_KEY"},
    "model": "hf_models/SmolLM2-135M-Instruct.gguf",
    "base_url": "https://openrouter.ai/api/v1",
}


def test_what_is_no_key_is_not_refused() -> None:
    refuse_keys_in(INNOCENT, "here")


def test_an_empty_key_is_a_matter_of_names(refusal_of: RefusalOf) -> None:
    assert refusal_of('[providers.ann]\nkind = "llama"\napi_key = ""\n').reason == "config-invalid"
