"""What a game does with its answers, without a model, a Host or a moment of waiting: `pytest test_a_game.py`."""

from engine_intelligence import (
    Cancelled,
    Completed,
    Deadlines,
    Failed,
    IntelligenceService,
    TextDelta,
    create_intelligence_port_client,
    create_intelligence_runtime,
)
from engine_intelligence.ports.memory import memory_port_pair
from engine_intelligence.testing import (
    FaultyPort,
    ManualClock,
    ManualProvider,
    Raise,
    Script,
    ScriptedProvider,
)


class Bubble:
    """The part of the game that is tested: a line above somebody's head."""

    def __init__(self, service: IntelligenceService) -> None:
        self.service = service
        self.text = ""

    def ask(self, question: str) -> None:
        if not self.service.submit(question).ok:
            self.text = "(says nothing)"

    def frame(self) -> None:
        for event in self.service.poll():
            match event:
                case TextDelta(text=text):
                    self.text += text
                case Failed():
                    self.text = "(shrugs)"
                case Completed() | Cancelled():
                    pass


def test_a_line_grows_by_what_has_come() -> None:
    provider = ScriptedProvider("guard", [Script(deltas=("Who ", "goes there?"))])
    bubble = Bubble(create_intelligence_runtime(provider))
    bubble.ask("Hello?")
    shown: list[str] = []
    while provider.advance():  # the next event of each Activity that runs
        bubble.frame()
        shown.append(bubble.text)
    assert shown == ["Who ", "Who goes there?", "Who goes there?"]


def test_a_guard_who_takes_too_long_shrugs() -> None:
    clock = ManualClock()
    bubble = Bubble(
        create_intelligence_runtime(
            ManualProvider("guard"), clock=clock, deadlines=Deadlines(first_text_s=10)
        )
    )
    bubble.ask("Hello?")
    clock.advance(10)
    bubble.frame()
    assert bubble.text == "(shrugs)"


def test_a_guard_whose_host_is_gone_says_nothing() -> None:
    port = FaultyPort(memory_port_pair()[0])
    port.at_send(Raise(BrokenPipeError()), when=2)
    bubble = Bubble(create_intelligence_port_client("guard", port))
    bubble.ask("Hello?")
    bubble.ask("Hello?")
    assert bubble.text == "(says nothing)"
