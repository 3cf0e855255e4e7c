"""What the tests of the command line share: a service over a script, a face that does what it is told, and a clock."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from engine_intelligence import IntelligenceRuntime, create_intelligence_runtime
from engine_intelligence.cli.dialogue import Dialogue
from engine_intelligence.cli.frames import FrameMeter
from engine_intelligence.cli.loop import Loop, Wish
from engine_intelligence.cli.play.story import Story, gatekeeper_words
from engine_intelligence.providers.scripted import Script, ScriptedProvider

WORDS = gatekeeper_words("Esc", quits_at_once=False)


class ToldFace:
    """Does what it is told in the next frame."""

    def __init__(self) -> None:
        self.next: list[Wish] = []

    def wishes(self, now: float) -> Iterable[Wish]:
        told, self.next = self.next, []
        return told

    def show(self, now: float) -> None:
        pass


class Stage(NamedTuple):
    """A loop over a scripted provider, frame by frame."""

    provider: ScriptedProvider
    service: IntelligenceRuntime
    story: Story
    face: ToldFace
    loop: Loop
    meter: FrameMeter
    kept: list[str]

    def frame(self, *wishes: Wish) -> None:
        """One frame in which the player does this."""
        self.face.next.extend(wishes)
        self.loop.frame()

    def play_out(self) -> None:
        """Frames until nothing is under way."""
        while self.story.busy:
            self.provider.advance()
            self.loop.frame()


def stage(*scripts: Script, story: Story | None = None, save_fault: str | None = None) -> Stage:
    provider = ScriptedProvider("gatekeeper", scripts)
    service = create_intelligence_runtime(provider)
    story = Story(WORDS) if story is None else story
    face, meter, kept = ToldFace(), FrameMeter(), list[str]()

    def keep(session: object) -> str | None:
        kept.append(str(session))
        return save_fault

    loop = Loop(service, story, face, keep_session=keep, meter=meter, sleep=lambda _seconds: None)
    return Stage(provider, service, story, face, loop, meter, kept)


def says(*words: str, **end: str) -> Script:
    """A script of these deltas."""
    return Script(deltas=words, **end)  # type: ignore[arg-type]


def outcomes(dialogue: Dialogue) -> Sequence[str | None]:
    return [answer.outcome for answer in dialogue.answers]
