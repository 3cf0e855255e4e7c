"""Starts Hosts for a test."""

from collections.abc import Mapping
from contextlib import ExitStack

from engine_intelligence import Deadlines, HostConnection, IntelligenceLimits, spawn_host
from engine_intelligence.realm.spawning import Transport
from support.process_marks import PATIENCE_S, Mark
from support.process_play import MINDS, QUICK


class Starter:
    """Starts Hosts for one test, which closes them at its end."""

    def __init__(self, transport: Transport, mark: Mark, until_the_end: ExitStack) -> None:
        self._transport: Transport = transport
        self._mark = mark
        self._until_the_end = until_the_end
        self.environment: dict[str, str] = {}

    def __call__(
        self,
        source: str = f"{MINDS}:mind",
        *,
        provider_id: str | None = None,
        options: Mapping[str, object] | None = None,
        limits: IntelligenceLimits | None = None,
        deadlines: Deadlines = QUICK,
        python: str | None = None,
    ) -> HostConnection:
        connection = spawn_host(
            source,
            provider_id=provider_id,
            options=options,
            limits=limits,
            deadlines=deadlines,
            environment={**self._mark.environment, **self.environment},
            python=python,
            transport=self._transport,
        )
        self._until_the_end.callback(self._end, connection)
        return connection

    def _end(self, connection: HostConnection) -> None:
        # A test may give an hour of grace, and may fail.
        task = connection.close()
        if not task.wait(PATIENCE_S):
            self._mark.kill()
            task.wait(PATIENCE_S)
