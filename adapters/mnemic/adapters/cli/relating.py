"""Commands on how blocks stand to each other, edges aside: resemblance, and what waits."""

from __future__ import annotations

from rich.text import Text

from mnemic.adapters.addresses import full_id
from mnemic.adapters.cli.failures import Exit
from mnemic.adapters.cli.invocation import Run


def analogies(block_id: str, /, *, limit: int = 10, run: Run) -> int:
    """List blocks that stand in relations as this one does and say something else.

    Args:
        block_id: A block with at least one edge that is supports, elaborates, contradicts,
            outcome or a relation of your own.
        limit: Most blocks, 1 to 1000.
        run: This invocation.
    """
    from mnemic.adapters.cli import likenesses

    with run.looking() as known:
        found = known.analogies(full_id(known, block_id), limit=limit)
    run.show_all(found, likenesses.analogies(found) if found else Text("No analogies."))
    return Exit.OK


def compare(block_id: str, other_id: str, /, *, run: Run) -> int:
    """Compare two blocks: in structure, in looks, and which of four kinds of pair they are.

    Args:
        block_id: A block; 8 characters of its id are enough.
        other_id: Another one.
        run: This invocation.
    """
    from mnemic.adapters.cli import likenesses

    with run.looking() as known:
        result = known.compare(full_id(known, block_id), full_id(known, other_id))
    run.show(result, *likenesses.compared(result))
    return Exit.OK


def near_duplicates(*, run: Run) -> int:
    """List pairs of active blocks that say almost the same, and how nearly.

    Where one of the two is enough, `mnemic forget` the other.

    Args:
        run: This invocation.
    """
    from mnemic.adapters.cli import likenesses

    with run.looking() as known:
        found = known.near_duplicates()
    drawn = likenesses.near_duplicates(found) if found else Text("No near-duplicates.")
    run.show_all(found, drawn)
    return Exit.OK


def pending_connections(*, run: Run) -> int:
    """List connections that wait for room at a block whose edges are at their limit.

    `mnemic curate` lets them in as soon as there is room.

    Args:
        run: This invocation.
    """
    from mnemic.adapters.cli import likenesses

    with run.looking() as known:
        found = known.pending_connections()
    run.show_all(found, likenesses.pending(found) if found else Text("Nothing waits."))
    return Exit.OK
