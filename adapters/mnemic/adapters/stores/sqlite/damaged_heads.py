"""Reading a file whose head rows may be damaged, for salvage."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator

from mnemic.adapters.stores.logs import chain
from mnemic.adapters.stores.sqlite.faults import is_damage, named
from mnemic.adapters.stores.sqlite.recorder import SpaceRecorder
from mnemic.adapters.stores.sqlite.store import SQLiteStore
from mnemic.kernel.errors import LogCorrupt
from mnemic.kernel.ports import Head, PayloadRow, Record


def remains(store: SQLiteStore, space: str) -> Iterator[tuple[Record, tuple[PayloadRow, ...]]]:
    """Yield what *space* holds, as its log's ``read`` does, also if its head row is damaged.

    Where the head row matches no record, the last record is accepted unchecked: with one of the two
    certainly damaged, nothing contradicts the other.

    Raises:
        LogCorrupt: With the fact ``version``; every sound record before it has been yielded.
    """
    recorder = store.recorder
    with named(store.path):
        number = recorder.space(space, salvaging=True)
        if number is None:
            return
        last, said = recorder.last(number), _said(recorder, number)
    head = said if last is None or (said and said.version == last.version) else last
    if head is None:
        raise chain.damage(0, reason="neither its head row nor its end can be read")
    log = store.log(space, create=False)
    if head.version >= 0:
        yield from log.read_under(head, after=-1, upto=head.version)
    if said is not None and said.version > head.version:
        raise chain.damage(head.version + 1)
    lost = log.lost_tail()
    if lost is not None:
        raise lost.error


def _said(recorder: SpaceRecorder, number: int) -> Head | None:
    """Return the head row, if it can be read."""
    try:
        return recorder.head(number)
    except LogCorrupt:
        return None
    except sqlite3.Error as error:
        if not is_damage(error):
            raise
        return None
