"""Decision of outcome: evidence for blocks, and its effects."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations

from attrs import frozen

from mnemic.kernel.decision import Decision
from mnemic.kernel.decisions.authorization import reaches
from mnemic.kernel.decisions.degree_cap import DegreeCap, id_pairs
from mnemic.kernel.errors import FieldRefused, Forbidden, SignalOutOfRange
from mnemic.kernel.events import Link, OutcomeRecorded, Pair, Penalty, RefusedBlock
from mnemic.kernel.model.blocks import ACTIVE, INBOX, BlockFacts
from mnemic.kernel.model.edges import EdgeFacts
from mnemic.kernel.model.identity import CompositionId, DecisionId
from mnemic.kernel.numeric.arithmetic import NANO, nano, product
from mnemic.kernel.reading import Reading
from mnemic.kernel.scoring.decay import penalised
from mnemic.kernel.timestamps import Instant
from mnemic.kernel.validation import check_visible
from mnemic.kernel.values import Value

SOURCE_LENGTH_MAX = 200
ID_LENGTH_MAX = 64
"""Characters of an unknown id that an event includes."""


@frozen(kw_only=True)
class Feedback(Value):
    """An outcome, as given by the caller."""

    block_ids: Sequence[str]
    signal: float
    weight: float = 1.0
    source: str = ""
    decision_id: DecisionId | None = None
    composition_id: CompositionId | None = None


@frozen(kw_only=True)
class Scored(Value):
    """What one outcome did, beside its event; there is none if no block could be scored."""

    refused: tuple[RefusedBlock, ...]
    displaced: tuple[EdgeFacts, ...] = ()


def decide_outcome(reading: Reading, feedback: Feedback, at: Instant) -> Decision[Scored]:
    """Decide the effects of *feedback*.

    Ids that cannot be scored are refused one by one; repeated ids count once.

    Raises:
        SignalOutOfRange: The signal is outside [0, 1] or NaN.
        FieldRefused: The weight is not above 0, or the source is too long.

    Source: DOMAIN section 6.
    """
    signal, weight = _signal(feedback.signal), _weight(feedback.weight)
    if not isinstance(feedback.source, str) or len(feedback.source) > SOURCE_LENGTH_MAX:
        raise FieldRefused(
            f"source must be text of at most {SOURCE_LENGTH_MAX} characters", field="source"
        )
    check_visible("source", feedback.source)
    blocks, refused = _sort_out(reading, feedback.block_ids)
    if not blocks:
        return Decision((), Scored(refused=refused))
    good = signal > nano(reading.policy.outcome_reinforces_above)
    ties = _Ties(reading, blocks, signal, at) if good else None
    event = OutcomeRecorded(
        block_ids=tuple(block.id for block in blocks),
        signal=signal,
        weight=weight,
        source=feedback.source,
        decision_id=feedback.decision_id,
        composition_id=feedback.composition_id,
        refused=refused,
        reinforced=good,
        links=tuple(ties.links) if ties else (),
        confirmed=tuple(ties.confirmed) if ties else (),
        unlinked=tuple(ties.unlinked) if ties else (),
        penalties=_penalties(reading, blocks, signal),
    )
    displaced = tuple(ties.displaced) if ties else ()
    return Decision((event,), Scored(refused=refused, displaced=displaced))


class _Ties:
    """Effects of a good outcome on every pair of its blocks, in the order of ids."""

    def __init__(
        self, reading: Reading, blocks: Sequence[BlockFacts], signal: int, at: Instant
    ) -> None:
        self.links: list[Link] = []
        self.displaced: list[EdgeFacts] = []
        self.unlinked: list[Pair] = []
        weight = product(nano(reading.policy.outcome_edge_weight), signal)
        room = DegreeCap(reading, at.active_us)
        existing: list[Pair] = []
        for a, b in combinations(blocks, 2):
            if reading.edge(a.number, b.number) is not None:
                existing.append((a.id, b.id))
                continue
            barred = reading.is_barred(a.number, b.number)
            displaced = None if barred else room.admit(a.number, b.number, "outcome")
            if displaced is None:
                self.unlinked.append((a.id, b.id))
                continue
            self.displaced.extend(displaced)
            gone = id_pairs(reading, displaced)
            self.links.append(Link(source=a.id, target=b.id, weight=weight, displaced=gone))
        lost = set(id_pairs(reading, self.displaced))
        self.confirmed = [pair for pair in existing if pair not in lost]
        self.unlinked.extend(pair for pair in existing if pair in lost)


def _sort_out(
    reading: Reading, block_ids: Iterable[str]
) -> tuple[list[BlockFacts], tuple[RefusedBlock, ...]]:
    """Return the blocks that can be scored, by id, and the others with the reason of refusal."""
    blocks, refused = [], []
    for block in sorted({str(block) for block in block_ids}):
        number = reading.number(block)
        if number is None:
            refused.append(RefusedBlock(block_id=block[:ID_LENGTH_MAX], code="block-not-found"))
            continue
        facts = reading.facts(number)
        if facts.status == ACTIVE and reaches(reading, facts):
            blocks.append(facts)
        else:
            code = "block-in-inbox" if facts.status == INBOX else "block-not-active"
            if facts.status == ACTIVE:
                code = Forbidden.code
            refused.append(RefusedBlock(block_id=facts.id, code=code))
    return blocks, tuple(refused)


def _penalties(reading: Reading, blocks: Sequence[BlockFacts], signal: int) -> tuple[Penalty, ...]:
    """Return the increased decay rates of blocks with a bad outcome."""
    if signal >= nano(reading.policy.outcome_penalises_below):
        return ()
    rates = ((block, penalised(block.rate, block.tier_rate, reading.policy)) for block in blocks)
    return tuple(
        Penalty(block_id=block.id, rate=rate) for block, rate in rates if rate != block.rate
    )


def _signal(signal: object) -> int:
    if isinstance(signal, bool) or not isinstance(signal, int | float) or not 0.0 <= signal <= 1.0:
        raise SignalOutOfRange(f"signal must be from 0 to 1, got {signal!r}", signal=repr(signal))
    return nano(float(signal))


WEIGHT_MAX = 1000.0
"""Limit that keeps evidence within exact integers for any number of outcomes a log can hold."""


def _weight(weight: object) -> int:
    ok = isinstance(weight, int | float) and not isinstance(weight, bool)
    if not ok or not 0.0 < weight <= WEIGHT_MAX:  # type: ignore[operator]
        raise FieldRefused(
            f"weight must be above 0 and at most {WEIGHT_MAX:g}, got {weight!r}",
            recovery="Give how much this outcome counts, usually 1.",
            field="weight",
        )
    return max(1, min(nano(float(weight)), int(WEIGHT_MAX) * NANO))  # type: ignore[arg-type]
