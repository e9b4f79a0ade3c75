"""Commands on the similarity of blocks, and on pending connections."""

from __future__ import annotations

from rich.text import Text

from mnemic.adapters.cli.invocation.context import Run
from mnemic.adapters.cli.invocation.failures import Exit
from mnemic.adapters.short_ids import full_id


def analogies(block_id: str, /, *, limit: int = 10, run: Run) -> int:
    """List blocks with relations similar to those of this one but with different content.

    Args:
        block_id: A block with at least one edge that is supports, elaborates, contradicts,
            outcome or a relation of your own.
        limit: Maximum number of blocks, 1 to 1000.
        run: The invocation.
    """
    from mnemic.adapters.cli.render import similarity

    with run.looking() as known, run.progress("comparing"):
        found = known.analogies(full_id(known, block_id), limit=limit)
    run.show_all(found, similarity.analogies(found) if found else Text("No analogies."))
    return Exit.OK


def compare(block_id: str, other_id: str, /, *, run: Run) -> int:
    """Compare two blocks: in structure, in content, and which of four kinds of pair they are.

    Args:
        block_id: A block; the first 8 characters of its id are enough.
        other_id: Another one.
        run: The invocation.
    """
    from mnemic.adapters.cli.render import similarity

    with run.looking() as known:
        result = known.compare(full_id(known, block_id), full_id(known, other_id))
    run.show(result, *similarity.compared(result))
    return Exit.OK


def near_duplicates(*, run: Run) -> int:
    """List pairs of active blocks that say almost the same, with their similarity.

    Where one of the two is enough, `mnemic forget` the other.

    Args:
        run: The invocation.
    """
    from mnemic.adapters.cli.render import similarity

    with run.looking() as known, run.progress("comparing"):
        found = known.near_duplicates()
    drawn = similarity.near_duplicates(found) if found else Text("No near-duplicates.")
    run.show_all(found, drawn)
    return Exit.OK


def pending_connections(*, run: Run) -> int:
    """List connections that wait because a block has reached its limit of edges.

    `mnemic curate` admits them as soon as an edge slot is free.

    Args:
        run: The invocation.
    """
    from mnemic.adapters.cli.render import similarity

    with run.looking() as known:
        found = known.pending_connections()
    run.show_all(found, similarity.pending(found) if found else Text("Nothing waits."))
    return Exit.OK
