"""Structural fit: typed relations alone, whatever the texts say."""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.adapters.embedders.hashing import HashEmbedder
from mnemic.adapters.inprocess import SyncMemory
from mnemic.kernel.numeric.arithmetic import NANO
from mnemic.kernel.policy import Policy
from mnemic.projections.frontier.structure import Bag, Likeness, fit

FACTS = ["supports>", "supports<", "contradicts>", "supports> contradicts<", "outcome outcome"]
bags: st.SearchStrategy[Bag] = st.dictionaries(st.sampled_from(FACTS), st.integers(1, 5)).map(
    Counter
)

Edge = tuple[int, int, str]
CHAIN: tuple[Edge, ...] = ((0, 1, "supports"), (1, 2, "contradicts"))
FORK: tuple[Edge, ...] = ((0, 1, "supports"), (0, 2, "contradicts"))
CAUSES: tuple[Edge, ...] = ((0, 1, "causes"), (1, 2, "prevents"))


@pytest.fixture
def memory() -> Generator[SyncMemory]:
    policy = Policy(cosine_guard=1.0, near_duplicate=1.0, near_duplicate_noted=1.0)
    with SyncMemory.open(":memory:", embedder=HashEmbedder(), policy=policy) as opened:
        yield opened


def web(memory: SyncMemory, name: str, edges: tuple[Edge, ...]) -> list[str]:
    """Learn a few blocks, connect them, and return their ids."""
    size = 1 + max(max(source, target) for source, target, _ in edges)
    ids: list[str] = [memory.learn(f"{name} {letter}").block_id for letter in "abcdefgh"[:size]]
    memory.consolidate()
    for source, target, relation in edges:
        memory.connect(ids[source], ids[target], relation)
    return ids


def structural_fit(memory: SyncMemory, a: str, b: str) -> float | None:
    return memory.compare(a, b).structural_fit


@pytest.mark.parametrize("edges", [CHAIN, FORK, CAUSES])
def test_equal_structures_have_a_fit_of_one(memory: SyncMemory, edges: tuple[Edge, ...]) -> None:
    one, two = web(memory, "one", edges), web(memory, "two", edges)
    assert [structural_fit(memory, a, b) for a, b in zip(one, two, strict=True)] == [1.0] * 3


def test_equal_relations_connected_differently_fit_less(memory: SyncMemory) -> None:
    chain, fork = web(memory, "chain", CHAIN), web(memory, "fork", FORK)
    alike = structural_fit(memory, chain[0], fork[0])
    assert alike is not None
    assert 0.0 < alike < 0.5


def test_other_relations_do_not_fit(memory: SyncMemory) -> None:
    chain, causes = web(memory, "chain", CHAIN), web(memory, "causes", CAUSES)
    assert structural_fit(memory, chain[0], causes[0]) == 0.0


def test_direction_counts(memory: SyncMemory) -> None:
    there, back = web(memory, "there", CHAIN), web(memory, "back", CHAIN)
    assert structural_fit(memory, there[0], back[2]) == 0.0


def test_outcome_edges_have_no_direction(memory: SyncMemory) -> None:
    one, two = (web(memory, name, ((0, 1, "outcome"),)) for name in ("one", "two"))
    fits = [structural_fit(memory, a, b) for a, b in product(one, two)]
    assert fits == [1.0] * 4


def test_without_a_typed_edge_fit_is_undefined_not_zero(memory: SyncMemory) -> None:
    typed, alike = web(memory, "typed", CHAIN), web(memory, "alike", ((0, 1, "similar"),))
    assert structural_fit(memory, typed[0], alike[0]) is None
    assert memory.analogies(alike[0]) == ()


def test_edges_to_archived_blocks_are_no_structure(memory: SyncMemory) -> None:
    one, two = web(memory, "one", CHAIN), web(memory, "two", CHAIN)
    memory.forget(two[2])
    alike = structural_fit(memory, one[0], two[0])
    assert alike is not None
    assert alike < 1.0


def test_similar_surface_without_similar_structure_is_appearance(memory: SyncMemory) -> None:
    chain = web(memory, "the pump in the cellar leaks", CHAIN)
    causes = web(memory, "the pump in the cellar drips", CAUSES)
    assert memory.compare(chain[0], causes[0]).quadrant == "appearance"


def test_an_analogy_is_found_by_structure_not_by_words(memory: SyncMemory) -> None:
    sun = web(memory, "sun", CAUSES)
    atom = web(memory, "nucleus", CAUSES)
    web(memory, "planet", CHAIN)
    (best, *_) = memory.analogies(sun[0])
    assert (best.block_id, best.quadrant) == (atom[0], "analogy")
    assert best.shared_structure == ("causes>", "causes> prevents>")


def test_structure_is_read_as_of_the_view(memory: SyncMemory) -> None:
    one, two = web(memory, "one", CHAIN), web(memory, "two", CHAIN)
    version = memory.status().version
    memory.disconnect(two[1], two[2])
    assert structural_fit(memory, one[0], two[0]) != 1.0
    assert memory.as_of(version=version).compare(one[0], two[0]).structural_fit == 1.0


@given(bags, bags)
def test_fit_is_symmetric_and_within_its_range(a: Bag, b: Bag) -> None:
    assert fit(a, b) == fit(b, a)
    assert fit(a, b) is None or 0 <= (fit(a, b) or 0) <= NANO


@given(bags)
def test_a_structure_fits_itself(a: Bag) -> None:
    assert fit(a, a) == (NANO if a else None)


@pytest.mark.parametrize(
    ("alike", "surface", "quadrant"),
    [
        (500_000_000, 450_000_000, "literal"),
        (500_000_000, 449_999_999, "analogy"),
        (499_999_999, 450_000_000, "appearance"),
        (499_999_999, 449_999_999, "anomaly"),
        (None, 0, "anomaly"),
    ],
)
def test_quadrant_boundaries(alike: int | None, surface: int, quadrant: str) -> None:
    assert Likeness(fit=alike, surface=surface).quadrant == quadrant
