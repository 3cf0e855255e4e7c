"""Message ports: in one process, and over a byte stream between two."""
