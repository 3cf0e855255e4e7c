"""A store of conversations in memory, which notes what it is asked."""

from collections.abc import Callable, Sequence

from engine_intelligence import SessionRef
from engine_intelligence.conversation import Turn


class MemoryConversations:
    """A `ConversationStore`; `on_history` and `on_append` stand for what may go wrong in it."""

    def __init__(self) -> None:
        self.turns: dict[SessionRef, list[Turn]] = {}
        self.asked: list[bool] = []
        """What `accept` said, for each turn that was to be added."""
        self.closes = 0
        self.on_history: Callable[[], None] = lambda: None
        self.on_append: Callable[[], None] = lambda: None

    def history(self, session: SessionRef) -> Sequence[Turn]:
        self.on_history()
        return tuple(self.turns.get(session, ()))

    def append(self, session: SessionRef, turn: Turn, accept: Callable[[], bool]) -> bool:
        self.on_append()
        stands = accept()
        self.asked.append(stands)
        if stands:
            self.turns.setdefault(session, []).append(turn)
        return stands

    def close(self) -> None:
        self.closes += 1
