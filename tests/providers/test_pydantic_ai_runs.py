"""What an agent of Pydantic AI is given, and what of its run is told: models that do exactly what a test says."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import pytest
from pydantic import BaseModel
from pydantic_ai import Agent, ModelRetry
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, FunctionModel
from support.dialogue import dialogue

from engine_intelligence import Failed, ProviderError, SessionRef, Usage
from engine_intelligence.conversation import Turn
from engine_intelligence.providers.pydantic_ai import Options, create
from engine_intelligence.providers.retries import Retrying
from engine_intelligence.providers.stream import Finish, Prompt

Said: TypeAlias = str | dict[int, DeltaToolCall] | Exception


def calls(tool: str, arguments: str = "{}") -> Said:
    """A call of a tool, in a model's answer."""
    return {0: DeltaToolCall(name=tool, json_args=arguments, tool_call_id="call-1")}


@dataclass
class Model:
    """A model that gives these answers one after another, and notes what it was asked."""

    answers: list[Sequence[Said]]
    asked: list[list[ModelMessage]] = field(default_factory=list[list[ModelMessage]])
    infos: list[AgentInfo] = field(default_factory=list[AgentInfo])
    streamed: list[bool] = field(default_factory=list[bool])

    def made(self) -> FunctionModel:
        return FunctionModel(self._whole, stream_function=self._stream)

    async def _stream(self, messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[Any]:
        for said in self._next(messages, info, streamed=True):
            if isinstance(said, Exception):
                raise said
            yield said

    async def _whole(self, messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        parts: list[TextPart | ToolCallPart] = []
        for said in self._next(messages, info, streamed=False):
            if isinstance(said, dict):
                parts.append(ToolCallPart(said[0].name or "", said[0].json_args))
            else:
                parts.append(TextPart(str(said)))
        return ModelResponse(parts=parts)

    def _next(self, messages: list[ModelMessage], info: AgentInfo, *, streamed: bool) -> Sequence[Said]:
        self.asked.append(list(messages))
        self.infos.append(info)
        self.streamed.append(streamed)
        return self.answers.pop(0)

    def parts(self, request: int) -> list[tuple[str, object]]:
        """The kinds and contents of what was asked for the time of that number."""
        return [
            (part.part_kind, getattr(part, "content", None))
            for message in self.asked[request]
            for part in message.parts
        ]


def model(*answers: Sequence[Said]) -> Model:
    return Model(list(answers))


def prompt(*turns: Turn) -> Prompt:
    return Prompt("May I pass?", SessionRef("gatekeeper", "s"), "a", turns)


def answer(agent: Agent[Any, Any], *turns: Turn, **options: Any) -> list[str | Finish]:
    """All pieces of an answer."""

    async def scenario() -> list[str | Finish]:
        backend = create(Options(agent="minds:gatekeeper", **options), agent)
        try:
            return [piece async for piece in backend.answer(prompt(*turns))]
        finally:
            await backend.close()

    return asyncio.run(scenario())


def texts(pieces: Sequence[str | Finish]) -> list[str]:
    return [piece for piece in pieces if isinstance(piece, str)]


def with_gate(said: Model, **arguments: Any) -> Agent[None, Any]:
    agent: Agent[None, Any] = Agent(said.made(), **arguments)

    @agent.tool_plain
    def look(what: str) -> str:
        """Look at something."""
        return f"the {what} is open"

    return agent


@pytest.mark.spec("P3", "P4")
def test_text_before_and_after_a_tool_is_told_as_it_comes_with_an_empty_line_between() -> None:
    said = model(["Let me ", "look.", calls("look", '{"what": "gate"}')], ["It is ", "open."])
    pieces = answer(with_gate(said))
    assert texts(pieces) == ["Let me ", "look.", "\n\nIt is ", "open."]
    assert ("tool-return", "the gate is open") in said.parts(1)


def test_a_tool_that_is_called_without_a_word_leaves_no_empty_line() -> None:
    said = model([calls("look", '{"what": "gate"}')], ["It is open."])
    assert texts(answer(with_gate(said))) == ["It is open."]


def test_the_final_answer_alone_is_told_in_one_piece_where_that_is_wanted_without_streaming() -> None:
    said = model(["Let me look.", calls("look", '{"what": "gate"}')], ["It is ", "open."])
    assert texts(answer(with_gate(said), final_only=True)) == ["It is open."]
    assert said.streamed == [False, False]


class Verdict(BaseModel):
    may_pass: bool
    words: str


def test_structured_output_is_told_as_json_in_one_piece() -> None:
    said = model([calls("final_result", '{"may_pass": true, "words": "Go."}')])
    pieces = answer(Agent(said.made(), output_type=Verdict))
    assert texts(pieces) == ['{"may_pass":true,"words":"Go."}']


def test_an_answer_that_the_agent_checks_itself_is_told_when_it_has_passed() -> None:
    said = model(["I say ", "nothing."], ["Go ", "on."])
    agent: Agent[None, str] = Agent(said.made())

    @agent.output_validator
    def check(output: str) -> str:
        if "nothing" in output:
            raise ModelRetry("Say something.")
        return output

    assert texts(answer(agent)) == ["Go on."]


@pytest.mark.spec("P4")
def test_system_prompt_and_instructions_of_the_agent_are_kept_in_a_conversation_that_goes_on() -> None:
    said = model(["Yes."])
    agent: Agent[None, str] = Agent(said.made(), system_prompt="You keep a gate.", instructions="Be brief.")
    answer(agent, Turn("Hello.", "Hi."))
    assert said.parts(0) == [
        ("system-prompt", "You keep a gate."),
        ("user-prompt", "Hello."),
        ("text", "Hi."),
        ("user-prompt", "May I pass?"),
    ]
    assert said.infos[0].instructions == "Be brief."


def test_a_conversation_that_begins_has_its_system_prompt_once() -> None:
    said = model(["Yes."])
    answer(Agent(said.made(), system_prompt="You keep a gate."))
    assert said.parts(0) == [("system-prompt", "You keep a gate."), ("user-prompt", "May I pass?")]


def test_turns_beyond_the_bound_of_the_history_are_left_out_whole() -> None:
    said = model(["Yes."])
    answer(Agent(said.made()), Turn("long " * 100, "a"), Turn("b", "c"), history_tokens=50)
    assert said.parts(0) == [("user-prompt", "b"), ("text", "c"), ("user-prompt", "May I pass?")]


def test_what_all_requests_of_a_run_took_is_counted() -> None:
    said = model([calls("look", '{"what": "gate"}')], ["It is open."])
    pieces = answer(with_gate(said))
    end = pieces[-1]
    assert isinstance(end, Finish)
    assert isinstance(end.usage, Usage)
    alone = answer(with_gate(model(["It is open."])))[-1]
    assert isinstance(alone, Finish)
    assert alone.usage is not None
    assert end.usage.input_tokens > 2 * alone.usage.input_tokens - 1


@pytest.mark.fault("C18")
def test_the_sdk_below_the_model_is_told_to_try_nothing_again() -> None:
    said = model(["Yes."])
    answer(Agent(said.made(), model_settings={"max_retries": 5, "temperature": 0.3}))
    assert said.infos[0].model_settings == {"max_retries": 0, "temperature": 0.3}


@pytest.mark.spec("P5", "S14")
def test_a_tool_that_raises_fails_the_activity_and_leaves_the_session_as_it_was() -> None:
    said = model(["Let me look.", calls("look")], ["Hello."])
    agent: Agent[None, str] = Agent(said.made())

    @agent.tool_plain
    def look() -> str:
        raise LookupError("there is no gate")

    async def scenario() -> None:
        async with dialogue(create(Options(agent="minds:gatekeeper"), agent)) as talk:
            ref = talk.submit("May I pass?")
            failed = await talk.failed(ref)
            assert failed.error.detail.reason == "other"
            assert failed.error.detail.cause is not None
            assert "LookupError" in failed.error.detail.cause
            assert talk.store.history(ref.session) == ()
            assert (await talk.completed(talk.submit("Hello?", ref.session))).output == "Hello."

    asyncio.run(scenario())


@pytest.mark.spec("P3", "S12")
def test_a_cancel_reaches_a_tool() -> None:
    begun, cancelled = asyncio.Event(), asyncio.Event()
    agent: Agent[None, str] = Agent(model([calls("wait")]).made())

    @agent.tool_plain
    async def wait() -> str:
        begun.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.set()
            raise
        return ""

    async def scenario() -> None:
        async with dialogue(create(Options(agent="minds:gatekeeper"), agent)) as talk:
            ref = talk.submit("Wait.")
            await begun.wait()
            await talk.cancelled(ref)
            assert cancelled.is_set()

    asyncio.run(scenario())


@pytest.mark.spec("P3", "S12")
def test_a_cancel_reaches_the_model() -> None:
    begun, cancelled = asyncio.Event(), asyncio.Event()

    async def speak(messages: list[ModelMessage], info: AgentInfo) -> AsyncGenerator[str, None]:
        yield "Once upon"
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()

    async def scenario() -> None:
        agent: Agent[None, str] = Agent(FunctionModel(stream_function=speak))
        async with dialogue(create(Options(agent="minds:gatekeeper"), agent)) as talk:
            ref = talk.submit("Tell me.")
            await begun.wait()
            await talk.cancelled(ref)
            assert cancelled.is_set()

    asyncio.run(scenario())


def test_what_the_agents_tools_are_connected_to_is_open_while_the_provider_lives_and_no_longer() -> None:
    opened: list[str] = []

    class Watched(Agent[None, str]):
        async def __aenter__(self) -> Any:
            opened.append("opened")
            return await super().__aenter__()

        async def __aexit__(self, *args: Any) -> bool | None:
            opened.append("closed")
            return await super().__aexit__(*args)

    async def scenario() -> None:
        agent = Watched(model(["Yes."], ["Yes."]).made())  # pyright: ignore[reportCallIssue, reportArgumentType] - it takes no deps
        backend = create(Options(agent="minds:gatekeeper"), agent)
        backend.warm()
        for _ in range(2):
            assert [piece async for piece in backend.answer(prompt())]
        assert opened == ["opened"]
        await backend.close()
        assert opened == ["opened", "closed"]

    asyncio.run(scenario())


@pytest.mark.spec("E1")
def test_a_passing_fault_is_tried_again_but_not_once_a_tool_was_called() -> None:
    from pydantic_ai.exceptions import ModelHTTPError

    def overloaded() -> ModelHTTPError:
        return ModelHTTPError(503, "m", {"error": {"type": "overloaded_error"}})

    looked: list[str] = []

    def run(said: Model) -> list[str | Finish] | ProviderError:
        agent: Agent[None, str] = Agent(said.made())

        @agent.tool_plain
        def look() -> str:
            looked.append("look")
            return "open"

        async def scenario() -> list[str | Finish] | ProviderError:
            backend = Retrying(create(Options(agent="minds:gatekeeper"), agent), attempts=3, within_s=60)
            try:
                return [piece async for piece in backend.answer(prompt())]
            except ProviderError as error:
                return error
            finally:
                await backend.close()

        return asyncio.run(scenario())

    again = run(model([overloaded()], [overloaded()], ["Yes."]))
    assert isinstance(again, list)
    assert texts(again) == ["Yes."]
    acted = run(model([calls("look")], [overloaded()], ["Yes."]))
    assert isinstance(acted, ProviderError)
    assert (acted.reason, acted.transient) == ("unavailable", False)
    assert looked == ["look"]


def test_an_answer_that_was_told_and_is_rejected_after_all_is_a_failure() -> None:
    from pydantic_ai.capabilities import AbstractCapability

    class Reject(AbstractCapability[None]):
        rejected = False

        async def after_model_request(self, ctx: Any, *, request_context: Any, response: Any) -> Any:
            if not Reject.rejected:
                Reject.rejected = True
                raise ModelRetry("No.")
            return response

    agent: Agent[None, str] = Agent(model(["Yes."], ["No."]).made(), capabilities=[Reject()])  # pyright: ignore[reportCallIssue, reportArgumentType] - it takes no deps
    with pytest.raises(ProviderError, match="rejected an answer") as failure:
        answer(agent)
    assert failure.value.reason == "protocol"


def test_a_failed_activity_of_an_agent_says_which_rule_of_failures_it_is() -> None:
    async def scenario() -> Failed:
        agent: Agent[None, str] = Agent(model([""], [""]).made())
        async with dialogue(create(Options(agent="minds:gatekeeper"), agent)) as talk:
            return await talk.failed(talk.submit("Say nothing."))

    assert asyncio.run(scenario()).error.detail.reason == "empty"
