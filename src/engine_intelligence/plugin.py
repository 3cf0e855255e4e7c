"""The Cordis plugin (section 9 of the contract): a service that lives as long as the Fiber that provides it.

Nothing here imports Cordis. What a Context has to be able to do is the Protocol `CordisContext`, which
`cordis_port.Context` fulfils.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Protocol

from engine_intelligence.contracts import CloseTask, IntelligenceService


class CordisContext(Protocol):
    """What the plugin needs of a Cordis Context."""

    def provide(self, name: str, value: object, /) -> object:
        """Have `value` found as the service `name` for as long as the Fiber of this Context lives."""
        ...


class IntelligencePlugin:
    """A Cordis plugin over one service. Make it with `intelligence_plugin`."""

    name: Final = "engine-intelligence"
    provide: Final = "intelligence"

    def __init__(self, service: IntelligenceService) -> None:
        self._service = service
        self._disposed = False

    def apply(self, ctx: CordisContext, config: object = None, /) -> Callable[[], CloseTask]:
        """Provide the service on `ctx`, and return what Cordis has to call when the Fiber is disposed.

        Called by Cordis; `config` is not used. Raises what `ctx.provide` raises, and then the service is still
        the caller's to close. Raises `RuntimeError` once it was disposed, which is what a restart or an update
        of the Fiber comes to: the end is terminal (rule L2).
        """
        if self._disposed:
            raise RuntimeError(
                "the intelligence service was closed when its Fiber was disposed:"
                " make a new service, and load a new intelligence_plugin(service)"
            )
        ctx.provide(self.provide, self._service)
        return self._dispose

    def _dispose(self) -> CloseTask:
        # Not async: the service is closed even where nobody awaits. What Cordis awaits is the close task, which
        # ends in bounded time whatever the provider does (rules B4, C6, L2).
        self._disposed = True
        return self._service.close()


def intelligence_plugin(service: IntelligenceService) -> IntelligencePlugin:
    """A Cordis plugin that provides `service` as `intelligence`, and closes it when its Fiber is disposed.

        fiber = ctx.plugin(intelligence_plugin(service))
        await fiber  # from here on the service belongs to the Fiber
        ...
        await fiber.dispose()

    The disposal waits for the service's close task, which ends within the service's `close_grace_s`; what a
    provider still says then is ignored (rule L2). A Fiber that never became active, because `intelligence` was
    taken or because it was disposed first, leaves the service open: closing it is then up to the caller.
    """
    return IntelligencePlugin(service)
