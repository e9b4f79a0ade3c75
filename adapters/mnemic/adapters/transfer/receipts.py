"""Receipts: made from a recorded decision, and compared with a log, live or exported.

A receipt is as reliable as the chain: its holder knows the digest that the log had when the
decision was recorded, and no other history before it gives that digest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from itertools import islice

import attrs
from attrs import frozen

from mnemic.adapters.stores.logs import chain
from mnemic.adapters.transfer.copies.pipeline import Progress, Tally, TransferRecord
from mnemic.adapters.transfer.exports.reader import Export
from mnemic.kernel.errors import ExportCorrupt, RecipeRetired
from mnemic.kernel.events import BlockLearned, RecallRecorded, Recorded
from mnemic.kernel.model.identity import BlockId, decision_id
from mnemic.kernel.ports import GENESIS_DIGEST, Record
from mnemic.kernel.results import (
    Receipt,
    ReceiptCheck,
    ReceiptDifference,
    ReceiptRow,
    ReplayResult,
)
from mnemic.projections.retrieval.ranking import digest

DigestAt = Callable[[int], bytes]
"""Returns the chain digest at a version."""


class Digests:
    """The chain digests of a log, computed from its records, from the first on."""

    def __init__(self) -> None:
        self._found = bytearray()
        self._link = GENESIS_DIGEST

    def add(self, record: Record) -> None:
        """Process the next record."""
        self._link = chain.digest(self._link, *record)
        self._found += self._link

    def at(self, version: int) -> bytes:
        """Return the digest of the record at *version*; empty if it has not been added."""
        start = version * chain.DIGEST_BYTES
        return bytes(self._found[start : start + chain.DIGEST_BYTES])


def receipt_of(
    recorded: Recorded, *, space: str, ids: Sequence[BlockId], digest_at: DigestAt
) -> Receipt | None:
    """Return the receipt for a recorded decision, or None if the event is none.

    Args:
        recorded: The event.
        space: The space's name.
        ids: Of all blocks known by then, by number.
        digest_at: Gives the chain digest at a version up to the event's.
    """
    event = recorded.event
    if not isinstance(event, RecallRecorded):
        return None
    rows = [(ids[row.block], row.score) for row in event.answer.rows]
    return Receipt(
        space=space,
        genesis=digest_at(0).hex(),
        decision_id=decision_id(recorded.version),
        version=recorded.version,
        chain=digest_at(recorded.version).hex(),
        read_version=event.read_version,
        read_chain=digest_at(event.read_version).hex(),
        policy_id=event.policy_id,
        embedder_id=event.embedder_id,
        recipe=event.recipe,
        answer_digest=event.digest,
        answer=tuple(ReceiptRow(block_id=block, score=score) for block, score in rows),
    )


@frozen(kw_only=True)
class Walked:
    """What a log says about the version of a receipt."""

    space: str
    """The space's name."""
    head: int
    """The last version; -1: none."""
    genesis: str | None
    """The digest of the first event, in hexadecimal; None: there is none."""
    found: Receipt | None
    """The receipt that the log gives; None: there is no decision at that version."""


def compared(claimed: Receipt, log: Walked) -> ReceiptCheck:
    """Return the result of comparing a receipt with what a log says."""
    found = log.found
    blank = ReceiptCheck(decision_id=claimed.decision_id, verdict="unknown", space=log.space)
    if log.genesis is not None and log.genesis != claimed.genesis:
        problem = f"it is of another memory, which began with {claimed.genesis[:16]}"
        return attrs.evolve(blank, problem=problem)
    if log.genesis is not None and claimed.version > log.head:
        problem = (
            f"the log ends at version {log.head}, before the decision: it is an older copy, or "
            "has lost its last events"
        )
        return attrs.evolve(blank, verdict="log-behind-receipt", problem=problem)
    if found is None:
        problem = f"there is no decision at version {claimed.version}"
        return attrs.evolve(blank, problem=problem)
    answered = digest([(row.block_id, row.score) for row in found.answer])
    if answered != found.answer_digest:
        problem = "the recorded answer and its digest disagree"
        return attrs.evolve(blank, verdict="damaged", problem=problem)
    differences = tuple(_differences(claimed, found))
    fields = {each.field for each in differences}
    verdict = "differs" if fields else "confirmed"
    return attrs.evolve(
        blank, verdict="renamed" if fields == {"space"} else verdict, differences=differences
    )


def _differences(claimed: Receipt, found: Receipt) -> Iterator[ReceiptDifference]:
    for field in attrs.fields(Receipt):
        said, is_so = getattr(claimed, field.name), getattr(found, field.name)
        if said != is_so:
            if field.name == "answer":
                said, is_so = (", ".join(map(str, rows)) or "nothing" for rows in (said, is_so))
            yield ReceiptDifference(field=field.name, claimed=said, found=is_so)


def of_export(receipt: Receipt, export: Export, progress: Progress | None) -> Walked:
    """Return what an export says about the version of a receipt.

    Args:
        receipt: The receipt.
        export: What is walked, from its first event on.
        progress: Called now and then with the events walked and those there are.

    Raises:
        ExportCorrupt: It is damaged up to there.
    """
    digests = Digests()
    ids: dict[BlockId, None] = {}
    last: TransferRecord | None = None
    tally = Tally(progress, total=export.manifest.version + 1)
    with closing(export.entries()) as entries:
        for last in islice(entries, max(receipt.version + 1, 1)):
            digests.add(last.record)
            if isinstance(last.recorded.event, BlockLearned):
                ids[last.recorded.event.block_id] = None
            tally.add()
    tally.show()
    space, head = export.manifest.space, export.manifest.version
    genesis = None if last is None else digests.at(0).hex()
    if last is None or last.record.version != receipt.version:
        return Walked(space=space, head=head, genesis=genesis, found=None)
    try:
        found = receipt_of(last.recorded, space=space, ids=tuple(ids), digest_at=digests.at)
        return Walked(space=space, head=head, genesis=genesis, found=found)
    except IndexError as error:
        raise ExportCorrupt(
            f"{export.path}: {receipt.decision_id} names a block that was never learned",
            version=receipt.version,
        ) from error


def replayed(replay: Callable[[str], ReplayResult], decision: str) -> str:
    """Return the outcome of replaying a decision, or why it cannot be replayed."""
    try:
        return replay(decision).outcome
    except RecipeRetired as error:
        return error.code
