"""Rules M2, M3 and M5 for every input that fuzzing found to be of a kind of its own, and for changes of them."""

import random
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from campaign.fuzz.mutators import mutator
from campaign.fuzz.oracles import check_memory
from campaign.fuzz.seeds import names, seeds
from campaign.fuzz.targets import TARGETS
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine_intelligence.protocol.codec import (
    MessageDecoder,
    host_control_decoder,
    host_message_decoder,
    realm_control_decoder,
    realm_message_decoder,
)

CORPUS = Path(__file__).parent / "corpus"

DECODERS: dict[str, MessageDecoder[Any]] = {
    "realm-msgpack": realm_message_decoder(),
    "realm-json": realm_message_decoder("json"),
    "host-msgpack": host_message_decoder(),
    "host-json": host_message_decoder("json"),
    "realm-control": realm_control_decoder(),
    "host-control": host_control_decoder(),
}


@cache
def inputs(name: str) -> list[bytes]:
    """The corpus of a target, and the good inputs that fuzzing starts from."""
    return seeds()[name] + [path.read_bytes() for path in sorted((CORPUS / name).iterdir())]


def test_every_target_has_a_corpus_and_nothing_else_has() -> None:
    assert {path.name for path in CORPUS.iterdir()} == set(TARGETS)
    assert all(len(inputs(name)) > len(seeds()[name]) for name in TARGETS)


def test_the_corpus_stays_small() -> None:
    assert sum(path.stat().st_size for path in CORPUS.rglob("*") if path.is_file()) < 300_000


@pytest.mark.spec("M2", "M3", "M5")
@pytest.mark.parametrize("name", TARGETS)
def test_every_input_of_the_corpus_keeps_what_has_to_hold(name: str) -> None:
    for data in inputs(name):
        TARGETS[name].check(data)


@pytest.mark.spec("M3", "M5")
@pytest.mark.parametrize("name", DECODERS)
def test_no_input_of_the_corpus_allocates_out_of_proportion(name: str) -> None:
    for data in inputs(name):
        check_memory(DECODERS[name].decode, data, len(data))


@pytest.mark.spec("M2", "M3", "M5")
@pytest.mark.parametrize("name", TARGETS)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(chosen=st.data(), seed=st.integers(0, 2**32), cut=st.integers(0, 255), inserted=st.binary(max_size=4))
def test_a_changed_input_of_the_corpus_keeps_what_has_to_hold(
    name: str, chosen: st.DataObject, seed: int, cut: int, inserted: bytes
) -> None:
    """Changed as a value, and then as bytes."""
    data = chosen.draw(st.sampled_from(inputs(name)))
    changed = mutator(name, names())(data, random.Random(seed))[: TARGETS[name].max_bytes]
    TARGETS[name].check(changed)
    place = cut % (len(changed) + 1)
    TARGETS[name].check(changed[:place] + inserted + changed[place + len(inserted) :])
