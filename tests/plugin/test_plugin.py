"""Rules L1 to L3, beside a Context double: the plugin needs no Cordis to be loaded, typed or tested."""

import ast
import asyncio
import tomllib
from pathlib import Path

import pytest
from support.scene import make_scene

from engine_intelligence import Err, IntelligenceRuntime, intelligence_plugin

ROOT = Path(__file__).parents[2]


class ContextDouble:
    """The part of a Context that the plugin uses."""

    def __init__(self, taken: bool = False) -> None:
        self.provided: dict[str, object] = {}
        self._taken = taken

    def provide(self, name: str, value: object, /) -> object:
        if self._taken:
            raise RuntimeError(f"service {name!r} has been registered")
        self.provided[name] = value
        return lambda: None


def is_closed(runtime: IntelligenceRuntime) -> bool:
    result = runtime.submit("anyone there?")
    return isinstance(result, Err) and result.error.code == "intelligence-closed"


@pytest.mark.spec("L1")
def test_the_plugin_says_its_name_and_what_it_provides() -> None:
    plugin = intelligence_plugin(make_scene().runtime)
    assert (plugin.name, plugin.provide) == ("engine-intelligence", "intelligence")


@pytest.mark.spec("L1")
def test_apply_provides_the_service_and_leaves_it_open() -> None:
    scene, context = make_scene(), ContextDouble()
    intelligence_plugin(scene.runtime).apply(context)
    assert context.provided == {"intelligence": scene.runtime}
    assert scene.provider.closes == 0
    scene.submit()


@pytest.mark.spec("L1")
def test_apply_takes_the_configuration_that_cordis_hands_to_every_plugin() -> None:
    scene, context = make_scene(), ContextDouble()
    intelligence_plugin(scene.runtime).apply(context, {"any": "thing"})
    assert context.provided == {"intelligence": scene.runtime}


@pytest.mark.spec("L1")
def test_what_apply_returns_closes_the_service_without_an_event_loop() -> None:
    scene = make_scene()
    dispose = intelligence_plugin(scene.runtime).apply(ContextDouble())
    assert dispose().done
    assert scene.provider.closes == 1
    assert is_closed(scene.runtime)


@pytest.mark.spec("L1")
def test_what_apply_returns_closes_the_service_within_an_event_loop() -> None:
    scene = make_scene()
    dispose = intelligence_plugin(scene.runtime).apply(ContextDouble())

    async def end() -> None:
        await dispose()

    asyncio.run(end())
    assert scene.provider.closes == 1
    assert is_closed(scene.runtime)


@pytest.mark.spec("L2")
def test_the_service_is_closed_even_where_nobody_awaits_the_disposal() -> None:
    scene = make_scene()
    dispose = intelligence_plugin(scene.runtime).apply(ContextDouble())

    async def end() -> None:
        dispose()
        assert is_closed(scene.runtime)
        await scene.runtime.close()  # the same close task, so that none is left behind

    asyncio.run(end())
    assert scene.provider.closes == 1


@pytest.mark.spec("L2")
def test_disposing_twice_is_one_close() -> None:
    scene = make_scene()
    dispose = intelligence_plugin(scene.runtime).apply(ContextDouble())
    assert dispose() is dispose() is scene.runtime.close()
    assert scene.provider.closes == 1


@pytest.mark.spec("L2")
def test_a_disposed_plugin_does_not_provide_its_closed_service_again() -> None:
    plugin, context = intelligence_plugin(make_scene().runtime), ContextDouble()
    plugin.apply(ContextDouble())()
    with pytest.raises(RuntimeError, match="make a new service"):
        plugin.apply(context)
    assert context.provided == {}


def test_a_service_that_could_not_be_provided_stays_open() -> None:
    scene = make_scene()
    with pytest.raises(RuntimeError, match="has been registered"):
        intelligence_plugin(scene.runtime).apply(ContextDouble(taken=True))
    assert scene.provider.closes == 0
    scene.submit()


def imported(source: str) -> set[str]:
    """The top-level packages that a module imports anywhere in it."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.add(node.module)
    return {name.split(".")[0] for name in names}


@pytest.mark.spec("L3")
def test_no_module_of_the_package_imports_a_cordis() -> None:
    modules = sorted((ROOT / "src").rglob("*.py"))
    assert modules
    found = {name for path in modules for name in imported(path.read_text(encoding="utf-8"))}
    assert [name for name in sorted(found) if "cordis" in name] == []


@pytest.mark.spec("L3")
def test_installing_the_package_installs_no_cordis() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert not any("cordis" in requirement for requirement in project["dependencies"])
    assert any("cordis" in requirement for requirement in project["optional-dependencies"]["cordis"])
