"""Several characters on one Host: one process, one connection, one loop.

Run it from anywhere: `python examples/several_characters.py`.
"""

import time
from pathlib import Path

from engine_intelligence import Completed, Err, Ok, TextDelta, spawn_host

CONFIG = Path(__file__).parent / "characters" / "host.toml"
NAMES = ["gatekeeper", "innkeeper", "parrot"]


def main() -> None:
    lines = dict.fromkeys(NAMES, "")
    finished: dict[str, str] = {}
    with spawn_host(CONFIG) as host:
        characters = {name: host.client(name) for name in NAMES}
        for name, character in characters.items():
            match character.submit("Good evening!"):
                case Ok(value=activity):
                    assert activity.session.provider_id == name
                case Err(error=error):
                    raise AssertionError(f"{name} refused: {error}")

        give_up_at = time.monotonic() + 20
        while len(finished) < len(NAMES) and time.monotonic() < give_up_at:
            for name, character in characters.items():
                assert not character.closed, character.close_reason
                for event in character.poll():
                    match event:
                        case TextDelta(text=text):
                            lines[name] += text
                        case Completed(output=output):
                            finished[name] = output
                        case _:
                            raise AssertionError(event)
            time.sleep(1 / 60)

        # The limits are those of host.toml: the clients took them over from the Host.
        assert characters["gatekeeper"].limits.max_input_chars == 500
        assert characters["innkeeper"].limits.max_concurrent_activities == 2

    assert finished == lines
    assert finished == {
        "gatekeeper": "Halt. Who goes there?",
        "innkeeper": "A room, or a meal?",
        "parrot": "Good evening!",
    }
    for name, line in finished.items():
        print(f"{name}: {line}")


if __name__ == "__main__":
    main()
