"""Providers: what carries out Activities. A module a kind, and none is loaded until it is named."""
