"""The ways to a Host."""

from engine_intelligence.realm.spawning import Transport

TRANSPORTS: tuple[Transport, ...] = ("socket", "loopback")
