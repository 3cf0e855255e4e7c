"""engine-intelligence: the seam between a loop that must not miss a frame and something slow that thinks.

    with spawn_host("host.toml") as host:
        gatekeeper = host.client("gatekeeper")
        started = gatekeeper.submit("May I pass?")
        ...
        for event in gatekeeper.poll():  # once a frame
            ...

Importing this package starts no thread, opens no file, and loads neither a provider's SDK nor asyncio: the
names of the Host side, which need asyncio, are loaded when they are first used.
"""

from typing import TYPE_CHECKING

from engine_intelligence.activity import (
    ActivityRef,
    ActivityRequest,
    ActivitySubmission,
    Cancelled,
    Completed,
    Failed,
    FinishReason,
    IntelligenceEvent,
    SessionRef,
    TextDelta,
    Usage,
)
from engine_intelligence.contracts import (
    ActivitySink,
    CloseTask,
    IntelligenceProvider,
    IntelligenceService,
    MessagePort,
    PortEnded,
)
from engine_intelligence.conversation import ConversationStore, Turn, estimated_tokens, latest_turns
from engine_intelligence.errors import IntelligenceError, ProviderError, SetupError, intelligence_failure
from engine_intelligence.failure import ErrorCode, FailureDetail, FailureReason, IntelligenceFailure
from engine_intelligence.limits import Deadlines, IntelligenceLimits
from engine_intelligence.realm.client import IntelligencePortClient, create_intelligence_port_client
from engine_intelligence.realm.connection import HostConnection
from engine_intelligence.realm.joining import connect
from engine_intelligence.realm.spawning import spawn_host
from engine_intelligence.result import Err, Ok, Result

if TYPE_CHECKING:
    from engine_intelligence.host.binding import IntelligencePortBinding, bind_intelligence_port
    from engine_intelligence.host.freezing import freeze_support
    from engine_intelligence.plugin import intelligence_plugin
    from engine_intelligence.providers.stream import Finish, Prompt, StreamProvider
    from engine_intelligence.runtime import IntelligenceRuntime, create_intelligence_runtime
    from engine_intelligence.sessions.sqlite import SqliteConversationStore

__version__ = "0.1.0"

# What stands beside a provider, and what few games use.
_LOADED_LATER = {
    "IntelligencePortBinding": "engine_intelligence.host.binding",
    "IntelligenceRuntime": "engine_intelligence.runtime",
    "bind_intelligence_port": "engine_intelligence.host.binding",
    "create_intelligence_runtime": "engine_intelligence.runtime",
    "intelligence_plugin": "engine_intelligence.plugin",
    "freeze_support": "engine_intelligence.host.freezing",
    "Finish": "engine_intelligence.providers.stream",
    "Prompt": "engine_intelligence.providers.stream",
    "StreamProvider": "engine_intelligence.providers.stream",
    "SqliteConversationStore": "engine_intelligence.sessions.sqlite",
}

__all__ = [
    "ActivityRef",
    "ActivityRequest",
    "ActivitySink",
    "ActivitySubmission",
    "Cancelled",
    "CloseTask",
    "Completed",
    "ConversationStore",
    "Deadlines",
    "Err",
    "ErrorCode",
    "Failed",
    "FailureDetail",
    "FailureReason",
    "Finish",
    "FinishReason",
    "HostConnection",
    "IntelligenceError",
    "IntelligenceEvent",
    "IntelligenceFailure",
    "IntelligenceLimits",
    "IntelligencePortBinding",
    "IntelligencePortClient",
    "IntelligenceProvider",
    "IntelligenceRuntime",
    "IntelligenceService",
    "MessagePort",
    "Ok",
    "PortEnded",
    "Prompt",
    "ProviderError",
    "Result",
    "SessionRef",
    "SetupError",
    "SqliteConversationStore",
    "StreamProvider",
    "TextDelta",
    "Turn",
    "Usage",
    "bind_intelligence_port",
    "connect",
    "create_intelligence_port_client",
    "create_intelligence_runtime",
    "estimated_tokens",
    "freeze_support",
    "intelligence_failure",
    "intelligence_plugin",
    "latest_turns",
    "spawn_host",
]


def __getattr__(name: str) -> object:
    module = _LOADED_LATER.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(module), name)
