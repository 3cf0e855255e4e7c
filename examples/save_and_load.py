"""Save a conversation with the game and continue it after a restart, also when the save file is damaged.

Run it from anywhere: `python examples/save_and_load.py`.
"""

import json
import tempfile
import time
from pathlib import Path

from engine_intelligence import Completed, Err, Ok, SessionRef, spawn_host


# --8<-- [start:save]
def save(path: Path, session: SessionRef) -> None:
    path.write_text(json.dumps({"chapter": 3, "gatekeeper": session.to_json()}), encoding="utf-8")


def load(path: Path) -> SessionRef | None:
    """The saved session, or `None`: a conversation that cannot be continued begins anew."""
    try:
        return SessionRef.from_json(json.loads(path.read_text(encoding="utf-8"))["gatekeeper"])
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError) as error:
        print(f"{path.name} holds no session of the gatekeeper: {error}")
        return None


# --8<-- [end:save]


def play_once(provider_id: str, saved: SessionRef | None) -> SessionRef | str:
    """One run of the game: one question. The session to save, or the code of the refusal."""
    with spawn_host("scripted", provider_id=provider_id, options={"text": "I remember you."}) as host:
        gatekeeper = host.client(provider_id)
        match gatekeeper.submit("Do you know me?", session=saved):
            case Ok():
                pass
            case Err(error=error):
                print(error)
                return error.code
        give_up_at = time.monotonic() + 20
        while time.monotonic() < give_up_at:
            for event in gatekeeper.poll():
                if isinstance(event, Completed):
                    return event.session
            time.sleep(1 / 60)
    raise AssertionError("no terminal came")


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "save.json"

        first = play_once("gatekeeper", load(path))
        assert isinstance(first, SessionRef)
        save(path, first)

        second = play_once("gatekeeper", load(path))
        assert second == first, "a session keeps its reference for life"

        # A session belongs to one provider. Another one refuses it, before anything is sent.
        assert play_once("innkeeper", load(path)) == "intelligence-session-provider-mismatch"

        path.write_text("{ half a save", encoding="utf-8")
        assert load(path) is None
    print("saved, continued, and refused where it should be")


if __name__ == "__main__":
    main()
