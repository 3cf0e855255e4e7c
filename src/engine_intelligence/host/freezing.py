"""`freeze_support`: a frozen game is its own Host (rule H1)."""

from __future__ import annotations

import importlib
import os

from engine_intelligence.protocol.bootstrap import BOOTSTRAP_VARIABLE, MODEL_CHILD_VARIABLE


def freeze_support() -> None:
    """Be the Host, if this process was started to be one. Call it first thing in the main module of a frozen game.

    A frozen game (PyInstaller, cx_Freeze and the like) has no interpreter that could be started as a Host, so
    `spawn_host` starts the game's own executable once more. This call is where that process becomes the Host, or the
    process of a Host's local model; then it does not return. In the game itself, frozen or not, it does nothing.

        from engine_intelligence import freeze_support

        if __name__ == "__main__":
            freeze_support()
            main()
    """
    # By name: a build that follows imports would put the model's libraries, a hundred megabytes, into every game.
    if BOOTSTRAP_VARIABLE in os.environ:
        importlib.import_module("engine_intelligence.host.process").main()
    if os.environ.pop(MODEL_CHILD_VARIABLE, None) is not None:
        importlib.import_module("engine_intelligence.providers.llama_child").main()
