from __future__ import annotations

import hashlib
from decimal import Decimal

import numpy as np
import pytest
from attrs import evolve, frozen
from hypothesis import assume, given
from hypothesis import strategies as st

from mnemic.kernel.model import vectors
from mnemic.kernel.model.vectors import Vector
from mnemic.kernel.numeric.arithmetic import MICROS_PER_HOUR, NANO, Integers
from mnemic.projections.vectors.index import VectorIndex
from mnemic.projections.vectors.local_rows import LocalRows
from mnemic.projections.view.linking import (
    LinkRule,
    link_candidates,
    near_matches,
)

Links = list[list[tuple[int, int]]]
DOMAIN_RULE = LinkRule()


@frozen(kw_only=True)
class Block:
    vector: Vector | None
    tags: frozenset[str] = frozenset()
    category: int = 0
    reinforced_us: int = 0


@frozen(kw_only=True)
class Case:
    """Blocks whose ordinals are their places, and which of them are new and active."""

    blocks: list[Block]
    new: list[int]
    pool: list[int]
    rule: LinkRule = DOMAIN_RULE
    chunk_components: int = 2**20
    pairs_held: int = 2**18

    @property
    def ids(self) -> list[str]:
        """Ids whose order is unrelated to that of the ordinals."""
        return [hashlib.sha256(bytes([n])).hexdigest()[:16] for n in range(len(self.blocks))]

    @property
    def tag_sets(self) -> list[frozenset[str]]:
        """The distinct sets of tags."""
        return list(dict.fromkeys(block.tags for block in self.blocks))

    @property
    def pool_rows(self) -> Integers:
        """The rows of the blocks of the pool that have a vector."""
        return integers([row for row in (self.rows[n] for n in self.pool) if row >= 0])

    @property
    def rows(self) -> list[int]:
        """Rows in the reverse order of the ordinals; -1 without a vector."""
        embedded = [n for n, block in enumerate(self.blocks) if block.vector is not None][::-1]
        return [embedded.index(n) if n in embedded else -1 for n in range(len(self.blocks))]


# --- the plain way: every pair, no bound, no array ---------------------------------------------


def plain_signals(case: Case, a: Block, b: Block) -> dict[str, int]:
    hours = Decimal(a.reinforced_us - b.reinforced_us) / MICROS_PER_HOUR
    sigma = Decimal(case.rule.sigma_us) / MICROS_PER_HOUR
    shared, either = len(a.tags & b.tags), len(a.tags | b.tags)
    return {
        "cosine": 0 if a.vector is None or b.vector is None else vectors.cosine(a.vector, b.vector),
        "tags": round(Decimal(shared * NANO) / either) if either else 0,
        "category": NANO if a.category == b.category else case.rule.cross_category,
        "temporal": round((-hours * hours / (2 * sigma * sigma)).exp() * NANO),
    }


def plain_score(case: Case, a: Block, b: Block) -> int | None:
    """Return the score of a pair, or None if its cosine is below the guard."""
    if a.vector is None or b.vector is None:
        return None
    signals = plain_signals(case, a, b)
    if signals["cosine"] < case.rule.guard:
        return None
    weights: dict[str, int] = {name: getattr(case.rule, name) for name in signals}
    total = sum(weights[name] * signal for name, signal in signals.items())
    return min((total + NANO // 2) // NANO, NANO)


def plain_links(case: Case) -> Links:
    links: Links = []
    for one in case.new:
        scores = {
            other: plain_score(case, case.blocks[one], case.blocks[other])
            for other in case.pool
            if other != one
        }
        formed = [(o, s) for o, s in scores.items() if s is not None and s >= case.rule.threshold]
        links.append(
            sorted(formed, key=lambda pair: (-pair[1], case.ids[pair[0]]))[: case.rule.best]
        )
    return links


# --- the fast way --------------------------------------------------------------------------------


def index_of(case: Case) -> VectorIndex:
    index = VectorIndex(LocalRows(chunk_components=case.chunk_components))
    for ordinal in reversed(range(len(case.blocks))):
        vector = case.blocks[ordinal].vector
        if vector is not None:
            index.append(ordinal, vector)
    return index


def integers(values: list[int]) -> Integers:
    return np.array(values, dtype=np.int64)


def links(case: Case) -> Links:
    return link_candidates(
        index_of(case),
        integers(case.new),
        case.pool_rows,
        row_of=integers(case.rows),
        category_of=integers([block.category for block in case.blocks]),
        reinforced_us=integers([block.reinforced_us for block in case.blocks]),
        tag_set_of=integers([case.tag_sets.index(block.tags) for block in case.blocks]),
        tags_in=case.tag_sets.__getitem__,
        ids=case.ids,
        rule=case.rule,
        pairs_held=case.pairs_held,
    )


# --- cases ---------------------------------------------------------------------------------------


def vector(*components: float) -> Vector:
    return vectors.quantise(components, dimension=len(components))


# Few directions, tags, categories and hours, so that equal scores are the rule.
VECTORS = st.lists(st.integers(-1, 2), min_size=3, max_size=3).map(lambda v: vector(*v))
BLOCKS = st.builds(
    Block,
    vector=VECTORS | VECTORS | VECTORS | st.none(),
    tags=st.frozensets(st.sampled_from("abcd"), max_size=3),
    category=st.integers(0, 1),
    reinforced_us=st.sampled_from([0, 1, 5, 8, 100]).map(MICROS_PER_HOUR.__mul__)
    | st.integers(0, 10**12),
)
RULES = st.builds(
    LinkRule,
    cosine=st.integers(0, NANO // 4) | st.just(550_000_000),
    tags=st.integers(0, NANO // 5) | st.just(200_000_000),
    category=st.integers(0, 150_000_000),
    temporal=st.integers(0, 100_000_000),
    cross_category=st.integers(0, NANO),
    guard=st.sampled_from([0, 300_000_000, 700_000_000]),
    threshold=st.sampled_from([0, 100_000_000, 400_000_000, 700_000_000]),
    best=st.integers(1, 5),
) | st.sampled_from([DOMAIN_RULE, evolve(DOMAIN_RULE, cosine=550_000_003)])


def any_vector(blocks: list[Block]) -> bool:
    return any(block.vector is not None for block in blocks)


@st.composite
def cases(draw: st.DrawFn) -> Case:
    blocks = draw(st.lists(BLOCKS, min_size=2, max_size=25).filter(any_vector))
    everyone = st.sampled_from(range(len(blocks)))
    return Case(
        blocks=blocks,
        new=draw(st.lists(everyone, max_size=6, unique=True)),
        pool=draw(st.permutations(range(len(blocks))) | st.lists(everyone, unique=True)),
        rule=draw(RULES),
        chunk_components=draw(st.sampled_from([1, 9, 2**20])),
        pairs_held=draw(st.sampled_from([0, 5, 2**18])),
    )


# --- laws ----------------------------------------------------------------------------------------


@given(cases())
def test_the_candidates_are_those_of_scoring_every_pair(case: Case) -> None:
    assert links(case) == plain_links(case)


@given(cases(), st.integers(-1, 1), st.data())
def test_a_score_at_the_threshold_forms_an_edge_and_one_nano_unit_below_does_not(
    case: Case, offset: int, data: st.DataObject
) -> None:
    scores = [score for found in plain_links(case) for _, score in found]
    assume(scores)
    threshold = data.draw(st.sampled_from(scores)) + offset
    assume(0 <= threshold <= NANO)
    edged = evolve(case, rule=evolve(case.rule, threshold=threshold))
    assert links(edged) == plain_links(edged)


@given(cases(), st.integers(-1, 1), st.data())
def test_a_cosine_at_the_guard_passes_and_one_nano_unit_below_does_not(
    case: Case, offset: int, data: st.DataObject
) -> None:
    a, b = data.draw(st.sampled_from(case.blocks)), data.draw(st.sampled_from(case.blocks))
    guard = plain_signals(case, a, b)["cosine"] + offset
    assume(0 <= guard <= NANO)
    guarded = evolve(case, rule=evolve(case.rule, guard=guard))
    assert links(guarded) == plain_links(guarded)


@given(BLOCKS, BLOCKS, RULES)
def test_a_score_is_symmetric_and_bounded(a: Block, b: Block, rule: LinkRule) -> None:
    assume(any_vector([a, b]))
    case = Case(blocks=[a, b], new=[0, 1], pool=[0, 1], rule=rule)
    there, back = links(case)
    assert [score for _, score in there] == [score for _, score in back]
    assert all(rule.threshold <= score <= NANO for _, score in there)


@given(cases())
def test_neither_chunks_nor_the_order_of_the_pool_matter(case: Case) -> None:
    plain = evolve(case, pool=case.pool[::-1], chunk_components=2**20, pairs_held=2**18)
    assert links(case) == links(plain)


# --- examples ------------------------------------------------------------------------------------

EAST = Block(vector=vector(1, 0), tags=frozenset({"a", "b"}), reinforced_us=10**15)
FAR = -1000 * MICROS_PER_HOUR


def link_of(other: Block) -> Links:
    return links(Case(blocks=[EAST, other], new=[0], pool=[0, 1]))


def test_identical_blocks_score_one() -> None:
    assert link_of(EAST) == [[(1, NANO)]]


def test_weights_that_exceed_a_whole_by_rounding_give_no_score_beyond_it() -> None:
    sixth = 166_666_667
    rounded_up = LinkRule(cosine=NANO // 2, tags=sixth, category=sixth, temporal=sixth)
    twins = Case(blocks=[EAST, EAST], new=[0], pool=[0, 1], rule=rounded_up)
    assert links(twins) == [[(1, NANO)]]


def test_a_cosine_of_one_alone_suffices_for_an_edge() -> None:
    lonely = evolve(EAST, tags=frozenset(), category=1, reinforced_us=10**15 + FAR)
    assert link_of(lonely) == [[(1, 595_000_000)]]


def test_a_right_angle_forms_no_edge_whatever_else_is_shared() -> None:
    assert link_of(evolve(EAST, vector=vector(0, 1))) == [[]]
    assert link_of(evolve(EAST, vector=vector(-1, 0))) == [[]]
    assert link_of(evolve(EAST, vector=vector(0, 0))) == [[]]
    assert link_of(evolve(EAST, vector=None)) == [[]]


def test_equal_scores_are_ordered_by_id_and_the_sixth_is_left_out() -> None:
    case = Case(blocks=[EAST] * 12, new=[3], pool=list(range(12)))
    by_id = sorted(set(range(12)) - {3}, key=lambda ordinal: case.ids[ordinal])
    assert links(case) == [[(ordinal, NANO) for ordinal in by_id[:5]]]


def test_a_candidate_that_comes_late_still_takes_its_place() -> None:
    # Settled one by one, in an order unrelated to their scores.
    tilted = [evolve(EAST, vector=vector(1, n * 7 % 30 / 15)) for n in range(30)]
    tagged = [evolve(block, tags=frozenset("abc"[n % 3])) for n, block in enumerate(tilted)]
    case = Case(
        blocks=tagged, new=[0, 1, 2], pool=list(range(30)), chunk_components=1, pairs_held=0
    )
    assert links(case) == plain_links(case)


def test_tags_are_not_looked_up_where_they_cannot_decide() -> None:
    hopeless = [evolve(EAST, vector=vector(1, 3), category=1, reinforced_us=0)] * 20
    blocks = [EAST, *[EAST] * 5, *hopeless]
    asked: list[int] = []

    def tags_in(number: int) -> frozenset[str]:
        asked.append(number)
        return blocks[number].tags

    case = Case(blocks=blocks, new=[0], pool=list(range(len(blocks))))
    link_candidates(
        index_of(case),
        integers(case.new),
        case.pool_rows,
        row_of=integers(case.rows),
        category_of=integers([block.category for block in blocks]),
        reinforced_us=integers([block.reinforced_us for block in blocks]),
        tag_set_of=np.arange(len(blocks)),
        tags_in=tags_in,
        ids=case.ids,
        rule=case.rule,
    )
    assert sorted(asked) == [0, 1, 2, 3, 4, 5]


def test_more_new_blocks_than_one_batch_takes_are_all_linked() -> None:
    case = Case(blocks=[EAST, EAST], new=[0, 1] * 150, pool=[0, 1])
    assert links(case) == [[(1, NANO)], [(0, NANO)]] * 150


@pytest.mark.parametrize(
    "wrong",
    [
        {"cosine": 550_000_004},
        {"tags": -1},
        {"guard": NANO + 1},
        {"threshold": -1},
        {"best": 0},
        {"sigma_us": 0},
    ],
)
def test_a_rule_under_which_a_score_makes_no_sense_is_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(ValueError, match=r"must be|sum to"):
        LinkRule(**wrong)


# --- near-duplicates -----------------------------------------------------------------------------


@given(
    cases(),
    st.lists(VECTORS, max_size=5),
    st.sampled_from([0, 1, 500_000_000, NANO]),
    st.integers(min_value=1, max_value=6),
)
def test_near_matches_are_the_best_that_reach_the_floor_best_first(
    case: Case, queries: list[Vector], floor: int, most: int
) -> None:
    expected: Links = []
    for query in queries:
        compared = [(n, case.blocks[n].vector) for n in case.pool if n % 3]
        cosines = [(n, vectors.cosine(query, v)) for n, v in compared if v is not None]
        near = [match for match in cosines if match[1] >= floor]
        best = sorted(near, key=lambda match: (-match[1], case.ids[match[0]]))
        expected.append(best[:most])
    index, rows, ids = index_of(case), case.pool_rows, case.ids
    found = near_matches(
        index, queries, rows, counts=lambda n: n % 3 > 0, ids=ids, floor=floor, most=most
    )
    assert found == expected


def test_an_empty_pool_matches_nothing() -> None:
    index, nobody, query = (
        index_of(Case(blocks=[EAST], new=[], pool=[])),
        integers([]),
        vector(1, 0),
    )
    found = near_matches(
        index, [query], nobody, counts=lambda n: n >= 0, ids=["a"], floor=0, most=1
    )
    assert found == [[]]
