"""Commands on edges: connect one, many or by query."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attrs import evolve
from rich.text import Text

from mnemic.adapters.cli.invocation.context import Flag, Run, plain
from mnemic.adapters.cli.invocation.failures import Exit
from mnemic.adapters.cli.invocation.json_lines import Line, lines
from mnemic.adapters.short_ids import all_ids, completed, full_id
from mnemic.kernel.errors import BatchRefused, Refused

if TYPE_CHECKING:
    from mnemic.adapters.inprocess import SyncMemory
    from mnemic.kernel.model.identity import BlockId
    from mnemic.kernel.results import ConnectsResult, RefusedEdge


def connect(
    source: str,
    target: str,
    relation: str | None = None,
    /,
    *,
    weight: float | None = None,
    note: str | None = None,
    if_exists: str = "reinforce",
    command_id: str | None = None,
    run: Run,
) -> int:
    """Assert an edge between two blocks.

    Args:
        source: The block that supports, elaborates or contradicts.
        target: The other block.
        relation: similar, supports, elaborates, contradicts, co_occurs, outcome or a name of
            your own; similar for a new edge if not given.
        weight: Strength, 0 to 1; the default of the relation if not given.
        note: The reason, in at most 500 characters.
        if_exists: reinforce, update, skip or error.
        command_id: An idempotency key: a command repeated with the same key is done once.
        run: The invocation.
    """
    with run.memory() as memory:
        result = memory.connect(
            full_id(memory, source),
            full_id(memory, target),
            relation,
            weight=weight,
            note=note,
            if_exists=if_exists,
            command_id=command_id,
        )
    run.show(result, Text(plain(evolve(result, warnings=()).summary)))
    if not run.as_json:
        for warning in result.warnings:
            run.warn(warning)
    return Exit.OK


def connects(path: Path, /, *, command_id: str | None = None, run: Run) -> int:
    """Assert many edges in one transaction: JSON lines.

    A line is an object with source, target and, optionally, relation, weight, note and
    if_exists, as for connect. Edges that cannot be connected are reported with their lines, the
    others are made, and the exit code is 1.

    Args:
        path: The file; - is standard input.
        command_id: An idempotency key: a command repeated with the same key is done once.
        run: The invocation.
    """
    read = lines(path)
    with run.memory() as memory, run.progress("connecting"):
        result = _connected(memory, [_parsed(line) for line in read], command_id)
    run.show(result, *(Text(plain(line)) for line in (*map(str, result.results), result.summary)))
    if not run.as_json:
        for error in result.errors:
            run.warn(f"line {read[error.position].number}: {error.code}: {error.detail}")
    return Exit.REFUSED if result.errors else Exit.OK


def connect_by_query(
    source: str,
    target: str,
    relation: str | None = None,
    /,
    *,
    weight: float | None = None,
    note: str | None = None,
    if_exists: str = "reinforce",
    frame: str | None = None,
    min_confidence: float = 0.70,
    dry_run: Flag = False,
    command_id: str | None = None,
    run: Run,
) -> int:
    """Find two blocks by their content, and connect them if both matches are certain enough.

    Check the matches before you rely on them. Exit code 1 if they are not certain enough.

    Args:
        source: A description of the block that supports, elaborates or contradicts.
        target: A description of the other block.
        relation: As for connect.
        weight: As for connect.
        note: As for connect.
        if_exists: As for connect.
        frame: Search among the blocks of this frame only.
        min_confidence: The minimum probability that each match is the intended block, 0 to 1.
        dry_run: Only show what would be connected.
        command_id: An idempotency key: a command repeated with the same key is done once.
        run: The invocation.
    """
    from mnemic.adapters.cli.render.tables import found

    with run.memory() as memory, run.progress("searching"):
        result = memory.connect_by_query(
            source,
            target,
            relation,
            weight=weight,
            note=note,
            if_exists=if_exists,
            frame=frame,
            min_confidence=min_confidence,
            dry_run=dry_run,
            command_id=command_id,
        )
    run.show(result, *found(result))
    if not run.as_json and result.connect_result is not None:
        for warning in result.connect_result.warnings:
            run.warn(warning)
    return Exit.REFUSED if result.action == "insufficient_confidence" else Exit.OK


def _parsed(line: Line) -> Any:
    """Return the parsed line; text that is not JSON is left for the memory to refuse."""
    try:
        return line.parsed()
    except ValueError:
        return line.text


def _connected(memory: SyncMemory, edges: Sequence[Any], command_id: str | None) -> ConnectsResult:
    """Make the edges in the lines of a file, with short ids expanded first."""
    from mnemic.adapters.inprocess.results import refusals_in
    from mnemic.kernel.results import ConnectsResult, RefusedEdge

    ids = all_ids(memory)
    errors: dict[int, RefusedEdge] = {}
    tried: dict[int, Any] = {}
    for position, given in enumerate(edges):
        try:
            tried[position] = _in_full(given, ids)
        except Refused as refusal:
            errors[position] = _refused(position, given, refusal)
    try:
        result = memory.connects(list(tried.values()), command_id=command_id)
    except BatchRefused as refused:
        result = ConnectsResult(errors=refusals_in(refused, RefusedEdge))
    positions = list(tried)
    for error in result.errors:
        position = positions[error.position]
        errors[position] = evolve(error, position=position)
    return evolve(result, errors=tuple(errors[position] for position in sorted(errors)))


def _in_full(given: Any, ids: Sequence[BlockId]) -> Any:
    """Return an edge with its ids in full; any other value is left for the memory to refuse.

    Raises:
        BlockNotFound, IdAmbiguous: A short id matches no block, or several.
    """
    if not isinstance(given, Mapping):
        return given
    return {
        name: completed(value, ids)
        if name in {"source", "target"} and isinstance(value, str)
        else value
        for name, value in given.items()
    }


def _refused(position: int, given: Mapping[str, Any], refusal: Refused) -> RefusedEdge:
    from mnemic.kernel.results import RefusedEdge

    return RefusedEdge(
        position=position,
        source_id=given.get("source"),
        target_id=given.get("target"),
        code=refusal.code,
        detail=refusal.message,
        recovery=refusal.recovery,
    )
