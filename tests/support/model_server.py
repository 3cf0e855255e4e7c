"""The server of the embedded model by itself, as a compatible service for providers that speak to one."""

import secrets
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from engine_intelligence.providers.llama_child import Order, Report
from engine_intelligence.providers.llama_server import CHILD_COMMAND, Endpoint


@contextmanager
def running_server(model_path: Path, *, slots: int = 2, context: int = 2048) -> Iterator[Endpoint]:
    """A server of that model, which speaks the interfaces of OpenAI and Anthropic, until the block is left."""
    key = secrets.token_urlsafe(32)
    order = Order(model_path=str(model_path), context=context, slots=slots, threads=1, key=key)
    with subprocess.Popen(CHILD_COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(msgspec.json.encode(order) + b"\n")
            process.stdin.flush()  # and it stays open: its end is the child's end
            report = msgspec.json.decode(process.stdout.readline(), type=Report)
            assert report.address is not None, report.error
            yield Endpoint(report.address, key)
        finally:
            process.kill()
