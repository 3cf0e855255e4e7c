"""The parts of the campaign, in the order in which they run and stand on the page."""

from typing import Any, Protocol

from campaign import closing, costs, cycles, fuzzing, kills, simulation, soak


class Part(Protocol):
    """What a module has that is a part of the campaign."""

    @property
    def NAME(self) -> str:
        """What the part is called on the command line, in the record and in the marks of the page."""
        ...

    def run(self, scale: float) -> dict[str, Any]:
        """Do it, in bounded time, and return what was found as plain JSON, with the key `seeds`. 1.0 is the full campaign.

        Raises `NotHere` where the system has not what it takes.
        """
        ...

    def table(self, record: dict[str, Any]) -> str:
        """The record as tables in Markdown."""
        ...

    def violations(self, record: dict[str, Any]) -> int:
        """How many times something did not hold that has to."""
        ...


PARTS: tuple[Part, ...] = (simulation, kills, costs, closing, cycles, soak, fuzzing)
