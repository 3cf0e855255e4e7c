"""A Host at work: one connection to a realm, and a binding for every port that the realm opens (rules H3,
H4).
"""

from __future__ import annotations

import asyncio
import logging
import signal
from collections.abc import Callable
from contextlib import suppress

from engine_intelligence.contracts import IntelligenceProvider, PortEnded
from engine_intelligence.errors import SetupError
from engine_intelligence.host.binding import IntelligencePortBinding, bind_intelligence_port
from engine_intelligence.host.config import HostPlan, plan_host
from engine_intelligence.host.reporting import keep_secrets_out_of_reports, report
from engine_intelligence.limits import Deadlines, IntelligenceLimits
from engine_intelligence.ports.host_stream import HostChannel, HostStream
from engine_intelligence.ports.realm_link import Link
from engine_intelligence.protocol.bootstrap import HostSource
from engine_intelligence.protocol.messages import Closed
from engine_intelligence.runtime import create_intelligence_runtime
from engine_intelligence.scrubbing import describe_exception, scrub

_log = logging.getLogger(__name__)

# How long a Host that ends by itself waits for its realm to notice. A game polls every few milliseconds; one that
# shows a loading screen finds what was sent all the same.
_FINISH_S = 1.0

# How often a Host that listens looks whether its game has connected.
_LOOK_INTERVAL_S = 0.01


class HostServer:
    """Serves one realm until it or the Host ends. It belongs to the event loop's thread."""

    def __init__(self, plan: HostPlan, token: str | None) -> None:
        self._plan = plan
        self._bindings: dict[str, IntelligencePortBinding] = {}
        self._over = asyncio.get_running_loop().create_future()
        self.stream = HostStream(self._open, self._lost, token)

    async def run(self) -> None:
        """Serve until the connection is over or `stop` is called, and then close every binding, in bounded
        time.
        """
        await self._over
        notice = self._over.result()
        closing = [binding.close(notice.reason, notice.message) for binding in self._bindings.values()]
        for task in closing:  # they run side by side, and each is bounded by close_grace_s (rule B4)
            await task
        self.stream.close(notice)
        await self.stream.finish(_FINISH_S)

    @property
    def stopped(self) -> bool:
        """Whether it has been told to end, or its connection is over."""
        return self._over.done()

    def stop(self, reason: str, message: str) -> None:
        """End the Host in order; its realm is told why. Idempotent."""
        if not self._over.done():
            self._over.set_result(Closed(reason, message))

    def _lost(self, reason: PortEnded) -> None:
        self.stop(reason.reason, reason.message)

    def _open(self, channel: HostChannel, provider_id: str) -> None:
        """The realm opened a port. What is wrong with that is told on this port and harms no other."""
        if self._over.done():
            _refuse(channel, "host-stopped", "The Host is ending.")
            return
        try:
            runtime = create_intelligence_runtime(
                self._provider(provider_id),
                limits=self._plan.providers[provider_id].limits,
                deadlines=self._plan.deadlines,
                clock=asyncio.get_running_loop().time,
            )
        except SetupError as error:
            _refuse(channel, error.reason, error.message)
        except BaseException as error:  # noqa: BLE001 - a border: what a provider raises when it is made
            _log.error("the provider could not be made: %s", describe_exception(error))
            _refuse(
                channel, "provider-failed", f"The provider could not be made: {describe_exception(error)}."
            )
        else:
            self._bindings[provider_id] = bind_intelligence_port(channel, runtime)

    def _provider(self, provider_id: str) -> IntelligenceProvider:
        plan = self._plan.providers.get(provider_id)
        if plan is None:
            known = ", ".join(sorted(self._plan.providers))
            raise SetupError(
                "unknown-provider", f"This Host has no provider {provider_id!r}. It has: {known}."
            )
        if provider_id in self._bindings:
            raise SetupError(
                "provider-in-use", f"The provider {provider_id!r} has a port already: there is one for each."
            )
        provider = plan.make()
        warm = getattr(provider, "warm", None)
        if callable(warm):
            warm()
        return provider


def _refuse(channel: HostChannel, reason: str, message: str) -> None:
    with suppress(PortEnded):
        channel.send(Closed(reason, message))
    channel.close()


async def serve(
    link: Link,
    token: str | None,
    source: HostSource,
    limits: IntelligenceLimits,
    deadlines: Deadlines,
    on_second_signal: Callable[[], None],
) -> None:
    """Be the Host of the realm at the other end of `link`, until either ends. It has the process for itself."""
    keep_secrets_out_of_reports()
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(_log_unhandled)
    fault: SetupError | None = None
    try:
        plan = plan_host(source, limits, deadlines)
    except SetupError as error:
        # The connection is made all the same: it is how the realm learns the reason (rule H4).
        fault = error
        plan = HostPlan({}, deadlines)
    server = HostServer(plan, token)
    _stop_on_signals(loop, server, on_second_signal)
    try:
        while (connection := link.connect()) is None:
            if server.stopped:
                return
            await asyncio.sleep(_LOOK_INTERVAL_S)
    finally:
        link.close()
    await loop.create_connection(lambda: server.stream, sock=connection)
    if fault is not None:
        server.stream.close(Closed(fault.reason, fault.message))
    await server.run()


def _stop_on_signals(
    loop: asyncio.AbstractEventLoop, server: HostServer, on_second_signal: Callable[[], None]
) -> None:
    """The first SIGTERM or SIGINT ends the Host in order, the second at once."""
    received = 0

    def stop() -> None:
        nonlocal received
        received += 1
        if received > 1:
            on_second_signal()
        server.stop("host-stopped", "The Host was told to stop.")

    for number in (signal.SIGTERM, signal.SIGINT):
        with suppress(NotImplementedError):  # event loops on Windows handle no signals
            loop.add_signal_handler(number, stop)


def _log_unhandled(loop: asyncio.AbstractEventLoop, context: dict[str, object]) -> None:
    """Log what no one awaited, by class and scrubbed text: a traceback could show a key (rule E2)."""
    error = context.get("exception")
    what = report(error) if isinstance(error, BaseException) else scrub(str(context.get("message")))
    _log.error("unhandled in the event loop: %s", what)
