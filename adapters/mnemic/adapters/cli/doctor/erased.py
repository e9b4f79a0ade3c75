"""Search for places near a store where the text of an erased block may remain.

Erasing removes text from the live store, its checkpoints and its keys. Copies that were made before
are beyond its reach: backups, exports, copies of the file, forks, and what killed processes left.
A copy is recognised by the first event of its log, which no other memory has; its contents are read
by its manifest, or by the payloads that it holds for the block. Nothing is changed.

What cannot be seen from here: copies on other machines and in folders that were not named,
snapshots of file systems, the pages of a server, and what was shown to models and people.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from attrs import frozen

from mnemic.adapters.cli.doctor.findings import About, Finding
from mnemic.adapters.cli.doctor.store_files import is_store, megabytes
from mnemic.kernel.errors import BackupDamaged, MnemicError
from mnemic.kernel.results import plural
from mnemic.kernel.values import Value

if TYPE_CHECKING:
    from mnemic.adapters.inprocess import SyncMemory
    from mnemic.adapters.transfer.exports.manifest import Manifest
    from mnemic.kernel.ports import Log, Store

ERASE_THERE = "Erase it there too, or delete the copy."
EXPORTS = (".jsonl", ".ndjson", ".tar")
"""Endings of files whose first line is looked at."""
ERASURES = frozenset({"block-erased", "space-erased"})
HISTORY_MAX = 1000
"""Events of the block that are looked at."""
MANIFEST_MAX = 1 << 20
"""Bytes of a first line that are read."""


@frozen(kw_only=True)
class Erased(Value):
    """What is known of an erased block, from the log of its space."""

    block: str
    space: str
    is_encrypted: bool
    """Whether its text is encrypted: then a copy is unreadable without the destroyed keys."""
    genesis: bytes
    """Digest of the first event: every copy of the log has it."""
    learned: int
    """Version of the first event about it that is known."""
    erased: int | None
    """Version of the event that erased it; None: it is not erased."""

    @property
    def about(self) -> About:
        """The subject of all findings."""
        return About(name=f"erased {self.block}")


def remains(
    store: Store,
    space: str,
    given: str,
    *,
    path: Path | None,
    keys: Path | None,
    folders: Iterable[Path],
) -> Iterator[Finding]:
    """Yield what was found in every place where the text of a block may remain.

    Args:
        store: Open for reading.
        space: The space of the block.
        given: Its id, or the first 8 characters of it.
        path: The file of the store; None: it is on a server.
        keys: The file of keys; None: the texts are not encrypted.
        folders: Further folders to look into; that of the store always is.

    Raises:
        BlockNotFound, IdAmbiguous, PointOutOfRange: There is no such block or space.
    """
    from mnemic.adapters.inprocess import SyncMemory

    with SyncMemory.open(store, space=space, read_only=True) as memory:
        known = _known(memory, store, space, given, is_encrypted=keys is not None)
        yield from _live(known, store)
        yield from _checkpoints(known, memory)
    looked = _folders(path, keys, folders)
    if path is not None:
        yield _journal(known, path)
    yield from _spaces(known, store)
    for folder in looked:
        yield from _stores(known, folder, apart=path)
        yield from _manifests(known, folder)
        yield from _exports(known, folder)
        yield from _temporary(known, folder)
        yield from _key_files(known, folder, keys)
    yield known.about.ok("looked into", ", ".join(str(folder) for folder in looked) or "no folder")


def _known(
    memory: SyncMemory, store: Store, space: str, given: str, *, is_encrypted: bool
) -> Erased:
    from mnemic.adapters.short_ids import full_id

    block = full_id(memory, given)
    events = memory.history(of=block, limit=HISTORY_MAX)
    # Nothing but the end of a session can follow the erasure of a space.
    ends = [*events, *memory.history(limit=HISTORY_MAX)[-2:]]
    erased = (each.version for each in ends if each.kind in ERASURES)
    genesis = store.log(space, create=False).digest_at(0)
    assert genesis is not None  # noqa: S101 - the log has been read
    return Erased(
        block=block,
        space=space,
        is_encrypted=is_encrypted,
        genesis=genesis,
        learned=events[0].version,
        erased=next(erased, None),
    )


def _live(known: Erased, store: Store) -> Iterator[Finding]:
    """Check the store itself."""
    if known.erased is None:
        yield known.about.problem(
            "store",
            f"block {known.block} is not erased in the space {known.space!r}",
            remedy=f"Erase it: `mnemic erase {known.block}`.",
        )
        return
    log = store.log(known.space, create=False)
    held = _held(log, known.block)
    if held:
        yield known.about.problem(
            "store",
            f"{plural(held, 'payload')} of it in spite of the erasure at version {known.erased}",
            remedy=f"Repeat the erasure: `mnemic erase {known.block}`.",
        )
    else:
        yield known.about.ok(
            "store", f"erased at version {known.erased}; the space holds no payload of it"
        )


def _checkpoints(known: Erased, memory: SyncMemory) -> Iterator[Finding]:
    """Check the checkpoints: one from before the erasure holds the text."""
    found = memory.checkpoints()
    old = [each for each in found if known.erased is None or each.version < known.erased]
    for each in old:
        yield known.about.warning(
            "checkpoint",
            f"{each.name} is from version {each.version}, before the erasure",
            remedy="Remove them: `mnemic checkpoints drop`.",
        )
    if not old:
        yield known.about.ok("checkpoints", f"{plural(len(found), 'checkpoint')}, none from before")


def _journal(known: Erased, path: Path) -> Finding:
    """Check the write-ahead log of a file, which an erasure empties unless a reader needs it."""
    log = path.with_name(f"{path.name}-wal")
    size = log.stat().st_size if log.exists() else 0
    if not size:
        return known.about.ok("write-ahead log", "empty")
    return known.about.warning(
        "write-ahead log",
        f"{log.name} holds {megabytes(size)}, which may be from before the erasure if its receipt "
        "named a file that was left",
        remedy="End the processes that have the store open: the last one empties it.",
    )


def _spaces(known: Erased, store: Store) -> Iterator[Finding]:
    """Check the other spaces of the store: forks have the same beginning."""
    for name in store.spaces():
        if name != known.space:
            yield from _in_space(known, "fork", store, name, where=f"the space {name!r}")
    unfinished: tuple[str, ...] = getattr(store, "unfinished", tuple)()
    for name in unfinished:
        yield known.about.warning(
            "staged copy",
            f"an import or fork to {name!r} is unfinished, and what it staged is hidden",
            remedy="If none is running, remove it: `mnemic doctor --sweep`.",
        )


def _in_space(
    known: Erased, what: str, store: Store, name: str, *, where: str
) -> Iterator[Finding]:
    """Check a space that may be a copy of the block's."""
    try:
        log = store.log(name, create=False)
        if log.digest_at(0) != known.genesis:
            return
        held = _held(log, known.block)
    except MnemicError as error:
        yield known.about.warning(what, f"{where}: {error.message}", remedy=ERASE_THERE)
        return
    if held and known.is_encrypted:
        yield known.about.warning(
            what,
            f"{where} holds {plural(held, 'payload')} of it, whose keys are destroyed",
            remedy="Make sure that there is no copy of the keys from before the erasure.",
        )
    elif held:
        yield known.about.problem(
            what, f"{where} holds {plural(held, 'payload')} of it", remedy=ERASE_THERE
        )
    else:
        yield known.about.ok(what, f"{where} is a copy of this memory without it")


def _held(log: Log, block: str) -> int:
    """Return how many payloads of a block a log has."""
    return sum(block in row.owners for _, rows in log.read() for row in rows)


def _stores(known: Erased, folder: Path, *, apart: Path | None) -> Iterator[Finding]:
    """Check the other stores in a folder: copies and backups of this one."""
    from mnemic.adapters.stores.sqlite import SQLiteStore
    from mnemic.adapters.transfer.inventory import inventory_of

    for file in _files(folder):
        if file == apart or not is_store(file):
            continue
        made = ""
        with suppress(MnemicError):
            made = f", a backup of {inventory_of(file).at}"
        what = "backup" if made else "copy"
        try:
            with closing(SQLiteStore(file, read_only=True)) as store:
                for name in store.spaces():
                    where = f"the space {name!r} in {file}{made}"
                    yield from _in_space(known, what, store, name, where=where)
        except MnemicError as error:
            yield known.about.warning(
                what, f"{file}{made} cannot be read: {error.message}", remedy=ERASE_THERE
            )


def _manifests(known: Erased, folder: Path) -> Iterator[Finding]:
    """Check manifests of backups whose file is elsewhere: they say which versions it has."""
    from mnemic.adapters.transfer.inventory import ENDING, inventory_of

    for file in _files(folder):
        backup = file.with_name(file.name.removesuffix(ENDING))
        if not file.name.endswith(ENDING) or backup.exists():
            continue
        try:
            inventory = inventory_of(backup)
        except BackupDamaged:
            continue
        kept = next((each for each in inventory.spaces if each.space == known.space), None)
        if kept is not None and _may_hold(known, kept.version):
            yield known.about.warning(
                "backup",
                f"{file.name} describes a backup of {inventory.at}, not in this folder, that ends "
                f"at version {kept.version}",
                remedy=ERASE_THERE,
            )


def _exports(known: Erased, folder: Path) -> Iterator[Finding]:
    """Check exports, by the manifests in their first lines."""
    for file in _files(folder):
        manifest = _manifest(file) if file.suffix in EXPORTS else None
        if manifest is None or manifest.genesis != known.genesis.hex():
            continue
        has_it = manifest.words and known.block not in manifest.erased
        if has_it and _may_hold(known, manifest.version):
            yield known.about.problem(
                "export",
                f"{file} ends at version {manifest.version}, before the erasure, and has texts",
                remedy="Delete it, and export again.",
            )
        else:
            yield known.about.ok("export", f"{file} is without it")


def _may_hold(known: Erased, version: int) -> bool:
    """Return whether a copy that ends at *version* was made between learning and erasing."""
    return version >= known.learned and (known.erased is None or version < known.erased)


def _manifest(file: Path) -> Manifest | None:
    """Return the manifest of an export, or of one in an archive; None: it is none."""
    from mnemic.adapters.transfer.exports.archive import first_line
    from mnemic.adapters.transfer.exports.manifest import ManifestUnreadable, read

    try:
        if file.suffix == ".tar":
            return read(first_line(file, MANIFEST_MAX))
        with file.open("rb") as source:
            return read(source.readline(MANIFEST_MAX))
    except (OSError, ManifestUnreadable):
        return None


def _temporary(known: Erased, folder: Path) -> Iterator[Finding]:
    """Check the temporary folders of copies, exports and imports, of running processes too."""
    from mnemic.adapters.files.temporary_folders import MIGRATION, leftovers, present

    idle = {*leftovers(folder)}
    for place in present(folder):
        inside = [_manifest(file) for file in _files(place)]
        known_of = [each.genesis for each in inside if each is not None]
        if known_of and known.genesis.hex() not in known_of:
            continue
        used = "no process is using it" if place in idle else "a process is using it"
        yield known.about.warning(
            "temporary files",
            f"{place} may hold texts of this memory, and {used}",
            remedy="Run that `mnemic migrate` again to finish it, or delete the folder."
            if place.name.endswith(MIGRATION)
            else "Delete the folder once no process uses it.",
        )


def _key_files(known: Erased, folder: Path, keys: Path | None) -> Iterator[Finding]:
    """Check files of keys: a copy from before the erasure decrypts what copies of stores hold."""
    from mnemic.adapters.stores.encrypted import KeyTable
    from mnemic.adapters.stores.encrypted.format import is_key_file

    for file in _files(folder):
        if not is_key_file(file):
            continue
        is_own = keys is not None and file == keys.resolve()
        what = "keys" if is_own else "copy of keys"
        try:
            with closing(KeyTable(file, read_only=True)) as table:
                live = table.live(known.genesis, known.block)
        except MnemicError as error:
            yield known.about.warning(what, f"{file}: {error.message}", remedy=ERASE_THERE)
            continue
        if live:
            yield known.about.problem(
                what,
                f"{file} still holds {plural(live, 'key')} of its text",
                remedy=f"Repeat the erasure: `mnemic erase {known.block}`."
                if is_own
                else "Replace it by a copy of the present file of keys.",
            )
        else:
            yield known.about.ok(what, f"{file} holds no key of it")


def _folders(path: Path | None, keys: Path | None, more: Iterable[Path]) -> list[Path]:
    """Return the folders to look into, each once: the server's for temporary files among them."""
    found = [file.resolve().parent for file in (path, keys) if file is not None]
    found += [folder.resolve() for folder in more]
    return list(dict.fromkeys([*found, Path(tempfile.gettempdir()).resolve()]))


def _files(folder: Path) -> list[Path]:
    """Return the files in a folder, by name; none if it cannot be read."""
    try:
        return sorted(each for each in folder.iterdir() if each.is_file() and not each.is_symlink())
    except OSError:
        return []
