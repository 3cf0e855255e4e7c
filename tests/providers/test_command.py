"""A program as a provider: what it is given, and how what it writes becomes an answer."""

import asyncio
import json
import logging
import os
from contextlib import aclosing
from pathlib import Path

import psutil
import pytest
from support.process_marks import PATIENCE_S
from support.programs import ECHO, answer, backend_of, invocation_of, pieces, prompt_of, talk, until_file

from engine_intelligence import Failed, ProviderError
from engine_intelligence.conversation import Turn
from engine_intelligence.providers.command import Options, create
from engine_intelligence.providers.command_process import MAX_TAIL_BYTES, ProgramRun, how_it_ended

HISTORY = (Turn("Who is there?", "The smith."), Turn("Is it late?", "It is\nnight."))

# Says what it was given, in Python's notation.
REPR = "import sys; sys.stdout.write(ascii(sys.stdin.buffer.read()))"


# What it is given


def test_a_program_is_given_the_input_alone() -> None:
    backend = backend_of(REPR)
    assert answer(backend, "Is the sword sharp?\n", HISTORY) == ascii(b"Is the sword sharp?\n")


def test_a_conversation_is_plain_text_with_labels() -> None:
    backend = backend_of(ECHO, prompt="conversation", instructions="You are a smith.")
    assert answer(backend, "Is the sword sharp?", HISTORY) == (
        "System: You are a smith.\n\n"
        "User: Who is there?\n\nAssistant: The smith.\n\n"
        "User: Is it late?\n\nAssistant: It is\nnight.\n\n"
        "User: Is the sword sharp?\n\nAssistant:\n"
    )


def test_a_conversation_without_instructions_begins_with_what_was_said() -> None:
    assert answer(backend_of(ECHO, prompt="conversation"), "Hello.") == "User: Hello.\n\nAssistant:\n"


def test_a_json_object_holds_instructions_turns_and_input() -> None:
    backend = backend_of(ECHO, prompt="json", instructions="Du bist \U0001f5e1.")
    said = answer(backend, "Ist es \U0001f319?\n", HISTORY)
    assert said.count("\n") == 1
    assert json.loads(said) == {
        "instructions": "Du bist \U0001f5e1.",
        "history": [
            {"input": "Who is there?", "output": "The smith."},
            {"input": "Is it late?", "output": "It is\nnight."},
        ],
        "input": "Ist es \U0001f319?\n",
    }


@pytest.mark.parametrize("prompt", ["text", "conversation", "json"])
@pytest.mark.spec("D1")
def test_text_that_cannot_be_encoded_is_repaired(prompt: str) -> None:
    said = answer(backend_of(ECHO, prompt=prompt), "a\ud800b", [Turn("\udfff", "\udc00")])
    assert "\ufffd" in said or "\\ufffd" in said


def test_a_program_need_not_read_its_input() -> None:
    turns = [Turn("x" * 1000, "y" * 1000)] * 300
    backend = backend_of("print('I know it all.')", prompt="json")
    assert answer(backend, "\U0001f5e1" * 16_384, turns) == "I know it all.\n"


def test_a_program_may_close_its_input_and_speak_on() -> None:
    source = "import os, sys; os.read(0, 10); os.close(0); os.write(1, b'Enough. '); os.write(1, b'Go.')"
    turns = [Turn("x" * 1000, "y" * 1000)] * 300
    assert answer(backend_of(source, prompt="json"), "x", turns) == "Enough. Go."


def test_a_program_may_write_much_before_it_reads_much() -> None:
    source = "import sys; sys.stdout.write('x' * 1_000_000); sys.stdout.write(str(len(sys.stdin.read())))"
    turns = [Turn("x" * 1000, "y" * 1000)] * 300
    said = answer(backend_of(source, prompt="json"), "Hello.", turns)
    assert said[:1_000_000] == "x" * 1_000_000
    assert int(said[1_000_000:]) > 600_000


def test_the_longest_input_reaches_a_program() -> None:
    assert answer(backend_of("import sys; print(len(sys.stdin.read()))"), "\U0001f5e1" * 16_384) == "16384\n"


# What it writes


def test_text_is_handed_on_before_the_line_or_the_program_ends(tmp_path: Path) -> None:
    heard = tmp_path / "heard"
    source = """
import os, sys, time
os.write(1, b"Wait")
while not os.path.exists(sys.argv[1]):
    time.sleep(0.003)
os.write(1, b" for it.")
"""

    async def play() -> list[str]:
        got: list[str] = []
        backend = backend_of(source, str(heard))
        async with asyncio.timeout(PATIENCE_S), aclosing(backend.answer(prompt_of("Hello."))) as stream:
            async for piece in stream:
                assert isinstance(piece, str)
                got.append(piece)
                heard.touch()
        return got

    assert asyncio.run(play()) == ["Wait", " for it."]


TEXT = "a\u00e9\u65e5\U0001f5e1\u0301!"


@pytest.mark.fault("C22")
def test_a_character_that_comes_byte_by_byte_is_never_told_in_half(monkeypatch: pytest.MonkeyPatch) -> None:
    whole, kept = ProgramRun.read, bytearray()

    async def a_byte(self: ProgramRun) -> bytes:
        if not kept:
            kept.extend(await whole(self))
        byte = bytes(kept[:1])
        del kept[:1]
        return byte

    monkeypatch.setattr(ProgramRun, "read", a_byte)
    assert asyncio.run(pieces(backend_of(ECHO), TEXT)) == list(TEXT)


@pytest.mark.fault("C22")
def test_a_program_that_writes_byte_by_byte_is_understood() -> None:
    source = "import os, sys\nfor byte in sys.stdin.buffer.read(): os.write(1, bytes([byte]))"
    said = asyncio.run(pieces(backend_of(source), TEXT * 200))
    assert "".join(said) == TEXT * 200


@pytest.mark.parametrize(
    ("written", "told"),
    [
        (b"a\xffb", "a\ufffdb"),
        (b"sword \xf0\x9f\x97", "sword \ufffd"),
        (b"\xed\xa0\x80!", "\ufffd\ufffd\ufffd!"),
    ],
    ids=["no UTF-8", "half a character at the end", "a surrogate"],
)
@pytest.mark.fault("C22")
def test_what_is_no_text_becomes_replacement_characters(written: bytes, told: str) -> None:
    assert answer(backend_of(f"import os; os.write(1, {written!r})")) == told


@pytest.mark.parametrize("length", [65_537, 2_000_000, 20_000_000])
@pytest.mark.fault("C25")
def test_one_enormous_line_overflows_and_the_next_answer_comes(length: int) -> None:
    source = f"import sys; said = sys.stdin.read(); sys.stdout.write('x' * {length} if said == 'much' else 'Done.')"

    async def play() -> None:
        async with talk(backend_of(source)) as stage:
            end = await stage.end(stage.submit("much").id)
            assert end.error.code == "intelligence-output-overflow"
            assert (await stage.end(stage.submit("little").id)).output == "Done."
            assert [turn.input for turn in stage.store.history(stage.submit("little").session)] == ["little"]

    asyncio.run(play())


def test_a_program_that_nobody_listens_to_has_to_wait(tmp_path: Path) -> None:
    """It writes until it has been unable to for a while, and says how much that was."""
    source = """
import os, select, sys
os.set_blocking(1, False)
written = 0
while written < 64_000_000 and select.select([], [1], [], 1.0)[1]:
    written += os.write(1, b"x" * 4096)
with open(sys.argv[1], "w") as file:
    print(written, file=file)
"""

    async def play() -> int:
        backend = backend_of(source, str(tmp_path / "written"))
        async with aclosing(backend.answer(prompt_of("Hello."))) as stream:
            await anext(stream)
            written = int(await until_file(tmp_path / "written"))
        await backend.close()
        return written

    assert asyncio.run(play()) < 1_000_000


def test_what_a_program_wrote_before_its_end_waits_for_who_listens_slowly() -> None:
    source = "import os; os.write(1, str(os.getpid()).encode()); print('x' * 240_000, end='')"

    async def play() -> str:
        backend, got = backend_of(source), list[str]()
        async with aclosing(backend.answer(prompt_of("Hello."))) as stream:
            async for piece in stream:
                assert isinstance(piece, str)
                got.append(piece)
                if len(got) == 1:
                    pid = int(piece.partition("x")[0])
                    async with asyncio.timeout(PATIENCE_S):
                        while psutil.pid_exists(pid):  # noqa: ASYNC110 - nothing tells of that
                            await asyncio.sleep(0.003)
                    # What comes after the end of a program has the time to go wrong.
                    await asyncio.wait(asyncio.all_tasks() - {asyncio.current_task()}, timeout=0.3)
        return "".join(got)

    assert asyncio.run(play()).count("x") == 240_000


# How it ends


async def failure(source: str) -> ProviderError:
    with pytest.raises(ProviderError) as raised:
        await pieces(backend_of(source))
    return raised.value


def test_an_exit_code_is_a_failure_that_names_it() -> None:
    error = asyncio.run(failure("print('I am'); raise SystemExit(3)"))
    assert (error.reason, error.cause) == ("other", "the program ended with exit code 3")


def test_a_program_that_a_signal_ends_has_crashed() -> None:
    error = asyncio.run(failure("import os, signal; os.kill(os.getpid(), signal.SIGKILL)"))
    assert (error.reason, error.cause) == ("crashed", "the program ended by SIGKILL")


def test_a_signal_without_a_name_is_told_by_its_number() -> None:
    assert how_it_ended(-60) == "by signal 60"


@pytest.mark.fault("C21")
def test_a_program_that_says_nothing_fails_with_empty() -> None:
    async def play() -> Failed:
        async with talk(backend_of("")) as stage:
            end = await stage.end(stage.submit("Hello.").id)
            assert isinstance(end, Failed)
            return end

    assert asyncio.run(play()).error.detail.reason == "empty"


@pytest.mark.fault("C12")
@pytest.mark.spec("P5")
def test_what_was_said_before_a_failure_is_told_and_not_kept() -> None:
    async def play() -> None:
        async with talk(backend_of("print('I am'); raise SystemExit(3)")) as stage:
            activity = stage.submit("Who are you?")
            end = await stage.end(activity.id)
            assert isinstance(end, Failed)
            assert stage.told.text(activity.id) == "I am\n"
            assert stage.store.turns == {}

    asyncio.run(play())


def test_a_program_that_vanished_is_unavailable(tmp_path: Path) -> None:
    program = tmp_path / "smith"
    program.write_text("#!/bin/sh\necho Hello.\n")
    program.chmod(0o755)
    backend = create(Options(command=(str(program),)), environment=os.environ)
    program.unlink()
    with pytest.raises(ProviderError) as raised:
        answer(backend)
    assert raised.value.reason == "unavailable"


# Its standard error


@pytest.mark.fault("C29")
def test_five_megabytes_on_the_standard_error_hold_nobody_up() -> None:
    source = "import os\nfor _ in range(50): os.write(2, b'x' * 100_000)\nprint('Done.')"
    assert answer(backend_of(source)) == "Done.\n"


@pytest.mark.fault("C29")
def test_the_last_lines_on_the_standard_error_of_a_failure_are_in_the_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    source = "import os; os.write(2, b'much noise\\n' * 1_000_000 + b'the oven is cold\\n'); os._exit(4)"
    error = asyncio.run(failure(source))
    assert "oven" not in error.cause
    (record,) = (each for each in caplog.records if each.name.startswith("engine_intelligence"))
    assert record.getMessage().endswith(
        "ended with exit code 4; the end of its standard error: much noise much noise the oven is cold"
    )


def last_words(written: bytes) -> str:
    async def play() -> str:
        run = ProgramRun(invocation_of(f"import os; os.write(2, {written!r})"), b"")
        while await run.read():
            pass
        await run.over()
        return run.last_words

    return asyncio.run(play())


def test_of_the_standard_error_three_lines_are_kept() -> None:
    assert last_words(b"one\ntwo\nthree\nfour\n") == "two\nthree\nfour"


def test_a_line_of_the_standard_error_that_is_too_long_to_keep_is_not_told_in_part() -> None:
    assert last_words(b"x" * (MAX_TAIL_BYTES + 1)) == ""
    assert last_words(b"x" * (MAX_TAIL_BYTES - 1) + b"\nthe end\n") == "the end"


def test_a_success_logs_nothing(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        answer(backend_of("import sys; print('thinking', file=sys.stderr); print('Done.')"))
    assert not [each for each in caplog.records if each.name.startswith("engine_intelligence")]
