"""The life of the process that holds a model: started when needed, shared, closed to others, ended in any case."""

import asyncio
import logging
import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest
from local.talking import LOOK_S, PATIENCE_S, connected, talking

from engine_intelligence.conversation import Turn
from engine_intelligence.errors import ProviderError
from engine_intelligence.providers.llama import Options
from engine_intelligence.providers.llama_server import LlamaServer, LlamaServers
from engine_intelligence.providers.turns import chat_messages

LONG = "Tell me a very long story about a knight, a castle and a dragon."


def acquire(model_path: Path) -> LlamaServer:
    return LlamaServers().acquire(model_path, context=256, slots=1)


async def is_gone(process_id: int) -> bool:
    async with asyncio.timeout(PATIENCE_S):
        while psutil.pid_exists(process_id):  # noqa: ASYNC110 - another process tells no event
            await asyncio.sleep(LOOK_S)
    return True


async def running(server: LlamaServer) -> int:
    async with asyncio.timeout(PATIENCE_S):
        while (process_id := server.process_id) is None:  # noqa: ASYNC110 - nor is there one for the start
            await asyncio.sleep(0)
    return process_id


@pytest.mark.spec("S1")
def test_the_event_loop_goes_on_while_a_model_loads(model_path: Path) -> None:
    async def scenario() -> None:
        server = acquire(model_path)
        server.warm()
        loaded = asyncio.ensure_future(server.endpoint())
        turns = 0
        while not loaded.done():
            await asyncio.sleep(0.005)
            turns += 1
        await loaded
        await server.close()
        # A load that held this process's interpreter lock would leave the loop a handful.
        assert turns > 20

    asyncio.run(scenario())


def test_nothing_starts_before_it_is_warmed_and_once_however_often_it_is(model_path: Path) -> None:
    async def scenario() -> None:
        async with talking(model_path) as talk:
            await asyncio.sleep(0)
            assert not psutil.Process().children()
            talk.provider.warm()
            talk.provider.warm()
            process_id = await running(talk.server)
            endpoints = await asyncio.gather(talk.server.endpoint(), talk.server.endpoint())
            assert endpoints[0] == endpoints[1]
            assert talk.server.process_id == process_id
        assert await is_gone(process_id)

    asyncio.run(scenario())


def test_one_who_gives_up_waiting_for_the_load_does_not_stop_it(model_path: Path) -> None:
    async def scenario() -> None:
        server = acquire(model_path)
        impatient = asyncio.ensure_future(server.endpoint())
        process_id = await running(server)
        impatient.cancel()
        await server.endpoint()
        assert impatient.cancelled()
        assert server.process_id == process_id
        await server.close()

    asyncio.run(scenario())


@pytest.mark.fault("C3")
@pytest.mark.spec("H6")
def test_a_close_during_the_load_ends_the_process(model_path: Path) -> None:
    async def scenario() -> None:
        server = acquire(model_path)
        waiting = asyncio.ensure_future(server.endpoint())
        process_id = await running(server)
        await server.close()
        assert await is_gone(process_id)
        with pytest.raises(ProviderError, match="closed") as error:
            await waiting
        assert error.value.reason == "unavailable"
        with pytest.raises(ProviderError, match="closed"):
            await server.endpoint()
        await server.close()

    asyncio.run(scenario())


def test_a_close_before_the_process_is_there_leaves_none(model_path: Path) -> None:
    async def scenario() -> None:
        server = acquire(model_path)
        server.warm()
        await server.close()
        assert server.process_id is None

    asyncio.run(scenario())


def test_providers_with_the_same_model_share_a_process_that_ends_with_the_last(model_path: Path) -> None:
    async def scenario() -> None:
        servers = LlamaServers()
        options = Options(context=512, max_tokens=8, slots=2)
        async with talking(model_path, options, servers=servers) as one:
            async with talking(model_path, options, servers=servers) as two:
                ends = await asyncio.gather(
                    one.completed(one.submit("Hello")), two.completed(two.submit("Hi"))
                )
                assert all(end.output for end in ends)
                assert one.server is two.server
                process_id = one.server.process_id
                assert process_id is not None
            assert one.server.process_id == process_id
            await one.completed(one.submit("Hello again"))
        assert await is_gone(process_id)
        other = servers.acquire(model_path, context=512, slots=2)
        assert other.process_id is None

    asyncio.run(scenario())


def test_another_context_is_another_server(model_path: Path) -> None:
    servers = LlamaServers()
    one = servers.acquire(model_path, context=512, slots=2)
    assert servers.acquire(model_path, context=512, slots=2) is one
    assert servers.acquire(model_path, context=256, slots=2) is not one


@pytest.mark.spec("P5")
def test_a_crash_fails_the_activity_alone_and_the_next_has_a_new_process(model_path: Path) -> None:
    async def scenario() -> None:
        async with talking(model_path, Options(max_tokens=1500, seed=1, slots=1)) as talk:
            ref = talk.submit(LONG)
            await talk.first_text(ref)
            process_id = talk.server.process_id
            assert process_id is not None
            psutil.Process(process_id).kill()
            failed = await talk.failed(ref)
            assert failed.error.detail.reason == "crashed"
            assert talk.store.history(ref.session) == ()
            await talk.completed(talk.submit("Hello. Answer with one word.", ref.session))
            assert talk.server.process_id != process_id

    asyncio.run(scenario())


@pytest.mark.parametrize("cut", [1000, 1_000_000])
def test_a_model_that_cannot_be_loaded_fails_the_activity_and_says_why(
    model_path: Path, tmp_path: Path, cut: int
) -> None:
    half = tmp_path / "half.gguf"
    with model_path.open("rb") as file:
        half.write_bytes(file.read(cut))

    async def scenario() -> None:
        async with talking(half) as talk:
            talk.provider.warm()
            for _ in range(2):
                failed = await talk.failed(talk.submit("Hello"))
                assert failed.error.detail.reason == "unavailable"
                assert failed.error.detail.cause is not None
                assert failed.error.detail.cause.startswith("the local model could not be loaded: ")
                assert talk.server.process_id is None

    asyncio.run(scenario())


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        (["/nowhere/at/all"], "unavailable"),
        ([sys.executable, "-c", "print('not a report')"], "crashed"),
        ([sys.executable, "-c", ""], "crashed"),
    ],
)
def test_a_child_that_does_not_report_is_a_failure(model_path: Path, command: list[str], reason: str) -> None:
    async def scenario() -> None:
        server = LlamaServers(command=command).acquire(model_path, context=256, slots=1)
        with pytest.raises(ProviderError) as error:
            await server.endpoint()
        assert error.value.reason == reason
        await server.close()

    asyncio.run(scenario())


@pytest.mark.spec("E2", "M5")
def test_the_server_is_open_to_nobody_else(model_path: Path) -> None:
    async def scenario() -> None:
        server = acquire(model_path)
        endpoint = await server.endpoint()
        assert endpoint.address.startswith("http://127.0.0.1:")
        async with connected(server, key="another") as client:
            for path in ("/slots", "/props", "/v1/chat/completions"):
                assert (await client.get(path)).status_code == 401
        async with connected(server) as client:
            for origin in ("http://evil.example", "http://localhost:3000", "null"):
                for path in ("/health", "/slots"):
                    answer = await client.get(path, headers={"Origin": origin})
                    assert answer.headers.get("Access-Control-Allow-Origin", "") == ""
                    assert answer.headers.get("Access-Control-Allow-Credentials", "false") == "false"
                preflight = await client.options(
                    "/v1/chat/completions",
                    headers={"Origin": origin, "Access-Control-Request-Method": "POST"},
                )
                assert preflight.headers.get("Access-Control-Allow-Origin", "") == ""
                assert preflight.headers.get("Access-Control-Allow-Methods", "") == ""
            assert (await client.get("/")).status_code == 404
        process = psutil.Process(await running(server))
        addresses = {
            connection.laddr.ip for connection in process.net_connections() if connection.status == "LISTEN"
        }
        assert addresses == {"127.0.0.1"}
        await server.close()

    asyncio.run(scenario())


def test_what_follows_a_dropped_turn_is_not_read_again(model_path: Path) -> None:
    turns = [
        Turn(f"This is question {n}, asked by a stranger.", f"To question {n} I have no answer.")
        for n in range(9)
    ]

    async def scenario() -> None:
        server = LlamaServers().acquire(model_path, context=512, slots=1)
        async with connected(server) as client:
            usage = {}
            for history in (turns, turns[1:]):
                messages = chat_messages("You are a gatekeeper.", history, "And now?")
                body = {"messages": messages, "max_tokens": 1}
                answer = await client.post("/v1/chat/completions", json=body, timeout=PATIENCE_S)
                usage = answer.json()["usage"]
        assert usage["prompt_tokens_details"]["cached_tokens"] > usage["prompt_tokens"] * 0.8
        await server.close()

    asyncio.run(scenario())


@pytest.mark.fault("C32")
@pytest.mark.spec("E2")
def test_the_key_is_in_no_failure_log_line_repr_or_process_table(
    model_path: Path, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)

    async def scenario() -> tuple[str, list[str]]:
        async with talking(model_path, Options(max_tokens=1500, seed=1, slots=1)) as talk:
            endpoint = await talk.server.endpoint()
            process = psutil.Process(await running(talk.server))
            ref = talk.submit(LONG)
            await talk.first_text(ref)
            shown = [repr(value) for value in (endpoint, talk.server, talk.server.order, talk.provider)]
            shown += [*process.cmdline(), *process.environ().values()]
            process.kill()
            shown.append(repr(await talk.failed(ref)))
            return endpoint.key, shown

    key, shown = asyncio.run(scenario())
    captured = capfd.readouterr()
    assert "knight" not in caplog.text + captured.err  # nor what was asked
    for text in (*shown, caplog.text, captured.out, captured.err):
        assert key not in text
    assert captured.out == ""


HOST = """
import asyncio, sys
from pathlib import Path
from engine_intelligence.providers.llama_server import LlamaServers

async def main() -> None:
    server = LlamaServers().acquire(Path(sys.argv[1]), context=256, slots=1)
    await server.endpoint()
    print(server.process_id, flush=True)
    await asyncio.sleep(600)

asyncio.run(main())
"""


@pytest.mark.spec("H5")
def test_the_process_ends_with_a_host_that_is_killed(model_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", HOST, str(model_path)],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    ) as host:
        assert host.stdout is not None
        process_id = int(host.stdout.readline())
        assert psutil.pid_exists(process_id)
        host.kill()
        host.wait()
    assert asyncio.run(is_gone(process_id))


HOLDS_THE_LOCK = """
import ctypes
from engine_intelligence.providers.llama_child import end_with_parent
end_with_parent()
print("watched", flush=True)
ctypes.PyDLL(None).sleep(600)  # with the interpreter's lock, as the load of a model does
"""


@pytest.mark.spec("H5")
@pytest.mark.skipif(sys.platform == "win32", reason="there the Host's job object ends its processes")
def test_the_process_ends_with_its_parent_also_while_native_code_holds_the_interpreter() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", HOLDS_THE_LOCK],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    ) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        assert child.stdout.readline() == b"watched\n"
        child.stdin.close()
        assert child.wait(PATIENCE_S) in (0, -signal.SIGIO)


def test_an_interrupt_from_the_terminal_does_not_end_the_process(model_path: Path) -> None:
    async def scenario() -> None:
        async with talking(model_path, Options(max_tokens=8, slots=1)) as talk:
            await talk.completed(talk.submit("Hello"))
            process_id = await running(talk.server)
            os.kill(process_id, signal.SIGINT)
            await talk.completed(talk.submit("Hello again"))
            assert talk.server.process_id == process_id

    if sys.platform == "win32":
        pytest.skip("there is no such signal for one process")
    asyncio.run(scenario())
