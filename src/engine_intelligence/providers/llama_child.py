"""The process that holds a local model: llama.cpp and its HTTP server, as a child of the Host.

It is a process of its own, because `xllamacpp` holds the interpreter's lock for as long as it loads a model: inside the Host,
which has heartbeats to send, that would be silence of a second for a small model and of a minute for a large one. It also means
that a crash of native code ends one process and not the Host, and that a close during the load is a kill.

Protocol: the Host writes one line of JSON, an `Order`, to standard input and keeps that pipe open. The child writes one line of
JSON, a `Report`, to standard output. The end of standard input is the end of the child, whatever it is doing.
"""

from __future__ import annotations

import io
import os
import signal
import sys
import tempfile
import threading
from typing import Any, cast

import msgspec

HOST = "127.0.0.1"

# llama.cpp's levels: 1 is errors alone. They are kept until the model is loaded, to say why one could not be, and then dropped:
# nothing that a player wrote is ever logged (rule E2).
ERRORS_ONLY = 1

# What is kept of conversations that have no slot at the moment, so that they need not be read again: 256 MiB is about five
# full ones of the default model (23 KiB a token, 2,048 tokens), where llama.cpp itself would take 8 GiB.
CACHE_RAM_MIB = 256

# When the oldest turn of a long conversation is dropped, all after it moves up. Pieces of at least so many tokens, which is
# less than a turn, are moved with it rather than read again: with 2,000 tokens on one thread, half a second and not fifteen.
REUSED_TOKENS = 32

# How many tokens of a prompt are read at a step. Between two steps the other slots write a token each, and a cancel is seen:
# half a second for the default model on one thread, where llama.cpp's own 2,048 would be fifteen. Measured on a processor,
# it reads as fast.
STEP_TOKENS = 64

MAX_ERROR_BYTES = 16_384


class Order(msgspec.Struct, frozen=True, kw_only=True):
    """What a child is told: the model's file, tokens per slot, slots, threads, and the key that requests must carry."""

    model_path: str
    context: int
    slots: int
    threads: int
    key: str

    def __repr__(self) -> str:
        return f"Order(model_path={self.model_path!r}, context={self.context}, slots={self.slots}, threads={self.threads})"


class Report(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a child answers: the address that it serves, such as `http://127.0.0.1:40123`, or why it does not."""

    address: str | None = None
    error: str | None = None


def server_params(order: Order) -> Any:
    """The parameters of llama.cpp's server for `order`: on loopback alone, behind the key, quiet, without its web pages."""
    import xllamacpp  # it has no types

    params = cast(Any, xllamacpp).CommonParams()
    params.model.path = order.model_path
    params.n_parallel = order.slots
    params.n_ctx = order.context * order.slots
    params.cpuparams.n_threads = order.threads
    params.cpuparams_batch.n_threads = order.threads
    params.hostnames = [HOST]
    params.port = 0
    params.api_keys = [order.key]
    # No web page of another origin is let in. The default answers every origin, with credentials.
    params.cors_origins = ""
    params.cors_origins_explicit = True
    params.cors_methods = ""
    params.cors_headers = ""
    params.cors_credentials = False
    params.ui = False
    params.endpoint_slots = True
    params.endpoint_props = False
    params.endpoint_metrics = False
    params.offline = True
    params.verbosity = ERRORS_ONLY
    params.cache_ram_mib = CACHE_RAM_MIB
    params.n_cache_reuse = REUSED_TOKENS
    params.n_batch = STEP_TOKENS
    params.n_ubatch = STEP_TOKENS
    # The context is what the configuration says, not what would fit the memory of a device.
    params.fit_params = False
    return params


def end_with_parent() -> None:
    """End this process when its standard input ends, from now on; also while native code holds the interpreter's lock."""
    threading.Thread(target=_wait_for_the_end, name="parent-watch", daemon=True).start()
    if sys.platform == "win32":
        return
    import fcntl

    # A thread cannot run during the load, which holds the lock. The kernel's own default for SIGIO is to end the process, and
    # nobody writes to this pipe again: the only thing that can happen to it is its end.
    signal.signal(signal.SIGIO, signal.SIG_DFL)
    fcntl.fcntl(0, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(0, fcntl.F_SETFL, fcntl.fcntl(0, fcntl.F_GETFL) | os.O_ASYNC)


def _wait_for_the_end() -> None:
    while os.read(0, 4096):
        pass
    os._exit(0)


def load_error(log: bytes) -> str:
    """The line of llama.cpp's log that says why a model could not be loaded; empty where there is none."""
    lines = log.decode(errors="replace").splitlines()
    for line in lines:
        _, found, why = line.partition("error loading model: ")
        if found:
            return why
    return lines[-1] if lines else ""


def main() -> None:
    """Read an order, serve the model, and end with the parent."""
    # Ctrl-C in a terminal reaches every process of the group: the Host decides when this one ends.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    answer = io.open(os.dup(1), "wb", buffering=0)  # noqa: SIM115, UP020 - it is open for the life of the process
    os.dup2(2, 1)  # what native code prints must not get between the Host and its answer
    order = msgspec.json.decode(_read_line(), type=Order)
    end_with_parent()
    with tempfile.TemporaryFile() as log:
        quiet = os.dup(2)
        os.dup2(log.fileno(), 2)
        report, server = _load(order, log)
        os.dup2(quiet, 2)
    answer.write(msgspec.json.encode(report) + b"\n")
    if server is not None:
        threading.Event().wait()
    # Not through the interpreter's end: native threads may still run, and there is nothing to save.
    os._exit(0 if server is not None else 1)


def _read_line() -> bytes:
    # Not through a buffered file: the watching thread reads the same descriptor.
    line = bytearray()
    while not line.endswith(b"\n"):
        byte = os.read(0, 1)
        if not byte:
            os._exit(0)
        line += byte
    return bytes(line)


def _load(order: Order, log: Any) -> tuple[Report, Any]:
    try:
        import xllamacpp  # it has no types

        server = cast(Any, xllamacpp).Server(server_params(order))
        return Report(address=server.listening_address), server
    except Exception as error:  # noqa: BLE001 - a border: whatever went wrong is the answer
        size = os.fstat(log.fileno()).st_size
        log.seek(max(0, size - MAX_ERROR_BYTES))
        return Report(error=load_error(log.read()) or f"{type(error).__name__}: {error}"), None


if __name__ == "__main__":
    main()
