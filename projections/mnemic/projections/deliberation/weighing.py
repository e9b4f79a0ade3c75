"""What the evidence comes to: what leads, which part the others take, how sure one may be.

1. The primary is the weightiest memory that is not out of date: one that the question itself found
   and that has a term of it, else one that it found, else whatever there is.
2. Others contradict it, are superseded, support it when they are much like it, or are related.
3. Confidence is the primary's weight, a little more for company, less for every contradiction.

Source: reference composed-graph section 3, stages 6 to 8; specs/deliberation.toml.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final

import numpy as np
from attrs import frozen

from mnemic.kernel.arithmetic import NANO
from mnemic.projections.deliberation.disputes import (
    Conflict,
    Dispute,
    Supersession,
    Verdicts,
    alikeness,
    clashes_among,
    conflicts,
    disputes,
    superseded,
)
from mnemic.projections.deliberation.evidence import Evidence, Gathered
from mnemic.projections.deliberation.intent import intent
from mnemic.projections.views import View

DISPUTES_MAX: Final = 20
"""Pairs that are listed, and that count."""
EVIDENCE_MAX: Final = 10
"""Memories that are shown."""
RELATED_MAX: Final = 15
"""Others whose relation to the primary is looked at."""
SUPPORTS: Final = 300_000_000
IRRELEVANT: Final = 150_000_000

PER_EVIDENCE: Final = 30_000_000
"""What each shown memory adds to the confidence, up to the next."""
EVIDENCE_BONUS_MAX: Final = 200_000_000
PER_CONTRADICTION: Final = 100_000_000
PER_CONFLICT: Final = 200_000_000
RESOLVED_ABOVE: Final = 700_000_000


@frozen(kw_only=True)
class Weighed:
    """Everything that was found out, before it is put into words. Confidence in nano-units."""

    intent: str
    analysed: int
    """Memories that were looked at."""
    primary: Evidence | None
    shown: tuple[tuple[Evidence, str], ...]
    """The evidence with its roles, the primary first."""
    disputes: tuple[Dispute, ...]
    superseded: tuple[Supersession, ...]
    conflicts: tuple[Conflict, ...]

    @property
    def confidence(self) -> int:
        """How sure the answer is."""
        if self.primary is None:
            return 0
        counts = len(self.shown), len(self.disputes), len(self.conflicts)
        return confidence(self.primary.weight, *counts)

    @property
    def status(self) -> str:
        """What state the evidence is in, in a word."""
        if self.conflicts:
            return "claim_contradicts_memory"
        if self.primary is None:
            return "no_evidence" if self.analysed else "no_memories"
        if self.disputes:
            return "contradictions_found"
        return "resolved" if self.confidence > RESOLVED_ABOVE else "partial_evidence"


def weigh(view: View, query: str, gathered: Gathered, verdicts: Verdicts) -> Weighed:
    """Return what the evidence on *query* comes to.

    Args:
        view: Where it was gathered.
        query: The question.
        gathered: The evidence on it.
        verdicts: Of an analyst, where one was asked.
    """
    evidence = gathered.evidence
    clashes = clashes_among(view, evidence, verdicts)
    outdated = tuple(superseded(evidence, clashes))
    disputed = tuple(islice(disputes(evidence, clashes), DISPUTES_MAX))
    primary = _primary(evidence, {each.older.id for each in outdated})
    shown: Iterator[tuple[Evidence, str]] = iter(())
    if primary is not None:
        parts = _parts(primary, outdated, disputed)
        shown = _shown(view, primary, evidence, parts)
    return Weighed(
        intent=intent(query),
        analysed=gathered.analysed,
        primary=primary,
        shown=tuple(islice(shown, EVIDENCE_MAX)),
        disputes=disputed,
        superseded=outdated,
        conflicts=tuple(conflicts(query, evidence)),
    )


# --- what leads -----------------------------------------------------------------------------


def _primary(evidence: Sequence[Evidence], outdated: set[str]) -> Evidence | None:
    """Return the weightiest memory that stands and was not only brought along, if there is one."""
    standing = [each for each in evidence if each.id not in outdated]
    for pool in (
        [each for each in standing if each.topic and not each.brought],
        [each for each in standing if not each.brought],
        standing,
        evidence,
    ):
        if pool:
            return pool[0]
    return None


def _parts(
    primary: Evidence, outdated: Sequence[Supersession], disputed: Sequence[Dispute]
) -> dict[str, str]:
    """Return by block id the part of those that are superseded or contradict the primary."""
    parts: dict[str, str] = {}
    for each in disputed:
        for side, other in ((each.weaker, each.stronger), (each.stronger, each.weaker)):
            if other.id == primary.id:
                parts[side.id] = "contradicting"
    return parts | {each.older.id: "superseded" for each in outdated}


def _shown(
    view: View, primary: Evidence, evidence: Sequence[Evidence], parts: dict[str, str]
) -> Iterator[tuple[Evidence, str]]:
    """Yield the evidence with the part that each takes; what is nothing like the primary goes."""
    yield primary, "primary"
    others = [each for each in evidence if each.id != primary.id]
    for each in others[:RELATED_MAX]:
        likeness = similarity(view, primary, each)
        if each.id in parts:
            yield each, parts[each.id]
        elif likeness > SUPPORTS:
            yield each, "supporting"
        elif likeness >= IRRELEVANT or each.brought:
            yield each, "related"


def similarity(view: View, one: Evidence, two: Evidence) -> int:
    """Return how alike two memories are: in vectors or in words, whichever is more. Nano-units."""
    rows = view.life.column("vector", np.array([one.number, two.number], dtype=np.int64))
    cosine = 0
    if len(view.index.block_of) and (rows >= 0).all():
        cosine = int(view.index.cosines_between(rows[:1], rows[1:])[0])
    return max(0, cosine, alikeness(one.content, two.content))


# --- how sure -------------------------------------------------------------------------------


def confidence(weight: int, shown: int, disputes: int, conflicts: int) -> int:
    """Return how sure an answer is.

    Args:
        weight: Of the primary, nano-units.
        shown: Memories that are shown.
        disputes: Pairs of memories that clash.
        conflicts: Memories that clash with what the question claims.
    Returns:
        Nano-units, [0, 1].
    Source: specs/deliberation.toml, rule "confidence".
    """
    bonus = min(PER_EVIDENCE * shown, EVIDENCE_BONUS_MAX)
    left = weight + bonus - PER_CONTRADICTION * disputes - PER_CONFLICT * conflicts
    return min(max(left, 0), NANO)
