"""What may be said of a program, and what a person is told who has said something else (rule H4)."""

import os
from pathlib import Path

import pytest
from support.programs import PYTHON, answer, python

from engine_intelligence import SetupError
from engine_intelligence.host.building import build
from engine_intelligence.process_tree import MARK_VARIABLE
from engine_intelligence.providers.command import Options, create

HERE = dict(os.environ)

# Prints its arguments and where it is.
WHERE = "import os, sys; print(*sys.argv[1:], os.getcwd(), sep='|', end='')"


def refusal(options: Options, environment: dict[str, str] | None = None) -> SetupError:
    with pytest.raises(SetupError) as raised:
        create(options, environment=HERE if environment is None else environment)
    return raised.value


@pytest.mark.parametrize(
    ("table", "named"),
    [
        ({}, "command"),
        ({"command": "python3 smith.py"}, "command"),
        ({"command": []}, "command must name a program"),
        ({"command": [""]}, "command must name a program"),
        ({"command": ["a\0b"]}, "command must hold no NUL"),
        ({"command": ["smith"], "prompt": "xml"}, "prompt"),
        (
            {"command": ["smith"], "instructions": "Be kind."},
            'instructions need prompt = "conversation" or "json"',
        ),
        ({"command": ["smith"], "directory": "a\0b"}, "directory must hold no NUL"),
        ({"command": ["smith"], "environment": ["SMITH_KEY=hunter2"]}, "environment must hold names"),
        ({"command": ["smith"], "environment": [""]}, "environment must hold names"),
        ({"command": ["smith"], "shell": True}, "there is no key 'shell'"),
    ],
)
def test_a_bad_option_is_named(table: dict[str, object], named: str) -> None:
    with pytest.raises(SetupError) as raised:
        build(Options, table, "host.toml: providers.smith")
    assert raised.value.reason == "config-invalid"
    assert named in raised.value.message
    assert "hunter2" not in raised.value.message


def test_text_with_a_lone_surrogate_is_refused() -> None:
    with pytest.raises(ValueError, match="instructions must be text that UTF-8 can encode"):
        Options(command=("smith",), prompt="json", instructions="\ud800")


# Finding it


def test_a_bare_name_is_looked_up_in_the_path(tmp_path: Path) -> None:
    program = tmp_path / "smith"
    program.write_text("#!/bin/sh\necho Hello.\n")
    program.chmod(0o755)
    path = os.pathsep.join([str(tmp_path), HERE["PATH"]])
    assert answer(create(Options(command=("smith",)), environment={**HERE, "PATH": path})) == "Hello.\n"


@pytest.mark.spec("H4")
def test_a_program_that_is_not_there_is_told_before_anybody_asks() -> None:
    error = refusal(Options(command=("no-such-smith",)))
    assert error.reason == "missing-program"
    assert "no-such-smith" in error.message
    assert "PATH" in error.message


@pytest.mark.spec("H4")
def test_a_program_that_may_not_be_run_is_told_with_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "smith").write_text("#!/bin/sh\n")
    error = refusal(Options(command=("./smith",), directory=str(tmp_path)))
    assert error.reason == "missing-program"
    assert "chmod +x" in error.message


def test_a_relative_program_is_looked_for_in_its_directory(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin" / "smith"
    program.write_text("#!/bin/sh\npwd\n")
    program.chmod(0o755)
    backend = create(Options(command=("bin/smith",), directory=str(tmp_path)), environment=HERE)
    assert Path(answer(backend).strip()) == tmp_path.resolve()


def test_a_directory_is_where_the_program_runs_and_by_default_that_of_the_host(tmp_path: Path) -> None:
    there = create(Options(command=python(WHERE, "a"), directory=str(tmp_path)), environment=HERE)
    here = create(Options(command=python(WHERE, "a")), environment=HERE)
    assert answer(there) == f"a|{tmp_path.resolve()}"
    assert answer(here) == f"a|{Path.cwd()}"


def test_a_relative_directory_begins_at_the_folder_and_an_empty_one_is_that(tmp_path: Path) -> None:
    (tmp_path / "smithy").mkdir()
    there = create(Options(command=python(WHERE), directory="smithy"), environment=HERE, folder=tmp_path)
    assert answer(there) == str((tmp_path / "smithy").resolve())
    assert answer(create(Options(command=python(WHERE)), environment=HERE, folder=tmp_path)) == str(
        tmp_path.resolve()
    )


def test_a_directory_that_is_not_there_is_told(tmp_path: Path) -> None:
    error = refusal(Options(command=PYTHON, directory=str(tmp_path / "smithy")))
    assert (error.reason, "smithy" in error.message) == ("missing-directory", True)


def test_no_shell_reads_the_arguments() -> None:
    options = Options(command=python(WHERE, "$HOME", "*", "a b", "; exit", "a~", "~a"))
    assert answer(create(options, environment=HERE)) == f"$HOME|*|a b|; exit|a~|~a|{Path.cwd()}"


def test_a_tilde_that_begins_an_argument_is_the_home_of_the_user() -> None:
    options = Options(command=python(WHERE, "~/smith.py", "~"))
    home = os.path.expanduser("~")
    assert answer(create(options, environment=HERE)) == f"{home}/smith.py|{home}|{Path.cwd()}"


def test_a_directory_may_be_in_the_home_of_the_user() -> None:
    home = Path.home()
    (home / "smithy").mkdir(exist_ok=True)
    backend = create(Options(command=python(WHERE), directory="~/smithy"), environment=HERE)
    assert answer(backend) == str((home / "smithy").resolve())


# Its environment


def environment_of(environment: dict[str, str], *named: str) -> set[str]:
    """The names of the variables that a program has."""
    source = "import os; print(*os.environ)"
    options = Options(command=python(source), environment=named)
    return set(answer(create(options, environment={**HERE, **environment})).split())


@pytest.mark.fault("C32")
@pytest.mark.spec("E2")
def test_a_program_is_not_given_what_may_be_a_credential() -> None:
    given = environment_of(
        {"SMITH_API_KEY": "sk-123", "SMITH_BUILD": "3f2a9c81d4e7b605", "SMITH_HOUSE": "north"}
    )
    assert {"SMITH_HOUSE", "PATH"} <= given
    assert not {"SMITH_API_KEY", "SMITH_BUILD"} & given


def test_a_program_is_given_a_credential_that_it_is_said_to_need() -> None:
    given = environment_of({"SMITH_API_KEY": "sk-123", "OTHER_API_KEY": "sk-456"}, "SMITH_API_KEY")
    assert "SMITH_API_KEY" in given
    assert "OTHER_API_KEY" not in given


def test_a_program_is_given_the_mark_by_which_a_guardian_finds_it() -> None:
    assert MARK_VARIABLE in environment_of({MARK_VARIABLE: "3f2a9c81d4e7b6053f2a9c81d4e7b605"})


@pytest.mark.spec("H4")
def test_a_variable_that_a_program_needs_and_that_is_not_set_is_told() -> None:
    error = refusal(Options(command=PYTHON, environment=("SMITH_API_KEY",)), {"PATH": HERE["PATH"]})
    assert error.reason == "missing-variable"
    assert "SMITH_API_KEY" in error.message


@pytest.mark.fault("C32")
@pytest.mark.spec("E2")
def test_no_repr_shows_an_environment() -> None:
    backend = create(
        Options(command=PYTHON, environment=("SMITH_API_KEY",)), environment={**HERE, "SMITH_API_KEY": "sk-1"}
    )
    assert "sk-1" not in repr(backend.invocation)
    assert "sk-1" not in repr(vars(backend))
