#!/usr/bin/env python3
"""Everything one does with this project, from a bare Python.

The first run makes a virtual environment, later runs reuse it. Only the standard library, and syntax that
Python 3.6 can read, so that an older Python gets a sentence to act on.
"""

import argparse
import hashlib
import importlib.util
import os
import platform
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent
EVERYTHING = ["cordis", "dev", "play", "test"]
TESTS_AT_ONCE = (os.cpu_count() or 1) + 1
HELP = """commands (what follows one is passed on):
  play [args]         play the example scene; --headless for a terminal without a window
  test [pytest args]  run the tests
  check               formatting, lint, types, project rules, documentation
  bench [name]        run benchmarks/<name>.py; without a name, list them
  docs                build the documentation into site/
  reliability [args]  run the campaign and record its figures; --only NAME..., --scale F, --table

--venv comes before the command: python3 dev.py --venv DIR test"""


class Refusal(Exception):
    """What a person has to do before this can go on."""


def main(argv: "list[str]") -> int:
    if sys.version_info < (3, 11):
        found = platform.python_version()
        print(
            "dev.py needs Python 3.11 or later (this is "
            + found
            + "): install one from python.org and run it with that."
        )
        return 2
    parser = argparse.ArgumentParser(
        prog="dev.py", epilog=HELP, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--venv", metavar="DIR", default=ROOT / ".venv", type=Path, help="default: .venv")
    parser.add_argument("command", choices=list(COMMANDS))
    parser.add_argument("args", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    options = parser.parse_args(argv)
    try:
        return COMMANDS[options.command](Path(os.path.abspath(options.venv)), options.args)
    except Refusal as refusal:
        say(str(refusal))
        return 2
    except KeyboardInterrupt:
        return 130


def play(venv: Path, args: "list[str]") -> int:
    python = prepare(venv, ["play"])
    return run([python, "-m", "engine_intelligence.cli", "play", *args], cwd=None)


def test(venv: Path, args: "list[str]") -> int:
    # All of them take their time mostly with waiting for processes; a few that somebody asks for need no company. Those of a
    # file stay together, for what they share.
    at_once = [] if args else ["-n", str(TESTS_AT_ONCE), "--dist", "loadfile"]
    return run([prepare(venv, EVERYTHING), "-m", "pytest", *at_once, *args])


def check(venv: Path, args: "list[str]") -> int:
    if args:
        raise Refusal("check takes no arguments")
    python = prepare(venv, EVERYTHING)
    sources = ["src", "tests", "tools", "dev.py", "examples", "benchmarks"]
    sources = [name for name in sources if (ROOT / name).exists()]
    with tempfile.TemporaryDirectory() as site:
        steps = {
            "ruff format": ["-m", "ruff", "format", "--check", "."],
            "ruff check": ["-m", "ruff", "check", "."],
            "mypy": ["-m", "mypy", *sources],
            "pyright": ["-m", "pyright", "--pythonpath", python, *sources],
            "ranks": ["-m", "pytest", "-q", "tests/project/test_ranks.py"],
            "rules without a test": ["tools/spec_rules.py"],
            "faults without a test": ["tools/fault_rows.py"],
            "documentation": ["-m", "mkdocs", "build", "--strict", "--site-dir", site],
        }
        failed: list[str] = []
        for name, step in steps.items():
            print("== " + name, flush=True)
            if run([python, *step]) != 0:
                failed.append(name)
    print("== check: " + ("failed: " + ", ".join(failed) if failed else "all passed"))
    return 1 if failed else 0


def bench(venv: Path, args: "list[str]") -> int:
    folder = ROOT / "benchmarks"
    names = sorted(path.stem for path in folder.glob("*.py") if not path.stem.startswith("_"))
    if not names:
        print("there are no benchmarks: no benchmarks/*.py")
        return 0 if not args else 2
    if not args:
        print("benchmarks: " + ", ".join(names))
        return 0
    if args[0] not in names:
        raise Refusal("no benchmark " + args[0] + "; there are: " + ", ".join(names))
    python = prepare(venv, [*EVERYTHING, "bench"])
    return run([python, str(folder / (args[0] + ".py")), *args[1:]])


def docs(venv: Path, args: "list[str]") -> int:
    return run([prepare(venv, EVERYTHING), "-m", "mkdocs", "build", "--strict", *args])


def reliability(venv: Path, args: "list[str]") -> int:
    return run([prepare(venv, [*EVERYTHING, "fuzz"]), "tools/reliability.py", *args])


COMMANDS = {
    "play": play,
    "test": test,
    "check": check,
    "bench": bench,
    "docs": docs,
    "reliability": reliability,
}


def prepare(venv: Path, extras: "list[str]") -> str:
    """Return the interpreter of a virtual environment that holds the project with these extras."""
    python = venv / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    # The first is there after a complete install, the second from its beginning to its end.
    installed, installing = venv / "engine-intelligence-installed", venv / "engine-intelligence-installing"
    wanted = [inputs_digest(), *sorted(extras)]
    done = installed.read_text(encoding="utf-8").split() if installed.exists() else []
    if set(wanted) <= set(done) and python.exists():
        return str(python)

    if installing.exists() or not is_sound(venv, python):
        ours = installed.exists() or installing.exists()
        if venv.exists() and not ours and (not venv.is_dir() or any(venv.iterdir())):
            raise Refusal(
                str(venv)
                + " is not an environment that dev.py made, nor one of this Python version with pip:"
                " remove it, or choose another folder with --venv"
            )
        make_venv(venv, installing)
    installing.touch()
    if installed.exists():
        installed.unlink()
    install(venv, python, extras)
    installed.write_text("\n".join(wanted), encoding="utf-8")
    installing.unlink()
    return str(python)


def inputs_digest() -> str:
    """A digest of all that decides what an install holds; a moved project is installed anew."""
    digest = hashlib.sha256()
    for name in ["pyproject.toml", "constraints.txt"]:
        digest.update((ROOT / name).read_bytes() + b"\0")
    digest.update((platform.python_version() + "\0" + str(ROOT)).encode("utf-8", "surrogateescape"))
    return digest.hexdigest()


def is_sound(venv: Path, python: Path) -> bool:
    """Whether this is a virtual environment of the running Python version, with a working pip."""
    try:
        lines = (venv / "pyvenv.cfg").read_text(encoding="utf-8").splitlines()
    except OSError:
        return False
    if "version = " + platform.python_version() not in lines or not python.exists():
        return False
    probe = [str(python), "-m", "pip", "--version"]
    return subprocess.call(probe, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) == 0


def make_venv(venv: Path, installing: Path) -> None:
    for module in ["venv", "ensurepip"]:
        if importlib.util.find_spec(module) is None:
            raise Refusal(
                "this Python has no '" + module + "' module. On Debian and Ubuntu: apt install python3-venv"
                "; elsewhere use the Python from python.org."
            )
    say("making a virtual environment in " + shown(venv))
    if venv.exists():
        shutil.rmtree(str(venv))
    venv.mkdir(parents=True)
    installing.touch()
    made = subprocess.run(
        [sys.executable, "-m", "venv", str(venv)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    if made.returncode != 0:
        sys.stderr.write(made.stdout.decode("utf-8", "replace"))
        raise Refusal("the virtual environment could not be made (above: what Python said)")


def install(venv: Path, python: Path, extras: "list[str]") -> None:
    size = "about 60 MB, a minute or two" if extras == ["play"] else "about 200 MB, two or three minutes"
    say("installing into " + shown(venv) + " (" + size + " the first time)")
    started = time.monotonic()
    command = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input"]
    command += ["-c", str(ROOT / "constraints.txt"), "-e", str(ROOT) + "[" + ",".join(sorted(extras)) + "]"]
    with tempfile.TemporaryFile() as output:
        status = run(command, output=output.fileno())
        if status != 0:
            output.seek(0)
            sys.stderr.write(output.read().decode("utf-8", "replace"))
            raise Refusal(
                "pip could not install the packages (above: what pip said); the next run tries again"
            )
    say(f"installed in {time.monotonic() - started:.0f} s")


def run(command: "list[str]", cwd: "Path | None" = ROOT, output: "int | None" = None) -> int:
    """Run a command to its end and return its exit code; Ctrl-C is the command's to answer."""
    # Two tools that advertise their successors otherwise.
    env = dict(os.environ, PYRIGHT_PYTHON_IGNORE_WARNINGS="1", NO_MKDOCS_2_WARNING="1")
    child = subprocess.Popen(command, cwd=cwd, env=env, stdout=output, stderr=output)

    def pass_on(_number: int, _frame: object) -> None:
        child.terminate()

    former = signal.signal(signal.SIGTERM, pass_on)
    try:
        while True:
            try:
                status = int(child.wait())
                return status if status >= 0 else 128 - status
            except KeyboardInterrupt:
                continue
    finally:
        signal.signal(signal.SIGTERM, former)


def shown(path: Path) -> str:
    return str(path.relative_to(ROOT)) if ROOT in path.parents else str(path)


def say(text: str) -> None:
    print("dev.py: " + text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
