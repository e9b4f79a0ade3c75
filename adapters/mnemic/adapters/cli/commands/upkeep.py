"""Commands for maintenance: consolidate, verify, checkpoints, reembed."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from mnemic.adapters.cli.commands.transfer import verify_receipt
from mnemic.adapters.cli.invocation.context import Flag, Run
from mnemic.adapters.cli.invocation.failures import Exit
from mnemic.adapters.embedders.shipped import EmbedderName
from mnemic.kernel.errors import FieldRefused


def consolidate(
    *, limit: int | None = None, relink: Flag = False, command_id: str | None = None, run: Run
) -> int:
    """Promote what waits in the inbox: embed it, find near-duplicates, form edges.

    Args:
        limit: Promote at most this many, oldest first; all if not given.
        relink: Also look for edges of active blocks that have few.
        command_id: An idempotency key: a command repeated with the same key is done once.
        run: The invocation.
    """
    with run.memory() as memory, run.progress("consolidating") as progress:
        result = memory.consolidate(limit, relink=relink, progress=progress, command_id=command_id)
    run.show(result)
    return Exit.OK


def verify(
    *,
    receipt: Path | None = None,
    export: Path | None = None,
    replay: Flag = False,
    run: Run,
) -> int:
    """Walk the whole log: every digest, every event, every payload. Exit code 4 on damage.

    With a receipt, compare that with the log instead; exit code 4 if it does not hold.

    Args:
        receipt: A file that `mnemic receipt` wrote.
        export: Compare the receipt with this exported file; no store is opened.
        replay: Also compute the decision of the receipt again.
        run: The invocation.
    """
    if receipt is not None:
        return verify_receipt(receipt, export=export, replay=replay, run=run)
    if export is not None or replay:
        raise FieldRefused("there is no receipt to check", field="receipt")
    with (
        run.memory(read_only=True, warning=False) as memory,
        run.progress("verifying") as progress,
    ):
        result = memory.verify(progress)
    run.show(result)
    if result.too_new:
        return Exit.UNAVAILABLE
    return Exit.OK if result.sound else Exit.CORRUPT


def checkpoints(action: Literal["list", "make", "drop"] = "list", /, *, run: Run) -> int:
    """List, make or drop the files that make opening a long log fast.

    They are in a folder next to the store and contain nothing that the log does not.

    Args:
        action: list them and whether each is valid, make one now, or drop all.
        run: The invocation.
    """
    if action == "make":
        return checkpoint(run=run)
    if action == "drop":
        return drop_checkpoints(run=run)
    from mnemic.adapters.cli.render import tables

    with run.memory(read_only=True) as memory:
        found = memory.checkpoints()
    document = {"checkpoints": [each.to_dict() for each in found]}
    run.show_document(document, tables.checkpoints(found))
    return Exit.OK


def checkpoint(*, run: Run) -> int:
    """Make a checkpoint now, as `checkpoints make` does.

    Args:
        run: The invocation.
    """
    with run.memory() as memory:
        run.show(memory.checkpoint())
    return Exit.OK


def drop_checkpoints(*, run: Run) -> int:
    """Drop all checkpoints of the space, as `checkpoints drop` does.

    Args:
        run: The invocation.
    """
    with run.memory() as memory:
        run.show(memory.drop_checkpoints())
    return Exit.OK


def reembed(model: EmbedderName, /, *, run: Run) -> int:
    """Move the memory to another embedder, in chunks; the old one is used until all are ready.

    It may be interrupted at any time and run again: it continues where it stopped. The past keeps
    the embedder that it had.

    Args:
        model: bundled, or minilm (an extra).
        run: The invocation.
    """
    from mnemic.adapters.embedders.shipped import embedder_named

    with run.memory() as memory, run.progress("embedding") as progress:
        result = memory.reembed(embedder_named(model), progress=progress)
    run.show(result)
    return Exit.OK
