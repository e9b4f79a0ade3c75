"""Properties of the default frontier after any history."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager, suppress
from itertools import permutations
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from mnemic.adapters.analysts.absent import NoAnalyst
from mnemic.adapters.embedders.hashing import HashEmbedder
from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.inprocess.view import SyncView
from mnemic.adapters.stores.memory import MemoryStore
from mnemic.adapters.system.clocks import ManualClock
from mnemic.adapters.system.entropy import SeededEntropy
from mnemic.kernel.errors import BatchRefused
from mnemic.kernel.model.compositions import CONSUMES, LABELS
from mnemic.kernel.policy import DEFAULT
from mnemic.kernel.results import Frontier
from mnemic.projections.frontier import pairs, sets
from mnemic.projections.view import View

WORDS = ("harbour", "light", "bell", "rope", "glass", "mast", "wall", "storm", "chart", "pilot")
BLOCKS = 7

block = st.fixed_dictionaries(
    {
        "words": st.sets(st.sampled_from(WORDS), min_size=1, max_size=4),
        "tags": st.sets(st.sampled_from(("x", "y", "boundary-z")), max_size=2),
        "category": st.sampled_from(("fact", "idea")),
        "zone": st.sampled_from(("trusted", "imported", "external", "untrusted", "elsewhere")),
    }
)
places = st.integers(0, BLOCKS - 1)
some = st.sets(places, min_size=2, max_size=4).map(sorted)
step = st.one_of(
    st.tuples(st.just("compose"), some, st.sampled_from(CONSUMES)),
    st.tuples(st.just("label"), st.integers(0, 20), st.sampled_from(LABELS)),
    st.tuples(st.just("retract"), st.integers(0, 20)),
    st.tuples(st.just("connect"), places, places, st.sampled_from(("supports", "causes"))),
    st.tuples(st.just("rezone"), places, st.sampled_from(("trusted", "quarantined", "external"))),
    st.tuples(st.just("outcome"), places, st.sampled_from((0.1, 0.9))),
    st.tuples(st.just("forget"), places),
    st.tuples(st.just("wait"), st.integers(1, 5)),
)
histories = st.tuples(
    st.lists(block, min_size=BLOCKS, max_size=BLOCKS), st.lists(step, max_size=14)
)


class Story:
    """A memory with one open session, to which a history is applied step by step."""

    def __init__(self, blocks: list[dict[str, Any]]) -> None:
        self.store, self.clock = MemoryStore(), ManualClock()
        self.memory = self.opened("writer")
        self.ids = [self._learn(number, each) for number, each in enumerate(blocks)]
        self.memory.consolidate()
        self.memory.start_session()
        self.composed: list[str] = []
        self.labels: list[str] = []

    def opened(self, name: str) -> SyncMemory:
        return SyncMemory.open(
            self.store,
            embedder=HashEmbedder(),
            clock=self.clock,
            analyst=NoAnalyst(),
            entropy=SeededEntropy(name),
        )

    def _learn(self, number: int, fields: dict[str, Any]) -> str:
        text = f"{' '.join(sorted(fields['words']))} {number}"
        return self.memory.learn(
            text,
            tags=sorted(fields["tags"]),
            category=fields["category"],
            zone=fields["zone"],
        ).block_id

    def apply(self, step: tuple[Any, ...]) -> None:
        memory, ids = self.memory, self.ids
        match step:
            case "compose", members, consume:
                found = memory.compose([ids[place] for place in members], consume=consume)
                self.composed.append(found.composition_id)
            case "label", number, label if self.composed:
                named = self.composed[number % len(self.composed)]
                self.labels.append(memory.label(named, label).label_id)
            case "retract", number if self.labels:
                memory.retract_label(self.labels[number % len(self.labels)])
            case "connect", one, other, relation if one != other and self._all_active(one, other):
                memory.connect(ids[one], ids[other], relation=relation)
            case "rezone", place, zone if self._all_active(place):
                memory.rezone(ids[place], zone)
            case "outcome", place, signal:
                with suppress(BatchRefused):
                    memory.outcome([ids[place]], signal)
            case "forget", place if self._all_active(place):
                memory.forget(ids[place])
            case "wait", hours:
                for _ in range(hours):
                    self.clock.advance(hours=1)
                    with suppress(BatchRefused):
                        memory.outcome([ids[0]], 0.4)
            case _:
                """A label or session end without its target: no effect."""

    def _all_active(self, *places: int) -> bool:
        return all(self.memory.block(self.ids[place]).status == "active" for place in places)


def view_of(known: SyncView) -> View:
    """Return the view behind a facade: the projection itself is not public."""
    return known._view()  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]


@contextmanager
def played(history: tuple[list[dict[str, Any]], list[tuple[Any, ...]]]) -> Generator[Story]:
    blocks, steps = history
    story = Story(blocks)
    for each in steps:
        story.apply(each)
    with story.memory:
        yield story


def everything(frontier: Frontier) -> list[tuple[str, ...]]:
    return [each.to_dict()["block_ids"] for each in frontier.candidates]


def ask(memory: Any, size: int | str = "any") -> Frontier:
    found: Frontier = memory.frontier(size=size, limit=1000)
    return found


@settings(max_examples=settings().max_examples * 2 // 3)
@given(history=histories)
def test_no_score_exceeds_the_ceiling_of_any_member(history: Any) -> None:
    with played(history) as story:
        for each in ask(story.memory).candidates:
            shown = each.to_dict()
            zones = [story.memory.block(block).zone for block in shown["block_ids"]]
            ceilings = [DEFAULT.ceiling(zone) / 1e9 for zone in zones]
            assert shown["score"] <= shown["cap"] == min(ceilings)
            assert (shown["limited_by"] is None) == (min(ceilings) == 1.0)


@settings(max_examples=settings().max_examples * 2 // 3)
@given(history=histories, number=st.integers(0, 50), more=st.sets(places))
def test_a_composed_set_never_returns_to_the_frontier(
    history: Any, number: int, more: set[int]
) -> None:
    with played(history) as story:
        before = everything(ask(story.memory))
        if not before:
            return
        chosen = before[number % len(before)]
        story.memory.compose(list(dict.fromkeys((*chosen, *(story.ids[one] for one in more)))))
        after = everything(ask(story.memory))
        assert chosen not in after


@settings(max_examples=settings().max_examples * 2 // 3)
@given(history=histories, later=st.lists(step, max_size=6))
def test_later_events_never_change_an_earlier_frontier(history: Any, later: Any) -> None:
    with played(history) as story:
        version = story.memory.status().version
        before = ask(story.memory)
        assert ask(story.memory.as_of(version=version)).candidates == before.candidates
        for each in later:
            story.apply(each)
        assert ask(story.memory.as_of(version=version)).candidates == before.candidates


@settings(max_examples=settings().max_examples * 5 // 12)
@given(history=histories)
def test_a_replay_of_the_log_gives_the_same_frontier(history: Any) -> None:
    with played(history) as story, story.opened("reader") as other:
        assert ask(other) == ask(story.memory)


@settings(max_examples=settings().max_examples * 5 // 12)
@given(history=histories)
def test_the_order_of_members_changes_nothing(history: Any) -> None:
    with played(history) as story:
        view = view_of(story.memory.as_of(version=story.memory.status().version))
        field = pairs.field(view)
        if len(field.blocks.numbers) < 3:
            return
        told_by_order = [sets.weigh(view, field, order) for order in permutations((0, 1, 2))]
        assert all(each == told_by_order[0] for each in told_by_order)
        assert field.place(0, 1) == field.place(1, 0)


@settings(max_examples=settings().max_examples * 5 // 12)
@given(history=histories)
def test_pairs_among_sets_of_any_size_equal_those_of_size_two(history: Any) -> None:
    with played(history) as story:
        mixed = [each for each in ask(story.memory).candidates if each.to_dict()["kind"] == "pair"]
        assert tuple(mixed) == ask(story.memory, 2).candidates
