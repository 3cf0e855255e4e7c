"""What keeps a Host or one of its providers from starting is told in words that say what to do (rule H4)."""

import sys
from pathlib import Path

import pytest
from support.process_marks import Mark
from support.process_play import (
    MINDS,
    answer,
    closed_because,
    code_of_close,
    refusal,
    until_host_is_gone,
)
from support.process_start import Starter

from engine_intelligence import Deadlines

GOOD = f"""
[providers.ann]
factory = "{MINDS}:ann"
"""

# Each factory that is wrong, the name of the reason, what the message names, and what it advises.
FACTORIES = [
    (f"{MINDS}:raises", "bad-factory", "the moon is in the wrong house", "Call it in Python"),
    (f"{MINDS}:exits", "bad-factory", f"{MINDS}:exits", "Call it in Python"),
    (f"{MINDS}:returns_nothing", "bad-factory", "NoneType", "return an object with id"),
    (f"{MINDS}:returns_rubbish", "bad-factory", "int", "return an object with id"),
    (f"{MINDS}:returns_an_empty_list", "bad-factory", f"{MINDS}:returns_an_empty_list", "no provider"),
    (f"{MINDS}:returns_a_nameless_provider", "bad-factory", "Nameless", "return an object with id"),
    (f"{MINDS}:wants_an_argument", "bad-factory", "wants_an_argument", "without arguments"),
    (f"{MINDS}:not_callable", "bad-factory", "not_callable", "check the name"),
    (f"{MINDS}:no_such_function", "bad-factory", "no_such_function", "check the name"),
    ("no_such_module:mind", "bad-factory", "no_such_module", 'Write it as "package.module:function"'),
    ("support.no_such_module:mind", "bad-factory", "support.no_such_module", "as the game would import it"),
    (":mind", "bad-factory", ":mind", 'write it as "package.module:function"'),
    (f"{MINDS}:", "bad-factory", MINDS, 'write it as "package.module:function"'),
    ("support.process_needs_package:mind", "missing-package", "package_that_is_not_installed", "Install it"),
    (
        "support.process_leaves_on_import:mind",
        "bad-factory",
        "support.process_leaves_on_import",
        "Import it in Python",
    ),
]

# Each file that is wrong, what the message names, and what it advises.
FILES: list[tuple[str, str, str]] = [
    ("[providers.ann", "host.toml", "not valid TOML"),
    ("", "host.toml", "[providers.gatekeeper]"),
    (GOOD + "[limit]\nmax_input_chars = 9\n", "'limit'", "The tables are limits"),
    (GOOD + "[limits]\nmax_input_char = 9\n", "'max_input_char'", "did you mean 'max_input_chars'?"),
    (GOOD + "[limits]\nmaxInputChars = 9\n", "'maxInputChars'", "did you mean 'max_input_chars'?"),
    (GOOD + '[limits]\nmax_input_chars = "9"\n', "max_input_chars", "must be a whole number, not text"),
    (GOOD + "[limits]\nmax_input_chars = true\n", "max_input_chars", "must be a whole number"),
    (GOOD + "[limits]\nmax_input_chars = 0\n", "max_input_chars", "at least 1"),
    (GOOD + "[limits]\nmax_output_chars = 100000000\n", "max_output_chars", "at most"),
    (GOOD + "[deadlines]\nstall_s = -1\n", "stall_s", "positive"),
    (GOOD + "[deadlines]\nstall_s = nan\n", "stall_s", "finite"),
    (GOOD + "[deadlines]\nstalls_s = 1\n", "'stalls_s'", "did you mean 'stall_s'?"),
    ("limits = 5\n" + GOOD, "limits", "must be a table"),
    ("providers = 5\n", "providers", "must be a table"),
    ("[providers]\nann = 5\n", "ann", "must be a table"),
    ("[providers.ann]\n", "providers.ann", 'kind = "llama" or factory = "package.module:function"'),
    ('[providers.ann]\nkind = "lama"\n', "'lama'", "did you mean 'llama'?"),
    ("[providers.ann]\nkind = 5\n", "providers.ann", 'kind = "llama" or factory'),
    ('[providers.ann]\nkind = "scripted"\nfactory = "a:b"\n', "providers.ann", "either kind"),
    (f'[providers.ann]\nfactory = "{MINDS}:ann"\nmodel = "x"\n', "'model'", "a factory takes no options"),
    (f'[providers.ann]\nfactory = "{MINDS}:ann"\nlimits = 3\n', "providers.ann", "must be a table"),
    (
        f'[providers.ann]\nfactory = "{MINDS}:ann"\nlimits = {{ max_poll_event = 3 }}\n',
        "'max_poll_event'",
        "did you mean 'max_poll_events'?",
    ),
]

# Each entry that is found wrong only when its provider is asked for; the others of the file go on.
ENTRIES = [
    (f'factory = "{MINDS}:raises"', "the moon is in the wrong house", "Call it in Python"),
    (f'factory = "{MINDS}:exits"', f"{MINDS}:exits", "Call it in Python"),
    (f'factory = "{MINDS}:returns_rubbish"', "int", "return an object with id"),
    (f'factory = "{MINDS}:returns_a_nameless_provider"', "Nameless", "return an object with id"),
    (f'factory = "{MINDS}:mind"', "'bad'", "made no provider whose id is"),
    ('factory = "no_such_module:mind"', "no_such_module", 'Write it as "package.module:function"'),
    ('factory = "support.process_needs_package:mind"', "package_that_is_not_installed", "Install it"),
    ('factory = "support.process_leaves_on_import:mind"', "process_leaves_on_import", "Import it in Python"),
    ('kind = "scripted"\nscrpt = 1', "'scrpt'", "The keys are"),
    ('kind = "llama"\nmodle = "x"', "'modle'", "did you mean 'model'?"),
    ('kind = "llama"\nmodel = "/no/such/model.gguf"', "/no/such/model.gguf", "give the path of a GGUF file"),
    ('kind = "llama"\nmodel = "smollm2-135n"', "smollm2-135n", "smollm2-135m"),
]


@pytest.fixture
def local_extra(start_auto: Starter, tmp_path: Path) -> None:
    """Whether the extra is installed here or not: for a Host whose model is never loaded, names are enough."""
    folder = tmp_path / "extra"
    folder.mkdir()
    for name in ("openai", "xllamacpp"):
        (folder / f"{name}.py").touch()
    start_auto.environment["PYTHONPATH"] = str(folder)


def ids(cases: list[tuple[str, str, str]]) -> list[str]:
    return [" ".join(case[0].replace(MINDS, "minds").split()) or "empty" for case in cases]


@pytest.mark.spec("H4", "C7")
@pytest.mark.parametrize(
    ("factory", "reason", "names", "advises"), FACTORIES, ids=[case[0] for case in FACTORIES]
)
def test_a_bad_factory_closes_the_client_with_what_to_do(
    start_auto: Starter, factory: str, reason: str, names: str, advises: str
) -> None:
    client = start_auto(factory).client("mind")
    client.submit("anyone?")
    message = closed_because(client)
    assert names in message
    assert advises in message
    assert code_of_close(client) == reason


@pytest.mark.spec("H4", "C7")
@pytest.mark.parametrize(("text", "names", "advises"), FILES, ids=ids(FILES))
def test_a_bad_file_closes_the_client_with_what_to_do(
    start_auto: Starter, tmp_path: Path, text: str, names: str, advises: str
) -> None:
    path = tmp_path / "host.toml"
    path.write_text(text)
    client = start_auto(str(path)).client("ann")
    message = closed_because(client)
    assert names in message
    assert advises in message
    assert code_of_close(client) in ("config-invalid", "unknown-provider-kind")


@pytest.mark.spec("H4")
def test_a_file_that_is_not_there_closes_the_client_with_its_path(
    start_auto: Starter, tmp_path: Path
) -> None:
    client = start_auto(str(tmp_path / "ghost.toml")).client("ann")
    message = closed_because(client)
    assert str(tmp_path / "ghost.toml") in message
    assert "check the path" in message


@pytest.mark.spec("H4")
def test_a_file_that_is_no_text_closes_the_client_with_its_path(start_auto: Starter, tmp_path: Path) -> None:
    path = tmp_path / "host.toml"
    path.write_bytes(b"\xff\xfe\x00")
    assert str(path) in closed_because(start_auto(str(path)).client("ann"))


@pytest.mark.spec("H4")
def test_a_folder_in_the_place_of_a_file_closes_the_client_with_its_path(
    start_auto: Starter, tmp_path: Path
) -> None:
    path = tmp_path / "host.toml"
    path.mkdir()
    assert str(path) in closed_because(start_auto(str(path)).client("ann"))


@pytest.mark.usefixtures("local_extra")
@pytest.mark.spec("H4", "H3")
@pytest.mark.parametrize(("entry", "names", "advises"), ENTRIES, ids=ids(ENTRIES))
def test_a_provider_that_cannot_be_made_says_what_to_do_and_the_others_go_on(
    start_auto: Starter, tmp_path: Path, entry: str, names: str, advises: str
) -> None:
    path = tmp_path / "host.toml"
    path.write_text(f"{GOOD}\n[providers.bad]\n{entry}\n")
    connection = start_auto(str(path), deadlines=Deadlines(close_grace_s=2.0))
    bad, good = connection.client("bad"), connection.client("ann")
    message = closed_because(bad)
    assert answer(good, "go on") == "go on "
    assert names in message
    assert advises in message


@pytest.mark.fault("R75")
@pytest.mark.spec("H4")
def test_a_provider_that_the_host_does_not_have_says_which_it_has_and_the_others_go_on(
    start: Starter,
) -> None:
    connection = start(f"{MINDS}:cast_of_three")
    message = closed_because(connection.client("dan"))
    assert answer(connection.client("ann"), "go on") == "go on "
    assert "'dan'" in message
    assert "ann, bob, cy" in message


@pytest.mark.spec("H4")
def test_a_kind_of_provider_that_there_is_not_says_which_there_are(start_auto: Starter) -> None:
    message = closed_because(start_auto("lama").client("lama"))
    assert "did you mean 'llama'?" in message
    assert "scripted" in message


@pytest.mark.usefixtures("local_extra")
@pytest.mark.spec("H4")
def test_an_option_that_a_kind_does_not_have_says_which_it_has(start_auto: Starter) -> None:
    message = closed_because(start_auto("llama", options={"temprature": 1.0}).client("llama"))
    assert "did you mean 'temperature'?" in message


@pytest.mark.spec("H4")
def test_a_missing_extra_says_how_to_install_it(start_auto: Starter, tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(
        "import sys\nfor name in ('openai', 'xllamacpp'):\n    sys.modules[name] = None\n"
    )
    model = tmp_path / "model.gguf"
    model.write_bytes(b"GGUF")
    start_auto.environment["PYTHONPATH"] = str(tmp_path)
    message = closed_because(start_auto("llama", options={"model": str(model)}).client("llama"))
    assert "pip install" in message
    assert "engine-intelligence[local]" in message


@pytest.mark.spec("H4")
def test_the_reason_is_there_also_for_who_looks_after_the_host_has_gone(
    start_auto: Starter, mark: Mark
) -> None:
    connection = start_auto(f"{MINDS}:raises")
    client = connection.client("mind")
    until_host_is_gone(connection)
    assert "the moon is in the wrong house" in closed_because(client)


@pytest.mark.spec("H4")
def test_the_reason_is_there_also_for_who_submits_after_the_host_has_gone(start_auto: Starter) -> None:
    connection = start_auto(f"{MINDS}:raises")
    client = connection.client("mind")
    until_host_is_gone(connection)
    error = refusal(client.submit("anyone?"))
    assert "the moon is in the wrong house" in str(error.detail.message)


@pytest.mark.spec("H4")
def test_the_reason_is_there_also_for_a_client_made_after_the_host_has_gone(start: Starter) -> None:
    connection = start(f"{MINDS}:raises")
    until_host_is_gone(connection)
    assert "the moon is in the wrong house" in closed_because(connection.client("mind"))


@pytest.mark.spec("H4", "C7")
def test_a_connection_without_clients_knows_the_reason_too(start_auto: Starter) -> None:
    connection = start_auto(f"{MINDS}:raises")
    until_host_is_gone(connection)
    assert connection.closed
    assert "the moon is in the wrong house" in str(connection.close_reason)


@pytest.mark.spec("H4", "H6")
def test_a_host_that_could_not_start_is_gone_by_itself(start_auto: Starter) -> None:
    connection = start_auto(f"{MINDS}:raises", deadlines=Deadlines(close_grace_s=60.0))
    closed_because(connection.client("mind"))
    until_host_is_gone(connection)


@pytest.mark.spec("H4", "E2")
def test_a_bad_factory_prints_no_traceback(start: Starter, capfd: pytest.CaptureFixture[str]) -> None:
    connection = start(f"{MINDS}:exits")
    closed_because(connection.client("mind"))
    until_host_is_gone(connection)
    assert "Traceback" not in capfd.readouterr().err


@pytest.mark.spec("H4")
def test_a_host_of_a_package_that_cannot_be_imported_closes_its_clients(
    start: Starter, tmp_path: Path
) -> None:
    # Such as an interpreter in which this package, or what it needs, is not installed.
    (tmp_path / "sitecustomize.py").write_text("import sys\nsys.modules['msgspec'] = None\n")
    start.environment["PYTHONPATH"] = str(tmp_path)
    connection = start(python=sys.executable)
    assert closed_because(connection.client("mind"))
