"""Contradiction detection: rules by which two texts cannot both be true, each with a reason.

Sentences are compared pairwise. The first rule that fires for a pair of sentences names the kind:

1. Sentences about different things never clash: other numbers in their names (gauge 17, gauge 18),
   words of which each applies to one only (staging, production), or two statements about *some*.
2. ``order``: the same two things in reverse order (prefer tabs over spaces).
3. ``replaced``: one says that something is gone, moved or not to be used; the other still uses it.
4. ``amount`` and ``date``: the same statement with numbers of one kind that exclude each other.
5. ``value``: a thing with one value (an owner, a place) has two different ones.
6. ``opposite`` and ``negation``: the same terms, once with an odd number of negations, once even.

The numbers below were tuned on the pairs of tests/projections/references/contradictions.toml.
"""

from __future__ import annotations

from typing import Final

from attrs import evolve, frozen

from mnemic.kernel.numeric.arithmetic import share
from mnemic.kernel.values import Value
from mnemic.projections.references.claims import Claim, Statement, statement
from mnemic.projections.references.quantities import CALENDAR, Quantity, pairs
from mnemic.projections.references.relations import Slot
from mnemic.projections.references.stems import Terms, stem
from mnemic.projections.references.vocabulary import ALTERNATIVES

OVERLAP_MIN: Final = 600_000_000
"""Minimum number of shared terms, as a share of the shorter sentence's. Nano-units."""
OVERLAP_MIN_APART: Final = 750_000_000
"""The same if each sentence has terms that the other lacks and numbers differ."""
OVERLAP_MIN_DENIED: Final = 800_000_000
"""The same if each has terms that the other lacks and one is a denial."""
SPAN_MIN: Final = 500_000_000
"""Minimum of shared terms as a share of the longer sentence's: a clause is not all of it. Nano."""
GONE_MAX: Final = 4
"""Maximum number of terms naming what is gone; a longer phrase is more than a thing."""
TERMS_MIN: Final = 2
"""Minimum number of terms shared by a denial and what it denies."""


@frozen(kw_only=True)
class Clash(Value):
    """Why two texts cannot both be true."""

    kind: str
    """``order``, ``replaced``, ``amount``, ``date``, ``value``, ``opposite``, ``negation``,
    ``edge`` (an edge with this relation exists) or ``judged`` (by an analyst)."""
    detail: str
    """For a reader: the two conflicting statements."""
    overlap: int
    """Shared terms, as a share of the shorter side's. Nano-units."""
    strength: int
    """Overlap; with a cosine, the mean of the two. Nano-units; certain is ``NANO``."""


def clash(first: str, second: str, *, cosine: int | None = None) -> Clash | None:
    """Return why *first* and *second* cannot both be true; None if no rule applies.

    Args:
        first: A text.
        second: Another one.
        cosine: Of their vectors, nano-units, if they are known.
    """
    return contradiction(statement(first), statement(second), cosine=cosine)


def contradiction(
    first: Statement, second: Statement, *, cosine: int | None = None
) -> Clash | None:
    """Return the result of ``clash`` for two texts that are already parsed."""
    # Sentences that both texts contain verbatim are ignored, even if another sentence of one of
    # them contradicts them.
    agreed = {each.said for each in first.claims} & {each.said for each in second.claims}
    found: Clash | None = None
    for ours in first.claims:
        for theirs in second.claims:
            each = None if agreed & {ours.said, theirs.said} else _between(ours, theirs)
            if each is not None and (found is None or each.strength > found.strength):
                found = each
    if found is None or cosine is None:
        return found
    return evolve(found, strength=(found.strength + max(0, cosine) + 1) // 2)


def overlap(first: Terms, second: Terms) -> int:
    """Return the overlap of two sets of terms, as a share of the smaller one. Nano-units."""
    least = min(len(first), len(second))
    return share(len(first & second), least) if least else 0


def _between(ours: Claim, theirs: Claim) -> Clash | None:
    if _apart(ours, theirs):
        return None
    for rule in (_order, _replaced, _amount, _value, _denial):
        found = rule(ours, theirs)
        if found is not None:
            kind, detail = found
            shared = overlap(ours.terms | ours.gone, theirs.terms | theirs.gone)
            return Clash(kind=kind, detail=detail, overlap=shared, strength=shared)
    return None


Found = tuple[str, str]


def _apart(ours: Claim, theirs: Claim) -> bool:
    """Whether the two are about different things."""
    if ours.existential and theirs.existential:
        return True
    named = {each.dimension: each for each in ours.labels}
    for each in theirs.labels:
        if each.dimension in named and not each.meets(named[each.dimension]):
            return True
    one, two = ours.terms - theirs.terms, theirs.terms - ours.terms
    return any(one & words and two & words for words in _ALTERNATIVE_TERMS)


def _order(ours: Claim, theirs: Claim) -> Found | None:
    one, two = ours.order, theirs.order
    if one is None or two is None or one.relation != two.relation:
        return None
    straight = _same(one.first, two.first) and _same(one.second, two.second)
    crossed = _same(one.first, two.second) and _same(one.second, two.first)
    differ = ours.denied != theirs.denied
    if crossed in {straight, differ}:
        return None
    if straight:
        return "negation", f"{_list(ours, ours.terms & theirs.terms)}: once said, once denied"
    return "order", f"{_list(ours, one.first)!r} and {_list(ours, one.second)!r} change places"


def _same(first: Terms, second: Terms) -> bool:
    return overlap(first, second) >= OVERLAP_MIN


def _replaced(ours: Claim, theirs: Claim) -> Found | None:
    for one, two in ((ours, theirs), (theirs, ours)):
        gone = one.gone - one.instead
        if _is_used(gone, one, two):
            return "replaced", f"{_list(one, gone)!r} is gone or not to be used any more"
    return None


def _is_used(gone: Terms, one: Claim, two: Claim) -> bool:
    """Whether *two* still uses what *one* says is gone, on the same matter."""
    if not 0 < len(gone) <= GONE_MAX or two.denied or two.gone & gone:
        return False
    is_named = gone <= two.terms or (len(gone) > TERMS_MIN and _same(gone, two.terms))
    if not is_named or (one.instead & two.terms and not two.terms <= gone | one.terms):
        return False
    beside = two.terms & (one.terms | one.gone) - gone
    shared = beside | (gone & two.terms)
    spans = share(len(shared), len(two.terms)) >= SPAN_MIN
    return spans and (bool(beside) or len(shared) >= TERMS_MIN)


def _amount(ours: Claim, theirs: Claim) -> Found | None:
    differing = [
        (one, two) for one, two in pairs(ours.amounts, theirs.amounts) if not one.meets(two)
    ]
    if not differing or ours.denied != theirs.denied or _conditional(ours, theirs):
        return None
    when = [pair for pair in differing if pair[0].dimension in CALENDAR]
    if when and (len(when) < len(differing) or _repeats(ours, theirs, when)):
        return None
    if not _about_the_same(ours, theirs, OVERLAP_MIN_APART):
        return None
    one, two = differing[0]
    return "date" if when else "amount", f"{one.said} against {two.said}"


def _repeats(ours: Claim, theirs: Claim, when: list[tuple[Quantity, Quantity]]) -> bool:
    """Whether both can have happened, or happen repeatedly."""
    habitual = any(one.habitual or two.habitual for one, two in when)
    return habitual or (ours.happened and theirs.happened)


def _value(ours: Claim, theirs: Claim) -> Found | None:
    if ours.denied != theirs.denied or ours.amounts or theirs.amounts:
        return None
    for one in ours.slots:
        for two in theirs.slots:
            if _exclude(one, two):
                return "value", f"{one.said} against {two.said}"
    return None


def _exclude(one: Slot, two: Slot) -> bool:
    same = one.of == two.of
    exclusive = not (one.value <= two.value or two.value <= one.value)
    return same and len(one.of) > 1 and bool(one.value) and bool(two.value) and exclusive


def _denial(ours: Claim, theirs: Claim) -> Found | None:
    if ours.denied == theirs.denied or (ours.order and theirs.order):
        return None
    if _conditional(ours, theirs) or _differ_in_numbers(ours, theirs):
        return None
    common = ours.terms & theirs.terms
    if len(common) < TERMS_MIN or not _about_the_same(ours, theirs, OVERLAP_MIN_DENIED):
        return None
    if not common & (ours.at_issue | theirs.at_issue):
        return None  # the denial is in another clause
    opposite = (ours.opposites ^ theirs.opposites) & common
    if opposite:
        said = sorted(f"{ours.spelled[each]} and {theirs.spelled[each]}" for each in opposite)
        return "opposite", f"{', '.join(said)} are opposites"
    return "negation", f"{_list(ours, common)}: once said, once denied"


def _differ_in_numbers(ours: Claim, theirs: Claim) -> bool:
    return any(not one.meets(two) for one, two in pairs(ours.amounts, theirs.amounts))


def _conditional(ours: Claim, theirs: Claim) -> bool:
    """Whether one holds under a condition that the other does not name."""
    return not (ours.conditions <= theirs.terms and theirs.conditions <= ours.terms)


def _about_the_same(ours: Claim, theirs: Claim, least_apart: int) -> bool:
    shared = overlap(ours.terms, theirs.terms)
    one, two = ours.terms - theirs.terms, theirs.terms - ours.terms
    longest = max(len(ours.terms), len(theirs.terms))
    if not longest or share(longest - max(len(one), len(two)), longest) < SPAN_MIN:
        return False
    if one and two:
        if one & ours.names and two & theirs.names:
            return False
        return shared >= least_apart
    return shared >= OVERLAP_MIN


def _list(claim: Claim, terms: Terms) -> str:
    """Return *terms* as *claim* spells them, in its order."""
    order = list(claim.spelled)[::-1]
    return " ".join(claim.spelled[each] for each in order if each in terms)


_ALTERNATIVE_TERMS: Final = tuple(frozenset(map(stem, words)) for words in ALTERNATIVES)
