"""Short ids: whoever reads eight characters of an id may write them back."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import TYPE_CHECKING

from mnemic.kernel.errors import BlockNotFound, Refused
from mnemic.kernel.identity import BLOCK_ID_LENGTH, BlockId

if TYPE_CHECKING:
    from mnemic.adapters.inprocess.queries import Queries

SHORT_LENGTH = 8
CANDIDATES_SHOWN = 5
LAST = "\N{REPLACEMENT CHARACTER}"
"""Comes behind every character of an id."""


class IdAmbiguous(Refused):
    """Several blocks begin with the characters that were given."""

    code = "id-ambiguous"
    status = 409
    default_recovery = "Give more characters of the id."


def full_id(known: Queries, given: str) -> str:
    """Return the id that *given* stands for among the blocks that *known* shows.

    Args:
        known: Where to look: the live memory, or a view of the past.
        given: See ``completed``.

    Raises:
        BlockNotFound, IdAmbiguous: See ``completed``.
    """
    start = _bare(given)
    return start if len(start) >= BLOCK_ID_LENGTH else completed(given, all_ids(known))


def all_ids(known: Queries) -> list[BlockId]:
    """Return the id of every block that *known* shows, sorted."""
    from mnemic.adapters.inprocess.queries import known_ids

    return known_ids(known)


def completed(given: str, ids: Sequence[BlockId]) -> str:
    """Return the one of *ids* that *given* stands for.

    Args:
        given: A whole id, or at least the first 8 of its 16 characters, in brackets if need be.
        ids: Sorted.

    Raises:
        BlockNotFound: No block has such an id. That is not asked of a whole one.
        IdAmbiguous: Several have.
    """
    start = _bare(given)
    if len(start) >= BLOCK_ID_LENGTH:
        return start
    if len(start) < SHORT_LENGTH:
        raise BlockNotFound(
            f"{given!r} is too short for an id",
            recovery=f"Give at least {SHORT_LENGTH} of its {BLOCK_ID_LENGTH} characters.",
            block_id=given,
        )
    found = ids[bisect_left(ids, start) : bisect_left(ids, start + LAST)]
    if not found:
        raise BlockNotFound(f"no block has an id that begins with {start!r}", block_id=given)
    if len(found) > 1:
        shown = ", ".join(found[:CANDIDATES_SHOWN])
        raise IdAmbiguous(
            f"{len(found)} blocks have an id that begins with {start!r}: {shown}",
            candidates=list(found[:CANDIDATES_SHOWN]),
        )
    return found[0]


def _bare(given: str) -> str:
    return given.strip("[]… ").lower()
