"""Any program as a provider: it reads a prompt on its standard input and writes the answer on its standard output.

    backend = create(Options(command=("python3", "smith.py"), prompt="json"), environment=os.environ)
    provider = provider_over(backend, "smith", store=store)

A process for each Activity. Whatever way that ends, the process and all that it started are ended with it.
"""

from __future__ import annotations

import codecs
import logging
import os
import shutil
from collections.abc import AsyncGenerator, Mapping
from pathlib import Path
from typing import Literal

import msgspec

from engine_intelligence.credentials import without_credentials
from engine_intelligence.errors import ProviderError, SetupError
from engine_intelligence.process_tree import MARK_VARIABLE
from engine_intelligence.providers.command_process import Invocation, ProgramRun, how_it_ended
from engine_intelligence.providers.options import check_text
from engine_intelligence.providers.stream import Finish, Prompt
from engine_intelligence.scrubbing import encodable, presentable, scrub

_log = logging.getLogger(__name__)

# Of what a program says on its standard error, a few lines of a log.
MAX_LOGGED_CHARS = 500


class Options(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a Host's configuration may say of a program. A bad value raises `ValueError` that names field and value."""

    command: tuple[str, ...]
    """The program and its arguments. No shell reads them: only a `~` that begins one, alone or before a `/`, is the user's
    home."""
    prompt: Literal["text", "conversation", "json"] = "text"
    """What the program is given: the input alone, a conversation with labels, or a JSON object; see `written`."""
    instructions: str = ""
    """What the program is told before the conversation, if it is given one; empty: nothing (rule P4)."""
    directory: str = ""
    """Where the program runs. A relative one begins, and an empty one is, where the `host.toml` stands, or without such a file
    where the Host was started."""
    environment: tuple[str, ...] = ()
    """Names of variables of the Host's environment that the program needs, though they may hold credentials."""

    def __post_init__(self) -> None:
        if not self.command or not self.command[0]:
            raise ValueError(
                f'command must name a program, as in command = ["python3", "smith.py"], not {self.command!r}'
            )
        for name, values in (("command", self.command), ("environment", self.environment)):
            for value in values:
                _check_for_the_system(name, value)
        _check_for_the_system("directory", self.directory)
        for value in self.environment:
            if not value or "=" in value:
                # Not told: whoever writes NAME=value here has put a credential into the file.
                raise ValueError("environment must hold names of variables, without = and values")
        check_text("instructions", self.instructions)
        if self.instructions and self.prompt == "text":
            raise ValueError(
                'instructions need prompt = "conversation" or "json": with "text" the program is given the input alone'
            )


def _check_for_the_system(name: str, value: str) -> None:
    check_text(name, value)
    if "\0" in value:
        raise ValueError(f"{name} must hold no NUL character, as {value!r} does")


class CommandBackend:
    """A `Backend` over a program. Made by `create`; it starts a process for each answer. It belongs to one event loop."""

    def __init__(self, options: Options, invocation: Invocation) -> None:
        self._options = options
        self._invocation = invocation
        self._name = presentable(os.path.basename(invocation.arguments[0]))
        self._runs: set[ProgramRun] = set()
        self._closed = False

    @property
    def invocation(self) -> Invocation:
        """What is run for each answer."""
        return self._invocation

    def warm(self) -> None:
        """Nothing: a program that nobody has asked yet has nothing to do."""

    async def answer(self, prompt: Prompt) -> AsyncGenerator[str | Finish, None]:
        """What the program writes, as it comes. Leaving it early ends the program and waits for that."""
        if self._closed:
            raise ProviderError("the program's provider is closed", reason="unavailable")
        run = ProgramRun(self._invocation, written(prompt, self._options))
        self._runs.add(run)
        # Half a character waits for its other half; what is no UTF-8 becomes U+FFFD.
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        try:
            while data := await run.read():
                if text := decoder.decode(data):
                    yield text
            if text := decoder.decode(b"", final=True):
                yield text
        except OSError as error:
            raise ProviderError(
                f"the program cannot be started: {error.strerror}", reason="unavailable"
            ) from None
        finally:
            run.stop()
            await run.over()
            self._runs.discard(run)  # if that wait is cancelled, `close` waits
        if run.returncode != 0:
            raise self._failure(run)

    async def close(self) -> None:
        """End what still runs, and wait for that; for at most some seconds."""
        self._closed = True
        for run in list(self._runs):
            run.stop()
            await run.over()
        self._runs.clear()

    def _failure(self, run: ProgramRun) -> ProviderError:
        if run.returncode is None:
            return ProviderError("the program does not end", reason="crashed")
        how = how_it_ended(run.returncode)
        # Scrubbed: a program may say its environment when it fails (rule E2). What the game is told is ours alone.
        last_words = scrub(run.last_words, limit=MAX_LOGGED_CHARS)
        _log.warning(
            "the program %s ended %s; the end of its standard error: %s",
            self._name,
            how,
            last_words or "empty",
        )
        return ProviderError(f"the program ended {how}", reason="crashed" if run.returncode < 0 else "other")


def written(prompt: Prompt, options: Options) -> bytes:
    """What the program is given on its standard input, in UTF-8.

    `text` is the input and nothing else. `conversation` is plain text: `System:` and the instructions, if there are any,
    `User:` and `Assistant:` for each turn and for the input, and `Assistant:` at the end, with an empty line between two.
    `json` is one object on one line, with `instructions`, `history` (objects with `input` and `output`, oldest first) and
    `input`.
    """
    match options.prompt:
        case "text":
            return encodable(prompt.input).encode()
        case "conversation":
            return encodable(_conversation(prompt, options.instructions)).encode()
        case "json":
            turns = [
                {"input": encodable(turn.input), "output": encodable(turn.output)} for turn in prompt.history
            ]
            whole = {"instructions": options.instructions, "history": turns, "input": encodable(prompt.input)}
            return msgspec.json.encode(whole) + b"\n"


def _conversation(prompt: Prompt, instructions: str) -> str:
    parts = [f"System: {instructions}"] if instructions else []
    for turn in prompt.history:
        parts += [f"User: {turn.input}", f"Assistant: {turn.output}"]
    return "\n\n".join([*parts, f"User: {prompt.input}", "Assistant:"]) + "\n"


def create(options: Options, *, environment: Mapping[str, str], folder: Path | None = None) -> CommandBackend:
    """A backend over the program of `options`, found now and not started.

    `environment` is that of the Host, and is sifted for the program. `folder` is where a relative `directory` begins; by
    default the working directory. A bare name is looked up in the `PATH`, a relative path from `directory`.

    Raises `SetupError`: `missing-program`, `missing-directory` or `missing-variable`.
    """
    directory = os.path.abspath(os.path.join(folder or "", _at_home(options.directory)))
    if not os.path.isdir(directory):
        raise SetupError(
            "missing-directory",
            f"There is no directory {directory}: check the option directory of the program.",
        )
    for name in options.environment:
        if name not in environment:
            raise SetupError(
                "missing-variable",
                f"The variable {name} is not set in the environment of the Host, and the program needs it: "
                "set it, or take it out of the option environment.",
            )
    # The mark, so that the Host's guardian finds the program; it looks like a credential.
    passed = without_credentials(environment, keep={*options.environment, MARK_VARIABLE}).environment
    program, *arguments = map(_at_home, options.command)
    invocation = Invocation(
        arguments=(_found(program, directory, passed), *arguments), directory=directory, environment=passed
    )
    return CommandBackend(options, invocation)


def _at_home(word: str) -> str:
    return os.path.expanduser(word) if word == "~" or word.startswith("~/") else word


def _found(program: str, directory: str, environment: Mapping[str, str]) -> str:
    """The path of a program that is there and may be run."""
    is_path = os.path.dirname(program) != ""
    path = os.path.join(directory, program) if is_path else program
    found = shutil.which(path, path=environment.get("PATH"))
    if found is not None:
        return os.path.abspath(found)
    if is_path and Path(path).is_file():
        raise SetupError(
            "missing-program", f"The program {path} may not be run: make it executable (chmod +x)."
        )
    where = "" if is_path else " in the PATH of the Host"
    raise SetupError(
        "missing-program", f"There is no program {path}{where}: check the option command, or install it."
    )
