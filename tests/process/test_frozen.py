"""A frozen game is its own Host: really built by PyInstaller, into a folder and into one file, and really run (rule H1)."""

import os
import re
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from support.process_marks import PATIENCE_S, Mark

pytestmark = [
    pytest.mark.skipif(
        os.name == "posix" and not sysconfig.get_config_var("Py_ENABLE_SHARED"),
        reason="PyInstaller needs a Python that was built with a shared library",
    ),
    pytest.mark.skipif(os.name != "posix", reason="kills processes by signals"),
]

EXAMPLES = Path(__file__).parents[2] / "examples"
BUILD_TIMEOUT_S = 600
ANSWER = "You ask me: May I pass? The answer is no. "

# The example, or a game with a Host that streams for ever; with `FORGETS` set it is one that forgot `freeze_support`.
GAME = """
import os
import sys
import time

import frozen_game
from engine_intelligence import freeze_support, spawn_host

if "FORGETS" not in os.environ:
    freeze_support()
if "example" in sys.argv:
    sys.exit(frozen_game.main())
print("game", os.getpid(), flush=True)
host = spawn_host("scripted", options={"text": "x " * 3000, "interval_s": 0.01})
client = host.client("scripted")
client.submit("go on")
while not client.closed:
    for event in client.poll():
        if event.type == "text-delta" and event.sequence == 1:
            print("host", host.pid, flush=True)
    time.sleep(0.005)
print(client.close_reason)
"""

# One analysis for both forms.
SPEC = """
analysis = Analysis(["game.py"], pathex=[{examples!r}], hiddenimports=["minds"])
pyz = PYZ(analysis.pure)
EXE(pyz, analysis.scripts, analysis.binaries, analysis.datas, name="file")
exe = EXE(pyz, analysis.scripts, name="game", exclude_binaries=True)
COLLECT(exe, analysis.binaries, analysis.datas, name="folder")
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the programs are."""
    folder = tmp_path_factory.mktemp("frozen")
    (folder / "game.py").write_text(GAME, encoding="utf-8")
    spec = folder / "game.spec"
    spec.write_text(SPEC.format(examples=str(EXAMPLES)), encoding="utf-8")
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "PyInstaller",
            "--noconfirm",
            "--log-level",
            "ERROR",
            "--distpath",
            "dist",
            str(spec),
        ],
        cwd=folder,
        env={**os.environ, "PYINSTALLER_CONFIG_DIR": str(folder / "cache")},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=BUILD_TIMEOUT_S,
        check=False,
    )
    assert done.returncode == 0, done.stdout.decode()[-2000:]
    return folder / "dist"


@pytest.fixture(params=["folder", "file"])
def form(request: pytest.FixtureRequest) -> str:
    """How the game is shipped."""
    chosen: str = request.param
    return chosen


def program(built: Path, form: str) -> Path:
    return built / "folder" / "game" if form == "folder" else built / "file"


@pytest.fixture
def nothing_unpacked_stays(tmp_path: Path) -> Iterator[Path]:
    """The directory for temporary files; one-file programs unpack themselves there."""
    yield tmp_path
    assert list(tmp_path.iterdir()) == []


@pytest.mark.spec("H1")
def test_a_frozen_game_talks_to_the_host_that_it_is_itself(
    built: Path, form: str, mark: Mark, nothing_unpacked_stays: Path
) -> None:
    game = subprocess.run(
        [program(built, form), "example"],
        env={**mark.environment, "TMPDIR": str(nothing_unpacked_stays)},
        stdout=subprocess.PIPE,
        timeout=PATIENCE_S,
        check=True,
        text=True,
    )
    assert game.stdout == ANSWER + "\n"
    assert mark.listing() == []


@pytest.mark.spec("H5")
def test_the_host_of_a_frozen_game_ends_when_the_game_is_killed(
    built: Path, form: str, mark: Mark, tmp_path: Path
) -> None:
    with subprocess.Popen(
        [program(built, form)],
        env={**mark.environment, "TMPDIR": str(tmp_path)},
        stdout=subprocess.PIPE,
        text=True,
    ) as game:
        assert game.stdout is not None
        pids = dict(game.stdout.readline().split() for _ in ("game", "host"))
        assert psutil.pid_exists(int(pids["host"]))
        os.kill(int(pids["game"]), 9)
        mark.until_gone()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.spec("H4")
def test_a_frozen_game_that_forgot_freeze_support_is_told_so_and_does_not_start_itself_without_end(
    built: Path, mark: Mark
) -> None:
    game = subprocess.run(
        [program(built, "folder")],
        env={**mark.environment, "FORGETS": "1"},
        capture_output=True,
        timeout=PATIENCE_S,
        check=True,
        text=True,
    )
    assert "engine_intelligence.freeze_support()" in game.stderr
    # The game itself, and its one attempt at a Host.
    assert game.stdout.count("game ") == 2
    # Its connection ends before its process does, so that the game may look before there is an exit code.
    assert re.search(r"The Host ended (with exit code 1\.|without a word)", game.stdout)
    assert mark.listing() == []
