"""Rule H1: what a game tells its Host when it starts it, and what is refused with a sentence of its own."""

import pytest

from engine_intelligence import Deadlines, IntelligenceLimits
from engine_intelligence.protocol.bootstrap import (
    HostBootstrap,
    InheritedSocket,
    ProviderSource,
    decode_bootstrap,
    encode_bootstrap,
)


def bootstrap(options: dict[str, object]) -> HostBootstrap:
    return HostBootstrap(
        connection=InheritedSocket(3),
        source=ProviderSource("llama", "p", options),
        parent_pid=1,
        import_paths=("/game",),
        limits=IntelligenceLimits(),
        deadlines=Deadlines(),
    )


GOOD = encode_bootstrap(bootstrap({"a": 1}))
DEEP = 200_000


@pytest.mark.spec("H1")
def test_what_was_written_is_read() -> None:
    assert decode_bootstrap(GOOD) == bootstrap({"a": 1})


@pytest.mark.spec("H1", "E2")
@pytest.mark.parametrize(
    "text",
    [
        pytest.param(GOOD.replace('{"a":1}', '{"a":' + "[" * DEEP + "]" * DEEP + "}"), id="deep"),
        pytest.param(GOOD.replace("llama", "lla\udcffma"), id="bytes of the environment that are no UTF-8"),
        pytest.param(GOOD.replace("llama", "lla\\ud800ma"), id="an escaped surrogate"),
        pytest.param(GOOD.replace("60.0", "NaN"), id="NaN"),
        pytest.param(GOOD.replace("60.0", "1e999"), id="infinity"),
        pytest.param(GOOD[:-1], id="cut"),
        pytest.param("", id="nothing"),
    ],
)
def test_any_other_text_is_refused_in_constant_words(text: str) -> None:
    with pytest.raises(ValueError, match="does not hold what a game of this version writes") as caught:
        decode_bootstrap(text)
    assert type(caught.value) is ValueError
    assert caught.value.__suppress_context__


@pytest.mark.spec("H1", "M2")
def test_of_a_key_that_comes_twice_the_last_one_counts() -> None:
    twice = GOOD.replace('"parent_pid":1', '"parent_pid":7,"parent_pid":1')
    assert decode_bootstrap(twice) == bootstrap({"a": 1})


@pytest.mark.spec("H1")
def test_options_as_deep_as_no_file_are_refused_as_no_plain_data() -> None:
    deep: list[object] = []
    for _ in range(DEEP):
        deep = [deep]
    with pytest.raises(ValueError, match="plain data"):
        encode_bootstrap(bootstrap({"a": deep}))
