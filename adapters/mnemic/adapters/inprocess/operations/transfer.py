"""Operations that copy a memory or prove a decision of it: receipts, export, import, fork."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attrs import evolve

from mnemic.adapters.codec.erasures import CopyOfErased
from mnemic.adapters.inprocess.engine.commands import Progress
from mnemic.adapters.inprocess.engine.session_handle import SessionHandle
from mnemic.adapters.inprocess.operations.host import Date, Host
from mnemic.adapters.inprocess.recall import decision_records
from mnemic.adapters.inprocess.registry import operation
from mnemic.adapters.inprocess.view import view_at
from mnemic.adapters.system.clocks import SystemClock
from mnemic.adapters.system.entropy import SystemEntropy
from mnemic.kernel.errors import FieldRefused, LogCorrupt, SpaceErased, StoreBusy
from mnemic.kernel.events import BlockErased
from mnemic.kernel.model.identity import BlockId
from mnemic.kernel.ports import Clock, Entropy, Head, Log, Store
from mnemic.kernel.validation import checked_name

if TYPE_CHECKING:
    from mnemic.adapters.transfer.exports.manifest import Manifest
    from mnemic.adapters.transfer.receipts import Walked
    from mnemic.kernel.results import ExportResult, ForkResult, ImportResult, Receipt, ReceiptCheck

EXPORT_TRIES = 3
"""Attempts at an export; each fails if text is erased meanwhile."""


class ExchangeOperations(Host):
    """Receipts, export, import and fork."""

    # --- receipts ---------------------------------------------------------------------------

    @operation("GET ./decisions/{decision_id}/receipt", "Decisions")
    def receipt(self, decision_id: str) -> Receipt:
        """Return the data that a third party needs to verify a decision later, without any text.

        Raises:
            DecisionNotFound: No recorded recall has this id.
        """
        from mnemic.adapters.transfer import receipts

        space = self._open()
        recorded, _ = decision_records.decision(space, decision_id)
        made = receipts.receipt_of(
            recorded,
            space=space.log.name,
            ids=space.state.catalogue.ids,
            digest_at=space.digest_at,
        )
        assert made is not None  # noqa: S101 - a decision is a recorded recall
        return made

    @operation("POST ./receipts/verify", "Decisions")
    def verify_receipt(
        self,
        receipt: Receipt | Mapping[str, Any],
        *,
        replay: bool = False,
        progress: Progress | None = None,
    ) -> ReceiptCheck:
        """Walk the chain up to a decision, and compare its receipt with the log, field by field.

        A forged or foreign receipt gets a verdict, not an error. For an exported file without a
        store use ``mnemic.adapters.inprocess.receipt_replay.verify``.

        Args:
            receipt: The result of ``receipt``, or its ``to_dict``.
            replay: Also compute the decision again.
            progress: Called now and then with the number of events walked and the total.

        Raises:
            FieldRefused: It is not a receipt.
        """
        from mnemic.adapters.inprocess.replay.replaying import replay as replay_again
        from mnemic.adapters.transfer import receipts
        from mnemic.kernel.results import Receipt, ReceiptCheck

        claimed = receipt if isinstance(receipt, Receipt) else Receipt.from_dict(receipt)
        space = self._open()
        name = space.log.name
        try:
            check = receipts.compared(claimed, _walked(space, claimed.version, progress))
        except LogCorrupt as error:
            return ReceiptCheck(
                decision_id=claimed.decision_id, verdict="damaged", space=name, problem=str(error)
            )
        if not replay or not check.holds:
            return check
        return evolve(
            check,
            replayed=receipts.replayed(
                partial(replay_again, space, self._models), claimed.decision_id
            ),
        )

    # --- export and import ------------------------------------------------------------------

    @operation("GET ./export", "Spaces", "admin", local=("path",))
    def export(
        self,
        path: str | Path,
        *,
        upto: int | None = None,
        words: bool = True,
        progress: Progress | None = None,
    ) -> ExportResult:
        """Write the log to a file of CloudEvents, one per line, and its vectors to a second file.

        The files hold the text, in the clear even if the store is encrypted, and the keys that
        authenticate it; keep them as safe as both.

        Args:
            path: A file that does not exist; the vectors go to the same name and ``.vectors``.
            upto: Last version to export; None: all.
            words: Whether to include text and vectors. Without them, the chain and receipts can be
                checked by a party that must not read the text; such a file cannot be imported.
            progress: Called now and then with the number of events written and the total.

        Raises:
            FieldRefused: A file exists, or an argument is invalid.
            PointOutOfRange: There is no such version.
            SpaceErased: The space was erased after that version, and its text is requested.
            LogCorrupt: The log is damaged before that version.
            StoreBusy: Text was erased during every attempt.
            StoreFull, StoreFailed: The files cannot be written.
        """
        from mnemic.adapters.transfer.exports import writer

        space = self._open()
        last = space.snapshot().version if upto is None else upto
        damage = space.log_state.damage
        if upto is None and damage is not None:
            raise damage
        for _ in range(EXPORT_TRIES):
            manifest = _manifest(space, last, words=words)
            with suppress(writer.ErasedMeanwhile):
                counted = writer.export(
                    space.log,
                    Path(path),
                    manifest,
                    space.codec,
                    again=lambda: _manifest(space, last, words=words),
                    progress=progress,
                )
                return _exported(Path(path), counted)
        raise StoreBusy(f"text of {space.log.name!r} was erased during {EXPORT_TRIES} exports")

    @staticmethod
    @operation(
        "POST ./import",
        "Spaces",
        "admin",
        status=201,
        local=("actor", "clock", "entropy", "into", "keys", "path"),
    )
    def import_space(
        path: str | Path,
        into: str | Path | Store,
        *,
        space: str | None = None,
        actor: str = "import",
        clock: Clock | None = None,
        entropy: Entropy | None = None,
        keys: str | Path | None = None,
        progress: Progress | None = None,
    ) -> ImportResult:
        """Create a space from an export: same versions, same digests, same text, same keys.

        The whole export is checked before anything is written.

        Args:
            path: The exported file of lines.
            into: A store, or its file, which is created if it does not exist.
            space: Name of the new space; None: the one that was exported.
            actor: Actor of the events that a copy may have to add.
            clock: Clock for those events; None: the system's.
            entropy: Source of random bytes; None: the system's.
            keys: The file of keys that encrypt the text of a file; see ``open``.
            progress: Called now and then with the number of steps done and the total, two per
                event.

        Raises:
            ExportCorrupt: The files are not what was written; the facts name line and version.
            FieldRefused: It was exported without text, or an argument is invalid.
            SpaceExists: The space has events.
            StoreTooNew, StoreFull, StoreFailed, VersionConflict: See each.
        """
        from mnemic.adapters.transfer.copies.copying import CopyContext
        from mnemic.adapters.transfer.destination import staged_space
        from mnemic.adapters.transfer.exports import importing
        from mnemic.adapters.transfer.exports.reader import Export
        from mnemic.kernel.results import ImportResult

        copy_context = CopyContext(
            clock=clock or SystemClock(),
            entropy=entropy or SystemEntropy(),
            actor=checked_name("actor", actor),
        )
        export = Export(path)
        importing.check_words(export)
        importing.check_size(export)
        name = checked_name("space", export.manifest.space if space is None else space)
        tally = importing.passes_of(export, progress)
        importing.check(export, tally=tally)
        tally.show()
        with staged_space(into, name, keys=None if keys is None else Path(keys)) as log:
            head = importing.write(export, log, copy_context, tally=tally)
            tally.show()
        return ImportResult(
            space=name,
            version=head.version,
            chain=head.digest.hex(),
            events=head.version + 1,
            payloads=export.manifest.payloads,
            erasures=tuple(BlockId(block) for block in export.manifest.erased),
            exported_as=export.manifest.space,
        )

    # --- fork -------------------------------------------------------------------------------

    @operation("POST ./fork", "Spaces", "admin", status=201, local=("into",), other_space="space")
    def fork(
        self,
        space: str,
        *,
        into: str | Path | Store | None = None,
        hour: float | None = None,
        version: int | None = None,
        at: Date = None,
        decision: str | None = None,
        progress: Progress | None = None,
    ) -> ForkResult:
        """Create a new space with the past of this one: the same chain up to a point.

        From there on the two are independent: other writes, another policy. Text erased in one
        stays in the other. Text that is erased by now is not copied. The new space is not opened;
        open it by name. A fork of an encrypted store is encrypted under the same keys.

        Args:
            space: Name of the new space, which must not exist yet.
            into: Another store, or its file, created if it does not exist; None: the same store.
            hour: Up to and including this active hour.
            version: Up to this version.
            at: Up to this instant.
            decision: Up to the version that a recorded recall read. No point at all: up to now.
            progress: Called now and then with the number of events copied and the total.

        Raises:
            SpaceExists: The space exists already.
            ViewReadOnly: This memory may not write, and no other store was named.
            PointOutOfRange, DecisionNotFound, FieldRefused: There is no such point.
            SpaceErased: The text of this space is erased.
            LogCorrupt, StoreFull, StoreFailed, VersionConflict: See each.
        """
        from mnemic.adapters.transfer.destination import staged_space

        name, original = checked_name("space", space), self._open()
        snapshot = original.snapshot()
        original.check_not_erased(snapshot)
        upto = snapshot.version
        point = (hour, version, at, decision)
        if any(given is not None for given in point):
            found = view_at(
                original, hour=hour, version=version, at=at, decision=decision, now=None
            )
            upto = found.point.version
        with staged_space(self._target(into), name, keys=_keys_of(original.store)) as log:
            result = _fork(original, upto, log, progress)
        return evolve(result, into=str(into) if isinstance(into, str | Path) else None)

    def _target(self, into: str | Path | Store | None) -> str | Path | Store:
        """Return the store to fork into.

        Raises:
            FieldRefused: Nothing was named, and this memory does not know its own store.
            ViewReadOnly: Nothing was named, and nothing may be written here.
        """
        if into is not None:
            return into
        self._space.check_writable()
        if self._space.store is None:
            raise FieldRefused("name a store to fork into", field="into")
        return self._space.store


def _keys_of(store: Store | None) -> Path | None:
    """Return the file of keys of an encrypted store; None for an unencrypted one."""
    table = getattr(store, "keys", None) if getattr(store, "is_encrypted", False) else None
    return None if table is None else table.path


def _walked(space: SessionHandle, version: int, progress: Progress | None) -> Walked:
    """Return what the log, read afresh, says about a receipt for *version*.

    Raises:
        LogCorrupt: The log cannot be read up to that version.
    """
    from mnemic.adapters.transfer import receipts
    from mnemic.adapters.transfer.copies.pipeline import Tally

    snapshot, damage = space.snapshot(), space.log_state.damage
    if version > snapshot.version and damage is not None:
        raise damage
    head = snapshot.version
    blank = receipts.Walked(
        space=space.log.name,
        head=head,
        genesis=None if head < 0 else space.digest_at(0).hex(),
        found=None,
    )
    recorded = space.event_at(version) if 0 <= version <= head else None
    if recorded is None:
        return blank
    digests, tally = receipts.Digests(), Tally(progress, total=version + 1)
    for record, _ in space.log.read(-1, Head(version, space.digest_at(version))):
        digests.add(record)
        tally.add()
    tally.show()
    found = receipts.receipt_of(
        recorded,
        space=space.log.name,
        ids=snapshot.state.catalogue.ids,
        digest_at=digests.at,
    )
    return evolve(blank, genesis=digests.at(0).hex(), found=found)


def _manifest(space: SessionHandle, last: int, *, words: bool) -> Manifest:
    """Return the manifest of an export up to version *last*, without the counts.

    Raises:
        FieldRefused, PointOutOfRange, SpaceErased, LogCorrupt: See ``export``.
    """
    from mnemic.adapters.transfer.exports.manifest import Manifest

    if type(last) is not int:
        raise FieldRefused(f"upto must be a version, got {last!r:.40}", field="upto")
    erased = _erased_after(space, last)
    gone = space.snapshot().erased_at
    if words and gone is not None and gone > last:
        raise SpaceErased(f"space {space.log.name!r} was erased", version=gone)
    return Manifest(
        space=space.log.name,
        genesis=space.digest_at(0).hex(),
        version=last,
        chain=space.digest_at(last).hex(),
        words=words,
        erased=erased if words else (),
    )


def _erased_after(space: SessionHandle, version: int) -> tuple[BlockId, ...]:
    """Return the blocks known at *version* whose text was erased after it, or in another copy.

    Raises:
        PointOutOfRange: There is no such version.
        SpaceErased: Everything was erased in another copy.
    """
    from mnemic.projections.retrieval import recorded_recalls

    view = space.snapshot().as_of(version)
    erased = dict.fromkeys(recorded_recalls.erased_since(view))
    for event in _erased_elsewhere(space):
        number = view.number(event.block_id)
        if number is not None:
            erased[number] = None
    return tuple(map(view.id, erased))


def _erased_elsewhere(space: SessionHandle) -> Iterator[BlockErased]:
    """Yield the erasures of blocks that were made in another copy and are not recorded here.

    Raises:
        SpaceErased: Everything was erased there.
    """
    if isinstance(space.log, CopyOfErased):
        for event in space.log.unrecorded_erasures():
            if not isinstance(event, BlockErased):
                raise SpaceErased(
                    f"space {space.log.name!r} was erased in another copy",
                    version=space.log_state.version,
                )
            yield event


def _exported(path: Path, counted: Manifest) -> ExportResult:
    from mnemic.adapters.transfer.exports import writer
    from mnemic.kernel.results import ExportResult

    beside = writer.vectors_path(path) if counted.words else None
    return ExportResult(
        path=str(path),
        vectors_path=None if beside is None else str(beside),
        space=counted.space,
        version=counted.version,
        chain=counted.chain,
        events=counted.version + 1,
        payloads=counted.payloads,
        vectors=counted.vectors,
        bytes=path.stat().st_size + counted.vectors_bytes,
        words=counted.words,
    )


def _fork(original: SessionHandle, upto: int, log: Log, progress: Progress | None) -> ForkResult:
    """Copy the log up to version *upto* into an empty one, erasures included."""
    from mnemic.adapters.transfer.copies.copying import CopyContext, record_losses
    from mnemic.adapters.transfer.copies.logs import fill, log_records
    from mnemic.adapters.transfer.copies.pipeline import Tally, Walk
    from mnemic.kernel.results import ForkResult

    end = Head(upto, original.digest_at(upto))
    tally = Tally(progress, total=upto + 1)
    walk = Walk(original.codec, tally=tally)
    head = fill(log, log_records(original.log, end, original.codec), walk)
    tally.show()
    last = walk.last
    assert last is not None  # noqa: S101 - an open space has a first event
    erased = _erased_after(original, upto)  # only now: others may have erased meanwhile
    copy_context = CopyContext(
        clock=original.caller.clock,
        entropy=original.caller.entropy,
        actor=original.caller.actor,
    )
    try:
        original.check_not_erased()
    except SpaceErased:
        record_losses(log, last, copy_context, after=head, erase_all=True)
        raise
    record_losses(log, last, copy_context, after=head, erase=erased)
    return ForkResult(
        space=log.name,
        version=head.version,
        chain=head.digest.hex(),
        events=head.version + 1,
        payloads=walk.payloads,
        erasures=erased,
        forked_from=original.log.name,
    )
