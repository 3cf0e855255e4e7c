"""Rule E2 where a Host cannot start: what is wrong is told, and not the secret that somebody put in its place."""

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

import pytest
from support.canaries import Canary, Search, make_canaries
from support.canary_faults import IMPORT_VARIABLE, SECRET_VARIABLE
from support.canary_watch import Evidence, watching
from support.process_marks import Mark
from support.process_play import closed_because, refusal

from engine_intelligence import Deadlines, HostConnection, IntelligenceLimits, SetupError, spawn_host
from engine_intelligence.host.config import ProviderPlan, plan_host
from engine_intelligence.host.context import KindContext
from engine_intelligence.protocol.bootstrap import (
    FactorySource,
    FileSource,
    HostBootstrap,
    HostSource,
    ListeningSocket,
    LoopbackSocket,
    ProviderSource,
    encode_bootstrap,
)
from engine_intelligence.providers.llama_child import Order
from engine_intelligence.providers.llama_server import Endpoint, LlamaServer

pytestmark = [
    pytest.mark.spec("E2", "H4"),
    pytest.mark.skipif(sys.platform != "linux", reason="reads /proc"),
]

FAULTS = "support.canary_faults"
GOOD = '[providers.ann]\nkind = "scripted"\n'


def text_of(name: str) -> Callable[[str], str]:
    """A file in which a secret stands where `name` says."""
    files: dict[str, Callable[[str], str]] = {
        "a line that is no TOML": lambda secret: f"{GOOD}api_key = {secret}\n",
        "a key that comes twice": lambda secret: f"{GOOD}{secret!r} = 1\n{secret!r} = 2\n",
        "a table that comes twice": lambda secret: f"[{secret!r}]\n[{secret!r}]\n",
        "an unknown table": lambda secret: f"{GOOD}[{secret!r}]\nx = 1\n",
        "an unknown key": lambda secret: f"{GOOD}{secret!r} = 1\n",
        "a value of the wrong type": lambda secret: f"{GOOD}interval_s = {secret!r}\n",
        "a value out of range": lambda secret: f'[providers.ann]\nkind = "llama"\nmodel = {secret!r}\n',
        "a path of a model": lambda secret: (
            f'[providers.ann]\nkind = "llama"\nmodel = "/models/{secret}.gguf"\n'
        ),
        "a kind": lambda secret: f"[providers.ann]\nkind = {secret!r}\n",
        "a factory": lambda secret: f"[providers.ann]\nfactory = {secret!r}\n",
        "an option of a factory": lambda secret: f'[providers.ann]\nfactory = "a:b"\n{secret!r} = 1\n',
        "a limit": lambda secret: f"{GOOD}[limits]\nmax_input_chars = {secret!r}\n",
        "a deadline": lambda secret: f"{GOOD}[deadlines]\n{secret!r} = 3\n",
    }
    return files[name]


FILES = (
    "a line that is no TOML",
    "a key that comes twice",
    "a table that comes twice",
    "an unknown table",
    "an unknown key",
    "a value of the wrong type",
    "a value out of range",
    "a path of a model",
    "a kind",
    "a factory",
    "an option of a factory",
    "a limit",
    "a deadline",
)

FACTORIES = ("raises", "says_what_to_do", "misses_a_module", "unnamed", "no_such_function")


def single_lines(canaries: Mapping[str, Canary]) -> dict[str, Canary]:
    """Those that a line of a file can hold."""
    return {name: canary for name, canary in canaries.items() if "\n" not in canary.text}


@pytest.fixture(scope="module")
def canaries() -> dict[str, Canary]:
    return single_lines(make_canaries())


@pytest.fixture(scope="module")
def search(canaries: Mapping[str, Canary]) -> Search:
    return Search(canaries)


def fault_of(source: HostSource) -> SetupError:
    """What a Host that is started with `source` says is wrong, at once or when it is asked for `ann`."""
    with pytest.raises(SetupError) as raised:
        plan_host(source, IntelligenceLimits(), Deadlines()).providers["ann"].make()
    return raised.value


@pytest.mark.parametrize("name", FILES)
def test_a_secret_in_a_file_is_not_in_what_is_told_of_it(
    name: str, canaries: Mapping[str, Canary], search: Search, tmp_path: Path
) -> None:
    path = tmp_path / "host.toml"
    evidence = Evidence()
    for canary in canaries.values():
        path.write_text(text_of(name)(canary.text))
        error = fault_of(FileSource(str(path)))
        evidence.look(error, error.args, error.reason, error.message)
        assert "\n" not in error.message
    assert search.found_in(*evidence.texts) == set()


@pytest.mark.parametrize("factory", FACTORIES)
def test_a_secret_in_what_a_factory_raises_is_not_told(
    factory: str, canaries: Mapping[str, Canary], search: Search, monkeypatch: pytest.MonkeyPatch
) -> None:
    evidence = Evidence()
    for canary in canaries.values():
        monkeypatch.setenv(SECRET_VARIABLE, canary.text)
        error = fault_of(FactorySource(f"{FAULTS}:{factory}"))
        evidence.look(error, error.args)
    assert search.found_in(*evidence.texts) == set()


def test_a_secret_in_the_path_of_a_file_is_not_told(canaries: Mapping[str, Canary], search: Search) -> None:
    evidence = Evidence()
    for canary in canaries.values():
        evidence.look(fault_of(FileSource(f"/home/player/{canary.text}/host.toml")))
    assert search.found_in(*evidence.texts) == set()
    assert all("/home/player/" in text for text in evidence.texts)


def test_no_representation_of_what_a_host_is_told_shows_a_secret(
    canaries: Mapping[str, Canary], search: Search
) -> None:
    evidence = Evidence()
    for canary in canaries.values():
        for connection in (LoopbackSocket(4711, canary.text), ListeningSocket(canary.text)):
            bootstrap = HostBootstrap(
                connection=connection,
                source=ProviderSource(
                    "llama", "ann", {"api_key": canary.text, "nested": {"k": [canary.text]}}
                ),
                parent_pid=1,
                import_paths=(),
                limits=IntelligenceLimits(),
                deadlines=Deadlines(),
            )
            evidence.look(bootstrap, connection, bootstrap.source, [bootstrap])
        with pytest.raises(ValueError, match="plain data") as refused:
            encode_bootstrap(
                HostBootstrap(
                    connection=LoopbackSocket(4711, canary.text),
                    source=ProviderSource("llama", "ann", {"api_key": canary.text, "bad": object()}),
                    parent_pid=1,
                    import_paths=(),
                    limits=IntelligenceLimits(),
                    deadlines=Deadlines(),
                )
            )
        evidence.look(refused.value)
    assert search.found_in(*evidence.texts) == set()


def made_or_refused(plan: ProviderPlan) -> object:
    """A provider; or why there is none, because its options hold what is seen to be a key."""
    try:
        return plan.make()
    except SetupError as error:
        return error


def test_no_representation_of_what_a_host_holds_shows_a_secret(
    canaries: Mapping[str, Canary], search: Search
) -> None:
    evidence = Evidence()
    for canary in canaries.values():
        options: dict[str, object] = {"text": canary.text}
        plan = plan_host(ProviderSource("scripted", "ann", options), IntelligenceLimits(), Deadlines())
        order = Order(model_path="m.gguf", context=64, slots=1, threads=1, key=canary.text)
        endpoint = Endpoint("http://127.0.0.1:4711", canary.text)
        evidence.look(plan, plan.providers, order, endpoint, KindContext(Deadlines()))
        evidence.look(made_or_refused(plan.providers["ann"]))
    server = LlamaServer(Path("m.gguf"), context=64, slots=1, command=("true",))
    evidence.look(server, server.order)
    assert search.found_in(*evidence.texts) == set()
    assert all(server.order.key not in text for text in evidence.texts)


class Start(NamedTuple):
    """How a Host is started that cannot start, and what it says all the same."""

    told: str
    factory: str | None = None
    file: str | None = None
    variable: str = SECRET_VARIABLE


STARTS: dict[str, Start] = {
    "a factory that raises": Start("raised ValueError", factory="raises"),
    "a factory that says what to do": Start("put a new one in", factory="says_what_to_do"),
    "a module that raises when it is imported": Start(
        "raised RuntimeError", factory="raises", variable=IMPORT_VARIABLE
    ),
    "a candidate that raises when it is looked at": Start("is no provider", factory="unnamed"),
    "a line that is no TOML": Start("line 3", file="a line that is no TOML"),
    "an unknown key": Start("The keys are", file="an unknown key"),
    "a value of the wrong type": Start("interval_s", file="a value of the wrong type"),
    "a kind": Start("The kinds are", file="a kind"),
    "a file that is not there": Start("There is no file"),
}


@pytest.fixture(scope="module")
def started(
    canaries: Mapping[str, Canary], tmp_path_factory: pytest.TempPathFactory
) -> tuple[Evidence, dict[str, str]]:
    """What was seen of one such Host each, with secrets of all shapes by turns, and the reasons that were given."""
    mark = Mark()
    folder = tmp_path_factory.mktemp("faults")
    reasons: dict[str, str] = {}
    shapes = list(canaries.values())
    try:
        with watching(folder / "printed") as evidence:
            connections: dict[str, HostConnection] = {}
            for number, (name, start) in enumerate(STARTS.items()):
                secret = shapes[number % len(shapes)].text
                connections[name] = spawn_host(
                    _source(start, secret, folder / str(number)),
                    environment={**mark.environment, start.variable: secret, "PYTHONDEVMODE": "1"},
                    deadlines=Deadlines(close_grace_s=5.0),
                )
            for name, connection in connections.items():
                with connection:
                    client = connection.client("ann")
                    reasons[name] = closed_because(client)
                    evidence.look(
                        reasons[name], connection.close_reason, refusal(client.submit("anyone?")), client
                    )
    finally:
        mark.kill()
    return evidence, reasons


def _source(start: Start, secret: str, folder: Path) -> str:
    if start.factory is not None:
        return f"{FAULTS}:{start.factory}"
    if start.file is None:
        return str(folder / secret / "host.toml")
    folder.mkdir()
    (folder / "host.toml").write_text(text_of(start.file)(secret))
    return str(folder / "host.toml")


@pytest.mark.parametrize("name", list(STARTS))
def test_a_host_says_why_it_cannot_start(name: str, started: tuple[Evidence, dict[str, str]]) -> None:
    assert STARTS[name].told in started[1][name]


def test_nothing_that_a_host_says_of_why_it_cannot_start_is_secret(
    started: tuple[Evidence, dict[str, str]], search: Search
) -> None:
    evidence = started[0]
    assert (
        search.found_in(bytes(evidence.arrived), evidence.printed, *evidence.texts, *evidence.logged) == set()
    )
    assert "Traceback" not in evidence.printed
