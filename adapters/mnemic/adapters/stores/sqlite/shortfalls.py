"""What a file lacks of what was acknowledged: told by the slots beside it, held against its tables.

A slot is asked before the tables are. Whatever it tells of was committed by then, so nobody who
writes meanwhile looks like a loss.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import frozen

from mnemic.adapters.stores import chain
from mnemic.kernel.errors import LogCorrupt
from mnemic.kernel.results import plural

if TYPE_CHECKING:
    from mnemic.adapters.stores.sqlite.heads import Acknowledged
    from mnemic.adapters.stores.sqlite.store import SQLiteLog, SQLiteStore
    from mnemic.kernel.ports import Head

MAY_BE = "its write-ahead log was damaged, or an older copy has taken its place"


@frozen(kw_only=True)
class Shortfall:
    """What one log lacks."""

    end: int
    """The last version that it has."""
    error: LogCorrupt


def of_log(store: SQLiteStore, log: SQLiteLog, number: int) -> Shortfall | None:
    """Return what a log lacks of what was acknowledged; None: nothing that is known of.

    Args:
        store: Where it is.
        log: Which. Where it ends is looked up if what it saw last is not what was acknowledged.
        number: Of its space.
    """
    known = store.heads.of(number)
    if known is None or known.head == log.tip:
        return None
    try:
        with store.naming:
            return _shortfall(store, log, known)
    except LogCorrupt:
        return None  # the head row cannot be read, and whoever reads is told that


def _shortfall(store: SQLiteStore, log: SQLiteLog, known: Acknowledged) -> Shortfall | None:
    head, version = log.head(), known.head.version
    if version > head.version:
        is_same = known.origin.inode in _files(store) if head.version < 0 else _is_of(log, known)
        if not is_same:
            return None  # another store had this name
        missing = plural(version - head.version, "event")
        return _told(
            store,
            head,
            version=head.version + 1,
            problem=f"it ends before, and {missing} cannot be found that {_had(store)}",
            acknowledged=version,
        )
    if head == known.head:
        return None
    if log.digest_at(version) in {None, known.head.digest} or not _is_of(log, known):
        return None
    return _told(
        store,
        head,
        version=version,
        problem=f"another event stands there than the one that {_had(store)}",
        acknowledged=version,
    )


def _is_of(log: SQLiteLog, known: Acknowledged) -> bool:
    return log.digest_at(0) == known.origin.genesis


def _files(store: SQLiteStore) -> set[int]:
    """Return the inodes that the file has, or had before it was carried elsewhere with its slots.

    A log that has no event cannot say whether a slot is its own. Other slots of that time can.
    """
    ours, others = {store.inode}, set[int]()
    for known in store.heads.behind(0):
        first = chain.digest_of(next(iter(store.recorder.records(known.space, 0, 0)), None))
        if first is not None:
            (ours if first == known.origin.genesis else others).add(known.origin.inode)
    return ours - others


def _told(
    store: SQLiteStore, head: Head, *, version: int, problem: str, acknowledged: int
) -> Shortfall:
    """Return the error for a log that ends at *head* and is at *version* not what it should be."""
    error = LogCorrupt(
        f"the log is damaged at version {version}: {problem}; {MAY_BE}",
        recovery=_recovery(store),
        version=version,
        acknowledged=acknowledged,
    )
    return Shortfall(end=head.version, error=error)


def of_spaces(store: SQLiteStore) -> LogCorrupt | None:
    """Return the error for a file that has lost whole spaces; None: it lacks none that is known of.

    Numbers are given out in order, so what is lost with the end of a write-ahead log are the last.
    """
    newest = store.recorder.newest()
    found = list(store.heads.behind(newest))
    if found:
        files, newest = _files(store), store.recorder.newest()  # somebody may have made one since
        found = [known for known in found if known.space > newest and known.origin.inode in files]
    if not found:
        return None
    events = sum(known.head.version + 1 for known in found)
    return LogCorrupt(
        f"{plural(len(found), 'space')} with {plural(events, 'event')} cannot be found that "
        f"{_had(store)}; {MAY_BE}",
        recovery=_recovery(store),
        path=str(store.path),
    )


def _had(store: SQLiteStore) -> str:
    return f"had been acknowledged ({store.heads.path.name} tells of it)"


def _recovery(store: SQLiteStore) -> str:
    return (
        "Restore a backup, or save what is left with `mnemic salvage DAMAGED TO`; open it with "
        "read_only=True to read it. If this is the state that you want, delete "
        f"{store.heads.path.name} beside it."
    )
