"""A real model behind the whole path: runtime, provider, SDK, server, weights."""

import asyncio
from pathlib import Path

import pytest
from local.talking import talking

from engine_intelligence.activity import SessionRef
from engine_intelligence.conversation import Turn
from engine_intelligence.limits import IntelligenceLimits
from engine_intelligence.providers.llama import Options
from engine_intelligence.sessions.sqlite import SqliteConversationStore

LONG = "Tell me a very long story about a knight, a castle and a dragon."


@pytest.fixture(autouse=True)
def a_proxy_that_nothing_answers_at(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.spec("P7")
def test_a_conversation_keeps_its_session_and_goes_on_after_a_restart(
    model_path: Path, tmp_path: Path
) -> None:
    options = Options(
        instructions="You are a gatekeeper. Answer in one sentence.", max_tokens=24, seed=1, slots=1
    )
    file = tmp_path / "sessions.db"

    async def first() -> SessionRef:
        async with talking(model_path, options, store=SqliteConversationStore(file)) as talk:
            ref = talk.submit("May I pass?")
            one = await talk.completed(ref)
            assert one.output == talk.text(ref) != ""
            assert one.session == ref.session
            assert one.finish in ("stop", "length")
            assert one.usage is not None
            two = await talk.completed(talk.submit("Why?", one.session))
            assert two.session == one.session
            assert two.usage is not None
            assert two.usage.input_tokens > one.usage.input_tokens  # it was told what was said before
            return two.session

    async def second(session: SessionRef) -> None:
        store = SqliteConversationStore(file)
        async with talking(model_path, options, store=store) as talk:
            three = await talk.completed(talk.submit("And now?", session))
            assert three.session == session
            assert [turn.input for turn in store.history(session)] == ["May I pass?", "Why?", "And now?"]
            assert store.history(session)[-1].output == three.output
            # A session that was never continued takes fewer tokens for the same words.
            alone = await talk.completed(talk.submit("And now?"))
            assert three.usage is not None
            assert alone.usage is not None
            assert three.usage.input_tokens > alone.usage.input_tokens

    asyncio.run(second(asyncio.run(first())))


def test_an_answer_that_reaches_the_token_limit_says_so(model_path: Path) -> None:
    async def scenario() -> None:
        async with talking(model_path, Options(max_tokens=4, seed=1, slots=1)) as talk:
            end = await talk.completed(talk.submit(LONG))
            assert end.finish == "length"
            assert end.usage is not None
            assert end.usage.output_tokens == 4

    asyncio.run(scenario())


@pytest.mark.fault("C22")
def test_characters_of_several_bytes_arrive_whole(model_path: Path) -> None:
    async def scenario() -> None:
        store = SqliteConversationStore(None)
        session = SessionRef("gatekeeper", "one")
        # A model of this size goes on as it was shown.
        for input in ("Sing.", "Sing again.", "Once more."):
            store.append(session, Turn(input, "👋🏽🏰🐉日本語é " * 4), lambda: True)
        async with talking(model_path, Options(max_tokens=64, temperature=0.0, slots=1), store=store) as talk:
            ref = talk.submit("Sing again.", session)
            end = await talk.completed(ref)
            assert not end.output.isascii()
            assert talk.text(ref) == end.output
            assert "\N{REPLACEMENT CHARACTER}" not in end.output
            assert set("👋🏽🏰🐉日本語é ") >= set(end.output)

    asyncio.run(scenario())


@pytest.mark.spec("P5", "S12")
def test_a_cancel_frees_the_slot_and_leaves_the_session_as_it_was(model_path: Path) -> None:
    async def scenario() -> None:
        async with talking(model_path, Options(max_tokens=1500, seed=1, slots=1)) as talk:
            begun = await talk.completed(talk.submit("Hello. Answer with one word."))
            before = talk.store.history(begun.session)
            ref = talk.submit(LONG, begun.session)
            await talk.first_text(ref)
            assert await talk.busy_slots() == 1
            await talk.cancelled(ref)
            assert await talk.slots_are_free()
            assert talk.store.history(begun.session) == before
            await talk.completed(talk.submit("Are you still there? Answer with one word.", begun.session))
            assert len(talk.store.history(begun.session)) == len(before) + 1

    asyncio.run(scenario())


@pytest.mark.fault("C7")
@pytest.mark.spec("S12")
def test_a_cancel_frees_the_slot_while_the_input_is_still_being_read(model_path: Path) -> None:
    async def scenario() -> None:
        async with talking(model_path, Options(max_tokens=16, slots=1)) as talk:
            ref = talk.submit(" ".join(f"word{number}" for number in range(450)))
            while await talk.read_tokens() is None:
                await talk.frame()
            await talk.cancelled(ref)
            read = 0
            while (now := await talk.read_tokens()) is not None:
                read = now
            assert read < 450  # of more than one for each word

    asyncio.run(scenario())


@pytest.mark.spec("P5")
def test_an_activity_that_waits_for_a_slot_is_dropped_when_it_is_cancelled(model_path: Path) -> None:
    async def scenario() -> None:
        async with talking(model_path, Options(max_tokens=1500, seed=1, slots=1)) as talk:
            running = talk.submit(LONG)
            await talk.first_text(running)
            waiting = [talk.submit(LONG) for _ in range(3)]
            for ref in waiting:
                await talk.cancelled(ref)
                assert talk.text(ref) == ""
                assert talk.store.history(ref.session) == ()
            assert await talk.busy_slots() == 1
            await talk.cancelled(running)
            await talk.completed(talk.submit("Hello. Answer with one word."))

    asyncio.run(scenario())


@pytest.mark.spec("P5", "S10")
def test_an_answer_that_overflows_is_not_kept(model_path: Path) -> None:
    async def scenario() -> None:
        async with talking(model_path, limits=IntelligenceLimits(max_output_chars=20)) as talk:
            ref = talk.submit(LONG)
            failed = await talk.failed(ref)
            assert failed.error.code == "intelligence-output-overflow"
            assert talk.store.history(ref.session) == ()
            assert await talk.slots_are_free()

    asyncio.run(scenario())


def test_a_long_conversation_is_cut_to_the_turns_that_fit(model_path: Path) -> None:
    options = Options(instructions="Be brief.", context=256, max_tokens=32, seed=1, slots=1)

    async def scenario() -> None:
        store = SqliteConversationStore(None)
        session = SessionRef("gatekeeper", "one")
        for number in range(30):
            store.append(
                session, Turn(f"This is question {number}.", f"This is answer {number}."), lambda: True
            )
        async with talking(model_path, options, store=store) as talk:
            alone = await talk.completed(talk.submit("What now?"))
            end = await talk.completed(talk.submit("What now?", session))
            assert end.usage is not None
            assert alone.usage is not None
            turn_tokens = 40  # no turn above takes more
            assert 256 - 32 - turn_tokens < end.usage.input_tokens <= 256 - 32
            assert len(store.history(session)) == 31  # what the model reads is cut, what is kept is not

    asyncio.run(scenario())


@pytest.mark.spec("P5")
def test_an_input_that_does_not_fit_is_refused_with_the_numbers(model_path: Path) -> None:
    async def scenario() -> None:
        async with talking(model_path, Options(context=128, max_tokens=64, slots=1)) as talk:
            ref = talk.submit("word " * 500)
            failed = await talk.failed(ref)
            assert failed.error.detail.reason == "refused"
            assert failed.error.detail.cause is not None
            assert failed.error.detail.cause.startswith("the input is too long")
            assert "room for 64" in failed.error.detail.cause
            assert talk.store.history(ref.session) == ()

    asyncio.run(scenario())


@pytest.mark.spec("P7")
def test_a_session_that_was_dropped_is_lost_before_the_model_is_asked(model_path: Path) -> None:
    async def scenario() -> None:
        store = SqliteConversationStore(None, max_sessions=1)
        for id in ("one", "two"):
            store.append(SessionRef("gatekeeper", id), Turn("x", "y"), lambda: True)
        async with talking(model_path, store=store) as talk:
            failed = await talk.failed(talk.submit("Hello", SessionRef("gatekeeper", "one")))
            assert failed.error.detail.reason == "session-lost"
            assert talk.server.process_id is None

    asyncio.run(scenario())
