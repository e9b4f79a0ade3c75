"""A small memory with planted sets that answer a question only together.

The large one, compared with other methods, is ``benchmarks/frontier.py``.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from mnemic.adapters.analysts.absent import NoAnalyst
from mnemic.adapters.embedders.hashing import HashEmbedder
from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.system.clocks import ManualClock
from mnemic.adapters.system.entropy import SeededEntropy
from mnemic.kernel.results import Frontier

PEOPLE = ("baker", "pilot", "nurse", "miner", "tailor", "judge", "cook", "groom", "scribe", "clerk")
THINGS = ("ladder", "kettle", "compass", "anvil", "lantern", "saddle")
PLACES = ("harbour", "quarry", "chapel", "market", "orchard")

PLANTED = {
    "name": ("Parcels for Wylkesdor leave at noon", "Only Wylkesdor may open the vault"),
    "tag": ("The upper valve is shut tonight", "Whoever rings finds nobody home"),
    "edges": ("Fog delays the ferry", "Rust stops a turbine"),
}
"""Who opens what leaves at noon? Do both hold at once? Which of two causes came first?"""
CHAIN = ("Ottilie writes to Brambel", "Brambel lends money to Quarlow", "Quarlow owns the mill")
"""Whose mill does the writer get?"""
TWINS = (
    ("Letters for Harrowby leave at dawn", "Just Harrowby may unlock the cellar"),
    ("Crates for Osterley leave at dusk", "Solely Osterley may unbar the attic"),
)


class World:
    """Thirty plain notes, each composed with a neighbour, and the planted ones."""

    def __init__(self) -> None:
        self.memory = SyncMemory.open(
            ":memory:",
            embedder=HashEmbedder(256),
            clock=ManualClock(),
            entropy=SeededEntropy("planted"),
            analyst=NoAnalyst(),
        )
        self.plain = [
            self.learn(
                f"the {PEOPLE[number % 10]} left a {THINGS[number % 6]} at the"
                f" {PLACES[number % 5]} on day {number}",
                tags=("diary",),
            )
            for number in range(30)
        ]
        self.memory.consolidate()
        for one, other in zip(self.plain, self.plain[1:], strict=False):
            self.memory.compose([one, other])

    def learn(self, text: str, tags: tuple[str, ...] = ()) -> str:
        return self.memory.learn(text, tags=tags).block_id

    def plant(self) -> dict[str, frozenset[str]]:
        """Return the planted pairs by the kind of their tie."""
        tags = {"tag": ("case-7",)}
        found = {
            tie: [self.learn(text, tags.get(tie, ())) for text in texts]
            for tie, texts in PLANTED.items()
        }
        self.memory.consolidate()
        for block in found["edges"]:
            self.memory.connect(block, self.plain[3], relation="delays")
        return {tie: frozenset(blocks) for tie, blocks in found.items()}


@pytest.fixture
def world() -> Iterator[World]:
    made = World()
    with made.memory:
        yield made


def sets(frontier: Frontier) -> list[frozenset[str]]:
    return [frozenset(each.to_dict()["block_ids"]) for each in frontier.candidates]


def test_planted_pairs_of_every_kind_of_tie_are_among_the_first_ten(world: World) -> None:
    planted = world.plant()
    assert set(planted.values()) <= set(sets(world.memory.frontier(limit=10)))


def test_mode_classic_finds_ties_by_words_and_tags_only(world: World) -> None:
    planted = world.plant()
    classic = world.memory.frontier(mode="classic", limit=1000).candidates
    answer = [each.to_dict() for each in classic]
    pairs = {frozenset((each["first_id"], each["second_id"])) for each in answer}
    assert {tie for tie, pair in planted.items() if pair in pairs} == {"name", "tag"}


def test_a_planted_chain_of_three_leads_the_queue_of_threes(world: World) -> None:
    chain = frozenset(map(world.learn, CHAIN))
    world.memory.consolidate()
    assert sets(world.memory.frontier(size=3))[0] == chain


def test_the_frontier_at_a_decision_ignores_later_events(world: World) -> None:
    planted = world.plant()
    then = world.memory.frontier(limit=1000)
    decision = world.memory.recall("what next?").decision_id
    assert decision is not None
    later = [world.learn(text) for text in CHAIN]
    world.memory.consolidate()
    tried = world.memory.compose(sorted(planted["name"])).composition_id
    world.memory.label(tried, "accepted")
    failed = world.memory.compose([world.plain[0], min(planted["tag"])]).composition_id
    world.memory.label(failed, "dead_end")

    again = world.memory.frontier(limit=1000, decision=decision)

    assert again.candidates == then.candidates
    assert not frozenset(later) & frozenset().union(*sets(again))
    assert [frozenset(each.block_ids) for each in again.calibration] == [planted["name"]]
    assert planted["name"] not in sets(world.memory.frontier(limit=1000))


def test_a_pair_with_an_untrusted_member_ranks_below_a_trusted_pair(world: World) -> None:
    twins = [frozenset(map(world.learn, texts)) for texts in TWINS]
    world.memory.consolidate()
    before = sets(world.memory.frontier(limit=10))
    first, second = sorted(twins, key=before.index)
    outsider = min(first)

    world.memory.rezone(outsider, "external")
    for _ in range(5):
        praised = world.memory.compose([outsider, world.plain[0]]).composition_id
        world.memory.label(praised, "accepted", source="attacker", confidence_delta=1.0)

    after = world.memory.frontier(limit=1000)
    ranked = sets(after)
    attacked = after.candidates[ranked.index(first)].to_dict()
    assert ranked.index(second) < ranked.index(first)
    assert attacked["score"] <= attacked["cap"] == 0.4
    assert attacked["limited_by"] == outsider
