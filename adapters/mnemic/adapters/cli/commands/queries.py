"""Commands that query, and outcome, which says how useful an answer was."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from rich.text import Text

from mnemic.adapters.cli.invocation.conditions import conditions
from mnemic.adapters.cli.invocation.conditions import scope as named
from mnemic.adapters.cli.invocation.context import Flag, Invocation, Run
from mnemic.adapters.cli.invocation.failures import Exit
from mnemic.adapters.short_ids import full_id
from mnemic.kernel.errors import FieldRefused
from mnemic.kernel.model.identity import BlockId

if TYPE_CHECKING:
    from rich.console import RenderableType

    from mnemic.kernel.results import LogEntry, RecallResult


def recall(
    query: str | None = None,
    /,
    *,
    frame: str | None = None,
    top_k: int | None = None,
    budget: int | None = None,
    where: tuple[str, ...] = (),
    scope: tuple[str, ...] = (),
    asked_by: str | None = None,
    min_probability: float | None = None,
    suggest: Flag = False,
    record: bool = True,
    explore: float = 0.0,
    detail: Literal["core", "full"] = "full",
    explain: Flag = False,
    text: Flag = False,
    command_id: str | None = None,
    run: Run,
) -> int:
    """Find what is relevant to a question; the answer is recorded as a decision.

    The inbox is consolidated first.

    Args:
        query: The question; without it blocks are ranked by everything but relevance.
        frame: Which signals count: answer, attention, self, task, short_term or world; the
            policy's default frame if not given.
        top_k: Maximum number of blocks; 5, or as many as the frame guarantees, if not given.
        budget: Maximum number of tokens of the prompt-ready text; the frame's if not given.
        where: key=value; repeat for more, and all must hold. Keys: tags, category, author, thread,
            key, zone, user, agent, run, since, until, valid_at, metadata.KEY. Or a filter as JSON,
            which has range, any, all and not as well, such as
            '{"any": [{"tags": ["ops"]}, {"range": {"confidence": {"from": 0.9}}}]}'.
        scope: Only blocks of user=NAME, agent=NAME or run=NAME; repeat for more.
        asked_by: The asker, a name or role: "I" in the question refers to the asker; the user of
            the scope if not given.
        min_probability: Leave out blocks that bear on the question with a smaller probability; 0 to
            1, the frame's floor if not given.
        suggest: Name up to three pairs that are worth connecting.
        record: Whether the decision is recorded and counts as a retrieval. Without a record, too,
            the inbox is consolidated first, which writes.
        explore: The probability that the last place goes to one of the next-ranked blocks, so that
            backtests can measure what was missed; 0 to 1.
        detail: How much --json prints: core leaves out what only explains the answer.
        explain: Show what each signal adds to each score, and what was left out.
        text: Print the prompt-ready text alone.
        command_id: An idempotency key: a command repeated with the same key is done once.
        run: The invocation.
    """
    check_text(run, text=text, explain=explain)
    with run.memory(asking=True) as memory, run.progress("recalling"):
        result = memory.recall(
            query,
            frame=frame,
            top_k=top_k,
            token_budget=budget,
            where=conditions(where),
            scope=named(scope),
            asked_by=asked_by,
            min_probability=min_probability,
            suggest=suggest,
            record=record,
            explore=explore,
            command_id=command_id,
        )
    show_recall(run, result, explain=explain, detail=detail, text=text)
    return Exit.OK


def reference(
    query: str, /, *, depth: int = 20, record: bool = True, command_id: str | None = None, run: Run
) -> int:
    """Weigh what memory holds about a question or a claim before you rely on it.

    Shows the evidence with roles and trust, what is out of date, what contradicts what, and the
    confidence. The inbox is consolidated first. This is not a recall: nothing counts as retrieved;
    the evidence is recorded as a composition.

    Args:
        query: The question or claim: "Is it true that the gate opens at six?"
        depth: Maximum number of memories found by the question itself, 5 to 50.
        record: Whether the evidence is recorded. Without a record, too, the inbox is consolidated
            first.
        command_id: An idempotency key: a command repeated with the same key is done once.
        run: The invocation.
    """
    from mnemic.adapters.cli.render import references

    with run.memory(asking=True) as memory, run.progress("weighing"):
        result = memory.deep_reference(query, depth=depth, record=record, command_id=command_id)
    drawn: list[RenderableType] = list(references.referenced(result))
    run.show(result, *drawn)
    return Exit.OK


def status(*, run: Run) -> int:
    """Show counts, the clock, and what is in force.

    Args:
        run: The invocation.
    """
    from mnemic.adapters.cli.render import tables

    with run.looking() as known:
        result = known.status()
    run.show(result, *tables.status(result))
    return Exit.OK


def blocks(
    *,
    tag: str | None = None,
    category: str | None = None,
    author: str | None = None,
    thread: str | None = None,
    key: str | None = None,
    status: str | None = None,
    after: int | None = None,
    limit: int = 50,
    run: Run,
) -> int:
    """List blocks in the order of learning.

    Args:
        tag: With this tag; one that ends in / matches every tag below it.
        category: Of this category.
        author: Said by this author.
        thread: Of this thread.
        key: Learned with this key; one that ends in / matches every key below it.
        status: inbox, active, archived or quarantined.
        after: Continue after this version of the log.
        limit: Maximum number of blocks, 1 to 1000.
        run: The invocation.
    """
    from mnemic.adapters.cli.render import tables

    with run.looking() as known:
        page = known.blocks(
            tag=tag,
            category=category,
            author=author,
            thread=thread,
            key=key,
            status=status,
            after=after,
            limit=limit,
        )
    run.show(page, *tables.page(page))
    return Exit.OK


def block(block_id: str, /, *, run: Run) -> int:
    """Show one block with its edges.

    Args:
        block_id: The block; the first 8 characters of its id are enough.
        run: The invocation.
    """
    from mnemic.adapters.cli.render import tables

    with run.looking() as known:
        found = known.block(full_id(known, block_id))
        edges = known.edges(found.id)
    document = {**found.to_dict(), "edges": [edge.to_dict() for edge in edges]}
    drawn = [tables.edges(edges, found.id)] if edges else []
    run.show_document(document, *tables.facts(found), *drawn)
    return Exit.OK


def edges(block_id: str, /, *, run: Run) -> int:
    """List the edges of a block, currently strongest first.

    Args:
        block_id: The block; the first 8 characters of its id are enough.
        run: The invocation.
    """
    from mnemic.adapters.cli.render import tables

    with run.looking() as known:
        block = BlockId(full_id(known, block_id))
        found = known.edges(block)
    run.show_all(found, tables.edges(found, block) if found else Text("No edges."))
    return Exit.OK


def log(*, after: int | None = None, limit: int = 50, of: str | None = None, run: Run) -> int:
    """List events: the last ones, those after a version, or those of one block.

    With --json each event is printed on its own line.

    Args:
        after: Begin after this version; -1 is the beginning.
        limit: Maximum number of events, 1 to 1000.
        of: Only those that changed this block or one of its edges.
        run: The invocation.

    Raises:
        FieldRefused: Both --after and --of were given.
    """
    if of is not None and after is not None:
        raise FieldRefused(
            "--after and --of cannot be combined", recovery="Leave out one of the two."
        )
    if after is None:
        return history(of=of, limit=limit, run=run)
    with run.looking() as known:
        found = known.log(after=after, limit=limit)
    return _show_events(run, found)


def history(of: str | None = None, *, limit: int = 50, run: Run) -> int:
    """List the last events, or those of one block: how it reached its present state.

    With --json each event is printed on its own line.

    Args:
        of: Only those that changed this block or one of its edges; the first 8 characters of its id
            are enough.
        limit: Maximum number of events, 1 to 1000.
        run: The invocation.
    """
    with run.looking() as known:
        found = known.history(of=None if of is None else full_id(known, of), limit=limit)
    return _show_events(run, found)


def _show_events(run: Invocation, found: Sequence[LogEntry]) -> int:
    from mnemic.adapters.cli.render import tables

    if run.as_json:
        for entry in found:
            run.write_json(entry.to_dict())
    else:
        run.out.print(tables.log(found))
    return Exit.OK


def guide(name: str | None = None, /, *, run: Run) -> int:
    """Explain an operation of the library: what, when, when not, cost, result, next steps.

    Args:
        name: The operation; all of them, a line each, if not given.
        run: The invocation.
    """
    from mnemic.adapters.inprocess import guide as cards

    card = cards(None if name is None else name.replace("-", "_"))
    run.show(card, Text(str(card)))
    return Exit.OK


def check_text(run: Invocation, *, text: bool, explain: bool) -> None:
    """Refuse what contradicts ``--text``.

    Raises:
        FieldRefused: ``--json`` or ``--explain`` was given too.
    """
    if text and (run.as_json or explain):
        raise FieldRefused(
            "--text prints the text alone",
            recovery="Leave out --json, which has it as text, and --explain.",
            field="text",
        )


def show_recall(
    run: Invocation,
    result: RecallResult,
    *,
    explain: bool,
    detail: Literal["core", "full"],
    text: bool,
) -> None:
    """Show an answer, and why if asked; as JSON with as much detail as asked for.

    With *text* only its prompt-ready text is printed, unchanged; warnings go to standard error.
    """
    from mnemic.adapters.cli.render import tables
    from mnemic.adapters.inprocess.recall.recalling import in_detail

    if text:
        run.write_text(result.text)
        for warning in result.warnings:
            run.warn(warning)
        return
    run.show(in_detail(result, detail), *tables.recalled(result, explained=explain))
    if not run.as_json:
        for warning in result.warnings:
            run.warn(warning)


def outcome(
    *block_ids: str,
    signal: float,
    decision: str | None = None,
    composition: str | None = None,
    weight: float = 1.0,
    source: str = "cli",
    command_id: str | None = None,
    run: Run,
) -> int:
    """Score how useful blocks were, or all that one recall returned or one composition used.

    Args:
        block_ids: The blocks.
        signal: 0 useless to 1 decisive.
        decision: A recorded recall, like d45, instead of blocks.
        composition: A composition, like c45, instead of blocks.
        weight: The weight of this score, above 0.
        source: The source of the score.
        command_id: An idempotency key: a command repeated with the same key is done once.
        run: The invocation.
    """
    with run.memory() as memory:
        result = memory.outcome(
            [full_id(memory, block_id) for block_id in block_ids],
            signal,
            decision_id=decision,
            composition_id=composition,
            weight=weight,
            source=source,
            command_id=command_id,
        )
    run.show(result)
    if not run.as_json:
        for refusal in result.refused:
            run.warn(f"{refusal.id}: {refusal.summary}")
    return Exit.REFUSED if result.refused else Exit.OK
