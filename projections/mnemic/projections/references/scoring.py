"""Scoring the evidence: the primary memory, the roles of the others, and the confidence.

1. The primary is the memory of the highest weight that is not out of date: one that the question
   itself found and that has a term of it, else one that it found, else any.
   A memory below the floor of trust that a trusted one denies is passed over for it.
2. Others contradict it, are superseded, support it when they are similar to it, or are related.
3. Confidence is the primary's weight, plus a little for other evidence, less for contradictions;
   never more than the trust in the primary. What untrusted memories say against it costs nothing.

Source: reference composed-graph section 3, stages 6 to 8; specs/deliberation.toml.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from itertools import islice
from typing import Final

import numpy as np
from attrs import frozen

from mnemic.kernel.numeric.arithmetic import NANO, nano
from mnemic.kernel.statements import same
from mnemic.kernel.values import Value
from mnemic.projections.references.disputes import (
    TRUST_MIN,
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
from mnemic.projections.references.evidence import Evidence, Gathered
from mnemic.projections.references.intent import intent
from mnemic.projections.view import View

DISPUTES_MAX: Final = 20
"""Maximum number of pairs that are listed, and that count."""
EVIDENCE_MAX: Final = 10
"""Maximum number of memories shown."""
RELATED_MAX: Final = 15
"""Maximum number of others whose relation to the primary is examined."""
SUPPORTS: Final = 300_000_000
IRRELEVANT: Final = 150_000_000

PER_EVIDENCE: Final = 30_000_000
"""Confidence added by each shown memory, up to the next."""
EVIDENCE_BONUS_MAX: Final = 200_000_000
PER_CONTRADICTION: Final = 100_000_000
PER_CONFLICT: Final = 200_000_000
RESOLVED_ABOVE: Final = 700_000_000


@frozen(kw_only=True)
class Weighed(Value):
    """The complete result, before it is rendered. Confidence in nano-units."""

    intent: str
    analysed: int
    """Number of memories considered."""
    primary: Evidence | None
    shown: tuple[tuple[Evidence, str], ...]
    """The evidence with its roles, the primary first."""
    disputes: tuple[Dispute, ...]
    superseded: tuple[Supersession, ...]
    conflicts: tuple[Conflict, ...]
    alike: tuple[Evidence, ...] = ()
    """Memories that say almost the same as the primary, and not the same: a different number, name
    or condition."""

    @property
    def confidence(self) -> int:
        """Confidence of the answer; at most the trust in the primary."""
        return 0 if self.primary is None else min(self._strength, self.primary.trust)

    @property
    def _strength(self) -> int:
        if self.primary is None:
            return 0
        disputes = sum(not each.is_challenge for each in self.disputes)
        counts = len(self.shown), disputes, len(self.conflicts)
        return confidence(self.primary.weight, *counts)

    @property
    def status(self) -> str:
        """State of the evidence, in a word."""
        if self.conflicts:
            return "claim_contradicts_memory"
        if self.primary is None:
            return "no_evidence" if self.analysed else "no_memories"
        if self.disputes:
            challenged = all(each.is_challenge for each in self.disputes)
            return "disputed" if challenged else "contradictions_found"
        sure = self._strength > RESOLVED_ABOVE and self.primary.trust >= TRUST_MIN
        return "resolved" if sure else "partial_evidence"


def weigh(view: View, query: str, gathered: Gathered, verdicts: Verdicts) -> Weighed:
    """Return the weighed evidence on *query*.

    Args:
        view: The view it was gathered from.
        query: The question.
        gathered: The evidence on it.
        verdicts: Judgements of an analyst, if one was asked.
    """
    evidence = gathered.evidence
    clashes = clashes_among(view, evidence, verdicts)
    outdated = tuple(superseded(evidence, clashes))
    disputed = tuple(islice(disputes(evidence, clashes), DISPUTES_MAX))
    denied = {each.weaker.id for each in disputed if each.is_challenge}
    primary = _primary(evidence, {each.older.id for each in outdated} | denied)
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
        alike=() if primary is None else tuple(_alike(view, primary, evidence)),
    )


# --- roles ----------------------------------------------------------------------------------


def _primary(evidence: Sequence[Evidence], passed_over: AbstractSet[str]) -> Evidence | None:
    """Return the current memory of the highest weight, preferring ones the question found."""
    current = [each for each in evidence if each.id not in passed_over]
    for pool in (
        [each for each in current if each.topic and not each.brought],
        [each for each in current if not each.brought],
        current,
        evidence,
    ):
        if pool:
            return pool[0]
    return None


def _alike(view: View, primary: Evidence, evidence: Sequence[Evidence]) -> Iterator[Evidence]:
    """Yield the memories that say almost the same as the primary, and not the same."""
    floor = nano(view.policy.near_duplicate_noted)
    for each in evidence:
        is_near = each.id != primary.id and similarity(view, primary, each) >= floor
        if is_near and not same(each.content, primary.content):
            yield each


def _parts(
    primary: Evidence, outdated: Sequence[Supersession], disputed: Sequence[Dispute]
) -> dict[str, str]:
    """Return the roles of superseded and contradicting memories, by block id."""
    parts: dict[str, str] = {}
    for each in disputed:
        for side, other in ((each.weaker, each.stronger), (each.stronger, each.weaker)):
            if other.id == primary.id:
                parts[side.id] = "contradicting"
    return parts | {each.older.id: "superseded" for each in outdated}


def _shown(
    view: View, primary: Evidence, evidence: Sequence[Evidence], parts: dict[str, str]
) -> Iterator[tuple[Evidence, str]]:
    """Yield the evidence with its roles; memories dissimilar to the primary are left out."""
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
    """Return the similarity of two memories: of vectors or words, the greater one. Nano-units."""
    rows = view.life.column("vector", np.array([one.number, two.number], dtype=np.int64))
    cosine = 0
    if len(view.index.block_of) and (rows >= 0).all():
        cosine = int(view.index.cosines_between(rows[:1], rows[1:])[0])
    return max(0, cosine, alikeness(one.content, two.content))


# --- confidence -----------------------------------------------------------------------------


def confidence(weight: int, shown: int, disputes: int, conflicts: int) -> int:
    """Return the confidence of an answer.

    Args:
        weight: Of the primary, nano-units.
        shown: Number of memories shown.
        disputes: Number of pairs of memories that clash.
        conflicts: Number of memories that clash with the claim of the question.
    Returns:
        Nano-units, [0, 1].
    Source: specs/deliberation.toml, rule "confidence".
    """
    bonus = min(PER_EVIDENCE * shown, EVIDENCE_BONUS_MAX)
    left = weight + bonus - PER_CONTRADICTION * disputes - PER_CONFLICT * conflicts
    return min(max(left, 0), NANO)
