"""What every test is held to: it leaves nothing behind and does not touch the user's files and keys."""

import gc
import os
import threading
import time
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from pathlib import Path

import platformdirs
import psutil
import pytest

# An exit that was asked for may take a moment; a leak is there for longer than any of them.
GRACE_S = 5.0
PAUSE_S = 0.02

_failed = pytest.StashKey[bool]()


@dataclass(frozen=True)
class Held:
    """What this process holds: threads, child processes, and on Linux open descriptors with what they are."""

    threads: frozenset[threading.Thread]
    children: frozenset[psutil.Process]
    descriptors: frozenset[tuple[int, str]]


def held() -> Held:
    return Held(
        threads=frozenset(threading.enumerate()),
        children=frozenset(psutil.Process().children(recursive=True)),
        descriptors=frozenset(_descriptors()),
    )


def _descriptors() -> Iterator[tuple[int, str]]:
    folder = Path("/proc/self/fd")
    if not folder.is_dir():
        return
    for name in os.listdir(folder):
        # The listing's own descriptor is gone by now.
        try:
            yield int(name), os.readlink(folder / name)
        except OSError:
            continue


def left(before: Held) -> list[str]:
    """Name what is held now and was not before."""
    now = held()
    found = [f"thread {thread.name!r}" for thread in now.threads - before.threads]
    found += [f"process {_describe(child)}" for child in now.children - before.children]
    # A descriptor that took the place of another is none too many.
    if len(now.descriptors) > len(before.descriptors):
        found += [
            f"descriptor {fd} ({target})" for fd, target in sorted(now.descriptors - before.descriptors)
        ]
    return found


def _describe(child: psutil.Process) -> str:
    try:
        return f"{child.pid} ({child.status()}): {' '.join(child.cmdline())[:120]}"
    except psutil.Error:
        return f"{child.pid} (gone meanwhile)"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.failed:
        item.stash[_failed] = True
    return report


@pytest.fixture(autouse=True)
def nothing_is_left(request: pytest.FixtureRequest) -> Iterator[None]:
    """After the test no thread, child process or descriptor is there that was not there before."""
    before = held()
    yield
    # The traceback of a failed test keeps its objects alive, and its own report is enough.
    if request.node.stash.get(_failed, False):
        return
    found = left(before)
    deadline = time.monotonic() + GRACE_S
    while found and time.monotonic() < deadline:
        gc.collect()
        time.sleep(PAUSE_S)
        found = left(before)
    if found:
        pytest.fail("the test left behind: " + "; ".join(found))


@pytest.fixture(scope="session", autouse=True)
def no_user_files_or_keys(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Tests have a home of their own and no keys; only the cache of model weights stays the user's."""
    cache = platformdirs.user_cache_path("engine-intelligence", appauthor=False)
    home = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        if not os.environ.get("ENGINE_INTELLIGENCE_CACHE_DIR"):
            patch.setenv("ENGINE_INTELLIGENCE_CACHE_DIR", str(cache))
        for name in ("HOME", "USERPROFILE"):
            patch.setenv(name, str(home))
        for name in (
            "XDG_CONFIG_HOME",
            "XDG_CACHE_HOME",
            "XDG_DATA_HOME",
            "XDG_STATE_HOME",
            "APPDATA",
            "LOCALAPPDATA",
        ):
            folder = home / name.lower()
            folder.mkdir()
            patch.setenv(name, str(folder))
        for name in list(os.environ):
            if name.endswith(("_API_KEY", "_AUTH_TOKEN")):
                patch.delenv(name)
        yield
