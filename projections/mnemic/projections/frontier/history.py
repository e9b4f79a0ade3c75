"""Evidence of the ledger for the frontier: sets that are used up, and outcomes of compositions.

* A composition uses up its pairs, and every larger set of its members, as far as its ``consume``
  says: ``all`` of them, those with a primary member, or ``none``. Being found together is not being
  composed.
* A label is evidence about every member, for or against: the stronger its kind and the larger its
  change of confidence, the more it counts; it counts less if many members share it, and half as
  much after each half-life of active time. Evidence adds up; a retracted label counts nothing.

    evidence = |adjustment of its kind| / .45 · (1 ± delta) · min(1, 2/members) · 2^(-age/half-life)
    tilt     = (for - against) / (for + against + 2·prior)

Source: reference composed-graph 2.1, 9.1 and 9.6; specs/frontier.toml, rules "consume", "tilt".
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import combinations

from attrs import define, field, frozen

from mnemic.kernel.numeric.arithmetic import (
    NANO,
    decayed,
    ln,
    nano,
    product,
    share,
)
from mnemic.kernel.policy import Policy
from mnemic.kernel.values import Value
from mnemic.projections.frontier.outcomes import ADJUSTMENTS
from mnemic.projections.ledger.ledger import Composed, Labelled
from mnemic.projections.view import View

Pair = tuple[int, int]

EVIDENCE_UNIT = max(map(abs, ADJUSTMENTS.values()))
"""Adjustment of the strongest kind of label: it counts as one whole piece of evidence."""


@define
class Evidence:
    """Amounts of positive and negative evidence, in nano-units of whole labels."""

    good: int = 0
    bad: int = 0

    def add(self, amount: int) -> None:
        """Add a piece of evidence; a negative amount is against."""
        if amount > 0:
            self.good += amount
        else:
            self.bad -= amount

    def tilt(self, policy: Policy) -> int:
        """Return the balance of the evidence. Nano-units, within (-NANO, NANO)."""
        return tilt(self.good, self.bad, policy)


@frozen(kw_only=True)
class Use(Value):
    """One composition as far as it uses up sets of blocks."""

    blocks: frozenset[int]
    primary: frozenset[int] | None
    """Only sets with one of these are used up; None: all."""
    weight: int
    """Weight for its pairs, from how it went. Nano-units, 1 without labels."""

    def uses_up(self, blocks: frozenset[int]) -> bool:
        """Whether a set was composed in it."""
        if self.primary is not None and self.primary.isdisjoint(blocks):
            return False
        return blocks <= self.blocks

    def pairs(self) -> Iterator[Pair]:
        """Yield the pairs that it uses up, lower number first."""
        for a, b in combinations(sorted(self.blocks), 2):
            if self.primary is None or a in self.primary or b in self.primary:
                yield a, b

    @property
    def pair_weight(self) -> int:
        """Weight it adds to each of its pairs: its own, divided among them all."""
        count = len(self.blocks)
        pairs = count * (count - 1) // 2
        return (self.weight + pairs // 2) // pairs


@frozen(kw_only=True)
class LedgerHistory(Value):
    """Everything of the ledger that the frontier uses."""

    uses: tuple[Use, ...]
    used_by: dict[int, list[Use]]
    """By block."""
    pairs: dict[Pair, int] = field(repr=False)
    """Weight of every pair that was used up, nano-units."""
    evidence: dict[int, Evidence]
    """By block."""

    def is_used_up(self, blocks: Iterable[int]) -> bool:
        """Whether a set was composed, alone or within a larger one."""
        wanted = frozenset(blocks)
        return any(use.uses_up(wanted) for use in self.used_by.get(min(wanted), ()))

    def novelty(self, blocks: Iterable[int]) -> int:
        """Return the novelty of a set: 1 - the greatest Jaccard overlap with any composition."""
        wanted = frozenset(blocks)
        met = (use for block in wanted for use in self.used_by.get(block, ()))
        overlaps = (share(len(wanted & use.blocks), len(wanted | use.blocks)) for use in met)
        return NANO - max(overlaps, default=0)

    def degree(self, block: int) -> int:
        """Return how many compositions used up a pair of this block."""
        return len(self.used_by.get(block, ()))


def past(view: View) -> LedgerHistory:
    """Return the ledger history of a view."""
    evidence: defaultdict[int, Evidence] = defaultdict(Evidence)
    used_by: defaultdict[int, list[Use]] = defaultdict(list)
    pairs: defaultdict[Pair, int] = defaultdict(int)
    uses: list[Use] = []
    for composed in view.compositions():
        said = Evidence()
        members = dict.fromkeys(composed.members)
        for labelled in view.labels_of(composed):
            amount = weight_of(view, labelled)
            said.add(amount)
            part = shared_among(amount, len(members))
            for block in members:
                evidence[block].add(part)
        use = use_of(composed, said, view.policy)
        if use is None:
            continue
        uses.append(use)
        concerned: set[int] = set()
        for pair in use.pairs():
            pairs[pair] += use.pair_weight
            concerned.update(pair)
        for block in sorted(concerned):
            used_by[block].append(use)
    return LedgerHistory(
        uses=tuple(uses), used_by=dict(used_by), pairs=dict(pairs), evidence=dict(evidence)
    )


def weight_of(view: View, labelled: Labelled) -> int:
    """Return the evidence of one label at the view's hour, nano-units; below 0 it is against."""
    kind = ADJUSTMENTS.get(labelled.event.label, 0)
    rate = nano(ln(2.0) / (24.0 * view.policy.frontier_half_life_days))
    left = decayed(rate, view.point.active_us - labelled.active_us)
    delta = labelled.event.confidence_delta or 0
    # A good label that raised confidence counts more, and so does a bad one that lowered it.
    stress = NANO + (delta if kind > 0 else -delta)
    size = product(product(share(abs(kind), EVIDENCE_UNIT), stress), left)
    return size if kind > 0 else -size


def shared_among(amount: int, members: int) -> int:
    """Return the part of a label's evidence for each member: up to two get all of it each."""
    part = min(abs(amount), 2 * abs(amount) // max(members, 1))
    return part if amount > 0 else -part


def tilt(good: int, bad: int, policy: Policy) -> int:
    """Return (good - bad) / (good + bad + 2·prior), nano-units."""
    leaning = share(abs(good - bad), good + bad + 2 * nano(policy.frontier_prior))
    return leaning if good >= bad else -leaning


def adjustment(leaning: int, policy: Policy) -> int:
    """Return the score adjustment by outcomes: from minus the loss up to the gain, nano-units."""
    if leaning >= 0:
        return product(leaning, nano(policy.frontier_gain))
    return -product(-leaning, nano(policy.frontier_loss))


def use_of(composed: Composed, said: Evidence, policy: Policy) -> Use | None:
    """Return what a composition uses up; None if that is nothing."""
    event = composed.event
    if event.consume == "none":
        return None
    roles = zip(composed.members, event.members, strict=True)
    primary = frozenset(block for block, member in roles if member.role == "primary")
    blocks = frozenset(composed.members)
    alone = len(blocks) == 1
    if alone or (event.consume == "primary_only" and not primary):
        return None
    return Use(
        blocks=blocks,
        primary=primary if event.consume == "primary_only" else None,
        weight=NANO + adjustment(said.tilt(policy), policy),
    )
