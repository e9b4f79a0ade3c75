"""Short ids: the first eight or more characters of a block id, accepted in place of the id."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import TYPE_CHECKING

from mnemic.kernel.errors import BlockNotFound, Refused
from mnemic.kernel.model.identity import BLOCK_ID_LENGTH, BlockId

if TYPE_CHECKING:
    from mnemic.adapters.inprocess.queries import Queries

SHORT_LENGTH = 8
CANDIDATES_SHOWN = 5
LAST = "\N{REPLACEMENT CHARACTER}"
"""Sorts after every character of an id."""


class IdAmbiguous(Refused):
    """Several blocks begin with the characters that were given."""

    code = "id-ambiguous"
    status = 409
    default_recovery = "Give more characters of the id."


def full_id(known: Queries, given: str) -> str:
    """Return the full id that *given* abbreviates among the blocks of *known*.

    Args:
        known: The live memory, or a view of the past.
        given: See ``completed``.

    Raises:
        BlockNotFound, IdAmbiguous: See ``completed``.
    """
    from mnemic.adapters.inprocess.queries import known_ids

    start = bare(given)
    return start if len(start) >= BLOCK_ID_LENGTH else completed(given, known_ids(known, start))


def all_ids(known: Queries) -> list[BlockId]:
    """Return the id of every block in *known*, sorted."""
    from mnemic.adapters.inprocess.queries import known_ids

    return known_ids(known)


def completed(given: str, ids: Sequence[BlockId]) -> str:
    """Return the one of *ids* that *given* abbreviates.

    Args:
        given: A whole id, or at least the first 8 of its 16 characters, optionally in brackets.
        ids: All ids, or those that begin so, sorted.

    Raises:
        BlockNotFound: No block has such an id. This is not checked for a whole id.
        IdAmbiguous: Several blocks have such an id.
    """
    start = bare(given)
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


def bare(given: str) -> str:
    """Return a short id as ids are written: lower case, without brackets."""
    return given.strip("[]… ").lower()
