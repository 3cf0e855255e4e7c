"""The scene: a gatekeeper, a gate, and a frame loop that does not wait for either."""
