"""Every broken service, the check that has to reject it, and the rule that it has to name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from testing.broken_calls import (
    AcceptsEmptyTexts,
    AdoptsSessions,
    ANewTaskEachTime,
    BeginsAnew,
    BlamesTheSession,
    BlocksInClose,
    CanBeCopied,
    CancelOfAnythingIsFine,
    CompletesElsewhere,
    IgnoresCancel,
    LastWords,
    NamesAnotherId,
    NeverDone,
    NoBounds,
    OneSessionForAll,
    RaisesAfterClose,
    RaisesForNone,
    RaisesForOddIds,
    RefusesWithoutAWord,
    RepairsTexts,
    ReturnsNone,
    SecondCancelIsCapacity,
    SubmitsOn,
    TakesPlacesForRefusals,
    TrueResults,
)
from testing.broken_polls import (
    BlamesAnother,
    BlocksInPoll,
    CountsFromZero,
    CutsOverflows,
    DropsWhatIsLate,
    EndsTwice,
    LosesTerminals,
    PollsAll,
    PollsATuple,
    PollsForTrue,
    PrefersTheFirst,
    RaisesForOddSizes,
    SecondGoesFirst,
    SpeaksOfOthers,
)
from testing.broken_providers import NEVER_ENDS, SHORT_S, within
from testing.good_services import INPUTS


@dataclass(frozen=True)
class BrokenService:
    """A service, the check that has to reject it, and the rule that it has to name."""

    make: Callable[[], Any]
    check: str
    rule: str
    options: dict[str, Any] = field(default_factory=dict[str, Any])

    def __str__(self) -> str:
        return getattr(self.make, "__name__", "service")


BLOCKS: dict[str, Any] = {"blocked_s": 0.5}
NEVER_STOPS = {**INPUTS, **within(cancel_grace_s=SHORT_S, close_grace_s=SHORT_S)}

TERMINAL = "an activity ends with one terminal"
FAIR = "all activities end however few events a poll takes"
TEXT = "a game that does not poll loses no text"
SIZE = "a poll returns at most what was asked for"
NO_SIZE = "a poll of no sensible size returns nothing"
INVALID = "an invalid request is refused"
OTHER = "a session of another provider is refused"
SESSION = "a session is begun or continued"
IDS = "identities are never the same"
PLACES = "places are held until the terminal is polled"
OVERFLOW = "an overflow ends an activity"
CANCEL = "a cancel ends an activity"
UNKNOWN = "a cancel of what is not running is not found"
ORDER = "activities of one session come in order"
FAILURE = "a failure of the provider is one terminal"
TRUTH = "a result is neither true nor false"
COPY = "it refuses to be pickled or copied"
CLOSE = "every close returns the same task"
AFTER = "after close there is nothing"

BROKEN_SERVICES = [
    BrokenService(BlocksInPoll, TERMINAL, "S1", BLOCKS),
    BrokenService(EndsTwice, TERMINAL, "S6"),
    BrokenService(LosesTerminals, TERMINAL, "S6", NEVER_ENDS),
    BrokenService(SpeaksOfOthers, TERMINAL, "S6"),
    BrokenService(CountsFromZero, TERMINAL, "D3"),
    BrokenService(LosesTerminals, FAIR, "S6", NEVER_ENDS),
    BrokenService(PrefersTheFirst, FAIR, "S9", NEVER_ENDS),
    BrokenService(DropsWhatIsLate, TEXT, "S11"),
    BrokenService(PollsAll, SIZE, "S7"),
    BrokenService(PollsATuple, SIZE, "S7"),
    BrokenService(PollsForTrue, NO_SIZE, "S7"),
    BrokenService(RaisesForOddSizes, NO_SIZE, "S7"),
    BrokenService(AcceptsEmptyTexts, INVALID, "S2"),
    BrokenService(BlamesTheSession, INVALID, "S2"),
    BrokenService(TakesPlacesForRefusals, INVALID, "S2"),
    BrokenService(RepairsTexts, INVALID, "D1"),
    BrokenService(RaisesForNone, INVALID, "D4"),
    BrokenService(AdoptsSessions, OTHER, "S3"),
    BrokenService(BeginsAnew, SESSION, "S4"),
    BrokenService(CompletesElsewhere, SESSION, "S4"),
    BrokenService(OneSessionForAll, IDS, "S5"),
    BrokenService(NoBounds, PLACES, "S8"),
    BrokenService(CutsOverflows, OVERFLOW, "S10", INPUTS),
    BrokenService(IgnoresCancel, CANCEL, "S12", NEVER_STOPS),
    BrokenService(SecondCancelIsCapacity, CANCEL, "S13", INPUTS),
    BrokenService(CancelOfAnythingIsFine, UNKNOWN, "S13"),
    BrokenService(NamesAnotherId, UNKNOWN, "S13"),
    BrokenService(RaisesForOddIds, UNKNOWN, "D4"),
    BrokenService(SecondGoesFirst, ORDER, "P6"),
    BrokenService(BlamesAnother, FAILURE, "S14", INPUTS),
    BrokenService(TrueResults, TRUTH, "D4"),
    BrokenService(ReturnsNone, TRUTH, "D4"),
    BrokenService(CanBeCopied, COPY, "D5"),
    BrokenService(RefusesWithoutAWord, COPY, "D5"),
    BrokenService(ANewTaskEachTime, CLOSE, "C6"),
    BrokenService(NeverDone, CLOSE, "C6"),
    BrokenService(BlocksInClose, CLOSE, "S1", BLOCKS),
    BrokenService(SubmitsOn, AFTER, "C4"),
    BrokenService(LastWords, AFTER, "C4"),
    BrokenService(RaisesAfterClose, AFTER, "S7"),
]
