"""A provider with a budget: the game is told when it is used up, and for how long.

Run it from anywhere: `python examples/budget.py`.
"""

import math
import os
import tempfile
import time
from pathlib import Path

from engine_intelligence import Completed, Failed, IntelligencePortClient, Ok, TextDelta, spawn_host

CONFIG = Path(__file__).parent / "budget" / "host.toml"


# --8<-- [start:line]
def line_for(failed: Failed) -> str:
    """What a player sees where there is no answer."""
    detail = failed.error.detail
    if detail.reason == "rate-limited" and detail.retry_after_seconds is not None:
        return f"(She is tired. Come back in {math.ceil(detail.retry_after_seconds)} seconds.)"
    return "(She does not answer.)"
    # --8<-- [end:line]


def ask(oracle: IntelligencePortClient) -> str:
    assert isinstance(oracle.submit("What will become of me?"), Ok)
    give_up_at = time.monotonic() + 20
    while time.monotonic() < give_up_at and not oracle.closed:
        for event in oracle.poll():
            match event:
                case Completed(output=output):
                    return output
                case Failed():
                    return line_for(event)
                case TextDelta():
                    pass
                case _:
                    raise AssertionError(event)
        time.sleep(1 / 60)
    raise AssertionError(oracle.close_reason)


def main() -> None:
    # An example leaves no trace: what it spends is kept in a folder of its own.
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "ENGINE_INTELLIGENCE_DATA_DIR": folder}
        with spawn_host(CONFIG, environment=environment) as host:
            lines = [ask(host.client("oracle")) for _ in range(3)]
    assert lines[:2] == ["Ask me something else."] * 2
    assert lines[2].startswith("(She is tired."), lines[2]
    print(*lines, sep="\n")


if __name__ == "__main__":
    main()
