"""Commands that ask: recall, status, blocks, block, edges, log, history, guide."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.text import Text

from mnemic.adapters.addresses import full_id
from mnemic.adapters.cli.conditions import conditions
from mnemic.adapters.cli.failures import Exit
from mnemic.adapters.cli.invocation import Flag, Invocation, Run
from mnemic.kernel.errors import FieldRefused
from mnemic.kernel.identity import BlockId

if TYPE_CHECKING:
    from mnemic.kernel.results import Moment, RecallResult


def recall(
    query: str | None = None,
    /,
    *,
    frame: str = "attention",
    top_k: int | None = None,
    budget: int | None = None,
    where: tuple[str, ...] = (),
    suggest: Flag = False,
    record: bool = True,
    explore: float = 0.0,
    explain: Flag = False,
    command_id: str | None = None,
    run: Run,
) -> int:
    """Ask what bears on a question; the answer is recorded as a decision.

    What waits in the inbox is consolidated first.

    Args:
        query: What is asked; without it blocks are ranked by everything but relevance.
        frame: Which signals count: attention, self, task, short_term or world.
        top_k: Most blocks; 5, or as many as the frame guarantees, if not given.
        budget: Most tokens of the prompt-ready text; the frame's if not given.
        where: key=value; repeat for more. Keys: tags, category, author, thread, since, until,
            metadata.KEY.
        suggest: Name up to three pairs that are worth connecting.
        record: Whether the decision is recorded and counts as a retrieval.
        explore: How probable it is that the last place goes to one of those next in line, so that
            backtests can tell what was missed; 0 to 1.
        explain: Show what each signal adds to each score, and what was left out.
        command_id: A name for this command; repeated under it, it is done once.
        run: This invocation.
    """
    with run.memory() as memory:
        result = memory.recall(
            query,
            frame=frame,
            top_k=top_k,
            token_budget=budget,
            where=conditions(where),
            suggest=suggest,
            record=record,
            explore=explore,
            command_id=command_id,
        )
    show_recall(run, result, explain=explain)
    return Exit.OK


def status(*, run: Run) -> int:
    """Show counts, the clock, and what is in force.

    Args:
        run: This invocation.
    """
    from mnemic.adapters.cli import drawings

    with run.looking() as known:
        result = known.status()
    run.show(result, *drawings.status(result))
    return Exit.OK


def blocks(
    *,
    tag: str | None = None,
    category: str | None = None,
    author: str | None = None,
    thread: str | None = None,
    status: str | None = None,
    after: int | None = None,
    limit: int = 50,
    run: Run,
) -> int:
    """List blocks in the order of learning.

    Args:
        tag: With this tag; one that ends in / stands for every tag below it.
        category: Of this category.
        author: Said by this author.
        thread: Of this thread.
        status: inbox, active or archived.
        after: Continue behind this version of the log.
        limit: Most blocks, 1 to 1000.
        run: This invocation.
    """
    from mnemic.adapters.cli import drawings

    with run.looking() as known:
        page = known.blocks(
            tag=tag,
            category=category,
            author=author,
            thread=thread,
            status=status,
            after=after,
            limit=limit,
        )
    run.show(page, *drawings.page(page))
    return Exit.OK


def block(block_id: str, /, *, run: Run) -> int:
    """Show one block with its edges.

    Args:
        block_id: The block; 8 characters of its id are enough.
        run: This invocation.
    """
    from mnemic.adapters.cli import drawings

    with run.looking() as known:
        found = known.block(full_id(known, block_id))
        edges = known.edges(found.id)
    document = {**found.to_dict(), "edges": [edge.to_dict() for edge in edges]}
    drawn = [drawings.edges(edges, found.id)] if edges else []
    run.show_document(document, *drawings.facts(found), *drawn)
    return Exit.OK


def edges(block_id: str, /, *, run: Run) -> int:
    """List the edges of a block, strongest now first.

    Args:
        block_id: The block; 8 characters of its id are enough.
        run: This invocation.
    """
    from mnemic.adapters.cli import drawings

    with run.looking() as known:
        block = BlockId(full_id(known, block_id))
        found = known.edges(block)
    run.show_all(found, drawings.edges(found, block) if found else Text("No edges."))
    return Exit.OK


def log(*, after: int | None = None, limit: int = 50, of: str | None = None, run: Run) -> int:
    """List events: the last ones, those behind a version, or those behind one block.

    With --json each event is a line of its own.

    Args:
        after: Begin behind this version; -1 is the beginning.
        limit: Most events, 1 to 1000.
        of: Only those that changed this block or one of its edges.
        run: This invocation.

    Raises:
        FieldRefused: Both a beginning and a block were named.
    """
    if of is not None and after is not None:
        raise FieldRefused(
            "--after and --of do not go together", recovery="Leave out one of the two."
        )
    if after is None:
        return history(of=of, limit=limit, run=run)
    with run.looking() as known:
        found = known.log(after=after, limit=limit)
    return _show_moments(run, found)


def history(*, of: str | None = None, limit: int = 50, run: Run) -> int:
    """List the last events, or those behind one block: how it came to be what it is.

    With --json each event is a line of its own.

    Args:
        of: Only those that changed this block or one of its edges.
        limit: Most events, 1 to 1000.
        run: This invocation.
    """
    with run.looking() as known:
        found = known.history(of=None if of is None else full_id(known, of), limit=limit)
    return _show_moments(run, found)


def _show_moments(run: Invocation, found: Sequence[Moment]) -> int:
    from mnemic.adapters.cli import drawings

    if run.as_json:
        for moment in found:
            run.write_json(moment.to_dict())
    else:
        run.out.print(drawings.log(found))
    return Exit.OK


def guide(name: str | None = None, /, *, run: Run) -> int:
    """Explain a verb of the library: what, when, when not, cost, result, what comes next.

    Args:
        name: Which; all of them, a line each, if not given.
        run: This invocation.
    """
    from mnemic.adapters.inprocess import guide as cards

    card = cards(None if name is None else name.replace("-", "_"))
    run.show(card, Text(str(card)))
    return Exit.OK


def show_recall(run: Invocation, result: RecallResult, *, explain: bool) -> None:
    """Show an answer, and why if asked."""
    from mnemic.adapters.cli import drawings

    run.show(result, *drawings.recalled(result, explained=explain))
    if not run.as_json:
        for warning in result.warnings:
            run.warn(warning)
