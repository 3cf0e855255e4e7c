"""Every broken provider, the check that has to reject it, and the rule that it has to name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import msgspec
from testing.broken_answers import (
    ANameThatIsNoText,
    AnotherNameEachTime,
    AnswersTwiceToBlanks,
    BlocksInStart,
    BlocksTheLoop,
    CancelOfAnythingElseRaises,
    CompletesLater,
    CompletesWhereItFails,
    CompletesWithAnotherText,
    CountsInADict,
    FinishesInItsOwnWords,
    GivesUpOnLongTexts,
    IgnoresItsBounds,
    LateFromAnotherThread,
    NeverEnds,
    NoName,
    OneText,
    RaisesBesides,
    RaisesInAThread,
    RaisesInItsTask,
    RaisesInStart,
    ReadsOnlyTheBasicPlane,
    ReturnsNothing,
    SaysNumbers,
    SecondCancelRaises,
    TextAfterTheTerminal,
    TwoTerminals,
)
from testing.broken_ends import (
    CancelsEverything,
    CloseBlocks,
    CloseHangs,
    CloseRaises,
    EndsAgainWhenCancelled,
    ForgetsAtTheSecondCancel,
    IgnoresCancel,
    LeavesAThread,
    LeavesItsTasks,
    LosesACancelledSession,
    LosesAnEarlyCancel,
    OneTurnASession,
    SaysNothing,
    SecondCloseRaises,
)
from testing.good_providers import FAILS, Good

from engine_intelligence.testing import CHECK_DEADLINES


@dataclass(frozen=True)
class Broken:
    """A provider, the check that has to reject it, and the rule that it has to name."""

    make: Callable[[], Good]
    check: str
    rule: str
    options: dict[str, Any] = field(default_factory=dict[str, Any])

    def __str__(self) -> str:
        return getattr(self.make, "__name__", "provider")


ID = "the id stays the same"
TERMINAL = "an activity ends with one terminal"
JOINED = "the chunks joined are the output"
TYPES = "what a sink is handed has the right types"
TEXTS = "any text ends with one terminal"
CANCEL = "a cancel ends an activity within the grace"
EARLY = "a cancel before the first text ends an activity within the grace"
TWICE = "a second cancel does nothing"
UNKNOWN = "a cancel of what is not running does nothing"
AT_ONCE = "two activities at once do not mix"
ORDER = "activities of one session come in order"
AFTER = "a session is usable after a cancel"
FAILURE = "a failure is one terminal"
CLOSE = "close ends while activities run"
NOTHING = "close leaves nothing behind"

# How long something is waited for that never comes. All else has the time of a busy machine.
SHORT_S = 1.0


def within(**deadlines: float) -> dict[str, Any]:
    """Options with some deadlines short."""
    return {"deadlines": msgspec.structs.replace(CHECK_DEADLINES, **deadlines)}


BLOCKS: dict[str, Any] = {"blocked_s": 0.5}
NEVER_ENDS = within(activity_s=SHORT_S)
NEVER_SPEAKS = within(first_text_s=SHORT_S)
NEVER_STOPS = within(cancel_grace_s=SHORT_S)
NEVER_CLOSES = within(close_grace_s=SHORT_S)

BROKEN = [
    Broken(AnotherNameEachTime, ID, "P7"),
    Broken(NoName, ID, "P7"),
    Broken(ANameThatIsNoText, ID, "P7"),
    Broken(TwoTerminals, TERMINAL, "S6"),
    Broken(TextAfterTheTerminal, TERMINAL, "S6"),
    Broken(LateFromAnotherThread, TERMINAL, "S6"),
    Broken(NeverEnds, TERMINAL, "S6", NEVER_ENDS),
    Broken(RaisesInItsTask, TERMINAL, "S6", NEVER_ENDS),
    Broken(BlocksInStart, TERMINAL, "S1", BLOCKS),
    Broken(BlocksTheLoop, TERMINAL, "S1", BLOCKS),
    Broken(ReturnsNothing, TERMINAL, "S14"),
    Broken(RaisesInStart, TERMINAL, "S14"),
    Broken(RaisesBesides, TERMINAL, "S14"),
    Broken(RaisesInAThread, TERMINAL, "S14"),
    Broken(CompletesWithAnotherText, JOINED, "P3"),
    Broken(SaysNumbers, TYPES, "P2"),
    Broken(CountsInADict, TYPES, "P2"),
    Broken(FinishesInItsOwnWords, TYPES, "P2"),
    Broken(ReadsOnlyTheBasicPlane, TEXTS, "D1", NEVER_ENDS),
    Broken(GivesUpOnLongTexts, TEXTS, "D1", NEVER_ENDS),
    Broken(AnswersTwiceToBlanks, TEXTS, "D1"),
    Broken(IgnoresCancel, CANCEL, "S12", NEVER_STOPS),
    Broken(SaysNothing, CANCEL, "S15", NEVER_SPEAKS),
    Broken(LosesAnEarlyCancel, EARLY, "S12", NEVER_STOPS),
    Broken(SecondCancelRaises, TWICE, "S14"),
    Broken(ForgetsAtTheSecondCancel, TWICE, "S13", NEVER_STOPS),
    Broken(CancelOfAnythingElseRaises, UNKNOWN, "S14"),
    Broken(CancelsEverything, UNKNOWN, "S13"),
    Broken(EndsAgainWhenCancelled, UNKNOWN, "S13"),
    Broken(CompletesLater, AT_ONCE, "S6", NEVER_ENDS),
    Broken(OneText, AT_ONCE, "P3"),
    Broken(OneTurnASession, ORDER, "P6"),
    Broken(IgnoresItsBounds, ORDER, "S6"),
    Broken(LosesACancelledSession, AFTER, "P5"),
    Broken(CompletesWhereItFails, FAILURE, "S14", {"failing_input": FAILS}),
    Broken(CloseRaises, CLOSE, "B4"),
    Broken(CloseHangs, CLOSE, "B4", NEVER_CLOSES),
    Broken(SecondCloseRaises, CLOSE, "B4"),
    Broken(CloseBlocks, CLOSE, "B4", BLOCKS),
    Broken(LeavesItsTasks, NOTHING, "H6", NEVER_CLOSES),
    Broken(LeavesAThread, NOTHING, "H6", NEVER_CLOSES),
]
