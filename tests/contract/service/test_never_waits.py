"""Rule S1: `submit`, `poll` and `cancel` wait for nothing, and least of all for a provider.

Where a test needs a second thread, that thread is the one that waits: the calls under test must return while it does.
"""

import ast
import threading
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from support.scene import Scene, make_scene

import engine_intelligence
from engine_intelligence import Completed, Ok

# Only ever reached by a call that hangs; a call that does not hang takes microseconds.
HANGS_S = 20.0

SERVICE_CALLS = ("submit", "accept", "poll", "cancel", "turn")
# Not `complete`: it has to say whether it stands, for which it may wait for another sink call that is under way.
SINK_CALLS = ("text", "fail", "cancelled")
WAITS = {
    "sleep",
    "wait",
    "wait_for",
    "join",
    "select",
    "recv",
    "result",
    "run",
    "run_until_complete",
    "input",
    "open",
    "print",
}


class Source:
    """The functions of the modules that the frame's calls run through, and which of them they may reach."""

    def __init__(self) -> None:
        package = Path(engine_intelligence.__file__).parent
        self.functions: dict[str, list[ast.FunctionDef | ast.AsyncFunctionDef]] = {}
        paths = [*sorted(package.glob("*.py")), package / "realm" / "client.py"]
        for path in paths:
            if path.name in ("closing.py", "__init__.py"):
                continue
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"), path.name)):
                if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                    self.functions.setdefault(node.name, []).append(node)

    def reached(self, roots: tuple[str, ...]) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
        """Every function that a call of one of these names may come to, taking a name for whatever has that name."""
        names, found = list(roots), dict[int, ast.FunctionDef | ast.AsyncFunctionDef]()
        while names:
            for function in self.functions.get(names.pop(), ()):
                if id(function) in found:
                    continue
                found[id(function)] = function
                # `close` of a service may need an event loop; the frame's calls only reach that of a port.
                names += [name for name in called(function) if name != "close"]
        return list(found.values())


def called(function: ast.AST) -> Iterator[str]:
    """The names that are called or mentioned as an attribute, which covers properties and callbacks."""
    for node in ast.walk(function):
        if isinstance(node, ast.Attribute):
            yield node.attr
        elif isinstance(node, ast.Name):
            yield node.id


def waits(function: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[str]:
    """What in this function may wait."""
    if isinstance(function, ast.AsyncFunctionDef):
        yield f"async def {function.name}"
    for node in ast.walk(function):
        if isinstance(node, ast.Await | ast.AsyncFor | ast.AsyncWith):
            yield f"{function.name}:{node.lineno} awaits"
        elif isinstance(node, ast.With):
            for item in node.items:
                if any(
                    word in ast.unparse(item.context_expr).lower() for word in ("lock", "mutex", "condition")
                ):
                    yield f"{function.name}:{node.lineno} with {ast.unparse(item.context_expr)}"
        elif isinstance(node, ast.Call):
            name = ast.unparse(node.func).split(".")[-1]
            joins_text = name == "join" and ast.unparse(node.func).startswith(("'", '"'))
            if name in WAITS and not joins_text:
                yield f"{function.name}:{node.lineno} {ast.unparse(node)}"
            if name == "acquire" and ast.unparse(node).split("acquire")[-1] not in (
                "(blocking=False)",
                "(False)",
            ):
                yield f"{function.name}:{node.lineno} {ast.unparse(node)}"


@pytest.mark.spec("S1")
def test_nothing_that_the_frames_calls_reach_is_written_to_wait() -> None:
    found = [wait for function in Source().reached(SERVICE_CALLS) for wait in waits(function)]
    assert found == []


@pytest.mark.spec("S1", "P2")
def test_nothing_that_a_sink_call_reaches_is_written_to_wait() -> None:
    found = [wait for function in Source().reached(SINK_CALLS) for wait in waits(function)]
    assert found == []


@pytest.mark.spec("S1")
def test_the_search_finds_the_calls_that_it_is_about() -> None:
    names = [function.name for function in Source().reached(SERVICE_CALLS)]
    assert set(SERVICE_CALLS) <= set(names)
    assert len(names) > 20


def assert_returns(call: Callable[[], object]) -> None:
    """That `call` returns although nothing else moves on."""
    done = threading.Thread(target=call, daemon=True)
    done.start()
    done.join(HANGS_S)
    assert not done.is_alive(), "the call waits"


@contextmanager
def hanging(call: Callable[["Hang"], object]) -> Generator[None]:
    """A provider's thread inside `call`, for as long as this lasts."""
    hang = Hang()
    thread = threading.Thread(target=call, args=(hang,))
    thread.start()
    try:
        assert hang.reached.wait(HANGS_S)
        yield
    finally:
        hang.released.set()
        thread.join(HANGS_S)


class Hang:
    """A place where a provider's thread hangs until it is released."""

    def __init__(self) -> None:
        self.reached = threading.Event()
        self.released = threading.Event()

    def here(self) -> None:
        self.reached.set()
        self.released.wait(HANGS_S)


def frame(scene: Scene, other: str) -> None:
    """What a game does in a frame, over another Activity than the one that hangs."""
    scene.provider.sinks[other].text("Halt!")
    scene.poll()
    scene.runtime.submit("x")
    scene.runtime.cancel(other)
    scene.runtime.cancel("a-1")
    scene.clock.advance(1)
    scene.poll()


class HangsAsText(Exception):
    def __init__(self, hang: Hang) -> None:
        super().__init__()
        self._hang = hang

    def __str__(self) -> str:
        self._hang.here()
        return "late"


@pytest.mark.spec("S1", "P2")
def test_a_provider_thread_that_hangs_inside_fail_holds_up_no_frame() -> None:
    scene = make_scene()
    _, sink = scene.begin()
    other, _ = scene.begin()
    with hanging(lambda hang: sink.fail(HangsAsText(hang))):
        assert_returns(lambda: frame(scene, other))
        assert scene.told.text(other) == "Halt!"


class TextThatHangs(str):
    hang: Hang

    def _hang_here(self) -> None:
        self.hang.here()

    def __len__(self) -> int:
        self._hang_here()
        return super().__len__()

    def __bool__(self) -> bool:
        self._hang_here()
        return True

    def encode(self, encoding: str = "utf-8", errors: str = "strict") -> bytes:
        self._hang_here()
        return super().encode(encoding, errors)

    def isascii(self) -> bool:
        self._hang_here()
        return super().isascii()

    def __str__(self) -> str:
        self._hang_here()
        return "late"


@pytest.mark.spec("S1", "P2")
@pytest.mark.parametrize("method", ["text", "complete", "fail"])
def test_a_provider_whose_text_hangs_when_it_is_looked_at_holds_up_no_frame(method: str) -> None:
    scene = make_scene()
    _, sink = scene.begin()
    other, other_sink = scene.begin()

    def say(hang: Hang) -> None:
        text = TextThatHangs("Halt!")
        text.hang = hang
        getattr(sink, method)(text)
        # One that was taken without being looked at never hangs.
        hang.here()

    with hanging(say):
        assert_returns(lambda: frame(scene, other))
        assert scene.told.text(other) == "Halt!"
    other_sink.complete("Halt!")


@pytest.mark.spec("S1")
def test_a_provider_thread_that_hangs_with_its_own_lock_holds_up_no_poll() -> None:
    scene = make_scene()
    _, sink = scene.begin()
    other, _ = scene.begin()
    lock = threading.Lock()

    def say(hang: Hang) -> None:
        with lock:
            sink.text("Halt!")
            hang.here()

    with hanging(say):
        assert_returns(lambda: frame(scene, other))
        assert scene.told.text(other) == "Halt!"


def elsewhere(call: Callable[[], object]) -> bool:
    """Make `call` on a thread of the provider, and wait for it as a careless provider does. Whether it came back."""
    thread = threading.Thread(target=call, daemon=True)
    thread.start()
    thread.join(HANGS_S)
    return not thread.is_alive()


@pytest.mark.spec("S1", "P2")
@pytest.mark.parametrize("method", ["text", "complete", "fail", "cancelled"])
def test_a_sink_does_not_wait_for_the_service_while_that_is_inside_cancel(method: str) -> None:
    scene = make_scene()
    id, sink = scene.begin()
    came_back: list[bool] = []

    def cancel(activity_id: str) -> Ok[None]:
        came_back.append(elsewhere(lambda: getattr(sink, method)(*(["x"] if method != "cancelled" else []))))
        return Ok(None)

    scene.provider.on_cancel = cancel
    scene.runtime.cancel(id)
    assert came_back == [True]


@pytest.mark.spec("S1", "P2")
@pytest.mark.parametrize("method", ["text", "complete", "fail", "cancelled"])
def test_a_sink_does_not_wait_for_the_service_while_that_is_inside_start(method: str) -> None:
    scene = make_scene()
    came_back: list[bool] = []

    def start(submission: object, sink: object) -> Ok[None]:
        came_back.append(elsewhere(lambda: getattr(sink, method)(*(["x"] if method != "cancelled" else []))))
        return Ok(None)

    scene.provider.on_start = start
    scene.runtime.submit("x")
    assert came_back == [True]


@pytest.mark.spec("S1", "P2")
def test_what_was_said_while_the_service_was_inside_cancel_is_not_lost() -> None:
    scene = make_scene()
    id, sink = scene.begin()

    def cancel(activity_id: str) -> Ok[None]:
        elsewhere(lambda: sink.complete("Halt!"))
        return Ok(None)

    scene.provider.on_cancel = cancel
    scene.runtime.cancel(id)
    assert isinstance(scene.terminal(id), Completed)


@pytest.mark.fault("R66")
@pytest.mark.spec("S1", "P2")
def test_a_wake_that_polls_and_cancels_is_not_called_with_a_lock_held() -> None:
    scene = make_scene()
    id, sink = scene.begin()
    came_back: list[bool] = []

    def wake() -> None:
        scene.runtime.listen(None)
        came_back.append(elsewhere(scene.poll) and elsewhere(lambda: scene.runtime.cancel(id)))

    scene.runtime.listen(wake)
    sink.text("Halt!")
    assert came_back == [True]
