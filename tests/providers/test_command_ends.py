"""However an Activity ends, nothing of its program is left: no process, descriptor, task or thread (rules H5, H6)."""

import asyncio
import os
import signal
from contextlib import aclosing
from pathlib import Path

import pytest
from support.process_agents import AGENT
from support.process_marks import PATIENCE_S, Mark
from support.programs import ECHO, HANGS, SESSION, Talk, answer, backend_of, prompt_of, talk, until_file

from engine_intelligence import Cancelled, Completed, Deadlines, Err, Failed
from engine_intelligence.conversation import Turn

pytestmark = pytest.mark.skipif(os.name != "posix", reason="ends processes by signals")

# A program that has started a child which holds its pipes and sleeps on; the test says in which way.
LEAVES = """
import os, sys, time
if os.fork() == 0:
    %s
    time.sleep(3600)
    os._exit(0)
os.write(1, b"Done.")
"""


@pytest.mark.fault("C28", "C7")
@pytest.mark.spec("H5")
def test_a_cancel_ends_a_tree_that_ignores_signals_and_has_moved_to_other_sessions(mark: Mark) -> None:
    async def play() -> None:
        async with talk(backend_of(AGENT, mark=mark)) as stage:
            activity = stage.submit("Go.")
            pids = (await stage.until_text(activity.id)).split()
            assert len(pids) == 3
            assert {str(each.pid) for each in mark.alive()} >= set(pids)
            assert stage.runtime.cancel(activity.id).ok
            assert isinstance(await stage.end(activity.id), Cancelled)
            assert mark.listing() == []

    asyncio.run(play())


@pytest.mark.fault("C7")
@pytest.mark.spec("S12")
def test_a_cancel_before_the_first_text_ends_the_program(mark: Mark, tmp_path: Path) -> None:
    source = "import sys, time; open(sys.argv[1], 'w').write('begun\\n'); time.sleep(3600)"

    async def play() -> None:
        async with talk(backend_of(source, str(tmp_path / "begun"), mark=mark)) as stage:
            activity = stage.submit("Go.")
            await until_file(tmp_path / "begun")
            assert stage.runtime.cancel(activity.id).ok
            assert isinstance(await stage.end(activity.id), Cancelled)
            assert mark.listing() == []

    asyncio.run(play())


@pytest.mark.parametrize("turns", range(12))
def test_a_cancel_at_any_step_of_the_start_leaves_no_program(mark: Mark, turns: int) -> None:
    async def play() -> None:
        backend = backend_of(AGENT, mark=mark)

        async def ask() -> None:
            async with aclosing(backend.answer(prompt_of("Go."))) as stream:
                async for _ in stream:
                    pass

        task = asyncio.create_task(ask())
        for _ in range(turns):
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait([task])
        assert task.cancelled()
        await backend.close()
        assert mark.listing() == []

    asyncio.run(play())


def test_a_second_cancel_does_not_keep_the_tree_from_being_ended(mark: Mark) -> None:
    async def play() -> None:
        backend = backend_of(AGENT, mark=mark)
        begun = asyncio.Event()

        async def ask() -> None:
            async with aclosing(backend.answer(prompt_of("Go."))) as stream:
                async for _ in stream:
                    begun.set()

        task = asyncio.create_task(ask())
        await begun.wait()
        while not task.done():
            task.cancel()
            await asyncio.sleep(0)
        await backend.close()
        assert mark.listing() == []
        assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(play())


@pytest.mark.fault("C28")
def test_a_program_that_goes_on_to_start_others_while_it_is_ended_leaves_none(mark: Mark) -> None:
    source = """
import os, signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
os.write(1, b"Hm.")
for _ in range(1000):
    if os.fork() == 0:
        os.setsid()
        time.sleep(3600)
    time.sleep(0.005)
"""

    async def play() -> None:
        async with talk(backend_of(source, mark=mark)) as stage:
            activity = stage.submit("Go.")
            await stage.until_text(activity.id)
            stage.runtime.cancel(activity.id)
            await stage.end(activity.id)
            assert mark.listing() == []

    asyncio.run(play())


def test_a_program_that_is_told_to_end_may_do_so_in_order(tmp_path: Path) -> None:
    source = """
import signal, sys, time
def end(number, frame):
    open(sys.argv[1], "w").write("saved")
    sys.exit(0)
signal.signal(signal.SIGTERM, end)
print("Hm.", flush=True)
time.sleep(3600)
"""
    saved = tmp_path / "saved"

    async def play() -> None:
        async with talk(backend_of(source, str(saved))) as stage:
            activity = stage.submit("Go.")
            await stage.until_text(activity.id)
            stage.runtime.cancel(activity.id)
            await stage.end(activity.id)

    asyncio.run(play())
    assert saved.read_text() == "saved"


@pytest.mark.spec("B4", "H6")
def test_a_close_ends_what_runs(mark: Mark) -> None:
    async def play() -> None:
        async with talk(backend_of(AGENT, mark=mark)) as stage:
            for _ in range(3):
                activity = stage.submit("Go.", None)
                await stage.until_text(activity.id)
        assert mark.listing() == []

    asyncio.run(play())


def test_an_event_loop_that_ends_without_a_close_leaves_no_program(mark: Mark) -> None:
    async def play() -> None:
        backend = backend_of(AGENT, mark=mark)
        stream = backend.answer(prompt_of("Go."))
        await anext(stream)
        # The generator is left as it is: `asyncio.run` cancels the tasks and closes the generators that there are.

    asyncio.run(play())
    mark.until_gone()


# What outlives the program itself


@pytest.mark.parametrize(
    "moves",
    ["pass", "os.setsid()", "os.setsid(); os.fork() and os._exit(0)"],
    ids=["stays", "moves", "daemon"],
)
@pytest.mark.fault("C28")
def test_what_a_program_leaves_behind_ends_with_it_and_holds_up_no_answer(mark: Mark, moves: str) -> None:
    assert answer(backend_of(LEAVES % moves, mark=mark)) == "Done."
    assert mark.listing() == []


@pytest.mark.fault("C28")
def test_one_that_holds_the_input_is_ended_too(mark: Mark) -> None:
    turns = [Turn("x" * 1000, "y" * 1000)] * 300
    assert (
        answer(backend_of(LEAVES % "os.close(1); os.close(2)", mark=mark, prompt="json"), "x", turns)
        == "Done."
    )
    assert mark.listing() == []


# Its child clears its environment, which closes the pipe to its parent, and is in a session of its own.
HIDES = """
import os
reader, writer = os.pipe()
child = os.fork()
if child == 0:
    os.setsid()
    os.execve("/bin/sleep", ["sleep", "60"], {})
os.close(writer)
os.read(reader, 1)
os.write(1, str(child).encode())
"""


@pytest.mark.fault("C28")
def test_one_that_cannot_be_found_holds_up_no_answer() -> None:
    turns = [Turn("x" * 1000, "y" * 1000)] * 300  # which nobody reads, and it holds that pipe too
    pid = int(answer(backend_of(HIDES, prompt="json"), "x", turns))
    os.kill(pid, signal.SIGKILL)  # it is there, and the test has to end it


def test_a_program_that_has_closed_its_output_is_waited_for(tmp_path: Path) -> None:
    source = "import os, sys; os.write(1, b'Done.'); os.close(1); open(sys.argv[1], 'w').write('kept'); os._exit(0)"
    assert answer(backend_of(source, str(tmp_path / "kept"))) == "Done."
    assert (tmp_path / "kept").read_text() == "kept"


# Sessions


HANGS_ONCE = """
import sys, time
said = sys.stdin.read()
sys.stdout.write(said + "!")
sys.stdout.flush()
if said == "wait":
    time.sleep(3600)
"""


async def goes_on(stage: Talk) -> None:
    """The session holds nothing of what was before, and is of use."""
    end = await stage.end(stage.submit("go").id)
    assert isinstance(end, Completed)
    assert stage.store.history(SESSION) == (Turn("go", "go!"),)


@pytest.mark.fault("C20", "C13", "C12")
@pytest.mark.spec("P5", "S15")
def test_a_program_that_falls_silent_is_stalled_and_the_session_goes_on(mark: Mark) -> None:
    async def play() -> None:
        # Long enough for the start of the next on a busy machine, which is not what stalls.
        async with talk(backend_of(HANGS_ONCE, mark=mark), deadlines=Deadlines(stall_s=1.5)) as stage:
            end = await stage.end(stage.submit("wait").id)
            assert isinstance(end, Failed)
            assert end.error.detail.reason == "stalled"
            await goes_on(stage)
            assert mark.listing() == []

    asyncio.run(play())


@pytest.mark.fault("C20")
def test_a_program_that_closes_its_output_and_stays_is_stalled(mark: Mark) -> None:
    source = "import os, time; os.write(1, b'Hm.'); os.close(1); time.sleep(3600)"

    async def play() -> None:
        async with talk(backend_of(source, mark=mark), deadlines=Deadlines(stall_s=1)) as stage:
            end = await stage.end(stage.submit("wait").id)
            assert isinstance(end, Failed)
            assert end.error.detail.reason == "stalled"
        assert mark.listing() == []

    asyncio.run(play())


@pytest.mark.fault("C9", "C12")
@pytest.mark.spec("P5")
def test_after_a_cancel_the_session_goes_on_as_if_nothing_had_been_said(mark: Mark) -> None:
    async def play() -> None:
        async with talk(backend_of(HANGS_ONCE, mark=mark)) as stage:
            activity = stage.submit("wait")
            await stage.until_text(activity.id)
            assert stage.runtime.cancel(activity.id).ok
            await goes_on(stage)
            assert isinstance(stage.told.terminal(activity.id), Cancelled)

    asyncio.run(play())


@pytest.mark.fault("C10")
def test_what_a_program_says_after_a_cancel_is_not_told() -> None:
    source = """
import os, signal, time
def end(number, frame):
    os.write(1, b"One more thing.")
    os._exit(5)
signal.signal(signal.SIGTERM, end)
os.write(1, b"Hm.")
time.sleep(3600)
"""

    async def play() -> None:
        async with talk(backend_of(source)) as stage:
            activity = stage.submit("Go.")
            await stage.until_text(activity.id)
            stage.runtime.cancel(activity.id)
            assert isinstance(await stage.end(activity.id), Cancelled)
            assert stage.told.text(activity.id) == "Hm."

    asyncio.run(play())


@pytest.mark.fault("C11")
@pytest.mark.spec("S13")
def test_a_cancel_twice_or_too_late_has_no_effect() -> None:
    async def play() -> None:
        async with talk(backend_of(HANGS)) as stage:
            activity = stage.submit("Go.")
            await stage.until_text(activity.id)
            assert stage.runtime.cancel(activity.id).ok
            assert stage.runtime.cancel(activity.id).ok
            assert isinstance(await stage.end(activity.id), Cancelled)
            for id in (activity.id, "never"):
                refused = stage.runtime.cancel(id)
                assert isinstance(refused, Err)
                assert refused.error.code == "intelligence-activity-not-found"

    asyncio.run(play())


@pytest.mark.fault("C14")
@pytest.mark.spec("P6")
def test_two_of_one_session_run_one_after_the_other() -> None:
    async def play() -> None:
        async with talk(backend_of(ECHO, prompt="json")) as stage:
            first, second = stage.submit("one"), stage.submit("two")
            await stage.end(second.id)
            assert stage.told.ended == [first.id, second.id]
            assert '"history":[{"input":"one"' in stage.told.text(second.id)

    asyncio.run(play())


@pytest.mark.fault("C2")
def test_a_program_that_takes_the_processor_holds_up_no_other_and_can_be_ended(mark: Mark) -> None:
    source = """
import os, sys
if sys.stdin.read() == "spin":
    os.write(1, b"Hm.")
    while True:
        pass
os.write(1, b"Done.")
"""

    async def play() -> None:
        async with talk(backend_of(source, mark=mark)) as stage:
            spinning = stage.submit("spin", None)
            await stage.until_text(spinning.id)
            assert (await stage.end(stage.submit("go", None).id)).output == "Done."
            stage.runtime.cancel(spinning.id)
            assert isinstance(await stage.end(spinning.id), Cancelled)
            assert mark.listing() == []

    asyncio.run(play())


def test_many_programs_run_at_once() -> None:
    async def play() -> None:
        async with talk(backend_of(ECHO)) as stage, asyncio.timeout(PATIENCE_S):
            said = {stage.submit(f"number {n}", None).id: f"number {n}" for n in range(8)}
            for id, text in said.items():
                assert (await stage.end(id)).output == text

    asyncio.run(play())
