"""Short ids: whoever reads eight characters of an id may write them back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from mnemic.kernel.errors import BlockNotFound, Refused
from mnemic.kernel.identity import BLOCK_ID_LENGTH, BlockId

if TYPE_CHECKING:
    from mnemic.adapters.inprocess.queries import Queries

SHORT_LENGTH = 8
PAGE = 1000
CANDIDATES_SHOWN = 5


class IdAmbiguous(Refused):
    """Several blocks begin with the characters that were given."""

    code = "id-ambiguous"
    status = 409
    default_recovery = "Give more characters of the id."


def full_id(known: Queries, given: str, *, ids: Sequence[BlockId] | None = None) -> str:
    """Return the id that *given* stands for.

    Args:
        known: Where to look: the live memory, or a view of the past.
        given: A whole id, or at least the first 8 of its 16 characters, in brackets if need be.
        ids: All ids, where they are listed already.

    Raises:
        BlockNotFound: No block has such an id.
        IdAmbiguous: Several have.
    """
    start = given.strip("[]… ").lower()
    if len(start) >= BLOCK_ID_LENGTH:
        return start
    if len(start) < SHORT_LENGTH:
        raise BlockNotFound(
            f"{given!r} is too short for an id",
            recovery=f"Give at least {SHORT_LENGTH} of its {BLOCK_ID_LENGTH} characters.",
            block_id=given,
        )
    listed = all_ids(known) if ids is None else ids
    found = [block for block in listed if block.startswith(start)]
    if not found:
        raise BlockNotFound(f"no block has an id that begins with {start!r}", block_id=given)
    if len(found) > 1:
        shown = ", ".join(found[:CANDIDATES_SHOWN])
        raise IdAmbiguous(
            f"{len(found)} blocks have an id that begins with {start!r}: {shown}",
            candidates=found[:CANDIDATES_SHOWN],
        )
    return found[0]


def all_ids(known: Queries) -> list[BlockId]:
    """Return the id of every block, in the order of learning."""
    ids: list[BlockId] = []
    after: int | None = None
    while True:
        page = known.blocks(after=after, limit=PAGE)
        ids += (block.id for block in page.items)
        after = page.next_after
        if after is None:
            return ids
