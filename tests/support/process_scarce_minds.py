"""Providers in a Host that runs short of something, for good or for a moment. A Host imports this module by name."""

import asyncio
import errno
import os
import resource
import sys
import threading
from collections.abc import AsyncGenerator
from pathlib import Path

from engine_intelligence.providers.stream import Prompt, StreamProvider
from support.process_minds import MIND

NOBODY = 65534
MIB = 1024 * 1024


class Kinds:
    """Generators by the word that they are asked."""

    @staticmethod
    async def descriptors(prompt: Prompt) -> AsyncGenerator[str, None]:
        """Start a subprocess when no descriptor is left; afterwards there are some again."""
        _soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(128, hard), hard))
        taken: list[int] = []
        try:
            try:
                while True:
                    taken.append(os.open(os.devnull, os.O_RDONLY))
            except OSError as error:
                if error.errno != errno.EMFILE:
                    raise
            yield "none left "
            await asyncio.create_subprocess_exec("true")
        finally:
            for each in taken:
                os.close(each)

    @staticmethod
    async def threads(prompt: Prompt) -> AsyncGenerator[str, None]:
        """Start a thread where there is no room for its stack."""
        yield "no room "
        with no_room_beyond(MIB):
            await asyncio.to_thread(int)

    @staticmethod
    async def processes(prompt: Prompt) -> AsyncGenerator[str, None]:
        """Start a subprocess where the user may have no more processes."""
        if os.getuid() == 0:
            os.setresuid(NOBODY, NOBODY, NOBODY)  # the superuser may have as many as it wants
        resource.setrlimit(resource.RLIMIT_NPROC, (0, 0))
        yield "no more "
        await asyncio.create_subprocess_exec("true")

    @staticmethod
    async def memory(prompt: Prompt) -> AsyncGenerator[str, None]:
        """Ask for more memory than the Host may have."""
        yield "asking "
        with no_room_beyond(64 * MIB):
            yield "x" * (1024 * MIB)

    @staticmethod
    async def narrow(prompt: Prompt) -> AsyncGenerator[str, None]:
        """From here on there is little memory beyond what the Host has; and what it may stream fits into that."""
        now = address_space_bytes()
        resource.setrlimit(resource.RLIMIT_AS, (now + 64 * MIB, resource.RLIM_INFINITY))
        yield "narrow"

    @staticmethod
    async def echo(prompt: Prompt) -> AsyncGenerator[str, None]:
        yield prompt.input


class no_room_beyond:
    """A block in which the address space may grow by that much only."""

    def __init__(self, more_bytes: int) -> None:
        self._more_bytes = more_bytes

    def __enter__(self) -> None:
        self._before = resource.getrlimit(resource.RLIMIT_AS)
        resource.setrlimit(resource.RLIMIT_AS, (address_space_bytes() + self._more_bytes, self._before[1]))

    def __exit__(self, *_: object) -> None:
        resource.setrlimit(resource.RLIMIT_AS, self._before)


def address_space_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()


def behave(prompt: Prompt) -> AsyncGenerator[str, None]:
    kind = getattr(Kinds, prompt.input, Kinds.echo)
    stream: AsyncGenerator[str, None] = kind(prompt)
    return stream


def mind() -> StreamProvider:
    return StreamProvider(MIND, behave)


def dies() -> StreamProvider:
    """A factory that ends its process without a word."""
    os._exit(9)


def needs_a_thread() -> StreamProvider:
    """A factory that starts a thread."""
    threading.Thread(target=sys.getrefcount, args=(None,)).start()
    return mind()
