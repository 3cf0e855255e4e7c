"""Coverage-guided fuzzing of everything that reads bytes which another process wrote: ten million runs at full scale.

python tools/campaign/fuzzing.py --scale 0.01    a hundredth of it, printed and recorded nowhere
python tools/campaign/fuzzing.py --grow          add to the corpus in tests/fuzz/corpus what was found to be new
"""

from __future__ import annotations

import argparse
import importlib.metadata
import importlib.util
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
if __name__ == "__main__":
    sys.path[0] = str(ROOT / "tools")  # in the place of this folder, whose names are those of the package

from campaign.fuzz.seeds import seeds, words  # noqa: E402 - the path is set above
from campaign.fuzz.targets import TARGETS  # noqa: E402 - the path is set above
from campaign.tables import rows  # noqa: E402 - as above
from campaign.workers import NotHere  # noqa: E402 - as above

NAME = "fuzzing"
CORPUS = ROOT / "tests" / "fuzz" / "corpus"

RUNS = 10_000_000
SEED = 1

# A run takes some hundred microseconds at most, and this machine may be busy.
TIMEOUT_S = 20

# What the interpreter and the fuzzer take themselves is a tenth of it; what one input may make it ask for is less.
MEMORY_MB = 1024
RSS_MB = 512

# How much of what broke is recorded.
_SHOWN_BYTES = 512


def run(scale: float) -> dict[str, Any]:
    """Fuzz every target on all processors, with a fixed seed each, from the corpus of the tests.

    Raises `NotHere` where the fuzzer is not installed.
    """
    with tempfile.TemporaryDirectory() as folder:
        return fuzz(scale, Path(folder))


def fuzz(scale: float, folder: Path) -> dict[str, Any]:
    """The same, which leaves the inputs that were new in `folder`, by the names of the targets."""
    if importlib.util.find_spec("atheris") is None:
        raise NotHere(
            "the fuzzing needs atheris, which there is for Linux on x86-64: pip install -c constraints.txt -e '.[fuzz]'"
        )
    began, taken = time.monotonic(), children_s()
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        # Those that take longest first, so that no processor waits for one of them at the end.
        order = sorted(TARGETS, key=lambda name: name not in ("host-stream", "realm-stream", "framing"))
        found = {name: pool.submit(fuzz_target, name, scale, folder) for name in order}
        targets = {name: found[name].result() for name in TARGETS}
    return {
        "seeds": str(SEED),
        "executions": sum(target["executions"] for target in targets.values()),
        "targets": targets,
        "crashes": sum(target["crash"] is not None for target in targets.values()),
        "peak_memory_mb": max(target["peak_memory_mb"] for target in targets.values()),
        "seconds": round(time.monotonic() - began),
        "processor_seconds": round(children_s() - taken),
        "versions": {name: importlib.metadata.version(name) for name in ("atheris", "msgspec")},
    }


def children_s() -> float:
    """How much time of processors the processes that have ended took, in seconds: what is left where a machine is busy."""
    times = os.times()
    return times.children_user + times.children_system


def fuzz_target(name: str, scale: float, folder: Path) -> dict[str, Any]:
    """Fuzz one target in a process of its own."""
    new, began = folder / name, time.monotonic()
    new.mkdir(parents=True)
    artifacts = folder / "artifacts" / name
    artifacts.mkdir(parents=True)
    runs = max(1, round(RUNS * scale * TARGETS[name].share / 1000))
    said = fuzzer(
        name,
        folder,
        f"-runs={runs}",
        f"-seed={SEED}",
        f"-artifact_prefix={artifacts}{os.sep}",
        f"-dict={dictionary(name, folder)}",
        str(new),
        *known(name, folder),
    )
    done = re.findall(r"cov: (\d+) ft: (\d+)", said)
    return {
        "executions": number_in(said, "number_of_executed_units"),
        "edges": int(done[-1][0]) if done else 0,
        "features": int(done[-1][1]) if done else 0,
        "new_inputs": len(list(new.iterdir())),
        "peak_memory_mb": number_in(said, "peak_rss_mb"),
        "seconds": round(time.monotonic() - began, 1),
        "crash": crash(said, artifacts),
    }


def fuzzer(name: str, folder: Path, *arguments: str) -> str:
    """Run the fuzzer, and return what it says."""
    limits = [f"-timeout={TIMEOUT_S}", f"-rss_limit_mb={RSS_MB}", f"-max_len={TARGETS[name].max_bytes}"]
    path = os.pathsep.join(filter(None, [str(ROOT / "tools"), os.environ.get("PYTHONPATH")]))
    ran = subprocess.run(
        [command(name, folder), *limits, "-print_final_stats=1", *arguments],
        env={**os.environ, "PYTHONPATH": path},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        check=False,
    )
    said = ran.stderr.decode(errors="replace")
    return said if ran.returncode == 0 else f"{said}\nended with {ran.returncode}\n"


def command(name: str, folder: Path) -> Path:
    """A program that fuzzes a target: where it makes a corpus small, the fuzzer starts itself again by its name."""
    path = folder / f"fuzz-{name}"
    if not path.exists():
        worker = [sys.executable, "-m", "campaign.fuzz.worker", name, str(MEMORY_MB), str(path)]
        path.write_text(f'#!/bin/sh\nexec {shlex.join(worker)} "$@"\n', encoding="utf-8")
        path.chmod(0o700)
    return path


def crash(said: str, artifacts: Path) -> dict[str, str] | None:
    """What ended the fuzzer before its time: the input, and what it did."""
    if "ended with" not in said:
        return None  # an artifact of a run that went on is that of a slow input, which a busy machine has too
    left = sorted(artifacts.iterdir())
    # The first that says most: what did not hold, what the fuzzer saw, or how its process ended.
    words = (
        re.search(rf"^.*{word}.*$", said, re.MULTILINE) for word in ("Broken: ", "ERROR: ", "ended with")
    )
    return {
        "what": next(found[0].strip() for found in words if found),
        "input": left[0].read_bytes()[:_SHOWN_BYTES].hex() if left else "",
    }


def number_in(said: str, name: str) -> int:
    found = re.search(rf"stat::{name}:\s*(\d+)", said)
    return int(found[1]) if found else 0


def known(name: str, folder: Path) -> list[str]:
    """The folders of inputs to start from: the good ones, and the corpus of the tests."""
    good = folder / "seeds" / name
    good.mkdir(parents=True, exist_ok=True)
    for number, data in enumerate(seeds()[name]):
        (good / str(number)).write_bytes(data)
    corpus = CORPUS / name
    return [str(good), str(corpus)] if corpus.is_dir() else [str(good)]


def dictionary(name: str, folder: Path) -> Path:
    path = folder / f"{name}.dict"
    entries = ("".join(f"\\x{byte:02x}" for byte in word) for word in words(name))
    path.write_text("".join(f'"{entry}"\n' for entry in entries), encoding="ascii")
    return path


def grow(folder: Path) -> None:
    """Make the corpus of the tests the fewest inputs that reach all that it and the new ones reach."""
    for name in TARGETS:
        corpus, fewest = CORPUS / name, folder / "fewest" / name
        fewest.mkdir(parents=True)
        said = fuzzer(
            name, folder, "-set_cover_merge=1", str(fewest), str(folder / name), *known(name, folder)
        )
        if "ended with" in said:
            raise RuntimeError(f"the corpus of {name} could not be made small: {said[-500:]}")
        corpus.mkdir(parents=True, exist_ok=True)
        for old in corpus.iterdir():
            old.unlink()
        for found in fewest.iterdir():
            found.rename(corpus / found.name[:12])


def violations(record: dict[str, Any]) -> int:
    """How many targets have an input for which something did not hold."""
    return int(record["crashes"])


def table(record: dict[str, Any]) -> str:
    """The figures in Markdown: the whole, and each target."""
    versions: dict[str, str] = record["versions"]
    whole = rows(
        ("fuzzing", ""),
        [
            ("runs", f"{record['executions']:,}"),
            ("targets with an input for which something did not hold", f"{record['crashes']}"),
            ("most memory of a process", f"{record['peak_memory_mb']} MB"),
            ("time", f"{record['seconds']:,} s, {record['processor_seconds']:,} s of processors"),
            ("with", ", ".join(f"{name} {version}" for name, version in versions.items())),
        ],
    )
    targets: dict[str, dict[str, Any]] = record["targets"]
    each = rows(
        ("target", "runs", "branches", "kinds of runs", "new inputs", "time"),
        [
            (
                name,
                f"{target['executions']:,}",
                f"{target['edges']}",
                f"{target['features']}",
                f"{target['new_inputs']}",
                f"{target['seconds']:.0f} s",
            )
            for name, target in targets.items()
        ],
    )
    return f"{whole}\n\n{each}"


def main() -> int:
    parser = argparse.ArgumentParser(description="Fuzz what reads bytes of another process.")
    parser.add_argument("--scale", type=float, default=1.0, help="1.0 is ten million runs")
    parser.add_argument("--grow", action="store_true", help="add what is new to the corpus of the tests")
    parser.add_argument("--json", action="store_true", help="print the record instead of the table")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        try:
            record = fuzz(arguments.scale, Path(folder))
        except NotHere as missing:
            print(missing, file=sys.stderr)
            return 2
        if arguments.grow and not violations(record):
            grow(Path(folder))
    print(json.dumps(record, indent=1) if arguments.json else table(record))
    for name, target in record["targets"].items():
        if target["crash"]:
            print(f"{name}: {target['crash']}", file=sys.stderr)
    return 1 if violations(record) else 0


if __name__ == "__main__":
    sys.exit(main())
