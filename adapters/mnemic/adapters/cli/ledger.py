"""Commands on what was composed, and what was not: compose, label, ledger, frontier."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter
from rich.text import Text

from mnemic.adapters.addresses import full_id
from mnemic.adapters.cli.conditions import metadata as objects
from mnemic.adapters.cli.failures import Exit
from mnemic.adapters.cli.invocation import Flag, Run, plural
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
    also be a JSON object: {"block_id": "5e8ef634", "role": "related", "trust": 0.4}, with rank,
    score, preview and metadata besides.

    Args:
        member: The block that leads.
        members: The others.
        query: What for.
        query_hash: A digest of the query that a tool of yours knows it by.
        tool: What composed them.
        mode: How.
        confidence: In what came of it, 0 to 1.
        status: A word of your own.
        preview: How what came of it begins.
        metadata: key=value; repeat for more.
        consume: Which pairs count as composed: all, primary_only or none.
        name: An id of your own; one from the log, like c45, if not given.
        command_id: A name for this command; repeated under it, it is done once.
        run: This invocation.
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
    """Return a member: an object, or an id with its role, maybe, behind an equals sign."""
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
        FieldRefused: It is none.
    """
    try:
        found: dict[str, Any] = json.loads(given)
    except (ValueError, RecursionError) as error:
        raise FieldRefused(f"{given!r:.100} is no JSON object: {error}", field="members") from error
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
    """Say what came of a composition; labels add up.

    Labels: helpful, dead_end, submitted, accepted, rejected, duplicate_risk, needs_poc,
    bad_severity, user_promoted, user_demoted, closed_by_scope, closed_by_duplicate,
    closed_by_false_assumption, closed_by_user, expired_lane. Prefer a specific closed_by_... to
    dead_end.

    Args:
        composition: Its id; `mnemic ledger` lists them.
        said: The label.
        notes: What there is to say about it.
        source: Who says so.
        confidence_delta: What it does to confidence, -1 to 1.
        metadata: key=value; repeat for more.
        command_id: A name for this command; repeated under it, it is done once.
        run: This invocation.
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


def retract_label(
    label_id: str, /, *, reason: str | None = None, command_id: str | None = None, run: Run
) -> int:
    """Let a label count no longer; that it was set stays in the log.

    Args:
        label_id: The label, like l46; `mnemic ledger COMPOSITION` shows them.
        reason: Why.
        command_id: A name for this command; repeated under it, it is done once.
        run: This invocation.
    """
    with run.memory() as memory:
        result = memory.retract_label(label_id, reason=reason, command_id=command_id)
    run.show(result)
    return Exit.OK


def composition(composition_id: str, /, *, run: Run) -> int:
    """Show one composition with its members and the labels that count.

    Args:
        composition_id: Its id; `mnemic ledger` lists them.
        run: This invocation.
    """
    from mnemic.adapters.cli import compositions as drawn

    with run.looking() as known:
        found = known.composition(composition_id)
    run.show(found, *drawn.one(found))
    return Exit.OK


def composed_with(block_id: str, /, *, limit: int = 10, run: Run) -> int:
    """List the blocks that a block was composed with, most often first.

    Args:
        block_id: The block; 8 characters of its id are enough.
        limit: Most blocks, 1 to 1000.
        run: This invocation.
    """
    from mnemic.adapters.cli import compositions as drawn

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
    """List what was composed lately, or show one composition with its members and labels.

    Args:
        composition_id: Show this one.
        of: List those that this block took part in, and what it was composed with.
        limit: Most compositions, 1 to 1000.
        run: This invocation.
    """
    if composition_id is not None:
        return composition(composition_id, run=run)
    from mnemic.adapters.cli import compositions as drawn

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
    """List blocks that were never composed and look worth it: a queue of questions, no findings.

    Args:
        mode: default, or classic: the scores that clients of composed_graph know.
        tag: A member must have this tag, or one in its namespace (project:x for project);
            repeat for more.
        limit: Most candidates, 1 to 1000.
        size: How many blocks at a time: 2, 3, 4 or any.
        decision: The frontier as it stood at a recorded recall, like d45, and what has come of
            it since. Behind as-of it is --of, since --decision names the point there.
        explain: Show what each score is made of.
        run: This invocation.
    """
    from mnemic.adapters.cli import compositions as drawn

    with run.looking() as known:
        found = known.frontier(mode=mode, tags=tag, limit=limit, size=size, decision=decision)
        waiting = 0 if decision or run.point else known.status().inbox
    run.show(found, *drawn.frontier(found, explained=explain))
    if waiting and not run.as_json:
        run.warn(
            f"not looked at: {plural(waiting, 'block')} in the inbox. Run `mnemic consolidate`."
        )
    return Exit.OK
