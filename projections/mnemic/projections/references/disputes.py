"""Disputes: memories that clash, that are out of date, and that contradict a claim.

1. Two memories clash by an edge of contradiction, by the judgment of an analyst, or by the rules of
   ``contradiction``. Except for edges, memories trusted less than ``TRUST_MIN`` are ignored, unless
   only the zone of one of the two is not trusted: then both are shown, and the matter is
   disputed.
2. The older of two is superseded if they are nearly equal, or clash, and the newer is trusted
   more; and if the newer says that the older no longer holds. Then there is no dispute.
   A memory never supersedes one of a higher zone.

Source: reference composed-graph section 3, stages 4 and 5; specs/deliberation.toml, rules
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Final, TypeAlias

from attrs import frozen

from mnemic.kernel.numeric.arithmetic import NANO, share
from mnemic.kernel.values import Value
from mnemic.projections.references.claims import statement
from mnemic.projections.references.contradiction import Clash, contradiction, overlap
from mnemic.projections.references.evidence import Evidence
from mnemic.projections.references.intent import claim_of
from mnemic.projections.view import View

TRUST_MIN: Final = 300_000_000
"""Minimum trust of a memory that can contradict another."""
ALIKE: Final = 300_000_000
"""Jaccard overlap of words above which two memories are on one matter."""
SAME_MATTER: Final = 800_000_000
"""Shared terms, as a share of the shorter one's, from which two memories say the same."""
WORD_LENGTH_MIN: Final = 4
SUSPECTS_MAX: Final = 20
SUSPICION: Final = 400_000_000
"""Overlap of terms from which an analyst is asked about a pair."""

Pair: TypeAlias = tuple[str, str]
"""Two block ids, the smaller first."""
Verdicts: TypeAlias = Mapping[Pair, bool]
"""The judgements of an analyst on pairs: whether they contradict each other."""
Clashes: TypeAlias = Mapping[tuple[str, str], Clash]
"""By two block ids, in the order of the evidence."""


@frozen(kw_only=True)
class Dispute(Value):
    """Two memories that cannot both be true."""

    stronger: Evidence
    weaker: Evidence
    clash: Clash

    @property
    def is_challenge(self) -> bool:
        """Whether it is a memory of a zone below the floor of trust that denies one above it."""
        return is_below(self.weaker) and not is_below(self.stronger)


@frozen(kw_only=True)
class Supersession(Value):
    """A memory that a newer one replaces."""

    older: Evidence
    newer: Evidence


@frozen(kw_only=True)
class Conflict(Value):
    """A memory that contradicts what the question claims."""

    against: Evidence
    clash: Clash


def is_below(memory: Evidence) -> bool:
    """Whether a memory is of a zone that allows less trust than the floor, ``TRUST_MIN``."""
    return memory.ceiling < TRUST_MIN


def suspects(evidence: Sequence[Evidence]) -> tuple[tuple[Evidence, Evidence], ...]:
    """Return the pairs that an analyst should be asked about, the most similar first."""
    found = [
        (overlap(one.said.terms, two.said.terms), one, two)
        for one, two in combinations(evidence, 2)
        if min(one.trust, two.trust) >= TRUST_MIN
    ]
    kept = [entry for entry in found if entry[0] >= SUSPICION]
    kept.sort(key=lambda entry: (-entry[0], entry[1].id, entry[2].id))
    return tuple((one, two) for _, one, two in kept[:SUSPECTS_MAX])


def clashes_among(view: View, evidence: Sequence[Evidence], verdicts: Verdicts) -> Clashes:
    """Return why pairs of memories cannot both be true."""
    return {
        (one.id, two.id): clash
        for one, two in combinations(evidence, 2)
        if (clash := between(view, one, two, verdicts)) is not None
    }


def between(view: View, one: Evidence, two: Evidence, verdicts: Verdicts) -> Clash | None:
    """Return why two memories cannot both be true; None if there is no known reason."""
    edge = view.edge(one.number, two.number)
    if edge is not None and edge.relation == "contradicts":
        note = view.note(one.number, two.number)
        return _certain("edge", note or "connected as a contradiction", one, two)
    if min(one.trust, two.trust) < TRUST_MIN and is_below(one) == is_below(two):
        return None
    judged = verdicts.get((min(one.id, two.id), max(one.id, two.id)))
    if judged is not None:
        return _certain("judged", "the analyst says so", one, two) if judged else None
    return contradiction(one.said, two.said)


def _certain(kind: str, detail: str, one: Evidence, two: Evidence) -> Clash:
    shared = overlap(one.said.terms, two.said.terms)
    return Clash(kind=kind, detail=detail, overlap=shared, strength=NANO)


# --- what is outdated -----------------------------------------------------------------------


def superseded(evidence: Sequence[Evidence], clashes: Clashes) -> Iterator[Supersession]:
    """Yield each superseded memory once, with the newest that supersedes it; the newest first."""
    ordered = sorted(evidence, key=lambda each: each.age, reverse=True)
    for place, older in enumerate(ordered):
        for newer in ordered[:place]:
            clash = clashes.get((newer.id, older.id)) or clashes.get((older.id, newer.id))
            if supersedes(newer, older, clash):
                yield Supersession(older=older, newer=newer)
                break


def supersedes(newer: Evidence, older: Evidence, clash: Clash | None) -> bool:
    """Whether *newer* supersedes *older*."""
    if newer.ceiling < older.ceiling:
        return False
    if clash is not None and clash.kind == "replaced" and _says_gone(newer, older):
        return newer.trust >= older.trust
    if newer.trust <= older.trust or alikeness(newer.content, older.content) <= ALIKE:
        return False
    same = overlap(newer.said.terms, older.said.terms) >= SAME_MATTER
    return clash is not None or same


def _says_gone(newer: Evidence, older: Evidence) -> bool:
    return any(claim.gone & older.said.terms for claim in newer.said.claims)


def alikeness(first: str, second: str) -> int:
    """Return the Jaccard index of the longer words of two texts, nano-units."""
    one, two = _long_words(first), _long_words(second)
    return share(len(one & two), len(one | two))


def _long_words(text: str) -> frozenset[str]:
    return frozenset(
        word for word in re.findall(r"\w+", text.lower()) if len(word) >= WORD_LENGTH_MIN
    )


# --- what clashes ---------------------------------------------------------------------------


def disputes(evidence: Sequence[Evidence], clashes: Clashes) -> Iterator[Dispute]:
    """Yield the clashes, the strongest first.

    The side of the higher zone is the stronger one, then the more trusted, then the newer.

    If the newer one itself says that the older is out of date, there is no dispute.
    """
    known: dict[str, Evidence] = {each.id: each for each in evidence}
    order = sorted(clashes.items(), key=lambda entry: (-entry[1].strength, entry[0]))
    for (first, second), clash in order:
        older, newer = sorted((known[first], known[second]), key=lambda each: each.age)
        if clash.kind == "replaced" and supersedes(newer, older, clash):
            continue
        weaker, stronger = sorted(
            (older, newer), key=lambda each: (each.ceiling, each.trust, each.age)
        )
        yield Dispute(stronger=stronger, weaker=weaker, clash=clash)


def conflicts(query: str, evidence: Sequence[Evidence]) -> Iterator[Conflict]:
    """Yield the memories that clash with what *query* claims, if it claims anything."""
    claimed = claim_of(query)
    if claimed is None:
        return
    said = statement(claimed)
    for each in evidence:
        if each.trust >= TRUST_MIN:
            clash = contradiction(said, each.said)
            if clash is not None:
                yield Conflict(against=each, clash=clash)
