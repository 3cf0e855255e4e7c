"""The states in which a Host can be when its game closes."""

import os
import random
import signal
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from support.process_marks import until
from support.process_play import MINDS

from campaign.streams import Watched
from engine_intelligence import HostConnection

TEMPERS = "campaign.minds"


@dataclass(frozen=True, kw_only=True)
class Scene:
    """What a state is brought about with."""

    connection: HostConnection
    watched: Watched
    moments: random.Random
    stage: Path
    """The file by which a provider shows that it has got to its point."""


@dataclass(frozen=True, kw_only=True)
class State:
    """A state, the factory of the Host's provider, and how the state comes about."""

    bring: Callable[[Scene], None]
    factory: str = f"{TEMPERS}:mind"


def starting(scene: Scene) -> None:
    """At any moment of the start, from before the interpreter runs to after the first text."""
    scene.watched.submit("talk")
    time.sleep(scene.moments.uniform(0, 0.25))


def answered(scene: Scene) -> None:
    scene.watched.submit("echo hello")
    scene.watched.play(0.02, pause_s=0.001)


def says(*inputs: str, staged: bool = False) -> Callable[[Scene], None]:
    """Text streams that answers each of the inputs; with `staged` a provider has also got to its point."""

    def bring(scene: Scene) -> None:
        for each in inputs:
            scene.watched.submit(each)
            scene.watched.play(scene.moments.uniform(0, 0.02), pause_s=0.001)
        if staged:
            until(scene.stage.exists, "the point that the provider gets to")

    return bring


def stopped(scene: Scene) -> None:
    says("talk")(scene)
    os.kill(scene.connection.pid, signal.SIGSTOP)


def stopped_and_sent_to(scene: Scene) -> None:
    """More than the connection takes lies unsent."""
    says("talk")(scene)
    os.kill(scene.connection.pid, signal.SIGSTOP)
    for _ in range(scene.watched.client.limits.max_concurrent_activities - 1):
        scene.watched.submit("talk" + "k" * 16_000)


def killed(scene: Scene) -> None:
    says("talk")(scene)
    os.kill(scene.connection.pid, signal.SIGKILL)


def killed_and_noticed(scene: Scene) -> None:
    killed(scene)
    until(lambda: scene.watched.client.closed, "the end of the client")


def never_read(scene: Scene) -> None:
    """The Host has said more than the connection takes, and nobody reads it."""
    answered(scene)
    for _ in range(scene.watched.client.limits.max_concurrent_activities - 1):
        scene.watched.submit("bulk")
    time.sleep(scene.moments.uniform(0.1, 0.2))


STATES: Mapping[str, State] = {
    "still starting": State(bring=starting),
    "idle": State(bring=answered),
    "streaming": State(bring=says("talk", "talk", "talk")),
    "flooding": State(bring=says("flood", "flood")),
    "not read from": State(bring=never_read),
    "frozen (SIGSTOP)": State(bring=stopped),
    "frozen, much is unsent": State(bring=stopped_and_sent_to),
    "killed, unnoticed": State(bring=killed),
    "killed, noticed": State(bring=killed_and_noticed),
    "the provider ignores cancel": State(bring=says("stubborn")),
    "the provider blocks the event loop": State(bring=says("block", staged=True)),
    "the provider never gives the event loop up": State(bring=says("spin", staged=True)),
    "a regular expression holds the interpreter": State(bring=says("hold", staged=True)),
    "a huge power holds the interpreter": State(bring=says("power", staged=True)),
    "native code writes a lot and holds the interpreter": State(bring=says("native", staged=True)),
    "a thread blocks that the interpreter waits for": State(bring=says("thread")),
    "agents whose children ignore SIGTERM": State(bring=says("agents")),
    "such agents, and the event loop blocked": State(bring=says("agents", "block", staged=True)),
    "such agents, and the interpreter held": State(bring=says("agents", "hold", staged=True)),
    "the provider raises in close": State(bring=says("talk"), factory=f"{TEMPERS}:raises_in_close"),
    "the provider hangs in close": State(bring=says("talk"), factory=f"{MINDS}:hangs_in_close"),
    "the provider blocks in close": State(bring=says("talk"), factory=f"{MINDS}:blocks_in_close"),
    "the provider takes the signals away and blocks": State(
        bring=says("talk", staged=True), factory=f"{MINDS}:deaf"
    ),
}
