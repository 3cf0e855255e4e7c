"""The realm side: all that a game imports."""
