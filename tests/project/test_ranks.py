"""A module imports lower ranks and its own package, and importing the package does nothing else."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

PACKAGE = "engine_intelligence"
SOURCE = Path(__file__).parents[2] / "src" / PACKAGE

# Modules and packages directly below the package, lowest rank first. Those of one rank do not know each other
# except in the ranks that are one chain: there a later one may import an earlier one.
RANKS = [
    [
        "result",
        "failure",
        "lettering",
        "scrubbing",
        "credentials",
        "activity",
        "errors",
        "identity",
        "limits",
        "contracts",
        "conversation",
        "process_tree",
        "sqlite_files",
    ],
    ["lifecycle", "delivery", "closing", "admission", "signals", "sink", "expiries"],
    ["runtime", "protocol"],
    ["ports", "sessions", "providers", "models", "plugin", "child", "spending"],
    ["realm", "host"],
    ["testing"],
    ["cli", "__pyinstaller"],
]
CHAINS = {0, 1}
PUBLIC_RANK = 4  # `__init__` hands out what stands up to here
ALLOWED: frozenset[tuple[str, str]] = frozenset()  # (importer, imported) of one rank, each with its reason

PLACES = {name: (rank, place) for rank, names in enumerate(RANKS) for place, name in enumerate(names)}


def module_name(path: Path) -> str:
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_name(path): path for path in sorted(SOURCE.rglob("*.py"))}


def imports(module: str) -> Iterator[str]:
    """The modules of the package that one imports, also for typing only; `""` is the package's `__init__`."""
    path = MODULES[module]
    package = [PACKAGE, *path.relative_to(SOURCE).parent.parts]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            targets = [(alias.name, "") for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            targets = [(base, alias.name) for alias in node.names]
        else:
            continue
        for base, name in targets:
            if base == PACKAGE or base.startswith(PACKAGE + "."):
                inner = base.removeprefix(PACKAGE).removeprefix(".")
                submodule = f"{inner}.{name}".removeprefix(".")
                yield submodule if submodule in MODULES else inner


def offence(importer: str, target: str) -> str | None:
    """What is wrong with an import, if anything is."""
    mine, theirs = importer.split(".")[0], target.split(".")[0]
    text = f"{importer or '__init__'} imports {target or '__init__'}"
    unknown = [name for name in (mine, theirs) if name and name not in PLACES]
    if unknown:
        return f"{text}: {unknown[0]} has no rank"
    if not theirs:
        return f"{text}: nothing inside imports the public names"
    rank, place = PLACES[theirs]
    if not mine:
        return None if rank <= PUBLIC_RANK else f"{text}: it hands out ranks up to {PUBLIC_RANK}, not {rank}"
    own_rank, own_place = PLACES[mine]
    if mine == theirs or rank < own_rank or (mine, theirs) in ALLOWED:
        return None
    if rank == own_rank and rank in CHAINS and place < own_place:
        return None
    return f"{text}: rank {own_rank} does not import rank {rank}{' beside it' if rank == own_rank else ''}"


def test_every_module_has_a_rank() -> None:
    assert MODULES
    assert [name for name in MODULES if name and name.split(".")[0] not in PLACES] == []


def test_modules_import_lower_ranks_or_their_own_package() -> None:
    found = {offence(module, target) for module in MODULES for target in imports(module)}
    assert sorted(text for text in found if text) == []


@pytest.mark.parametrize(
    ("importer", "target"),
    [
        ("errors", "contracts"),
        ("runtime", "protocol.codec"),
        ("protocol.codec", "runtime"),
        ("realm.client", "host.binding"),
        ("runtime", ""),
        ("", "testing.clock"),
        ("activity", "unheard_of"),
    ],
)
def test_an_import_against_the_ranks_is_found(importer: str, target: str) -> None:
    assert offence(importer, target)


def test_imports_have_no_cycle() -> None:
    graph = {module: {target for target in imports(module) if target != module} for module in MODULES}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail("imports in a circle: " + " -> ".join(error.args[1]))


PROBE = """
import sys
events = []
sys.addaudithook(lambda name, _: events.append(name) if name in WATCHED else None)
WATCHED = {"socket.__new__", "_thread.start_new_thread", "subprocess.Popen", "os.fork", "os.posix_spawn"}
import engine_intelligence
import threading
assert not events, events
assert threading.active_count() == 1, threading.enumerate()
heavy = {"openai", "xllamacpp", "pygame", "typer", "rich", "asyncio", "sqlite3"} & set(sys.modules)
assert not heavy, f"loaded by the import: {sorted(heavy)}"
"""


def test_importing_the_package_starts_nothing_and_loads_no_sdk() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROBE], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
