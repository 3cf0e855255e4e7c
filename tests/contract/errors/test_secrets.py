"""Rule E2: what a provider's exceptions hold besides prose goes nowhere."""

import asyncio
import logging
import pickle
import re
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass, field
from typing import cast

import msgspec
import pytest
from support.loop import settle
from support.scene import make_scene

from engine_intelligence import (
    ActivitySink,
    ActivitySubmission,
    Err,
    FailureDetail,
    IntelligenceError,
    Prompt,
    ProviderError,
    Result,
    StreamProvider,
    create_intelligence_runtime,
    intelligence_failure,
)
from engine_intelligence.testing import ManualProvider

# What must not be seen, and the text of an exception that holds it, as SDKs and transports word theirs.
CANARIES: dict[str, tuple[str, str]] = {
    "key": (
        "sk-proj-Zk81Qm",
        "Incorrect API key provided: sk-proj-Zk81Qm4TtX9bWvR2nLpY. You can find your key in the console.",
    ),
    "key of letters": ("zanzibar", "Incorrect API key provided: zanzibar."),
    "key in quotes": ("zanzibar", "invalid api_key='zanzibar'"),
    "header": ("zanzibar", "Illegal header: Authorization: Bearer zanzibar"),
    "header as bytes": ("zanzibar", "Illegal header value b'Bearer zanzibar'"),
    "header of letters and digits": ("Zk81Qm", "Authorization: Zk81Qm"),
    "headers in a dict": (
        "zanzibar",
        "request failed: {'Authorization': 'Bearer zanzibar', 'x-api-key': 'Zk81Qm'}",
    ),
    "other header": ("Zk81Qm4TtX9b", "x-api-key: Zk81Qm4TtX9b was refused"),
    "basic": ("emFuemliYXI6", "Authorization: Basic emFuemliYXI6b3BlbnNlc2FtZQ=="),
    "cookie": ("zanzibar", "Set-Cookie: session=zanzibar; HttpOnly"),
    "header on lines of its own": ("zanzibar", "Authorization:\n  Bearer\n  zanzibar\n"),
    "environment": (
        "wJalrXUtnFEMI",
        "AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY is not set up",
    ),
    "environment of letters": ("zanzibar", "MODEL_HOME=zanzibar was not found"),
    "environment as a dict": ("zanzibar", "environ({'GATE_SECRET': 'zanzibar', 'HOME': '/home/zanzibar'})"),
    "address": ("zanzibar", "could not connect to postgres://bob:zanzibar@db.internal/x"),
    "address with a token": (
        "AIzaSyD4Zk81Qm",
        "Client error '401 Unauthorized' for url 'https://api.example.com/v1/x?key=AIzaSyD4Zk81Qm&alt=sse'",
    ),
    "address with a word": ("zanzibar", "Max retries exceeded with url: /v1/chat?access_token=zanzibar"),
    "token in arguments": (
        "zanzibar",
        "Command '['agent', '--token', 'zanzibar']' returned non-zero exit status 1.",
    ),
    "password": ("zanzibar", "login failed, password: zanzibar"),
    "web token": (
        "eyJhbGciOi",
        "token rejected eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0In0.SflKxwRJSMeKKF2QT4fwpMeJf36POk6",
    ),
    "base64": ("QWxhZGRpbjpvcGVu", "cannot decode " + "QWxhZGRpbjpvcGVuIHNlc2FtZQ" * 8),
    "hexadecimal": ("9f86d081884c", "unknown deployment 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b"),
    "uuid": ("1b4e28ba-2fa1", "no organisation 1b4e28ba-2fa1-11d2-883f-0016d3cca427"),
    "path": ("zanzibar", "cannot open /home/zanzibar/.config/keys.toml"),
    "request body": (
        "zanzibar",
        'bad request: {"model": "m", "messages": [{"role": "user", "content": "the word is zanzibar"}]}',
    ),
    "request body as a dict": (
        "zanzibar",
        "bad request: {'messages': [{'role': 'user', 'content': 'the word is zanzibar'}]}",
    ),
    "private key": (
        "MIIEvQIBADAN",
        "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0\n-----END PRIVATE KEY-----",
    ),
    "long prose before it": ("Zk81Qm4TtX9b", "word " * 1000 + "key Zk81Qm4TtX9b"),
}
canaries = pytest.mark.parametrize(("secret", "text"), CANARIES.values(), ids=list(CANARIES))
SECRET = "Zk81Qm4TtX9bWvR2nLpY"
TEXT = f"401 Unauthorized (Authorization: Bearer {SECRET})"


@dataclass
class Seen:
    """All that anybody outside the provider gets to see."""

    texts: list[str] = field(default_factory=list[str])

    def look(self, *values: object) -> None:
        for value in values:
            self.texts += [str(value), repr(value)]
            if isinstance(value, Err):
                self.look(cast("Err[IntelligenceError]", value).error)
            elif isinstance(value, msgspec.Struct):
                self.texts.append(msgspec.json.encode(value).decode())
            if isinstance(value, IntelligenceError):
                self.look(intelligence_failure(value))

    def look_at_log(self, caplog: pytest.LogCaptureFixture) -> None:
        self.texts.append(caplog.text)
        for record in caplog.records:
            self.texts += [record.getMessage(), repr(record.args), repr(record.exc_info)]

    def holds(self, secret: str) -> list[str]:
        return [text for text in self.texts if secret in text]


class Plain(Exception):
    pass


class Chained(Exception):
    """One whose cause, context and notes hold the text, and not it itself."""

    def __init__(self, text: str) -> None:
        super().__init__("it broke")
        self.__cause__ = Plain(text)
        self.__context__ = Plain(text)
        self.add_note(text)
        self.request = text


EXCEPTIONS: list[Callable[[str], BaseException]] = [Plain, KeyError, ProviderError, Chained, SystemExit]
exceptions = pytest.mark.parametrize("make", EXCEPTIONS, ids=[make.__name__ for make in EXCEPTIONS])


def provider_failure(text: str) -> IntelligenceError:
    return IntelligenceError(
        "intelligence-provider-failed",
        FailureDetail(provider_id="test.provider", cause=text, reason="other", message=text, field=text),
    )


@exceptions
@pytest.mark.spec("E2")
def test_a_secret_in_what_a_sink_is_told_is_not_seen(
    make: Callable[[str], BaseException], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    scene, seen = make_scene(), Seen()
    id, sink = scene.begin()
    sink.fail(make(TEXT))
    seen.look(scene.failure(id), scene.failure(id).error, scene.runtime, sink)
    seen.look_at_log(caplog)
    assert seen.holds(SECRET) == []


@canaries
@pytest.mark.spec("E2")
def test_a_secret_in_the_words_of_a_failure_is_not_seen(secret: str, text: str) -> None:
    scene, seen = make_scene(), Seen()
    id, sink = scene.begin()
    sink.fail(text)
    seen.look(scene.failure(id))
    assert seen.holds(secret) == []


@exceptions
@pytest.mark.spec("E2", "S14")
def test_a_secret_in_what_start_raises_is_not_seen(
    make: Callable[[str], BaseException], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)

    def start(submission: ActivitySubmission, sink: ActivitySink) -> Result[None, IntelligenceError]:
        raise make(TEXT)

    scene, seen = make_scene(), Seen()
    scene.provider.on_start = start
    seen.look(scene.runtime.submit("May I pass?"), *scene.runtime.poll())
    seen.look_at_log(caplog)
    assert seen.holds(SECRET) == []


@pytest.mark.spec("E2", "S14")
def test_a_secret_in_what_start_returns_is_not_seen(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    scene, seen = make_scene(), Seen()
    scene.provider.on_start = lambda _submission, _sink: Err(provider_failure(TEXT))
    seen.look(scene.runtime.submit("May I pass?"), *scene.runtime.poll())
    seen.look_at_log(caplog)
    assert seen.holds(SECRET) == []


@exceptions
@pytest.mark.spec("E2", "S14")
def test_a_secret_in_what_cancel_raises_is_not_seen(
    make: Callable[[str], BaseException], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)

    def cancel(activity_id: str) -> Result[None, IntelligenceError]:
        raise make(TEXT)

    scene, seen = make_scene(), Seen()
    scene.provider.on_cancel = cancel
    id, _ = scene.begin()
    seen.look(scene.runtime.cancel(id), *scene.runtime.poll())
    scene.clock.advance(10)
    seen.look(*scene.runtime.poll())
    seen.look_at_log(caplog)
    assert seen.holds(SECRET) == []


@pytest.mark.spec("E2", "S14")
def test_a_secret_in_what_cancel_returns_is_not_seen(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    scene, seen = make_scene(), Seen()
    scene.provider.on_cancel = lambda _id: Err(provider_failure(TEXT))
    id, _ = scene.begin()
    seen.look(scene.runtime.cancel(id), *scene.runtime.poll())
    scene.clock.advance(10)
    seen.look(*scene.runtime.poll())
    seen.look_at_log(caplog)
    assert seen.holds(SECRET) == []


class RaisesInClose(ManualProvider):
    def __init__(self, error: BaseException) -> None:
        super().__init__()
        self._error = error

    async def close(self) -> None:
        raise self._error


@pytest.mark.fault("C32")
@pytest.mark.spec("E2")
def test_a_secret_in_what_close_raises_is_not_seen(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    scene, seen = make_scene(provider=RaisesInClose(Plain(TEXT))), Seen()

    async def close() -> None:
        task = scene.runtime.close()
        await task
        seen.look(task)

    asyncio.run(close())
    seen.look(scene.runtime, scene.runtime.submit("May I pass?"))
    seen.look_at_log(caplog)
    assert seen.holds(SECRET) == []


@pytest.mark.fault("C32")
@exceptions
@pytest.mark.spec("E2", "P3")
def test_a_secret_in_what_a_generator_raises_is_not_seen(
    make: Callable[[str], BaseException], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    seen = Seen()

    async def answer(prompt: Prompt) -> AsyncGenerator[str, None]:
        yield "Halt!"
        raise make(TEXT)

    async def play() -> None:
        runtime = create_intelligence_runtime(StreamProvider("test.provider", answer))
        assert runtime.submit("May I pass?").ok
        await settle()
        events = runtime.poll()
        assert [event.type for event in events] == ["text-delta", "failed"]
        seen.look(*events)
        await runtime.close()

    asyncio.run(play())
    seen.look_at_log(caplog)
    assert seen.holds(SECRET) == []


@pytest.mark.spec("E2")
def test_the_input_is_not_in_what_the_runtime_says_of_itself(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    scene, seen = make_scene(max_input_chars=20), Seen()
    seen.look(scene.runtime.submit("zanzibar " * 20), scene.runtime.submit("zanzibar \ud800"))
    id, sink = scene.begin("zanzibar")
    seen.look(scene.runtime, sink, scene.runtime.cancel(id), scene.runtime.cancel(id))
    scene.clock.advance(10_000)
    seen.look(*scene.runtime.poll())
    seen.look_at_log(caplog)
    assert seen.holds("zanzibar") == []


@pytest.mark.fault("R43")
@pytest.mark.parametrize(
    "error",
    [
        Plain("word " * 10_000_000),
        Plain("x" * 10_000_000),
        Plain("\n" * 1_000_000),
        Plain(10**4000),
        ProviderError("word " * 1_000_000),
        type("N" * 100_000, (Exception,), {})("it broke"),
    ],
    ids=["words", "letters", "lines", "number", "provider error", "class name"],
)
@pytest.mark.spec("E2", "E1")
def test_the_text_of_a_failure_is_bounded(error: Exception) -> None:
    scene = make_scene()
    id, sink = scene.begin()
    sink.fail(error)
    assert len(scene.failure(id).error.detail.cause or "") <= 500


@pytest.mark.spec("E2")
@pytest.mark.parametrize("control", ["\n", "\r\n", "\0", "\x1b[31m", "\u2028", "\x85"], ids=ascii)
def test_the_text_of_a_failure_is_one_line_without_control_characters(control: str) -> None:
    scene = make_scene()
    id, sink = scene.begin()
    sink.fail(Plain(f"the model{control}is tired"))
    cause = scene.failure(id).error.detail.cause or ""
    assert re.findall(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]", cause) == []


@pytest.mark.parametrize(
    "text",
    [
        "it broke",
        "The model is overloaded, please try again later.",
        "connection refused",
        "timed out after 30 seconds",
        "HTTP 503: service unavailable",
        "Rate limit reached. Try again in 20 s!",
        "the file has a bad header (line 12)",
        "Model not found: the gatekeeper is asleep; wake it first",
    ],
)
@pytest.mark.spec("E2")
def test_plain_prose_stays_readable(text: str) -> None:
    scene = make_scene()
    id, sink = scene.begin()
    sink.fail(ProviderError(text))
    assert scene.failure(id).error.detail.cause == text


@pytest.mark.spec("E2")
def test_an_exception_is_reduced_to_its_class_and_its_text() -> None:
    scene = make_scene()
    id, sink = scene.begin()
    sink.fail(ConnectionRefusedError("nobody listens"))
    assert scene.failure(id).error.detail.cause == "ConnectionRefusedError: nobody listens"


@pytest.mark.spec("E2")
def test_a_failure_without_a_text_still_says_something() -> None:
    scene = make_scene()
    id, sink = scene.begin()
    sink.fail(TimeoutError())
    assert "TimeoutError" in (scene.failure(id).error.detail.cause or "")


@canaries
@pytest.mark.spec("E2")
def test_a_secret_in_an_error_of_a_provider_is_not_in_what_it_says_of_itself(secret: str, text: str) -> None:
    seen = Seen()
    seen.look(ProviderError(text), ProviderError(text).args, [ProviderError(text, reason="auth")])
    assert seen.holds(secret) == []


@pytest.mark.spec("D5")
def test_an_error_of_a_provider_keeps_its_fields_when_it_is_copied() -> None:
    error = ProviderError("the key 'zanzibar' is wrong", reason="auth", retry_after_s=2.0)
    again = pickle.loads(pickle.dumps(error))
    assert (again.cause, again.reason, again.retry_after_s) == (error.cause, "auth", 2.0)
