"""The command ``composed-graph``: the ledger as one tool, for scripts that use that form."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from rich.text import Text

from mnemic.adapters.cli.invocation.context import Run
from mnemic.adapters.cli.invocation.failures import Exit
from mnemic.adapters.short_ids import full_id
from mnemic.kernel.errors import BlockNotFound

if TYPE_CHECKING:
    from mnemic.adapters.inprocess import SyncMemory


def composed_graph(
    action: str | None = None,
    /,
    *,
    event_id: str | None = None,
    memory_id: str | None = None,
    limit: int | None = None,
    tag: tuple[str, ...] = (),
    mode: str | None = None,
    outcome_type: str | None = None,
    notes: str | None = None,
    label_source: str | None = None,
    confidence_delta: float | None = None,
    command_id: str | None = None,
    run: Run,
) -> int:
    """Read or label the ledger as clients of the tool composed_graph do; answers are JSON.

    compose, label, ledger and frontier do the same with plainer output.

    Args:
        action: recent, get, memory, neighbors, never_composed, bounty_mode or label.
        event_id: A composition; for get and label.
        memory_id: A block; for memory and neighbors.
        limit: Maximum number of entries, 1 to 100; 10 if not given.
        tag: For never_composed and bounty_mode: one of the blocks must have this tag, or one in
            its namespace; repeat for more.
        mode: How pairs are scored: classic, or default as frontier does.
        outcome_type: For label: the label.
        notes: For label: notes on the outcome.
        label_source: For label: its source; user if not given.
        confidence_delta: For label: the change in confidence, -1 to 1.
        command_id: An idempotency key: a labelling repeated with the same key is done once.
        run: The invocation.
    """
    with run.memory() as memory:
        answer = memory.composed_graph(
            action,
            event_id=event_id,
            memory_id=None if memory_id is None else _known(memory, memory_id),
            limit=limit,
            tags=tag or None,
            mode=mode,
            outcome_type=outcome_type,
            notes=notes,
            label_source=label_source,
            confidence_delta=confidence_delta,
            command_id=command_id,
        )
    run.show_document(answer, Text(json.dumps(answer, indent=2, ensure_ascii=False)))
    return Exit.OK


def _known(memory: SyncMemory, given: str) -> str:
    """Return an id in full; the tool itself answers for an id that no block has."""
    try:
        return full_id(memory, given)
    except BlockNotFound:
        return given
