"""What crosses a port, sans I/O: messages, their encodings, frames, and credit.

No clock, no thread, no socket.
"""
