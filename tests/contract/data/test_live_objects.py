import copy
import pickle
from collections.abc import Callable

import pytest
from support.scene import make_scene

from engine_intelligence import HostConnection, create_intelligence_port_client
from engine_intelligence.ports.memory import memory_port_pair


def runtime() -> object:
    return make_scene().runtime


def client() -> object:
    realm_end, _ = memory_port_pair()
    return create_intelligence_port_client("test.provider", realm_end)


def connection() -> object:
    # What it says does not depend on a Host that runs.
    return HostConnection.__new__(HostConnection)


LIVE = [runtime, client, connection]


@pytest.mark.spec("D5")
@pytest.mark.parametrize("make", LIVE)
def test_a_live_object_refuses_to_pickle_and_says_what_to_save(make: Callable[[], object]) -> None:
    with pytest.raises(TypeError, match="SessionRef"):
        pickle.dumps(make())


@pytest.mark.spec("D5")
@pytest.mark.parametrize("make", LIVE)
def test_a_live_object_refuses_to_be_copied_and_says_what_to_save(make: Callable[[], object]) -> None:
    with pytest.raises(TypeError, match="SessionRef"):
        copy.deepcopy(make())
