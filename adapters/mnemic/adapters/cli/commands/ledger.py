"""Commands on compositions and the frontier: compose, label, ledger, frontier."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter
from rich.text import Text

from mnemic.adapters.cli.invocation.conditions import metadata as objects
from mnemic.adapters.cli.invocation.context import Flag, Run, plural
from mnemic.adapters.cli.invocation.failures import Exit
from mnemic.adapters.short_ids import full_id
from mnemic.kernel.errors import FieldRefused

if TYPE_CHECKING:
    from mnemic.adapters.inprocess import SyncMemory

PRIMARY, SUPPORTING = "primary", "supporting"
Size = Literal[2, 3, 4, "any"]


def compose(
    member: str,
    /,
    *members: str,
    query: str | None = None,
    query_hash: str | None = None,
    tool: str = "cli",
    mode: str = "compose",
    confidence: float | None = None,
    status: str | None = None,
    preview: str | None = None,
    metadata: tuple[str, ...] = (),
    consume: str = "all",
    name: str | None = None,
    command_id: str | None = None,
    run: Run,
) -> int:
    """Record that blocks were used together in one piece of reasoning.

    A member is an id, or an id with its role: 5e8ef634=contradicting. Roles are primary,
    supporting, contradicting, superseded and related; of bare ids the first is primary. It may
    also be a JSON object: {"block_id": "5e8ef634", "role": "related", "trust": 0.4}, optionally
    with rank, score, preview and metadata.

    Args:
        member: The leading block.
        members: The others.
        query: The question or task.
        query_hash: A digest by which a tool of yours identifies the query; default: fnv1a64 of it.
        tool: The tool that composed them.
        mode: The mode of that tool.
        confidence: Confidence in the result, 0 to 1.
        status: A status of your own choice.
        preview: The beginning of the result.
        metadata: key=value; repeat for more.
        consume: Which pairs count as composed: all, primary_only or none.
        name: An id of your own choice; one from the log, like c45, if not given.
        command_id: An idempotency key: a command repeated with the same key is done once.
        run: The invocation.
    """
    with run.memory() as memory:
        parts = [_part(memory, given, place) for place, given in enumerate((member, *members))]
        result = memory.compose(
            parts,
            query=query,
            query_hash=query_hash,
            tool=tool,
            mode=mode,
            confidence=confidence,
            status=status,
            output_preview=preview,
            metadata=objects(metadata),
            consume=consume,
            composition_id=name,
            command_id=command_id,
        )
    run.show(result)
    return Exit.OK


def _part(memory: SyncMemory, given: str, place: int) -> dict[str, Any]:
    """Return a member: an object, or an id, optionally with its role after an equals sign."""
    usual = SUPPORTING if place else PRIMARY
    if given.lstrip().startswith("{"):
        part = {"role": usual, **_object(given)}
        if isinstance(part.get("block_id"), str):
            part["block_id"] = full_id(memory, part["block_id"])
        return part
    block, _, role = given.partition("=")
    return {"block_id": full_id(memory, block), "role": role or usual}


def _object(given: str) -> dict[str, Any]:
    """Return a JSON object.

    Raises:
        FieldRefused: The text is not a JSON object.
    """
    try:
        found: dict[str, Any] = json.loads(given)
    except (ValueError, RecursionError) as error:
        raise FieldRefused(
            f"{given!r:.100} is not a JSON object: {error}", field="members"
        ) from error
    return found


def label(
    composition: str,
    said: str,
    /,
    *,
    notes: str | None = None,
    source: str = "user",
    confidence_delta: float | None = None,
    metadata: tuple[str, ...] = (),
    command_id: str | None = None,
    run: Run,
) -> int:
    """Label the outcome of a composition; labels accumulate.

    Labels: helpful, dead_end, submitted, accepted, rejected, duplicate_risk, needs_poc,
    bad_severity, user_promoted, user_demoted, closed_by_scope, closed_by_duplicate,
    closed_by_false_assumption, closed_by_user, expired_lane. Prefer a specific closed_by_... to
    dead_end.

    Args:
        composition: Its id; `mnemic ledger` lists them.
        said: The label.
        notes: Notes on the outcome.
        source: The source of the label.
        confidence_delta: The change in confidence, -1 to 1.
        metadata: key=value; repeat for more.
        command_id: An idempotency key: a command repeated with the same key is done once.
        run: The invocation.
    """
    with run.memory() as memory:
        result = memory.label(
            composition,
            said,
            notes=notes,
            source=source,
            confidence_delta=confidence_delta,
            metadata=objects(metadata),
            command_id=command_id,
        )
    run.show(result)
    return Exit.OK


def composition(composition_id: str, /, *, run: Run) -> int:
    """Show one composition with its members and the labels that count.

    Args:
        composition_id: Its id; `mnemic ledger` lists them.
        run: The invocation.
    """
    from mnemic.adapters.cli.render import compositions as drawn

    with run.looking() as known:
        found = known.composition(composition_id)
    run.show(found, *drawn.one(found))
    return Exit.OK


def composed_with(block_id: str, /, *, limit: int = 10, run: Run) -> int:
    """List the blocks that a block was composed with, most often first.

    Args:
        block_id: The block; the first 8 characters of its id are enough.
        limit: Maximum number of blocks, 1 to 1000.
        run: The invocation.
    """
    from mnemic.adapters.cli.render import compositions as drawn

    with run.looking() as known:
        found = known.composed_with(full_id(known, block_id), limit=limit)
    run.show_all(found, drawn.neighbours(found) if found else Text("Composed with nothing."))
    return Exit.OK


def ledger(
    composition_id: str | None = None,
    /,
    *,
    of: str | None = None,
    limit: int = 10,
    run: Run,
) -> int:
    """List recent compositions, or show one with its members and labels.

    Args:
        composition_id: Show this one.
        of: List those that contain this block, and what it was composed with.
        limit: Maximum number of compositions, 1 to 1000.
        run: The invocation.
    """
    if composition_id is not None:
        return composition(composition_id, run=run)
    from mnemic.adapters.cli.render import compositions as drawn

    with run.looking() as known:
        block = None if of is None else full_id(known, of)
        listed = known.ledger(of=block, limit=limit)
        beside = () if block is None else known.composed_with(block, limit=limit)
    document: dict[str, Any] = {"compositions": [each.to_dict() for each in listed]}
    if block is not None:
        document["composed_with"] = [each.to_dict() for each in beside]
    if not listed:
        run.show_document(document, Text("Nothing has been composed."))
        return Exit.OK
    tables = [drawn.listed(listed)]
    if beside:
        tables.append(drawn.neighbours(beside))
    run.show_document(document, *tables, Text(plural(len(listed), "composition"), style="dim"))
    return Exit.OK


def frontier(
    *,
    mode: str = "default",
    tag: tuple[str, ...] = (),
    limit: int = 10,
    size: Size = 2,
    decision: Annotated[str | None, Parameter(name=("--decision", "--of"))] = None,
    explain: Flag = False,
    run: Run,
) -> int:
    """List sets of blocks never composed that look worth it: a queue of questions, not findings.

    Args:
        mode: default, or classic: the scores that clients of composed_graph know.
        tag: A member must have this tag, or one in its namespace (project:x for project);
            repeat for more.
        limit: Maximum number of candidates, 1 to 1000.
        size: Number of blocks in a set: 2, 3, 4 or any.
        decision: The frontier at a recorded recall, like d45, and its outcomes since. After as-of
            it is --of, since --decision names the point there.
        explain: Show the parts of each score.
        run: The invocation.
    """
    from mnemic.adapters.cli.render import compositions as drawn

    with run.looking() as known, run.progress("scoring"):
        found = known.frontier(mode=mode, tags=tag, limit=limit, size=size, decision=decision)
        waiting = 0 if decision or run.point else known.status().inbox
    run.show(found, *drawn.frontier(found, explained=explain))
    if waiting and not run.as_json:
        run.warn(
            f"not considered: {plural(waiting, 'block')} in the inbox. Run `mnemic consolidate`."
        )
    return Exit.OK
