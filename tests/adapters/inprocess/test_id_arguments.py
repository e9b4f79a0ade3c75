"""Operations take short ids wherever they take ids, and write the same as with whole ones."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import shake_256
from typing import Any

import pytest

from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.inprocess.id_arguments import NAMED, OTHERS
from mnemic.adapters.inprocess.registry import declarations
from mnemic.adapters.remote.operations import operations
from mnemic.adapters.short_ids import IdAmbiguous
from mnemic.adapters.stores.memory import MemoryStore
from mnemic.kernel.decisions.connecting import Assertion
from mnemic.specs.contracts.interface.sample_requests import LESSONS, WRITING
from mnemic.specs.strategies.clocks import START_US
from mnemic.specs.strategies.vectors import PlaneEmbedder

READING: dict[str, Any] = {
    "analogies": lambda m, ids: m.analogies(ids["tea"]),
    "block": lambda m, ids: m.block(ids["tea"]),
    "compare": lambda m, ids: m.compare(ids["tea"], ids["gate"]),
    "composed_with": lambda m, ids: m.composed_with(ids["tea"]),
    "decisions": lambda m, ids: m.decisions(of=ids["tea"]),
    "descent": lambda m, ids: m.descent({"block": [ids["tea"], ids["oil"]]}),
    "edges": lambda m, ids: m.edges(ids["gate"]),
    "facts": lambda m, ids: m.facts(of=ids["gate"]),
    "history": lambda m, ids: m.history(of=ids["gate"]),
    "ledger": lambda m, ids: m.ledger(of=ids["gate"]),
    "sources": lambda m, ids: m.sources(of=ids["gate"]),
    "subgraph": lambda m, ids: m.subgraph([ids["tea"], ids["gate"]]),
}
OTHERWISE: dict[str, Any] = {
    "connects of values": lambda m, ids: m.connects(
        [Assertion(source=ids["tea"], target=ids["gate"])]
    ),
    "learn_many with forget": lambda m, ids: m.learn_many(
        [{"content": "Tea is served at five."}], forget=[ids["tea"]]
    ),
    "compose of members": lambda m, ids: m.compose([{"block_id": ids["tea"]}, ids["gate"]]),
}
WITH_IDS = {
    **{
        name: ask
        for name, ask in WRITING.items()
        if name in NAMED or (name in operations() and "block_id" in operations()[name].parameters)
    },
    **READING,
    **OTHERWISE,
}
del WITH_IDS["composed_graph"]  # its sample names a composition


class Still:
    """A clock that does not move."""

    def now_us(self) -> int:
        return START_US


class Counting:
    """Entropy without chance: two memories get the same ids."""

    def __init__(self) -> None:
        self._count = 0

    def token(self, size: int) -> bytes:
        self._count += 1
        return shake_256(b"%d" % self._count).digest(size)


def opened() -> tuple[SyncMemory, dict[str, str]]:
    memory = SyncMemory.open(
        MemoryStore(), embedder=PlaneEmbedder(), clock=Still(), entropy=Counting()
    )
    ids = {name: memory.learn(text).block_id for name, text in LESSONS.items()}
    memory.consolidate()
    return memory, {name: str(block) for name, block in ids.items()}


def answer_and_log(request: str, *, shorten: bool) -> tuple[Any, Any]:
    memory, ids = opened()
    given = {name: f"[{each[:8]}]" if shorten else each for name, each in ids.items()}
    with memory:
        answer = WITH_IDS[request](memory, given)
        kinds = [(entry.kind, entry.detail) for entry in memory.log()]
    document = answer.to_dict()
    document.pop("chain", None)  # of a random nonce
    return document, kinds


@pytest.mark.parametrize("request_", WITH_IDS)
def test_a_short_id_is_as_good_as_the_whole_one(request_: str) -> None:
    assert answer_and_log(request_, shorten=True) == answer_and_log(request_, shorten=False)


def _known(operation: str) -> frozenset[str]:
    return NAMED.get(operation, OTHERS)


def test_exactly_the_arguments_with_ids_are_listed() -> None:
    parameters = {name: set(operations()[name].parameters) for name in declarations()}
    assert [name for name, named in NAMED.items() if not named <= parameters[name]] == []
    named = {"of", "block_id", "block_ids", "other_id", "selector", "without"}
    assert {
        name: found for name, given in parameters.items() if (found := given & named - _known(name))
    } == {}


def test_a_view_completes_ids_that_it_knows() -> None:
    memory, ids = opened()
    with memory:
        assert memory.as_of(hour=0).block(ids["tea"][:8]).id == ids["tea"]


def test_an_id_that_begins_several_is_refused_with_them(monkeypatch: pytest.MonkeyPatch) -> None:
    memory, ids = opened()
    twins = [f"{ids['tea'][:8]}{end}" for end in ("0" * 8, "1" * 8)]

    def of_two(_: object, start: str) -> list[str]:
        return [each for each in twins if each.startswith(start)]

    monkeypatch.setattr("mnemic.adapters.inprocess.id_arguments.known_ids", of_two)
    with memory, pytest.raises(IdAmbiguous) as refused:
        memory.block(ids["tea"][:8])
    assert refused.value.facts == {"candidates": twins}


@pytest.mark.parametrize(
    "given", [{"block_id": ["deadbeef"]}, {"block_id": {"block_id": "deadbeef"}}]
)
def test_values_of_a_wrong_shape_are_left_to_the_operation(given: Mapping[str, Any]) -> None:
    memory, _ = opened()
    with memory, pytest.raises(Exception, match="deadbeef"):
        memory.block(**given)
