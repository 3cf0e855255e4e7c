"""What the core brings along and loads: next to nothing (rule H7)."""

import os
import subprocess
import sys
import tomllib
import zipfile
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

# What a realm has no use for: SDKs, servers, windows, and of the standard library what starts or needs an event loop.
HEAVY = [
    "asyncio",
    "concurrent.futures",
    "multiprocessing",
    "sqlite3",
    "ssl",
    "http.client",
    "urllib.request",
    "tomllib",
    "ctypes",
    "openai",
    "anthropic",
    "xllamacpp",
    "httpx",
    "httpx2",
    "pydantic",
    "pygame",
    "typer",
    "rich",
    "platformdirs",
    "psutil",
    "nats",
    "websockets",
]


def run(code: str) -> str:
    """What that code prints in an interpreter of its own."""
    ran = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        stdout=subprocess.PIPE,
        check=True,
        text=True,
    )
    return ran.stdout.strip()


@pytest.mark.spec("H7")
def test_importing_the_package_loads_nothing_heavy() -> None:
    code = f"import sys, engine_intelligence; print([name for name in {HEAVY!r} if name in sys.modules])"
    assert run(code) == "[]"


@pytest.mark.spec("H7")
def test_importing_the_package_starts_no_thread() -> None:
    assert run("import engine_intelligence, threading; print(threading.active_count())") == "1"


@pytest.mark.spec("H7")
@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="no list of native threads on this system")
def test_importing_the_package_starts_no_native_thread() -> None:
    assert run("import engine_intelligence, os; print(len(os.listdir('/proc/self/task')))") == "1"


@pytest.mark.spec("H7")
@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="no list of descriptors on this system")
def test_importing_the_package_opens_nothing() -> None:
    code = """
import os
before = len(os.listdir("/proc/self/fd"))
import engine_intelligence
print(len(os.listdir("/proc/self/fd")) - before)
"""
    assert run(code) == "0"


@pytest.mark.spec("H7")
def test_importing_the_package_prints_nothing_and_warns_of_nothing() -> None:
    ran = subprocess.run(
        [sys.executable, "-W", "error", "-X", "dev", "-c", "import engine_intelligence"],
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        check=True,
    )
    assert (ran.stdout, ran.stderr) == (b"", b"")


def test_the_core_depends_on_msgspec_and_nothing_else() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert [dependency.partition(">")[0] for dependency in project["dependencies"]] == ["msgspec"]


def test_the_core_runs_a_whole_host_without_any_package_but_msgspec(tmp_path: Path) -> None:
    # Neither side may find anything that is installed here; what is left is the standard library.
    msgspec = Path(str(import_module("msgspec").__file__)).parent
    (tmp_path / "msgspec").symlink_to(msgspec)
    code = """
import sys, time
from engine_intelligence import spawn_host
with spawn_host("scripted") as connection:
    client = connection.client("scripted")
    assert client.submit("hello").ok
    end = time.monotonic() + 20
    while time.monotonic() < end and client.close_reason is None:
        if any(event.type == "completed" for event in client.poll()):
            print("completed")
            break
        time.sleep(0.001)
    else:
        print(client.close_reason)
"""
    ran = subprocess.run(
        [
            sys.executable,
            "-c",
            f"import sys; sys.path[:] = [p for p in sys.path if 'packages' not in p]\n{code}",
        ],
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(tmp_path), str(ROOT / "src")]),
            "PYTHONNOUSERSITE": "1",
        },
        stdout=subprocess.PIPE,
        check=True,
        text=True,
    )
    assert ran.stdout.strip() == "completed"


# What a game carries, in an archive. All of the package is more than twice that: most of it belongs to the Host, to the
# command line and to the local model, and is never loaded by a game.
MAX_GAME_BYTES = 80_000


def test_what_a_game_loads_of_the_package_takes_less_than_80_kb_in_an_archive(tmp_path: Path) -> None:
    code = """
import sys, engine_intelligence
print(*(module.__file__ for name, module in sys.modules.items() if name.partition(".")[0] == "engine_intelligence"))
"""
    archive = tmp_path / "package.zip"
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as wheel:
        for path in map(Path, run(code).split()):
            wheel.write(path, path.relative_to(ROOT / "src"))
    assert 10_000 < archive.stat().st_size < MAX_GAME_BYTES
