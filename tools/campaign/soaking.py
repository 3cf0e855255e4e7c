"""What the Activities of the soak are asked, and what each of them has to come to."""

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from campaign.minds import steady_words
from engine_intelligence import Cancelled, Completed, Deadlines, Failed, SessionRef

FAULTY_SHARE = 0.01

# Short, so that what never ends by itself ends often; and far longer than a Host is stopped for.
SOAK_DEADLINES = Deadlines(
    first_text_s=5.0,
    stall_s=5.0,
    activity_s=20.0,
    cancel_grace_s=0.5,
    close_grace_s=1.0,
    unresponsive_s=10.0,
)
LONGEST_STOP_S = 1.0

Terminal = Completed | Failed | Cancelled


def completed(temper_input: str, terminal: Terminal) -> bool:
    return isinstance(terminal, Completed) and terminal.output == "".join(steady_words(temper_input))


def repaired(temper_input: str, terminal: Terminal) -> bool:
    """Halves of characters come as U+FFFD (rule D1)."""
    return isinstance(terminal, Completed) and terminal.output == "a\ufffd" * 5


def cancelled(temper_input: str, terminal: Terminal) -> bool:
    return isinstance(terminal, Cancelled)


def cancelled_or_completed(temper_input: str, terminal: Terminal) -> bool:
    """Whichever came first stands (rule S13)."""
    return isinstance(terminal, Cancelled) or completed(temper_input, terminal)


def failed(reason: str) -> Callable[[str, Terminal], bool]:
    def check(temper_input: str, terminal: Terminal) -> bool:
        return isinstance(terminal, Failed) and terminal.error.detail.reason == reason

    return check


def overflowed(temper_input: str, terminal: Terminal) -> bool:
    return isinstance(terminal, Failed) and terminal.error.code == "intelligence-output-overflow"


@dataclass(frozen=True, kw_only=True)
class Fault:
    """One kind: how the provider behaves, what has to come of it, how often it is chosen, and what is done besides."""

    temper: str = "steady"
    ends: Callable[[str, Terminal], bool] = completed
    weight: int = 10
    cancels_within_s: float | None = None
    """The Activity is cancelled at a random moment within so many seconds."""
    signal: str = ""
    """`stop` or `kill`: what is done to the Host when the Activity is accepted."""


FAULTS: Mapping[str, Fault] = {
    "raises": Fault(temper="broken", ends=failed("other")),
    "raises before the first text": Fault(temper="refused", ends=failed("other")),
    "falls silent": Fault(temper="stalled", ends=failed("stalled")),
    "says nothing": Fault(temper="silent", ends=failed("timeout")),
    "overflows": Fault(temper="endless", ends=overflowed),
    "ignores cancel": Fault(temper="stubborn", ends=cancelled, cancels_within_s=0.1),
    "emits surrogates": Fault(temper="surrogates", ends=repaired),
    "is cancelled": Fault(ends=cancelled_or_completed, cancels_within_s=0.06, weight=30),
    "its Host is stopped for a while": Fault(signal="stop"),
    "its Host is killed": Fault(signal="kill", weight=1),
}
WHOLE = Fault()
"""What the other ninety-nine of a hundred are."""


@dataclass(kw_only=True)
class Ongoing:
    """An Activity that was accepted and has not ended."""

    kind: str
    fault: Fault
    input: str
    session: SessionRef
    accepted_at: float
    cancel_at: float | None

    def wrong(self, terminal: Terminal) -> str:
        """What is wrong with such an end; empty if nothing is."""
        if isinstance(terminal, Completed) and terminal.session != self.session:
            return f"{self.kind}: another session"
        if self.fault.ends(self.input, terminal):
            return ""
        what = terminal.error if isinstance(terminal, Failed) else terminal.type
        return f"{self.kind}: ended with {what}"[:300]


def choose(moments: random.Random, faulty_share: float) -> tuple[str, Fault]:
    """The kind of the next Activity."""
    if moments.random() >= faulty_share:
        return "whole", WHOLE
    names = list(FAULTS)
    name = moments.choices(names, [FAULTS[each].weight for each in names])[0]
    return name, FAULTS[name]
