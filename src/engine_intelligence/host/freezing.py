"""`freeze_support`: a frozen game is its own Host (rule H1)."""

from __future__ import annotations

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
    if BOOTSTRAP_VARIABLE in os.environ:
        from engine_intelligence.host.process import main as be_the_host

        be_the_host()
    if os.environ.pop(MODEL_CHILD_VARIABLE, None) is not None:
        from engine_intelligence.providers.llama_child import main as be_the_model

        be_the_model()
