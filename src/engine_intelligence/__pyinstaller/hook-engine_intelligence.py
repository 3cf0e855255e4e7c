"""What of this package a frozen game has to hold although no import in it says so.

The modules of a Host are loaded by name, when they are needed. Those that need packages of an extra, such as the local
model, are for the game's own build to name.
"""

hiddenimports = [
    "engine_intelligence.host.binding",
    "engine_intelligence.host.process",
    "engine_intelligence.providers.command",
    "engine_intelligence.providers.fallback",
    "engine_intelligence.providers.scripted",
    "engine_intelligence.providers.stream",
    "engine_intelligence.sessions.sqlite",
]
