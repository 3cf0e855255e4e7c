"""Ctrl-C in the middle of closing a connection: the next close finishes what that one began (rule C6)."""

import os
from pathlib import Path

import psutil
import pytest
from support.process_marks import PATIENCE_S, Mark
from support.raising import lines_of, raised_at

from engine_intelligence import Deadlines, HostConnection, spawn_host
from engine_intelligence.realm.spawning import Transport

pytestmark = pytest.mark.skipif(os.name != "posix", reason="starts a script of the shell in place of Python")

# A Host that never comes to anything: what is swept here is this side, and a real one would take a minute.
IDLE_HOST = "#!/bin/sh\nexec sleep 3600\n"


@pytest.fixture
def python(tmp_path: Path) -> str:
    script = tmp_path / "python"
    script.write_text(IDLE_HOST)
    script.chmod(0o755)
    return str(script)


def close_and_look(connection: HostConnection) -> object:
    return connection.close().done


@pytest.mark.fault("R54")
@pytest.mark.spec("C6", "H6")
def test_a_close_that_was_interrupted_at_any_line_is_finished_by_the_next(
    transport: Transport, mark: Mark, python: str
) -> None:
    def started() -> HostConnection:
        connection = spawn_host(
            "minds:mind",
            python=python,
            transport=transport,
            environment=mark.environment,
            deadlines=Deadlines(close_grace_s=0.001),
        )
        assert connection.client("mind").submit("hello").ok
        return connection

    before = psutil.Process().num_fds()
    whole = started()
    lines = lines_of(lambda: close_and_look(whole))
    assert whole.close().wait(PATIENCE_S)
    assert lines > 20
    for line in range(1, lines + 1):
        connection = started()
        raised_at(line, KeyboardInterrupt(), lambda each=connection: close_and_look(each))  # type: ignore[misc]
        assert connection.close().wait(PATIENCE_S)
        assert psutil.Process().num_fds() == before
    mark.until_gone()
