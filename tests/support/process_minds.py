"""Providers of every temper, for Hosts that are tests' own. A Host imports this module by name; it is no test itself."""

import asyncio
import ctypes
import hashlib
import json
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import AsyncGenerator, Callable, Iterator
from pathlib import Path

from engine_intelligence import ActivitySink, ActivitySubmission, Err, IntelligenceError, Ok, Result
from engine_intelligence.providers.stream import Prompt, StreamProvider
from support.process_agents import AGENT

MIND = "mind"
GATE_VARIABLE = "PROCESS_MINDS_GATE"
STAGE_VARIABLE = "PROCESS_MINDS_STAGE"
FIVE_MB = 5 * 1024 * 1024

# A test that goes wrong must not leave one of these behind for ever.
AN_HOUR_S = 3600.0


class Kinds:
    """Generators by the first word of what they are asked."""

    @staticmethod
    async def talk(prompt: Prompt) -> AsyncGenerator[str, None]:
        """Text that never ends and shows at every place whether something is missing."""
        number = 0
        while True:
            yield f"{number} "
            number += 1
            await asyncio.sleep(0.001)

    @staticmethod
    async def flood(prompt: Prompt) -> AsyncGenerator[str, None]:
        """As much text as goes out, as fast as it goes."""
        while True:
            yield "x" * 8
            await asyncio.sleep(0)

    @staticmethod
    async def echo(prompt: Prompt) -> AsyncGenerator[str, None]:
        for word in prompt.input.split():
            yield word + " "

    @staticmethod
    async def block(prompt: Prompt) -> AsyncGenerator[str, None]:
        yield "blocking "
        await asyncio.sleep(0.05)
        block()

    @staticmethod
    async def spin(prompt: Prompt) -> AsyncGenerator[str, None]:
        yield "spinning "
        await asyncio.sleep(0.05)
        tell_stage()
        while True:
            pass

    @staticmethod
    async def hold(prompt: Prompt) -> AsyncGenerator[str, None]:
        """Native code that never gives the interpreter lock back, here a match that backtracks for longer than anyone lives."""
        yield "holding "
        await asyncio.sleep(0.05)
        tell_stage()
        re.match(r"(a|a)*b", "a" * 64)

    @staticmethod
    async def thread(prompt: Prompt) -> AsyncGenerator[str, None]:
        """A thread that the interpreter would wait for at its end."""
        threading.Thread(target=time.sleep, args=(AN_HOUR_S,), daemon=False).start()
        async for text in Kinds.talk(prompt):
            yield text

    @staticmethod
    async def agents(prompt: Prompt) -> AsyncGenerator[str, None]:
        """Subprocesses like those of an agent; the pids come first, and then text without end."""
        yield start_agents()
        async for text in Kinds.talk(prompt):
            yield text

    @staticmethod
    async def blocking_agents(prompt: Prompt) -> AsyncGenerator[str, None]:
        yield start_agents()
        await asyncio.sleep(0.05)
        block()

    @staticmethod
    async def group(prompt: Prompt) -> AsyncGenerator[str, None]:
        """One subprocess that stays in the Host's group."""
        yield f"{(await asyncio.create_subprocess_exec('sleep', '3600')).pid} "
        async for text in Kinds.talk(prompt):
            yield text

    @staticmethod
    async def stranger(prompt: Prompt) -> AsyncGenerator[str, None]:
        """A subprocess with a session and an environment of its own; its pid comes first."""
        child = await asyncio.create_subprocess_exec("sleep", "3600", env={}, start_new_session=True)
        yield f"{child.pid} "
        async for text in Kinds.talk(prompt):
            yield text

    @staticmethod
    async def blocking_stranger(prompt: Prompt) -> AsyncGenerator[str, None]:
        child = await asyncio.create_subprocess_exec("sleep", "3600", env={}, start_new_session=True)
        yield f"{child.pid} "
        await asyncio.sleep(0.05)
        block()

    @staticmethod
    async def bulk(prompt: Prompt) -> AsyncGenerator[str, None]:
        """One text, nearly as large as may be: several of them do not fit into a connection that nobody reads."""
        yield "b" * 60_000

    @staticmethod
    async def orphans(prompt: Prompt) -> AsyncGenerator[str, None]:
        """Twenty short-lived processes whose parent ends first, and then the number that is still listed."""
        for _ in range(20):
            await (await asyncio.create_subprocess_exec("sh", "-c", "sleep 0.01 &")).wait()
        left: list[int] = []
        for _ in range(2000):
            left = dead_children()
            if not left:
                break
            await asyncio.sleep(0.005)
        yield f"{len(left)} left"

    @staticmethod
    async def noise(prompt: Prompt) -> AsyncGenerator[str, None]:
        """5 MB on every way out that there is."""
        line = "n" * 1023 + "\n"
        for stream in (sys.stdout, sys.stderr):
            for _ in range(FIVE_MB // len(line)):
                stream.write(line)
        os.write(1, b"direct\n")
        child = f"import os; [os.write(1, b'c' * 65536) for _ in range({FIVE_MB // 65536})]"
        await (await asyncio.create_subprocess_exec(sys.executable, "-S", "-E", "-c", child)).wait()
        yield "said it all"

    @staticmethod
    async def native(prompt: Prompt) -> AsyncGenerator[str, None]:
        """A native library that logs 5 MB and keeps the interpreter lock meanwhile, as most bindings do."""
        yield "logging "
        await asyncio.sleep(0.05)
        tell_stage()
        log = b"l" * FIVE_MB
        ctypes.PyDLL(None).write(2, log, ctypes.c_size_t(len(log)))
        yield "and done"

    @staticmethod
    async def say(prompt: Prompt) -> AsyncGenerator[str, None]:
        """A word on each standard stream."""
        print("word-on-stdout")
        print("word-on-stderr", file=sys.stderr)
        yield "said"

    @staticmethod
    async def mute(prompt: Prompt) -> AsyncGenerator[str, None]:
        """Without standard streams from here on, and with a thread that the interpreter would wait for."""
        threading.Thread(target=time.sleep, args=(AN_HOUR_S,), daemon=False).start()
        sys.stdout = sys.stderr = None
        yield "muted"

    @staticmethod
    async def exit(prompt: Prompt) -> AsyncGenerator[str, None]:
        yield "leaving "
        await asyncio.sleep(0.05)
        os._exit(7)

    @staticmethod
    async def crash(prompt: Prompt) -> AsyncGenerator[str, None]:
        yield "crashing "
        await asyncio.sleep(0.05)
        ctypes.string_at(0)

    @staticmethod
    async def digest(prompt: Prompt) -> AsyncGenerator[str, None]:
        """What shows that the Host has a variable, without telling what it holds."""
        name = prompt.input.split()[1]
        yield hashlib.sha256(os.environ[name].encode()).hexdigest()

    @staticmethod
    async def look(prompt: Prompt) -> AsyncGenerator[str, None]:
        """What provider code can see of its surroundings."""
        child = await asyncio.create_subprocess_exec("env", "-0", stdout=subprocess.PIPE)
        out, _ = await child.communicate()
        yield json.dumps(
            {
                "environment": dict(os.environ),
                "child_environment": out.decode(errors="replace").split("\0"),
                "arguments": arguments(),
                "descriptors": descriptors(),
                "child_descriptors": await child_descriptors(),
                "stdin": sys.stdin.read(),
                "nice": os.nice(0),
            }
        )


def tell_stage() -> None:
    """Show a test that waits for it, by a file, that from here on nothing goes on in this thread."""
    stage = os.environ.get(STAGE_VARIABLE)
    if stage:
        Path(stage).touch()


def block() -> None:
    """Block the thread that the event loop runs on."""
    tell_stage()
    time.sleep(AN_HOUR_S)


def start_agents() -> str:
    """Start the tree of processes of `AGENT`, and return their pids."""
    agent = subprocess.Popen([sys.executable, "-S", "-E", "-c", AGENT], stdout=subprocess.PIPE)
    assert agent.stdout is not None
    return agent.stdout.readline().decode().strip() + " "


def dead_children() -> list[int]:
    """The pids of the children of this process that are dead and not reaped."""
    found: list[int] = []
    for pid in Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read_text().split():
        try:
            stat = Path(f"/proc/{pid}/stat").read_text()
        except OSError:
            continue
        if stat.rpartition(")")[2].split()[0] == "Z":
            found.append(int(pid))
    return found


def arguments() -> list[str]:
    """The command line of this process."""
    return Path("/proc/self/cmdline").read_text().split("\0")


def descriptors() -> list[str]:
    """What this process has open, but for the listing itself."""
    found: list[str] = []
    for name in os.listdir("/proc/self/fd"):
        try:
            found.append(os.readlink(f"/proc/self/fd/{name}"))
        except OSError:
            continue
    return found


async def child_descriptors() -> list[str]:
    """The descriptors that a process has whom a careless provider lets inherit whatever can be inherited."""
    code = "import os; print(*[f for f in range(3, 256) if os.path.exists(f'/proc/self/fd/{f}')])"
    child = await asyncio.create_subprocess_exec(
        sys.executable, "-S", "-E", "-c", code, stdout=subprocess.PIPE, close_fds=False
    )
    out, _ = await child.communicate()
    return out.decode().split()


def behave(prompt: Prompt) -> AsyncGenerator[str, None]:
    """The generator of the kind that the first word names; anything else is echoed."""
    word = (prompt.input.split() or ["echo"])[0]
    kind: Callable[[Prompt], AsyncGenerator[str, None]] = getattr(Kinds, word, Kinds.echo)
    return kind(prompt)


def mind() -> StreamProvider:
    return StreamProvider(MIND, behave)


def cast_of_three() -> Iterator[StreamProvider]:
    for name in ("ann", "bob", "cy"):
        yield StreamProvider(name, behave)


def ann() -> StreamProvider:
    return StreamProvider("ann", behave)


def patient() -> StreamProvider:
    """A factory that takes until there is a file: a Host that is not ready for as long as a test wants."""
    gate = Path(os.environ[GATE_VARIABLE])
    while not gate.exists():
        time.sleep(0.005)
    return mind()


async def _never() -> None:
    await asyncio.sleep(AN_HOUR_S)


async def _never_and_deaf() -> None:
    block()


def hangs_in_close() -> StreamProvider:
    return StreamProvider(MIND, behave, on_close=_never)


def blocks_in_close() -> StreamProvider:
    return StreamProvider(MIND, behave, on_close=_never_and_deaf)


class Deaf:
    """A provider that ends the Host's ways to stop in order: it takes the signals away and blocks at its first Activity."""

    id = MIND

    def start(self, submission: ActivitySubmission, sink: ActivitySink) -> Result[None, IntelligenceError]:
        sink.text("deaf ")
        threading.Thread(target=time.sleep, args=(AN_HOUR_S,), daemon=False).start()
        asyncio.get_running_loop().call_later(0.05, block)
        return Ok(None)

    def cancel(self, activity_id: str) -> Result[None, IntelligenceError]:
        return Ok(None)

    async def close(self) -> None:
        block()


def deaf() -> Deaf:
    return Deaf()


# Factories that are wrong


def raises() -> StreamProvider:
    raise RuntimeError("the moon is in the wrong house")


def exits() -> StreamProvider:
    sys.exit("no such luck")


def returns_nothing() -> None:
    return None


def returns_rubbish() -> object:
    return 42


def returns_an_empty_list() -> list[StreamProvider]:
    return []


class Nameless:
    """All that a provider has, but for its id."""

    def start(self, submission: ActivitySubmission, sink: ActivitySink) -> Result[None, IntelligenceError]:
        return Err(IntelligenceError("intelligence-closed"))

    def cancel(self, activity_id: str) -> Result[None, IntelligenceError]:
        return Ok(None)

    async def close(self) -> None:
        return None


def returns_a_nameless_provider() -> Nameless:
    return Nameless()


def wants_an_argument(name: str) -> StreamProvider:
    return StreamProvider(name, behave)


not_callable = "a text"
