"""A game that can be frozen: its own executable becomes the Host. Unfrozen it is a game like any other.

Run it from anywhere: `python examples/frozen_game.py`. Freeze it: `pyinstaller --hidden-import minds examples/frozen_game.py`.
"""

import sys
import time

from engine_intelligence import Completed, Failed, freeze_support, spawn_host


def main() -> int:
    with spawn_host("minds:gatekeeper") as host:
        gatekeeper = host.client("gatekeeper")
        assert gatekeeper.submit("May I pass?").ok
        while not gatekeeper.closed:
            for event in gatekeeper.poll():  # once a frame
                match event:
                    case Completed(output=line):
                        print(line)
                        return 0
                    case Failed(error=error):
                        print(error.detail.cause)
                        return 1
                    case _:
                        pass
            time.sleep(1 / 60)
        print(gatekeeper.close_reason)
        return 1


if __name__ == "__main__":
    freeze_support()  # first thing: in the process that is to be the Host it does not return
    sys.exit(main())
