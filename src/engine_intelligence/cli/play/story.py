"""The scene's state: a conversation with the gatekeeper, and a gate that opens by the game's own rule alone."""

from __future__ import annotations

from engine_intelligence.activity import Completed, SessionRef
from engine_intelligence.cli.dialogue import Dialogue, Words
from engine_intelligence.cli.play.judge import judge, whole_sentences

# What the configuration of this game tells the model; the package itself tells it nothing (rule P4). Short, for a small model.
INSTRUCTIONS = (
    "You are Aldric, the friendly gatekeeper of an old stone gate. It is night, and a traveller speaks to you. "
    "If the traveller asks to pass, answer: You may pass. Answer in one short sentence."
)
TEMPERATURE = 0.5

MAX_TOKENS = 80

# What the scripted provider says in this scene, where no text was given.
SCRIPTED_TEXT = (
    "Hm. A traveller, at this hour, and in such weather. I have kept this gate for thirty years and seen all sorts come up "
    "the road. You have an honest face. You may pass."
)


def gatekeeper_words(key: str, *, quits_at_once: bool) -> Words:
    """What the player is told in this scene; `key` is what interrupts. `quits_at_once`: with nothing to interrupt, it quits."""
    return Words(
        name="Gatekeeper",
        busy=f"He is still speaking. Press {key} to interrupt.",
        stopping="He is falling silent.",
        press_again=None if quits_at_once else f"Press {key} again to quit.",
        forgotten="The gatekeeper does not remember you any more. Your next words begin anew.",
    )


class Story(Dialogue):
    """The conversation at the gate."""

    def __init__(self, words: Words, *, session: SessionRef | None = None) -> None:
        super().__init__(words, session=session)
        self.gate_opened_at: float | None = None
        """When the gate began to open, by the loop's clock."""
        if session is not None:
            self.notice = "The gatekeeper remembers you."

    @property
    def gate_open(self) -> bool:
        """Whether the gate is open. Once open, it stays open."""
        return self.gate_opened_at is not None

    def completed(self, event: Completed, now: float) -> None:
        """Judge the completed text: nothing else opens the gate, neither what streams nor what failed or was cancelled."""
        text = whole_sentences(event.output) if event.finish == "length" else event.output
        if not self.gate_open and judge(text):
            self.gate_opened_at = now
            self.notice = "The gate opens."
