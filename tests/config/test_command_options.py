"""The options of a command become those of a provider, also within a table, and what is wrong with them is one sentence."""

import pytest

pytest.importorskip("typer", reason="needs the extra cli")

from typer.testing import CliRunner

from engine_intelligence.cli.app import app
from engine_intelligence.cli.speaker import parse_options


def test_a_value_is_json_where_it_can_be_and_otherwise_text() -> None:
    assert parse_options(["a=1", "b=0.5", "c=true", "d=Hello you", 'e=["x"]', 'f="1"']) == {
        "a": 1,
        "b": 0.5,
        "c": True,
        "d": "Hello you",
        "e": ["x"],
        "f": "1",
    }


def test_a_dot_goes_into_a_table() -> None:
    assert parse_options(["key.keyring=game", "key.user=ann", "x=1"]) == {
        "key": {"keyring": "game", "user": "ann"},
        "x": 1,
    }


@pytest.mark.parametrize("pair", ["x", "=1", ".x=1", "x.=1", "a..b=1", ""])
def test_what_is_no_pair_is_refused(pair: str) -> None:
    with pytest.raises(ValueError, match="KEY=VALUE"):
        parse_options([pair])


def test_a_value_cannot_become_a_table() -> None:
    with pytest.raises(ValueError, match="key has a value already"):
        parse_options(["key=1", "key.env=NAME"])


def test_a_value_that_cannot_be_read_is_not_shown() -> None:
    with pytest.raises(ValueError, match="KEY=VALUE") as raised:
        parse_options([".key=sk-Yx3kQ9vT7mLr2Wb8NcHd"])
    assert "Yx3kQ9" not in str(raised.value)


def chat(*arguments: str) -> tuple[int, str]:
    done = CliRunner().invoke(app, ["chat", *arguments], input="Hi\n")
    assert "Traceback" not in done.output
    assert done.stdout == "", "it is told before anything is said"
    return done.exit_code, done.stderr


def test_a_flag_that_the_kind_has_no_option_for_is_refused() -> None:
    code, told = chat("--provider", "scripted", "--max-tokens", "20")
    assert code == 2
    assert told.startswith("The provider 'scripted' has no option max_tokens, so leave out --max-tokens.")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--provider", "lama"], "There is no kind of provider named 'lama' (did you mean 'llama'?)"),
        (["--provider", "scripted", "--option", "txet=x"], "there is no key 'txet' (did you mean 'text'?)"),
        (["--provider", "llama", "--temperature", "3"], "temperature must be a number from 0.0 to 2.0"),
        (["--provider", "llama", "--option", "api_key=sk-1234"], "api_key holds a key itself"),
        (["--host-file", "missing.toml", "--character", "ann"], "There is no file missing.toml"),
    ],
)
def test_what_a_host_would_refuse_is_one_sentence_before_it_is_started(
    arguments: list[str], told: str
) -> None:
    code, printed = chat(*arguments)
    assert code == 1
    assert told in printed
    assert printed.count("\n") == 1
