"""The table of what each provider sends, as `docs/providers.md` shows it: found in real requests to the double."""

import asyncio
from collections.abc import Callable, Iterator, Mapping
from contextlib import aclosing
from typing import Any, cast

from providers.vendors.columns import AGENT, CHAT, MESSAGES, RESPONSES, Column
from support.vendor_behaviours import says
from support.vendor_double import VendorDouble

from engine_intelligence import Deadlines, Finish, Prompt, SessionRef
from engine_intelligence.conversation import Turn
from engine_intelligence.providers import openai
from engine_intelligence.providers.backend import Backend
from engine_intelligence.providers.vendor import Access

BEGIN, END = "<!-- sent: begin -->", "<!-- sent: end -->"
KEY = "sk-4fJx9QmT2bVw7ZkLpR8sHn3D"
NOT_SENT = "no"

# Each value is there once, so that where it is found says what was done with it.
MODEL, INSTRUCTIONS, INPUT = "double-1", "You keep a gate.", "And now?"
EARLIER = Turn("May I pass?", "Not yet.", "resp_earlier")
SET: Mapping[str, object] = {"max_tokens": 321, "temperature": 0.25}
OPENAI_ONLY: Mapping[str, object] = {"reasoning_effort": "low"}
CHAT_ONLY: Mapping[str, object] = {"seed": 77}

ROWS: Mapping[str, object] = {
    "`model`": MODEL,
    "`instructions`": INSTRUCTIONS,
    "the input": INPUT,
    "what was said before": EARLIER.input,
    "what was answered": EARLIER.output,
    "the id of the last answer": EARLIER.remote,
    "`max_tokens`": SET["max_tokens"],
    "`temperature`": SET["temperature"],
    "`reasoning_effort`": OPENAI_ONLY["reasoning_effort"],
    "`seed`": CHAT_ONLY["seed"],
}


def _at_openai(interface: Any) -> Callable[[str], Backend]:
    """What OpenAI itself is sent: it is told by its address, which the double does not have."""
    more: Any = {**SET, **OPENAI_ONLY, **(CHAT_ONLY if interface == "chat" else {})}
    options = openai.Options(model=MODEL, instructions=INSTRUCTIONS, interface=interface, **more)
    return lambda address: openai.OpenAIBackend(options, Access(KEY, f"{address}/v1"), at_vendor=True)


def _more(column: Column) -> Mapping[str, object]:
    if column is AGENT:
        return {}
    own: Mapping[str, object] = OPENAI_ONLY if column in (CHAT, RESPONSES) else {}
    return {**SET, **own, **(CHAT_ONLY if column is CHAT else {})}


async def _requested(make: Callable[[str], Backend]) -> Any:
    """The body of the request that a prompt of a continued session leads to."""
    async with VendorDouble() as double:
        double.will(says("Now you may."))
        backend = make(double.address)
        prompt = Prompt(INPUT, SessionRef("gatekeeper", "s-1"), "a-1", (EARLIER,))
        try:
            async with aclosing(backend.answer(prompt)) as pieces:
                said: list[str | Finish] = [piece async for piece in pieces]
        finally:
            await backend.close()
        assert "Now you may." in said
        return double.exchanges[-1].request.json


def _of_column(column: Column) -> Any:
    with column.maker(KEY, 1, Deadlines(), _more(column)) as make:
        return asyncio.run(_requested(make))


def requests() -> dict[str, Any]:
    """The bodies, by provider."""
    return {
        **{column.name: _of_column(column) for column in (CHAT, RESPONSES, MESSAGES, AGENT)},
        "openai, responses, at OpenAI": asyncio.run(_requested(_at_openai("responses"))),
        "openai, chat, at OpenAI": asyncio.run(_requested(_at_openai("chat"))),
    }


def place_of(value: object, body: object, place: str = "") -> str | None:
    """Where in a body a value is, such as `messages[0].content`."""
    parts: list[tuple[str, object]]
    if isinstance(body, dict):
        table = cast("dict[str, object]", body)
        parts = [(f"{place}.{name}", each) for name, each in table.items()]
    elif isinstance(body, list):
        parts = [(f"{place}[{number}]", each) for number, each in enumerate(cast("list[object]", body))]
    else:
        same = type(value) is type(body) and value == body
        return place.removeprefix(".") if same else None
    return next(filter(None, (place_of(value, each, at) for at, each in parts)), None)


def lines() -> Iterator[str]:
    """The table."""
    bodies = requests()
    yield f"| | {' | '.join(f'`{name}`' for name in bodies)} |"
    yield f"| --- |{' --- |' * len(bodies)}"
    for row, value in ROWS.items():
        places = [place_of(value, body) for body in bodies.values()]
        yield f"| {row} | {' | '.join(NOT_SENT if place is None else f'`{place}`' for place in places)} |"


def with_sent(page: str) -> str:
    """The page with the table between its two marks. Raises `ValueError` if it has none."""
    before, begun, rest = page.partition(BEGIN)
    _, ended, after = rest.partition(END)
    if not (begun and ended):
        raise ValueError(f"the page has no {BEGIN} and {END}")
    return f"{before}{BEGIN}\n\n" + "\n".join(lines()) + f"\n\n{END}{after}"
