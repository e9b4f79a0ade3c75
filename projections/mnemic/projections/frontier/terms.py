"""Terms and tags as the frontier uses them: specific terms, boundary tags, tag filters.

Source: reference composed-graph section 2; specs/ledger.toml, rule "terms".
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

SHARED_TERMS_MAX: Final = 8
"""Maximum number of shared terms that a candidate lists."""
BOUNDARY_PREFIX: Final = "boundary-"
BOUNDARY_TAGS: Final = frozenset(
    "time chain role oracle queue settlement keeper upgrade pause accounting scope".split()
)


def specificity(term: str) -> int:
    """Return how specific a term is: long ones, and those with digits, hyphens and underscores."""
    return len(term) + 2 * sum(map(str.isdigit, term)) + 2 * ("-" in term) + 2 * ("_" in term)


def most_specific(shared: Iterable[str]) -> tuple[str, ...]:
    """Return up to eight terms, the most specific first, then in alphabetical order."""
    return tuple(sorted(shared, key=lambda term: (-specificity(term), term))[:SHARED_TERMS_MAX])


def is_boundary(tag: str) -> bool:
    """Whether a tag marks a boundary between parts of a system."""
    small = tag.lower()
    return small.startswith(BOUNDARY_PREFIX) or small in BOUNDARY_TAGS


def passes(tags: Iterable[str], wanted: Sequence[str]) -> bool:
    """Whether a tag is one of *wanted* or in the namespace of one: ``project:x`` for ``project``.

    Without a filter everything passes.
    """
    spaces = tuple(f"{want}:" for want in wanted)
    return not wanted or any(tag in wanted or tag.startswith(spaces) for tag in tags)
