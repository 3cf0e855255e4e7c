"""What the fuzzing records of what the fuzzer says."""

import importlib.util
from pathlib import Path
from typing import Any

import pytest
from campaign import fuzzing
from campaign.fuzz.targets import TARGETS
from campaign.workers import NotHere

BROKEN = """INFO: seed corpus: files: 1
 === Uncaught Python exception: ===
Broken: raised KeyError, which nobody is told to expect
Traceback (most recent call last):
==7== ERROR: libFuzzer: fuzz target exited
ended with 77
"""
HANGING = "ALARM: working on the last Unit for 21 seconds\n==7== ERROR: libFuzzer: timeout after 21 seconds\nended with 70\n"
KILLED = "INFO: seed corpus: files: 1\nended with -9\n"
DONE = """#36000\tDONE   cov: 109 ft: 137 corp: 31/1220b exec/s: 36000 rss: 54Mb
stat::number_of_executed_units: 36000
stat::peak_rss_mb:              54
"""


@pytest.mark.parametrize(
    ("said", "what"),
    [
        (BROKEN, "Broken: raised KeyError, which nobody is told to expect"),
        (HANGING, "==7== ERROR: libFuzzer: timeout after 21 seconds"),
        (KILLED, "ended with -9"),
    ],
    ids=["broken", "hanging", "killed"],
)
def test_a_fuzzer_that_ended_before_its_time_is_a_crash_with_its_reason(
    tmp_path: Path, said: str, what: str
) -> None:
    assert fuzzing.crash(said, tmp_path) == {"what": what, "input": ""}


def test_the_input_of_a_crash_is_kept(tmp_path: Path) -> None:
    (tmp_path / "crash-1").write_bytes(b"\xc1x")
    found = fuzzing.crash(BROKEN, tmp_path)
    assert found is not None
    assert bytes.fromhex(found["input"]) == b"\xc1x"


def test_a_fuzzer_that_did_all_its_runs_is_no_crash(tmp_path: Path) -> None:
    assert fuzzing.crash(DONE, tmp_path) is None
    assert fuzzing.number_in(DONE, "number_of_executed_units") == 36_000


def test_without_a_fuzzer_the_refusal_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing(name: str) -> None:
        return None

    monkeypatch.setattr(importlib.util, "find_spec", nothing)
    with pytest.raises(NotHere, match=r"\[fuzz\]"):
        fuzzing.run(0.001)


def record(crash: dict[str, str] | None) -> dict[str, Any]:
    target = {
        "executions": 10,
        "edges": 2,
        "features": 3,
        "new_inputs": 1,
        "peak_memory_mb": 50,
        "seconds": 1.5,
        "crash": crash,
    }
    return {
        "executions": 10,
        "targets": {"framing": target},
        "crashes": int(crash is not None),
        "peak_memory_mb": 50,
        "seconds": 2,
        "processor_seconds": 3,
        "versions": {"atheris": "3.0.0"},
    }


def test_a_target_with_a_crash_is_a_violation() -> None:
    assert fuzzing.violations(record(None)) == 0
    assert fuzzing.violations(record({"what": "Broken", "input": "00"})) == 1


def test_the_table_has_a_row_for_each_target() -> None:
    assert "| framing | 10 | 2 | 3 | 1 | 2 s |" in fuzzing.table(record(None))


def test_shares_of_the_runs_are_of_a_thousand() -> None:
    assert sum(target.share for target in TARGETS.values()) == 1000
