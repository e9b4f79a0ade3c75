"""Measures whether the frontier finds sets of notes that answer a question only together.

Notes, sets and their history are generated from a seed (see ``planted_sets.py``): among several
hundred notes 8 sets that hold an answer, 2 for each of four kinds of ties, 8 of the same make that
lead nowhere, and 32 of the same make that were composed long ago. Each arm lists its best pairs of
the whole memory without a question. All arms leave out sets that were composed already, and the
two that compare vectors also leave out near-duplicates (cosine from .85).

* ``random``: pairs drawn from all
* ``BM25``: every note's best partner, by the mean of both scores
* ``cosine``: every note's nearest neighbour
* ``rank fusion``: both lists by reciprocal rank
* ``classic`` and ``mnemic``: ``frontier(mode=...)``

With ``--size 3`` sets are of three notes. Arms that list pairs get three for each set, and find a
set as soon as their pairs connect all its notes: a chain would rarely yield all three pairs.

Target: mnemic's R@10 above that of every other arm by more than the spread over seeds. The numbers
of the policy were chosen on seeds below 100; quoted results are from seeds above.

* ``R@10``: share of the planted sets among the first ten
* ``±``: standard deviation over seeds, in points
* ``R@100``: the same among the first hundred
* ``MRR``: mean of 1/rank of the first planted set
* ``lift``: R@10 relative to pairs or sets drawn at random

Then three checks:

* The effect of labels as they are added: on families that are labelled, and on held-out families
  that get none before the last column. A label is evidence about the composed blocks, so the latter
  cannot gain: they show what labels cost the unlabelled.
* ``past``: the frontier of a decision halfway must hold the sets that were complete then, none with
  a later note, and be the same after everything was labelled and composed.
* ``trust``: a planted set with one member from outside must not rank above the same set trusted.
"""

from __future__ import annotations

import argparse
import json
import statistics
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, combinations
from math import comb
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from attrs import define, field, frozen
from baselines import BM25, RANK_CONSTANT
from planted_sets import (
    FATES,
    TIES,
    Family,
    Plan,
    planted,
)
from rich.console import Console
from rich.progress import track

from mnemic.adapters.embedders.bundled import BundledEmbedder
from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.system.clocks import ManualClock
from mnemic.adapters.system.entropy import SeededEntropy
from mnemic.kernel.policy import DEFAULT, Policy
from mnemic.kernel.ports import Embedder
from mnemic.kernel.results import Frontier

DEPTH = 10
FAR = 1000
"""Number of list entries that are searched for a set."""
PAIR = 2
TOGETHER = 5
"""Blocks that a recall returns together, including the queried one."""
UNTRIED = ("planted", "left")
SAME = 0.85
OURS = "mnemic"
TAUGHT = (0.0, 0.25, 0.5, 0.75, 1.0)
"""Shares of the labels after which results are measured, with every other family held out."""
OUTSIDE = "external"

Set = frozenset[int]
Listing = list[Set]
"""Sets of notes by number, best first."""


@define
class World:
    """A memory built from a plan: half of its sets first, then a decision, then the rest."""

    plan: Plan
    memory: SyncMemory
    clock: ManualClock
    ids: dict[int, str] = field(factory=dict)
    """Block by note."""
    labels: list[tuple[str, str, int | None]] = field(factory=list)
    """Composition, label and family (by place) of labels not given yet."""
    composed: set[Set] = field(factory=set)
    """Pairs that were composed."""
    used: Counter[int] = field(factory=Counter)
    """Number of compositions of each note."""

    def learn(self, notes: Iterable[int]) -> None:
        """Learn notes and promote them."""
        numbers = list(notes)
        given = [
            {"content": note.text, "tags": note.tags, "category": note.category, "zone": "trusted"}
            for note in (self.plan.notes[number] for number in numbers)
        ]
        results = self.memory.learn_many(given).results
        self.ids.update(zip(numbers, (each.block_id for each in results), strict=True))
        self.memory.consolidate()
        self.clock.advance(hours=1)

    def tie(self) -> None:
        """Write the plan's edges between learned notes that are not written yet."""
        edges = [
            {"source": self.ids[one], "target": self.ids[other], "relation": edge.relation}
            for edge in self.plan.edges
            if (one := edge.source) in self.ids and (other := edge.target) in self.ids
        ]
        self.memory.connects(edges)

    def compose(self, notes: Sequence[int]) -> str:
        """Compose different notes."""
        distinct = list(dict.fromkeys(notes))
        self.used.update(distinct)
        self.clock.advance(minutes=5)
        self.composed.update(frozenset(pair) for pair in combinations(distinct, PAIR))
        return self.memory.compose([self.ids[note] for note in distinct]).composition_id

    def live(self, notes: Iterable[int]) -> None:
        """Compose each note with the results of a recall of it, and keep the labels for later."""
        note_of = {block: note for note, block in self.ids.items()}
        place_of = {
            note: place for place, family in enumerate(self.plan.families) for note in family.notes
        }
        apart = {note: family.notes for family in self.plan.of(*UNTRIED) for note in family.notes}
        for note in notes:
            text = self.plan.notes[note].text
            found = self.memory.recall(text, top_k=TOGETHER, record=False).block_ids
            together = [note]
            for other in (note_of[block] for block in found):
                if other not in together and not set(apart.get(other, ())) & set(together):
                    together.append(other)
            composition, label = self.compose(together), self.plan.labels[note]
            if label is not None:
                self.labels.append((composition, label, place_of.get(note)))

    def even_out(self, families: Iterable[Family], fillers: int, draw: Random) -> None:
        """Compose members with fillers until they were used as often as some filler was.

        Otherwise its low use would reveal that a note belongs to a set.
        """
        usual = [self.used[filler] for filler in range(fillers)]
        for note in chain.from_iterable(family.notes for family in families):
            wanted = draw.choice(usual)
            while self.used[note] < wanted:
                self.compose([note, draw.randrange(fillers)])

    def listed(self, frontier: Frontier) -> Listing:
        """Return the sets of a frontier as notes."""
        note_of = {block: note for note, block in self.ids.items()}
        return [
            frozenset(note_of[block] for block in members(each.to_dict()))
            for each in frontier.candidates
        ]


def members(candidate: Mapping[str, Any]) -> list[str]:
    """Return the blocks of a candidate of either mode."""
    if "block_ids" in candidate:
        return list(candidate["block_ids"])
    return [candidate["first_id"], candidate["second_id"]]


@frozen(kw_only=True)
class Halfway:
    """The frontier just before a decision, and the notes known by then."""

    decision: str
    frontier: Frontier
    known: frozenset[int]
    """Notes learned by then."""


# --- living through a plan ------------------------------------------------------------------


def lived(world: World, fillers: int) -> Halfway:
    """Learn and compose everything, without a label, and decide something halfway."""
    plan, draw = world.plan, Random(len(world.plan.notes))
    early, late = plan.families[::2], plan.families[1::2]
    world.memory.start_session()
    world.learn(chain(range(fillers), *(family.notes for family in early)))
    world.tie()
    world.live(sorted(world.ids))
    for family in early:
        if family.fate == "done":
            world.compose(family.notes)
    world.even_out(early, fillers, draw)
    known = frozenset(world.ids)
    frontier = world.memory.frontier(size=len(early[0].notes), limit=FAR)
    decision = world.memory.recall("what is worth trying next?").decision_id
    assert decision is not None
    world.learn(chain.from_iterable(family.notes for family in late))
    world.tie()
    world.live(chain.from_iterable(family.notes for family in late))
    for family in late:
        if family.fate == "done":
            world.compose(family.notes)
    world.even_out(late, fillers, draw)
    return Halfway(decision=decision, frontier=frontier, known=known)


# --- arms -----------------------------------------------------------------------------------


def arms(world: World, embedder: Embedder, seed: int, size: int) -> dict[str, Listing]:
    """Return the list of every arm."""
    numbers = sorted(world.ids)
    texts = [world.plan.notes[number].text for number in numbers]
    words, near = _words(texts), _nearness(texts, embedder)
    banned = np.eye(len(numbers), dtype=np.bool_)
    for pair in world.composed:
        if len(pair) == PAIR:
            one, other = pair
            banned[one, other] = banned[other, one] = True
    words[banned] = near[banned] = -np.inf
    near[near >= SAME] = -np.inf
    by_words, by_meaning = _partners(words), _partners(near)
    return {
        "random": _drawn(len(numbers), world.composed, Random(seed)),
        "BM25": by_words,
        "cosine": by_meaning,
        "rank fusion": _fused(by_words, by_meaning),
        "classic": world.listed(world.memory.frontier(mode="classic", limit=FAR)),
        OURS: world.listed(world.memory.frontier(size=size, limit=FAR)),
    }


def _words(texts: Sequence[str]) -> np.ndarray[Any, Any]:
    ranker = BM25(texts)
    scores = np.array([ranker.scores(text) for text in texts])
    both: np.ndarray[Any, Any] = (scores + scores.T) / 2
    return both


def _nearness(texts: Sequence[str], embedder: Embedder) -> np.ndarray[Any, Any]:
    rows = np.asarray(embedder.embed(texts), dtype=np.float64)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    found: np.ndarray[Any, Any] = rows @ rows.T
    return found


def _partners(scores: np.ndarray[Any, Any]) -> Listing:
    """Return each note with its best partner, best pairs first."""
    best = scores.argmax(axis=1)
    order = np.argsort(-scores.max(axis=1), kind="stable")
    return list(dict.fromkeys(frozenset((int(one), int(best[one]))) for one in order))


def _fused(*listings: Listing) -> Listing:
    total: defaultdict[Set, float] = defaultdict(float)
    for listing in listings:
        for rank, pair in enumerate(listing, start=1):
            total[pair] += 1 / (RANK_CONSTANT + rank)
    return sorted(total, key=lambda pair: (-total[pair], sorted(pair)))


def _drawn(count: int, composed: set[Set], draw: Random) -> Listing:
    pairs = (frozenset(draw.sample(range(count), k=PAIR)) for _ in range(FAR))
    return [pair for pair in pairs if pair not in composed]


# --- measures -------------------------------------------------------------------------------


def ranks(listing: Listing, wanted: Sequence[Set]) -> list[int | None]:
    """Return the rank of each of *wanted* in a list, from 1.

    A list of pairs contains a larger set as soon as its pairs connect it; as many pairs count as
    one rank as a set has pairs.
    """
    return [_rank(listing, each) for each in wanted]


def _rank(listing: Listing, wanted: Set) -> int | None:
    if listing and len(listing[0]) == len(wanted):
        return listing.index(wanted) + 1 if wanted in listing else None
    groups = [{note} for note in wanted]
    for place, pair in enumerate(listing):
        if pair <= wanted:
            met = [group for group in groups if group & pair]
            groups = [group for group in groups if not group & pair] + [set().union(*met)]
            if len(groups) == 1:
                return 1 + place // comb(len(wanted), PAIR)
    return None


def recall(found: Sequence[int | None], depth: int = DEPTH) -> float:
    """Return the share of sets among the first of a list."""
    return sum(rank is not None and rank <= depth for rank in found) / max(1, len(found))


def measured(listing: Listing, families: Sequence[Family]) -> dict[str, float]:
    """Return the numbers of one list."""
    found = ranks(listing, [frozenset(family.notes) for family in families])
    row = {"recall": recall(found), "far": recall(found, 10 * DEPTH)}
    row["mrr"] = max((1 / rank for rank in found if rank is not None), default=0.0)
    for tie in TIES:
        row[tie] = recall(
            [rank for rank, family in zip(found, families, strict=True) if family.tie == tie]
        )
    return row


# --- checks ---------------------------------------------------------------------------------


def taught(world: World, seed: int, size: int) -> dict[str, list[dict[str, float]]]:
    """Give labels in random order, measuring in between; those of held-out families come last."""
    Random(seed).shuffle(world.labels)
    held_out = {place for fate in FATES for place in _places_of(world.plan, fate)[1::2]}
    first = [each for each in world.labels if each[2] not in held_out]
    last = [each for each in world.labels if each[2] in held_out]
    rows: dict[str, list[dict[str, float]]] = {"classic": [], OURS: []}
    bounds = [round(part * len(first)) for part in TAUGHT]
    for start, end in zip([0, *bounds], [*bounds, None], strict=True):
        for composition, label, _ in last if end is None else first[start:end]:
            world.memory.label(composition, label)
        rows[OURS].append(_by_fate(world, world.memory.frontier(size=size, limit=DEPTH), held_out))
        if size == PAIR:
            frontier = world.memory.frontier(mode="classic", limit=DEPTH)
            rows["classic"].append(_by_fate(world, frontier, held_out))
    return rows


def _places_of(plan: Plan, fate: str) -> list[int]:
    """Return the places of the families of a fate, grouped by tie."""
    places = [place for place, family in enumerate(plan.families) if family.fate == fate]
    return sorted(places, key=lambda place: plan.families[place].tie)


def _by_fate(world: World, frontier: Frontier, held_out: set[int]) -> dict[str, float]:
    listing = world.listed(frontier)
    groups: dict[str, list[Set]] = defaultdict(list)
    for place, family in enumerate(world.plan.families):
        if family.fate in UNTRIED:
            group = f"{family.fate}, {'held out' if place in held_out else 'taught'}"
            groups[group].append(frozenset(family.notes))
    return {name: recall(ranks(listing, sets)) for name, sets in groups.items()}


def attacked(world: World, size: int) -> dict[str, float]:
    """Move one member of each planted set to a lower zone and back, and compare the scores."""
    before = _places(world, size)
    row = {"sets": 0, "ranked above": 0, "scored above cap": 0}
    for family in world.plan.of("planted"):
        block, key = world.ids[family.notes[0]], frozenset(family.notes)
        world.memory.rezone(block, OUTSIDE)
        after = _places(world, size)
        world.memory.rezone(block, "trusted")
        if key in before:
            rank, score, cap = after.get(key, (FAR, 0.0, 1.0))
            row["sets"] += 1
            row["ranked above"] += rank < before[key][0]
            row["scored above cap"] += score > cap
    return {name: float(value) for name, value in row.items()}


def _places(world: World, size: int) -> dict[Set, tuple[int, float, float]]:
    """Return rank, score and cap by set."""
    frontier = world.memory.frontier(size=size, limit=FAR)
    answer = [each.to_dict() for each in frontier.candidates]
    sets = world.listed(frontier)
    return {
        key: (rank, each["score"], each["cap"])
        for rank, (key, each) in enumerate(zip(sets, answer, strict=True), start=1)
    }


def looked_back(world: World, halfway: Halfway, size: int) -> dict[str, float]:
    """Compose the planted sets, label them a success, and query the frontier of the decision."""
    for family in world.plan.of("planted"):
        world.memory.label(world.compose(family.notes), "accepted")
    then = world.memory.frontier(size=size, limit=FAR, decision=halfway.decision)
    listing = world.listed(then)
    wanted = [frozenset(family.notes) for family in world.plan.of("planted")]
    complete = [each for each in wanted if each <= halfway.known]
    calibration = [each.to_dict()["block_ids"] for each in then.calibration]
    return {
        "complete then": len(complete),
        "listed then": sum(each in listing for each in complete),
        "leaked": sum(not each <= halfway.known for each in listing),
        "changed": float(then.candidates != halfway.frontier.candidates),
        "in calibration": sum(
            sorted(world.ids[note] for note in each) in [sorted(answer) for answer in calibration]
            for each in complete
        ),
    }


# --- the program ----------------------------------------------------------------------------


def run(seed: int, options: argparse.Namespace, policy: Policy) -> dict[str, Any]:
    """Return all numbers of one seed."""
    embedder, clock, size = BundledEmbedder(), ManualClock(), options.size
    plan = planted(seed, size=size, fillers=options.fillers)
    with SyncMemory.open(
        ":memory:",
        embedder=embedder,
        clock=clock,
        policy=policy,
        entropy=SeededEntropy(str(seed)),
    ) as memory:
        world = World(plan=plan, memory=memory, clock=clock)
        halfway = lived(world, options.fillers)
        assert not any(frozenset(family.notes) in world.composed for family in plan.of("planted"))
        labels = taught(world, seed, size)
        listings = arms(world, embedder, seed, size)
        rows = {name: measured(listing, plan.of("planted")) for name, listing in listings.items()}
        chance = DEPTH / (comb(len(plan.notes), size))
        for row in rows.values():
            row["lift"] = row["recall"] / chance
        return {
            "seed": seed,
            "rows": rows,
            "labels": labels,
            "trust": attacked(world, size),
            "past": looked_back(world, halfway, size),
        }


def summed(found: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Return the mean of every number over seeds, and the spread of recall."""
    row = {name: statistics.fmean(each[name] for each in found) for name in found[0]}
    recalls = [each["recall"] for each in found]
    return {**row, "spread": statistics.stdev(recalls) if len(recalls) > 1 else 0.0}


def report(runs: Sequence[Mapping[str, Any]], size: int) -> dict[str, Any]:
    """Print the tables, and return their numbers."""
    rows = {name: summed([run["rows"][name] for run in runs]) for name in runs[0]["rows"]}
    print(
        f"{'':12}{'R@10':>8}{'±':>6}{'R@100':>8}{'MRR':>8}{'lift':>9}"
        + "".join(f"{t:>11}" for t in TIES)
    )
    for name, row in rows.items():
        print(
            f"{name:12}{100 * row['recall']:>8.1f}{100 * row['spread']:>6.1f}"
            f"{100 * row['far']:>8.1f}{100 * row['mrr']:>8.1f}{row['lift']:>9.0f}"
            + "".join(f"{100 * row[tie]:>11.1f}" for tie in TIES)
        )
    others = [name for name in rows if name != OURS]
    margins = [
        run["rows"][OURS]["recall"] - max(run["rows"][name]["recall"] for name in others)
        for run in runs
    ]
    print(
        f"\n{OURS} above the best other arm of each memory: {100 * statistics.fmean(margins):.1f}"
        f" points on average, {100 * min(margins):.1f} at worst, above it in "
        f"{sum(margin > 0 for margin in margins)} of {len(margins)}"
    )
    heads = [*(f"{100 * part:.0f} %" for part in TAUGHT), "all"]
    print(f"\n{'R@10 with labels':28}" + "".join(f"{head:>8}" for head in heads))
    for name in (OURS, *(("classic",) if size == PAIR else ())):
        for group in sorted(runs[0]["labels"][name][0]):
            steps = zip(*(run["labels"][name] for run in runs), strict=True)
            means = [statistics.fmean(row[group] for row in step) for step in steps]
            print(f"{name:8}{group:20}" + "".join(f"{100 * mean:>8.1f}" for mean in means))
    checks = {
        kind: {name: sum(run[kind][name] for run in runs) for name in runs[0][kind]}
        for kind in ("past", "trust")
    }
    print()
    for kind, sums in checks.items():
        print(f"{kind:8}" + ", ".join(f"{name} {value:.0f}" for name, value in sums.items()))
    return {"rows": rows, "margins": margins, **checks}


def parsed() -> argparse.Namespace:
    """Return the options of this run."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--seeds", type=int, default=10, help="how many memories")
    add("--first-seed", type=int, default=200)
    add("--size", type=int, choices=(2, 3), default=2, help="notes of a set")
    add("--fillers", type=int, default=360, help="notes that belong to no set")
    add("--policy", type=Path, help="JSON of the policy; fields that are missing keep defaults")
    add("--json", type=Path, help="also write the numbers here")
    return parser.parse_args()


def main() -> None:
    """Measure, print, and save with ``--json``."""
    options = parsed()
    policy = (
        DEFAULT if options.policy is None else Policy.staged(json.loads(options.policy.read_text()))
    )
    seeds = range(options.first_seed, options.first_seed + options.seeds)
    bar = Console(stderr=True)
    runs = [run(seed, options, policy) for seed in track(seeds, "memories", console=bar)]
    numbers = report(runs, options.size)
    if options.json is not None:
        plain = {"policy": policy.id, "size": options.size, **numbers, "runs": runs}
        options.json.write_text(json.dumps(plain, indent=2) + "\n")


if __name__ == "__main__":
    main()
