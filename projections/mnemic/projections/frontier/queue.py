"""The frontier of a view as a result object."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from mnemic.kernel.errors import FieldRefused
from mnemic.kernel.results import Frontier
from mnemic.projections.frontier import pairs, sets
from mnemic.projections.frontier.calibration import calibration
from mnemic.projections.frontier.classic import candidates as classic
from mnemic.projections.frontier.pairs import Field
from mnemic.projections.frontier.rendering import shown
from mnemic.projections.frontier.sets import Candidate
from mnemic.projections.view import View

MODES: Final = ("default", "classic")
ANY: Final = "any"
LIMIT_MAX: Final = 1000
TAGS_MAX: Final = 100
PAIR: Final = 2


def frontier(
    view: View,
    *,
    mode: str,
    tags: Sequence[str],
    limit: int,
    size: int | str,
    until: View | None = None,
) -> Frontier:
    """Return the best combinations that were never composed.

    Args:
        view: The view to search.
        mode: ``default`` or ``classic``.
        tags: A member must have one of these, or one in its namespace; empty: everything passes.
        limit: Maximum number of candidates. Range: 1 to 1000.
        size: 2, 3, 4 or ``any``.
        until: Up to which view calibration may look; None: no calibration.

    Raises:
        FieldRefused: An argument is not valid.
    """
    wanted = _checked(mode, tags, limit, size)
    if mode == "classic":
        return _classic(view, wanted, limit)
    field = pairs.field(view, tags=wanted)
    found = _found(view, field, size, limit)
    return Frontier(
        mode=mode,
        size=size,
        tags=wanted,
        version=view.point.version,
        hour=view.point.hour,
        blocks=len(field.blocks.numbers),
        considered=len(field.scored.keys),
        candidates=tuple(shown(view, field, each) for each in found),
        empty_because=None if found else _emptiness(field, size),
        calibration=() if until is None else tuple(calibration(field, view, until, found)[:limit]),
    )


def _found(view: View, field: Field, size: int | str, limit: int) -> list[Candidate]:
    if size == PAIR:
        return sets.of_pairs(field, limit)
    if size != ANY:
        return sets.of_size(view, field, int(size), limit)
    larger = [each for one in sets.SIZES[1:] for each in sets.of_size(view, field, one, limit)]
    return sets.ranked(field, [*sets.of_pairs(field, limit), *larger])[:limit]


def _classic(view: View, tags: tuple[str, ...], limit: int) -> Frontier:
    found = classic.candidates(view, tags=tags, limit=limit)
    return Frontier(
        mode="classic",
        size=PAIR,
        tags=tags,
        version=view.point.version,
        hour=view.point.hour,
        candidates=found,
        empty_because=None if found else "nothing-in-common",
    )


def _emptiness(field: Field, size: int | str) -> str:
    """Return the reason why there is no candidate, in a word."""
    scored, smallest = field.scored, PAIR if size == ANY else int(size)
    fine = ~scored.redundant
    passing = field.blocks.wanted[scored.low] | field.blocks.wanted[scored.high]
    reasons = (
        (len(field.blocks.numbers) < smallest, "too-few-blocks"),
        (smallest > PAIR, "no-such-set"),
        (not fine.any(), "nothing-in-common"),
        (bool(scored.used_up[fine].all()), "all-composed"),
        (not passing.any(), "filtered"),
    )
    return next((word for holds, word in reasons if holds), "below-floor")


def _checked(mode: object, tags: object, limit: object, size: object) -> tuple[str, ...]:
    """Return the tags of a valid request.

    Raises:
        FieldRefused: An argument is not valid.
    """
    if mode not in MODES:
        raise FieldRefused(f"mode must be one of {', '.join(MODES)}, got {mode!r}", field="mode")
    if type(limit) is not int or not 1 <= limit <= LIMIT_MAX:
        raise FieldRefused(f"limit must be from 1 to {LIMIT_MAX}, got {limit!r}", field="limit")
    if size != ANY and (type(size) is not int or size not in sets.SIZES):
        raise FieldRefused(f"size must be 2, 3, 4 or 'any', got {size!r}", field="size")
    if mode == "classic" and size != PAIR:
        raise FieldRefused("mode classic has pairs alone", recovery="Leave size 2.", field="size")
    given: object = (tags,) if isinstance(tags, str) else tags
    if not isinstance(given, list | tuple) or len(given) > TAGS_MAX:
        given = (None,)
    words = tuple(dict.fromkeys(tag for tag in given if isinstance(tag, str)))
    if any(not isinstance(tag, str) for tag in given):
        raise FieldRefused(f"tags must be a short list of texts, got {tags!r:.80}", field="tags")
    return words
