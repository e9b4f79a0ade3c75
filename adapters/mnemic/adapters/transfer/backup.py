"""Backing up a store into one file while others write; checking and restoring such a file.

Rules of this module:

1. A backup is an ordinary store in one file, with its manifest next to it. Both appear complete,
   the manifest first, and never overwrite anything.
2. Of each space it holds a sound prefix, read from the first event to the last before the manifest
   states its digest. Text that is erased by then is not in it.
3. Tokens, keys, checkpoints and graphs are not in it: the first two are secrets of the host, and
   the others can be made again.
4. A restored store is checked against the manifest before it appears.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from importlib.metadata import version as release_of
from pathlib import Path

from attrs import evolve

from mnemic.adapters.codec import Codec
from mnemic.adapters.files import atomic_files, temporary_folders
from mnemic.adapters.stores.opening import Address, is_file, open_store, opened
from mnemic.adapters.stores.sqlite import SQLiteStore
from mnemic.adapters.stores.sqlite.copies import close_up, copy_out
from mnemic.adapters.system.clocks import SystemClock
from mnemic.adapters.system.entropy import SystemEntropy
from mnemic.adapters.system.folders import PRIVATE
from mnemic.adapters.transfer.catch_up import caught_up
from mnemic.adapters.transfer.copies.logs import verified
from mnemic.adapters.transfer.copies.pipeline import Progress, Tally, Walk
from mnemic.adapters.transfer.destination import (
    STORE,
    check_names,
    new_file,
    shown,
    underlying_store,
)
from mnemic.adapters.transfer.inventory import (
    Inventory,
    document,
    inventory_of,
    inventory_path,
)
from mnemic.adapters.transfer.migration import migrate
from mnemic.adapters.transfer.results import BackupResult, RestoreResult, SpaceKept
from mnemic.kernel.errors import BackupDamaged, Corrupt, FieldRefused
from mnemic.kernel.ports import Clock, Store

MICROSECONDS = 1_000_000


def backup(
    source: Address | Store,
    to: str | Path,
    *,
    clock: Clock | None = None,
    progress: Progress | None = None,
) -> BackupResult:
    """Write a store into one new file, with a manifest next to it, while others go on writing.

    Of every space it holds at least what the log held when the copy caught up with it. When text is
    erased after that, erase it in the backup too, or delete the backup.

    Args:
        source: A store, or its address. It is read only. What is encrypted stays encrypted.
        to: A file that does not exist; the manifest is put next to it. Only their owner may read
            them.
        clock: Dates the backup; None: the system's.
        progress: Called now and then with the number of events read and the total.

    Raises:
        FieldRefused: One of the files exists, or *to* is no path.
        LogCorrupt: The source is damaged; salvage it first.
        NotAStore, StoreTooNew, StoreFull, StoreFailed: See each.
    """
    path = _checked_path(to)
    beside = inventory_path(path)
    for each in (path, beside):
        atomic_files.checked_new(each)
    now_us = (clock or SystemClock()).now_us()
    with (
        atomic_files.named(path),
        opened(source, read_only=True) as given,
        temporary_folders.aside(path) as folder,
    ):
        origin = underlying_store(given)
        check_names(origin)
        draft = folder / STORE
        if isinstance(origin, SQLiteStore):
            copy_out(origin, draft)
        with closing(open_store(draft, synchronous="normal")) as copy:
            spaces = _caught_up(origin, copy, progress)
        close_up(draft)
        draft.chmod(PRIVATE)
        made = Inventory(
            at=datetime.fromtimestamp(now_us / MICROSECONDS, UTC).isoformat(),
            release=release_of("mnemic"),
            bytes=draft.stat().st_size,
            sha256=_sum(draft),
            spaces=spaces,
        )
        _write(folder / beside.name, document(made))
        atomic_files.settle_all([draft, folder / beside.name], [path, beside])
    return BackupResult(
        path=str(path),
        manifest_path=str(beside),
        at=made.at,
        bytes=made.bytes,
        sha256=made.sha256,
        spaces=spaces,
    )


def _checked_path(to: str | Path) -> Path:
    if not isinstance(to, str | Path) or not is_file(to):
        raise FieldRefused(
            f"a backup goes into a file, not to {shown(to)!r:.100}",
            recovery="Name a file that does not exist; `mnemic migrate` copies into other stores.",
            field="to",
        )
    return Path(to)


def _caught_up(origin: Store, copy: Store, progress: Progress | None) -> tuple[SpaceKept, ...]:
    """Copy what is missing, the erasures made meanwhile included, and verify all of it."""
    codec = Codec(SystemEntropy())
    logs = [origin.log(name, create=False) for name in origin.spaces()]
    tally = Tally(progress, total=sum(log.head().version + 1 for log in logs))
    for log in logs:
        caught_up(log, copy, codec)
    kept = tuple(_kept(name, walk) for name, walk in _verified(copy, tally))
    tally.show()
    return kept


def _verified(store: Store, tally: Tally) -> Iterator[tuple[str, Walk]]:
    """Yield the name of each space, and what verifying it counted."""
    codec = Codec(SystemEntropy())
    for name in store.spaces():
        log = store.log(name, create=False)
        yield name, verified(log, log.head().version, codec, tally=tally)


def _kept(space: str, walk: Walk) -> SpaceKept:
    head = walk.head
    return SpaceKept(
        space=space, version=head.version, chain=head.digest.hex(), payloads=walk.payloads
    )


# --- restoring ------------------------------------------------------------------------------


def check(backup: str | Path, *, progress: Progress | None = None) -> RestoreResult:
    """Check a backup against its manifest: bytes, chains, events, payloads. Nothing is written.

    Args:
        backup: The file; its manifest is next to it.
        progress: Called now and then with the number of events read and the total.

    Raises:
        BackupDamaged: It is not what was written.
        StoreTooNew, StoreFailed: It cannot be read.
    """
    path = Path(backup)
    made = inventory_of(path)
    with atomic_files.named(path):
        _check_sum(path, path.stat().st_size, _sum(path), made)
    unread = _check_store(path, made, progress=progress)
    return _result(path, None, made, unread)


def restore(
    backup: str | Path,
    to: Address | Store,
    *,
    progress: Progress | None = None,
) -> RestoreResult:
    """Restore a store from a backup, once everything in it has been checked.

    Args:
        backup: The file; its manifest is next to it.
        to: A file that does not exist, or another store, which must have none of the backup's
            spaces, or a prefix of them. A file is copied byte for byte and appears once checked.
        progress: Called now and then with the number of events read and the total.

    Raises:
        BackupDamaged: It is not what was written.
        FieldRefused: The file exists.
        SpaceExists: The store has another space of one of the names, or one that went on; or the
            file was made meanwhile.
        NotAStore, StoreTooNew, StoreFull, StoreFailed: See each.
    """
    path = Path(backup)
    if not isinstance(to, str | Path) or not is_file(to):
        checked = check(path, progress=progress)
        migrate(path, to)
        return evolve(checked, into=shown(to))
    target = Path(to)
    atomic_files.checked_new(target)
    made = inventory_of(path)
    with new_file(target) as draft:
        _check_sum(path, *_copied(path, draft), made)
        unread = _check_store(draft, made, progress=progress)
    return _result(path, str(target), made, unread)


def _check_sum(path: Path, size: int, digest: str, made: Inventory) -> None:
    if (size, digest) != (made.bytes, made.sha256):
        raise BackupDamaged(
            f"{path} is not the file that its manifest describes: {size} bytes of digest "
            f"{digest[:16]}, not {made.bytes} of {made.sha256[:16]}",
            path=str(path),
        )


def _check_store(path: Path, made: Inventory, *, progress: Progress | None) -> int:
    """Verify every space of a backup, and compare it with the manifest.

    Returns:
        How many payloads cannot be read, and were only counted.

    Raises:
        BackupDamaged: Something is damaged, missing, or unexpected.
    """
    tally = Tally(progress, total=sum(each.version + 1 for each in made.spaces))
    try:
        with closing(open_store(path, read_only=True)) as store:
            walks = tuple(_verified(store, tally))
    except Corrupt as error:
        raise BackupDamaged(f"{path}: {error.message}", path=str(path)) from error
    tally.show()
    for said, is_so in zip(made.spaces, (_kept(*each) for each in walks), strict=False):
        if said != is_so:
            raise BackupDamaged(
                f"{path}: the manifest says {said}, the file {is_so}", path=str(path)
            )
    if len(made.spaces) != len(walks):
        raise BackupDamaged(f"{path} has other spaces than its manifest says", path=str(path))
    return sum(walk.unread for _, walk in walks)


def _copied(path: Path, draft: Path) -> tuple[int, str]:
    """Copy a file; return the length and the digest of what was written."""
    _write(draft, b"")
    with path.open("rb") as source, draft.open("wb") as out:
        shutil.copyfileobj(source, out, 2**20)
    return draft.stat().st_size, _sum(draft)


def _sum(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _write(path: Path, data: bytes) -> None:
    """Write a new file that only its owner may read, durably."""
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE), "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _result(path: Path, into: str | None, made: Inventory, unread: int) -> RestoreResult:
    return RestoreResult(
        backup=str(path),
        into=into,
        at=made.at,
        release=made.release,
        spaces=made.spaces,
        unread=unread,
    )
