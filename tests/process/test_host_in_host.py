"""A game that is also the module of its factory: the Host imports it, and must not start a Host for that."""

import sys
import time
from pathlib import Path

import pytest

from engine_intelligence import Deadlines, IntelligenceLimits, spawn_host

UNGUARDED = """
from engine_intelligence import StreamProvider, spawn_host

async def speak(prompt):
    yield "hello"

def mind():
    return StreamProvider("mind", speak)

spawn_host("unguarded_game:mind")
"""


@pytest.mark.spec("H4")
def test_a_factory_whose_module_starts_a_host_closes_the_client_with_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "unguarded_game.py").write_text(UNGUARDED)
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])
    with spawn_host("unguarded_game:mind") as host:
        client = host.client("mind")
        for _ in range(4000):
            if client.closed:
                break
            time.sleep(0.005)
        assert '__name__ == "__main__"' in (client.close_reason or "")


@pytest.mark.spec("H4")
@pytest.mark.parametrize(
    "arguments", [{"limits": 3}, {"deadlines": 3}, {"provider_id": 5}, {"provider_id": ""}, {"options": "x"}]
)
def test_an_argument_that_makes_no_sense_is_refused_before_a_process_is_started(
    arguments: dict[str, object],
) -> None:
    with pytest.raises(ValueError, match=next(iter(arguments))):
        spawn_host("scripted", **arguments)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


def test_limits_and_deadlines_that_make_sense_are_taken() -> None:
    spawn_host("scripted", limits=IntelligenceLimits(), deadlines=Deadlines()).close().wait()
