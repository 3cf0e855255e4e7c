"""Providers in which all goes wrong that can, each time with a secret in it. A Host imports this module by name."""

import asyncio
import gc
import json
import logging
import os
import threading
import warnings
from collections.abc import AsyncGenerator, Callable, Iterator
from typing import NoReturn

from engine_intelligence import ActivitySink, ActivitySubmission, Err, IntelligenceError, Prompt, Result
from engine_intelligence.failure import FailureDetail
from engine_intelligence.providers.stream import StreamProvider
from support.canary_errors import ERRORS

MIND = "mind"
CANARIES_VARIABLE = "CANARY_TEXTS"

# By shape; the values of the environment of this process are secrets of other shapes, as keys are.
TEXTS: dict[str, str] = json.loads(os.environ.get(CANARIES_VARIABLE, "{}"))

_log = logging.getLogger("some_sdk")
logging.getLogger().setLevel(logging.DEBUG)


class Case:
    """What an Activity asks for: a place, the shape of a secret, and the name of an exception."""

    def __init__(self, input: str) -> None:
        self.place, self.shape, self.error = input.split("|")[:3]
        self.text = TEXTS[self.shape]

    def throw(self) -> NoReturn:
        raise ERRORS[self.error](self.text)


class Places:
    """Where it can go wrong while a generator runs."""

    @staticmethod
    async def generator(case: Case) -> None:
        case.throw()

    @staticmethod
    async def callback(case: Case) -> None:
        asyncio.get_running_loop().call_soon(case.throw)
        await asyncio.sleep(0)

    @staticmethod
    async def handle(case: Case) -> None:
        """A handle that shows its arguments, and a context without an exception."""
        loop = asyncio.get_running_loop()
        loop.call_exception_handler({"message": f"Exception in callback <Handle call({case.text!r})>"})
        await asyncio.sleep(0)

    @staticmethod
    async def task(case: Case) -> None:
        async def lost() -> None:
            case.throw()

        asyncio.get_running_loop().create_task(lost(), name=f"uses {case.text}").add_done_callback(
            lambda _: None
        )
        await asyncio.sleep(0)
        gc.collect()

    @staticmethod
    async def thread(case: Case) -> None:
        thread = threading.Thread(target=case.throw, name=case.text)
        thread.start()
        await asyncio.to_thread(thread.join)

    @staticmethod
    async def other_loop(case: Case) -> None:
        """An event loop of the provider's own, whose handler is the default one."""

        async def lose() -> None:
            asyncio.get_running_loop().call_soon(case.throw)
            await asyncio.sleep(0)

        await asyncio.to_thread(asyncio.run, lose())

    @staticmethod
    async def deletion(case: Case) -> None:
        class Client:
            def __del__(self) -> None:
                case.throw()

            def __repr__(self) -> str:
                return case.text

        Client()
        await asyncio.sleep(0)

    @staticmethod
    async def log(case: Case) -> None:
        _log.warning("the server refused %s", case.text)
        _log.debug("headers: %r", {"Authorization": case.text})
        _log.info(f"sending {case.text} now")
        _log.error("%d", case.text)  # which cannot be formatted
        try:
            case.throw()
        except Exception:  # noqa: BLE001 - of every kind
            _log.exception("the request failed", stack_info=True)

    @staticmethod
    async def warning(case: Case) -> None:
        warnings.simplefilter("always")
        warnings.warn(f"the option {case.text} is deprecated", stacklevel=1)
        logging.captureWarnings(False)


class Mind(StreamProvider):
    """One that raises in `start`, in `cancel` and in `close` if it is asked to, and while it runs."""

    def __init__(self, id: str = MIND, closing: Callable[[], object] | None = None) -> None:
        super().__init__(id, self._run_case)
        self._cases: dict[str, Case] = {}
        self._closing = closing

    def __repr__(self) -> str:
        return f"Mind({TEXTS})"

    def start(self, submission: ActivitySubmission, sink: ActivitySink) -> Result[None, IntelligenceError]:
        case = self._cases[submission.id] = Case(submission.input)
        if case.place == "start":
            case.throw()
        if case.place == "start-err":
            detail = FailureDetail(cause=case.text, reason="other", message=case.text, field=case.text)
            return Err(IntelligenceError("intelligence-provider-failed", detail))
        if case.place == "sink":
            sink.fail(ERRORS[case.error](case.text))
        return super().start(submission, sink)

    def cancel(self, activity_id: str) -> Result[None, IntelligenceError]:
        case = self._cases[activity_id]
        if case.place == "cancel":
            case.throw()
        return super().cancel(activity_id)

    async def close(self) -> None:
        await super().close()
        if self._closing is not None:
            self._closing()

    async def _run_case(self, prompt: Prompt) -> AsyncGenerator[str, None]:
        case = Case(prompt.input)
        if case.place in ("cancel", "unwind"):
            yield "waiting"
            try:
                await asyncio.sleep(3600)
            finally:
                case.throw()
        place = getattr(Places, case.place, None)
        if place is not None:
            await place(case)
        yield "done"


def mind() -> Mind:
    return Mind()


def cast() -> Iterator[Mind]:
    """One for each shape of a secret: those whose name begins with "warm" raise before they can be asked."""
    names = list(ERRORS)
    for place, (shape, text) in enumerate(TEXTS.items()):
        case = Case(f"close|{shape}|{names[place % len(names)]}")
        yield Mind(f"close {shape}", closing=case.throw)
        yield Warm(f"warm {shape}", text)


class Warm(Mind):
    def __init__(self, id: str, text: str) -> None:
        super().__init__(id)
        self._text = text

    def warm(self) -> None:
        raise RuntimeError(f"the model at {self._text} is gone")
