"""The ways to a Host."""

from engine_intelligence.realm.connection import Transport

TRANSPORTS: tuple[Transport, ...] = ("socket", "loopback")
