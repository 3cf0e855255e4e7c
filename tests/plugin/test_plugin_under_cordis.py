"""Rules L1 to L3 against a real Cordis port for Python."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from support.port_doubles import PortDouble, RealmPortDouble
from support.port_time import run, settle
from support.scene import Scene, make_scene

from engine_intelligence import (
    Deadlines,
    Err,
    IntelligenceService,
    create_intelligence_port_client,
    intelligence_plugin,
)
from engine_intelligence.testing import ManualProvider

# Any: it is not there on Python 3.11, against which the types are checked.
cordis_port: Any = pytest.importorskip(
    "cordis_port", reason="cordis-port needs Python 3.12, or is not installed (extra: cordis)"
)
ACTIVE, FAILED, DISPOSED = (
    cordis_port.FiberState.ACTIVE,
    cordis_port.FiberState.FAILED,
    cordis_port.FiberState.DISPOSED,
)
GRACE_S = 0.05


class ClosingProvider(ManualProvider):
    """A provider whose close does what a test says."""

    def __init__(self, on_close: Callable[[], Awaitable[object]]) -> None:
        super().__init__()
        self._on_close = on_close

    async def close(self) -> None:
        await super().close()
        await self._on_close()


async def fails() -> None:
    raise OSError("the socket is gone")


async def hangs() -> None:
    await asyncio.Event().wait()


async def hangs_and_ignores_its_cancellation() -> None:
    with pytest.raises(asyncio.CancelledError):
        await asyncio.Event().wait()
    for _ in range(3):
        await asyncio.sleep(GRACE_S)


def closing_scene(on_close: Callable[[], Awaitable[object]]) -> Scene:
    return make_scene(provider=ClosingProvider(on_close), deadlines=Deadlines(close_grace_s=GRACE_S))


def dispose_without_a_loop(fiber: Any) -> None:
    """Run a disposal to its end where no event loop runs: Cordis makes one for it, and nothing is waited for."""
    disposal = fiber.dispose()
    with pytest.raises(StopIteration):
        disposal.send(None)


def is_closed(service: IntelligenceService) -> bool:
    result = service.submit("anyone there?")
    return isinstance(result, Err) and result.error.code == "intelligence-closed"


@pytest.mark.spec("L1", "L3")
def test_the_service_is_provided_while_the_fiber_is_active() -> None:
    async def main() -> None:
        scene, ctx = make_scene(), cordis_port.Context()
        fiber = await ctx.plugin(intelligence_plugin(scene.runtime))
        assert fiber.state is ACTIVE
        assert fiber.name == "engine-intelligence"
        assert ctx.intelligence is scene.runtime
        scene.submit()
        await fiber.dispose()

    run(main())


@pytest.mark.spec("L1", "L3")
def test_disposing_the_fiber_withdraws_and_closes_the_service() -> None:
    async def main() -> None:
        scene, ctx = make_scene(), cordis_port.Context()
        fiber = await ctx.plugin(intelligence_plugin(scene.runtime))
        await fiber.dispose()
        assert fiber.state is DISPOSED
        assert ctx.get("intelligence") is None
        assert scene.provider.closes == 1
        assert is_closed(scene.runtime)

    run(main())


@pytest.mark.spec("L1", "L3")
def test_disposing_waits_until_the_provider_has_closed() -> None:
    async def main() -> None:
        released = asyncio.Event()
        scene, ctx = closing_scene(released.wait), cordis_port.Context()
        fiber = await ctx.plugin(intelligence_plugin(scene.runtime))
        disposal = asyncio.ensure_future(fiber.dispose())
        await settle()
        assert not disposal.done()
        assert is_closed(scene.runtime)
        released.set()
        await disposal
        assert scene.runtime.close().done

    run(main())


@pytest.mark.spec("L1", "L3")
def test_disposing_the_fiber_closes_the_service_where_no_event_loop_runs() -> None:
    scene, ctx = make_scene(), cordis_port.Context()
    fiber = ctx.plugin(intelligence_plugin(scene.runtime))
    assert ctx.intelligence is scene.runtime
    scene.submit()
    dispose_without_a_loop(fiber)
    assert fiber.state is DISPOSED
    assert ctx.get("intelligence") is None
    assert scene.provider.closes == 1
    assert is_closed(scene.runtime)


@pytest.mark.spec("L1", "L3")
def test_a_plugin_that_injects_intelligence_runs_while_it_is_provided() -> None:
    async def main() -> None:
        scene, ctx, heard = make_scene(), cordis_port.Context(), list[str]()

        def gatekeeper(ctx: Any, _config: object) -> Callable[[], None]:
            heard.append(ctx.intelligence.provider_id)
            return lambda: heard.append("unloaded")

        ctx.inject(["intelligence"], gatekeeper)
        assert heard == []
        fiber = await ctx.plugin(intelligence_plugin(scene.runtime))
        await settle()
        assert heard == ["test.provider"]
        await fiber.dispose()
        assert heard == ["test.provider", "unloaded"]

    run(main())


@pytest.mark.spec("L1", "L3")
def test_the_service_is_closed_with_the_plugin_that_loaded_it() -> None:
    async def main() -> None:
        scene, ctx = make_scene(), cordis_port.Context()

        def game(ctx: Any, _config: object) -> None:
            ctx.plugin(intelligence_plugin(scene.runtime))

        fiber = await ctx.plugin(game)
        await settle()
        assert ctx.intelligence is scene.runtime
        await fiber.dispose()
        assert scene.provider.closes == 1
        assert is_closed(scene.runtime)

    run(main())


@pytest.mark.spec("L2", "L3")
@pytest.mark.parametrize("on_close", [fails, hangs, hangs_and_ignores_its_cancellation])
def test_a_provider_that_does_not_close_holds_up_a_disposal_for_the_grace_at_most(
    on_close: Callable[[], Awaitable[object]],
) -> None:
    async def main() -> None:
        scene, ctx = closing_scene(on_close), cordis_port.Context()
        fiber = await ctx.plugin(intelligence_plugin(scene.runtime))
        now = asyncio.get_running_loop().time
        started = now()
        await fiber.dispose()
        assert now() - started <= GRACE_S * 1.2
        assert fiber.state is DISPOSED
        assert ctx.get("intelligence") is None
        assert is_closed(scene.runtime)
        await asyncio.sleep(GRACE_S * 4)  # of virtual time, for the one that was left behind

    run(main())


@pytest.mark.spec("L2", "L3")
@pytest.mark.parametrize("on_close", [fails, hangs])
def test_a_provider_that_does_not_close_cannot_hold_up_a_disposal_where_no_event_loop_runs(
    on_close: Callable[[], Awaitable[object]],
) -> None:
    scene, ctx = closing_scene(on_close), cordis_port.Context()
    fiber = ctx.plugin(intelligence_plugin(scene.runtime))
    dispose_without_a_loop(fiber)
    assert fiber.state is DISPOSED
    assert is_closed(scene.runtime)
    assert scene.runtime.close().done


@pytest.mark.spec("L2", "L3")
def test_the_other_plugins_are_disposed_although_a_provider_fails_to_close() -> None:
    async def main() -> None:
        scene, ctx, ended = closing_scene(fails), cordis_port.Context(), list[str]()

        def game(ctx: Any, _config: object) -> Callable[[], None]:
            ctx.plugin(intelligence_plugin(scene.runtime))
            return lambda: ended.append("the game")

        fiber = await ctx.plugin(game)
        await settle()
        await fiber.dispose()
        assert ended == ["the game"]
        assert is_closed(scene.runtime)

    run(main())


@pytest.mark.spec("L2", "L3")
def test_a_client_releases_its_port_although_its_host_never_confirms_the_close() -> None:
    async def main() -> None:
        now = asyncio.get_running_loop().time
        port: RealmPortDouble = PortDouble()
        client = create_intelligence_port_client(
            "test.provider", port, deadlines=Deadlines(close_grace_s=GRACE_S), clock=now
        )
        fiber = await cordis_port.Context().plugin(intelligence_plugin(client))
        started = now()
        await fiber.dispose()
        assert now() - started <= GRACE_S * 1.2
        assert port.closes == 1
        assert client.closed

    run(main())


@pytest.mark.spec("L2", "L3")
def test_what_a_closed_provider_still_says_is_ignored() -> None:
    async def main() -> None:
        scene, ctx = make_scene(), cordis_port.Context()
        fiber = await ctx.plugin(intelligence_plugin(scene.runtime))
        _, sink = scene.begin()
        sink.text("Halt!")
        await fiber.dispose()
        ignored = scene.runtime.ignored_signals
        sink.text("Who goes there?")
        assert sink.complete("Halt! Who goes there?") is False
        sink.fail("too late")
        sink.cancelled()
        assert scene.runtime.ignored_signals == ignored + 4
        assert scene.runtime.poll() == []
        assert scene.runtime.held_activities == 0

    run(main())


@pytest.mark.spec("L2", "L3")
def test_what_a_provider_says_while_it_closes_is_ignored() -> None:
    async def main() -> None:
        stood: list[bool] = []

        async def last_words() -> None:
            stood.append(scene.provider.sinks["a-1"].complete("Halt!"))

        scene, ctx = closing_scene(last_words), cordis_port.Context()
        fiber = await ctx.plugin(intelligence_plugin(scene.runtime))
        scene.submit()
        await fiber.dispose()
        assert stood == [False]
        assert scene.runtime.poll() == []

    run(main())


@pytest.mark.spec("L2", "L3")
def test_disposing_the_fiber_twice_closes_once() -> None:
    async def main() -> None:
        scene, ctx = make_scene(), cordis_port.Context()
        fiber = await ctx.plugin(intelligence_plugin(scene.runtime))
        await fiber.dispose()
        assert fiber.dispose() is None
        assert scene.provider.closes == 1

    run(main())


@pytest.mark.spec("L2", "L3")
def test_a_service_that_was_closed_before_is_disposed_of_like_any_other() -> None:
    async def main() -> None:
        scene, ctx = make_scene(), cordis_port.Context()
        fiber = await ctx.plugin(intelligence_plugin(scene.runtime))
        await scene.runtime.close()
        await fiber.dispose()
        assert fiber.state is DISPOSED
        assert scene.provider.closes == 1

    run(main())


@pytest.mark.spec("L2", "L3")
def test_restarting_the_fiber_fails_because_its_service_is_closed() -> None:
    async def main() -> None:
        scene, ctx = make_scene(), cordis_port.Context()
        fiber = await ctx.plugin(intelligence_plugin(scene.runtime))
        with pytest.raises(RuntimeError, match="make a new service"):
            await fiber.restart()
        assert fiber.state is FAILED
        assert ctx.get("intelligence") is None
        assert scene.provider.closes == 1
        await fiber.dispose()

    run(main())


@pytest.mark.spec("L2", "L3")
def test_a_new_service_is_provided_where_the_former_one_was_disposed() -> None:
    async def main() -> None:
        former, scene, ctx = make_scene(), make_scene(), cordis_port.Context()
        await (await ctx.plugin(intelligence_plugin(former.runtime))).dispose()
        fiber = await ctx.plugin(intelligence_plugin(scene.runtime))
        assert ctx.intelligence is scene.runtime
        scene.submit()
        await fiber.dispose()

    run(main())


@pytest.mark.spec("L1", "L3")
def test_a_second_service_of_the_name_is_refused_and_stays_open() -> None:
    async def main() -> None:
        first, second, ctx = make_scene(), make_scene(), cordis_port.Context()
        fiber = await ctx.plugin(intelligence_plugin(first.runtime))
        refused = ctx.plugin(intelligence_plugin(second.runtime))
        with pytest.raises(RuntimeError, match="has been registered"):
            await refused
        await refused.dispose()
        assert ctx.intelligence is first.runtime
        assert second.provider.closes == 0
        second.submit()
        await fiber.dispose()

    run(main())


@pytest.mark.spec("L1", "L3")
def test_a_fiber_that_is_disposed_before_it_is_active_leaves_the_service_open() -> None:
    async def main() -> None:
        scene, ctx = make_scene(), cordis_port.Context()
        await ctx.plugin(intelligence_plugin(scene.runtime)).dispose()
        assert ctx.get("intelligence") is None
        assert scene.provider.closes == 0
        scene.submit()

    run(main())


@pytest.mark.spec("L1", "L3")
def test_contexts_that_isolate_the_name_have_a_service_each() -> None:
    async def main() -> None:
        scenes = [make_scene(), make_scene()]
        root = cordis_port.Context()
        contexts = [root.isolate("intelligence") for _ in scenes]
        fibers = [
            await ctx.plugin(intelligence_plugin(scene.runtime))
            for ctx, scene in zip(contexts, scenes, strict=True)
        ]
        assert [ctx.get("intelligence") for ctx in contexts] == [scene.runtime for scene in scenes]
        await fibers[0].dispose()
        assert is_closed(scenes[0].runtime)
        assert not is_closed(scenes[1].runtime)
        await fibers[1].dispose()

    run(main())
