"""Rule E2, the scrubber itself: no secret drawn by chance survives it, and what helps a person does."""

import random
import re
import string
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from support.canaries import WINDOW_CHARS, encoded_forms
from support.canary_errors import ERRORS

from engine_intelligence.lettering import looks_like_word
from engine_intelligence.scrubbing import describe_exception, presentable, scrub, where_raised

pytestmark = pytest.mark.spec("E2")

ALPHABETS = {
    "letters and digits": string.ascii_letters + string.digits,
    "letters": string.ascii_letters,
    "small letters": string.ascii_lowercase,
    "capitals and digits": string.ascii_uppercase + string.digits,
    "hexadecimal": string.digits + "abcdef",
    "base64": string.ascii_letters + string.digits + "+/",
    "base64 for addresses": string.ascii_letters + string.digits + "-_",
    "digits": string.digits,
    "symbols": string.ascii_letters + string.digits + "!#$%&*+-=?@^_~.:;",
}
PREFIXES = (
    "",
    "sk-",
    "sk-proj-",
    "ghp_",
    "AKIA",
    "xoxb-",
    "Bearer ",
    "Basic ",
    "key=",
    "https://bob:",
    "?token=",
    "/v1/",
)
PROSE_TEXT = """
    the model is tired and the gatekeeper sleeps while water runs under a tree because nobody came to open it before
    dawn and every candle burned down in silence
"""
PROSE = PROSE_TEXT.split()
NOUNS_TEXT = """
    horse battery staple lantern bridge river castle dragon winter pepper copper meadow thunder garden mirror
"""
NOUNS = NOUNS_TEXT.split()
AROUND = ("{}", "'{}'", '"{}"', "({})", "<{}>", "`{}`", "{},", "{}.", "[{}]", "={}", "\n{}\n")


@st.composite
def secrets(draw: st.DrawFn) -> str:
    """Letters drawn by chance, of one alphabet. By seed: a secret is random, not what a search for bugs would make it."""
    alphabet = ALPHABETS[draw(st.sampled_from(sorted(ALPHABETS)))]
    chance = random.Random(draw(st.integers(0, 2**64)))
    return "".join(chance.choice(alphabet) for _ in range(draw(st.integers(20, 80))))


@st.composite
def prose(draw: st.DrawFn) -> str:
    return " ".join(draw(st.lists(st.sampled_from(PROSE), max_size=12)))


def pieces(form: str) -> list[str]:
    return [form[start : start + WINDOW_CHARS] for start in range(len(form) - WINDOW_CHARS + 1)]


def leaked(form: str, told: str) -> list[str]:
    return [piece for piece in pieces(form) if piece in told]


@given(
    secret=secrets(),
    form=st.sampled_from(sorted(encoded_forms(""))),
    prefix=st.sampled_from(PREFIXES),
    around=st.sampled_from(AROUND),
    before=prose(),
    after=prose(),
)
@settings(max_examples=400, deadline=None)
def test_no_random_secret_survives_in_any_form_at_any_place(
    secret: str, form: str, prefix: str, around: str, before: str, after: str
) -> None:
    written = encoded_forms(secret)[form]
    text = f"{before} {around.format(prefix + written)} {after}"
    assert leaked(written, scrub(text)) == []


@given(secret=secrets(), error=st.sampled_from(sorted(ERRORS)))
@settings(max_examples=300, deadline=None)
def test_no_random_secret_survives_in_the_description_of_an_exception(secret: str, error: str) -> None:
    told = describe_exception(ERRORS[error](secret))
    assert [piece for form in encoded_forms(secret).values() for piece in leaked(form, told)] == []


@given(
    secret=secrets().filter(lambda secret: not secret.isdigit()),
    form=st.sampled_from(sorted(encoded_forms(""))),
    around=st.sampled_from(
        ("There is no key {!r}.", "There is no file /home/{}/host.toml.", "host.toml: {}: wrong")
    ),
)
@example(secret="aecJNHZx/6bC/UOB5xoi", form="JSON", around="There is no key {!r}.")
@settings(max_examples=300, deadline=None)
def test_no_random_secret_survives_in_a_sentence_of_this_package(secret: str, form: str, around: str) -> None:
    written = encoded_forms(secret)[form]
    assert leaked(written, presentable(around.format(written))) == []


@given(
    words=st.lists(st.sampled_from(NOUNS), min_size=2, max_size=6),
    announced=st.sampled_from(
        (
            "the password {} is wrong",
            "your passphrase is {}",
            "the secret was {} and it has expired",
            "login failed with password {}",
            "login failed, password: {}",
            "API_KEY={} was refused",
            "{} is not a valid token",
            "no such credential, {}",
            "Authorization: {}",
        )
    ),
    before=prose(),
)
@settings(max_examples=300, deadline=None)
def test_no_word_survives_in_a_sentence_that_speaks_of_a_secret(
    words: list[str], announced: str, before: str
) -> None:
    told = scrub(f"{before}. {announced.format(' '.join(words))}")
    assert [word for word in words if word in told] == []


@given(words=st.lists(st.sampled_from(PROSE), min_size=1, max_size=20))
@settings(deadline=None)
def test_prose_stays_as_it_is(words: list[str]) -> None:
    text = " ".join(words)
    assert scrub(text, limit=1000) == text
    assert presentable(text) == text


@given(text=st.text(max_size=300))
@settings(deadline=None)
def test_scrubbing_is_total_and_bounded_and_settles(text: str) -> None:
    told = scrub(text, limit=50)
    assert len(told) <= 50
    assert "\n" not in told
    assert isinstance(presentable(text), str)


@pytest.mark.parametrize(
    "text",
    [
        "connection refused",
        "ConnectError: All connection attempts failed",
        "OSError: (Errno 111) Connection refused",
        "HTTP 503: service unavailable",
        "status 429, try again in 20 seconds",
        "model not found: gpt-x",
        "unknown model gpt-4o-mini",
        "cannot load smollm2-135m-instruct-q8_0.gguf",
        "cannot load Llama-3.2-1B-Instruct-Q4_K_M.gguf",
        "model claude-3-5-sonnet-20241022 is overloaded",
        "model qwen2.5:7b is not there",
        "This model's maximum context length is 8192 tokens. However, you requested 9000 tokens.",
        "Incorrect API key provided.",
        "HTTP 401: invalid api key",
        "The API key has expired. Renew it in the console.",
        "You exceeded your current quota, please check your plan and billing details.",
        "CUDA out of memory. Tried to allocate 20 MiB",
        "Server disconnected without sending a response.",
        "certificate verify failed: unable to get local issuer certificate",
        "Temporary failure in name resolution",
        "No space left on device",
        "database is locked",
        "too many open files",
        "JSONDecodeError: Expecting value: line 1 column 1 (char 0)",
    ],
)
def test_what_helps_a_person_survives(text: str) -> None:
    assert scrub(text) == text


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("Incorrect API key provided: zanzibar. Look.", "Incorrect API key provided: [...]"),
        ("the key zanzibar was refused. Try another.", "the key [...] Try another."),
        ("your token is zanzibar now", "your token is [...]"),
        ("zanzibar is not a valid API key", "[...] is not a valid API key"),
        ("MODEL_HOME=zanzibar was not found. Look.", "[...] Look."),
        ("no organisation 1b4e28ba-2fa1-11d2-883f-0016d3cca427 here", "no organisation [...] here"),
        ("app password: abcd efgh ijkl mnop", "[...] password: [...]"),
        ("cannot reach https://bob:zanzibar@models.example at all", "cannot reach [...] at all"),
        ("code xkqzwvbnmtrplhgf does not work", "code [...] does not work"),
        ("card 4111 1111 1111 1111 was declined", "card 4111 [...] was declined"),
        ("The model `gpt-4o-mini` does not exist", "The model [...] does not exist"),
        ("-----BEGIN PRIVATE KEY-----\nabc def\n-----END PRIVATE KEY-----", "[...]"),
    ],
)
def test_what_may_be_a_secret_is_left_out(text: str, told: str) -> None:
    assert scrub(text) == told


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("There is no key 'temprature' (did you mean 'temperature'?).", None),
        ("There is no file /tmp/pytest-of-root/pytest-12/test_a_file0/host.toml: check the path.", None),
        ("pip install 'engine-intelligence[local]'", None),
        ("The model smollm2-135m is not in /home/player/.cache/engine-intelligence/models.", None),
        ("max_output_chars must be at most 1046528, not 100000000.", None),
        ('C:\\Users\\player\\host.toml: say kind = "llama" or factory = "package.module:function".', None),
        ("There is no kind 'sk-proj-Zk81Qm4TtX9bWvR2nLpY'.", "There is no kind '[...]'."),
        ("no file /srv/9f86d081884c7d659a2feaa0c55ad015/host.toml", "no file /srv/[...]/host.toml"),
        ("the index https://bob:zanzibar@models.example/simple", "the index https://[...]/simple"),
        ("there is no key 'AB12-CD34-EF56-GH78'", "there is no key '[...]'"),
    ],
)
def test_a_sentence_of_this_package_keeps_names_and_paths_and_loses_keys(text: str, told: str | None) -> None:
    assert presentable(text) == (text if told is None else told)


def test_the_words_of_the_documentation_look_like_words() -> None:
    pages = (Path(__file__).parents[3] / "docs").glob("*.md")
    words = {
        word
        for page in pages
        for word in re.findall(r"(?<![\w`./])[a-z]{4,}(?![\w`./])", page.read_text("utf-8"))
    }
    odd = {word for word in words if not looks_like_word(word)}
    assert len(odd) < len(words) / 100, sorted(odd)


def test_letters_drawn_by_chance_do_not_look_like_words() -> None:
    chance = random.Random(42)
    drawn = ["".join(chance.choices(string.ascii_lowercase, k=16)) for _ in range(20_000)]
    assert sum(looks_like_word(letters) for letters in drawn) <= 2


def test_where_an_exception_was_raised_is_told_without_what_was_there() -> None:
    def inner(secret: str) -> None:
        raise ValueError(secret)

    with pytest.raises(ValueError, match="zanzibar") as raised:
        inner("zanzibar")
    told = where_raised(raised.tb)
    assert re.fullmatch(r"test_scrubbing\.py:\d+ in test_where_\w+ > test_scrubbing\.py:\d+ in inner", told)


def test_random_base64_with_slashes_hardly_ever_passes_for_a_path() -> None:
    chance = random.Random(1)
    letters = string.ascii_letters + string.digits + "+/"
    keys = ["".join(chance.choices(letters, k=15)) for _ in range(20_000)]
    keys = [f"{key[:7]}/{key[7:]}" for key in keys]
    assert sum(leaked(key, presentable(f"There is no file {key}.")) != [] for key in keys) <= len(keys) / 1000


@pytest.mark.parametrize(
    "path",
    [
        r"C:\Users\Ann\AppData\LocalLow\MyCompany\MyGame\host.toml",
        "/home/player1/MyGames/v2/host.toml",
        "~/.local/share/engine-intelligence/conversations.sqlite3",
    ],
)
def test_a_path_that_people_have_is_told_whole(path: str) -> None:
    assert presentable(f"There is no file {path}.") == f"There is no file {path}."


def test_what_stands_beside_a_key_in_a_path_stays_if_it_is_words() -> None:
    assert presentable("/home/player/sk-proj-4fJx9QmT2b/host.toml") == "/home/player/[...]/host.toml"
