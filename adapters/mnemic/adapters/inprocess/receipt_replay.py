"""Verification of receipts against an exported file, and replay of their decisions from it."""

from __future__ import annotations

from pathlib import Path

from attrs import evolve

from mnemic.adapters.inprocess.sync import SyncMemory
from mnemic.adapters.transfer import receipts
from mnemic.adapters.transfer.copies.pipeline import Progress
from mnemic.adapters.transfer.exports.importing import into_memory
from mnemic.adapters.transfer.exports.reader import Export
from mnemic.kernel.errors import ExportCorrupt
from mnemic.kernel.ports import TokenCounter
from mnemic.kernel.results import Receipt, ReceiptCheck


def verify(
    receipt: Receipt,
    export: str | Path,
    *,
    replay: bool = False,
    tokens: TokenCounter | None = None,
    progress: Progress | None = None,
) -> ReceiptCheck:
    """Check a receipt against an exported file, without any store.

    Walks the chain from its first event to the decision and compares every field. The export may
    be one without text, and erased text does not prevent the check.

    Args:
        receipt: The receipt to check.
        export: The exported file of lines; the file of vectors is next to it.
        replay: Also compute the decision again, in memory; requires the text.
        tokens: The token counter of the decision, if not the estimate; for a replay.
        progress: Called now and then with the number of events walked and their total.

    Raises:
        ExportCorrupt: The file's first line is no manifest.
        StoreTooNew: A newer release of mnemic wrote the export.
        StoreFailed: There is no such file.
    """
    opened = Export(export)
    space = opened.manifest.space
    try:
        check = receipts.compared(receipt, receipts.of_export(receipt, opened, progress))
        replayed = _replayed(receipt, opened, tokens) if replay and check.holds else None
    except ExportCorrupt as error:
        return ReceiptCheck(
            decision_id=receipt.decision_id, verdict="damaged", space=space, problem=error.message
        )
    return evolve(check, replayed=replayed)


def _replayed(receipt: Receipt, export: Export, tokens: TokenCounter | None) -> str:
    """Return the outcome of replaying a decision from an export alone.

    Raises:
        ExportCorrupt: The export is damaged.
    """
    if not export.manifest.words:
        return "no-words"
    space = export.manifest.space
    with SyncMemory.open(into_memory(export), space=space, tokens=tokens, read_only=True) as memory:
        return receipts.replayed(memory.replay, receipt.decision_id)
