"""Everything that can be read of a store and of its other files, for comparison."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final, TypeAlias

from attrs import frozen

from mnemic.adapters.access.register import Register
from mnemic.adapters.ann.graphs import Graphs
from mnemic.adapters.codec import Codec
from mnemic.adapters.codec.erasures import Erasures
from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.stores.sqlite import SQLiteLog, SQLiteStore
from mnemic.adapters.system.entropy import SystemEntropy
from mnemic.adapters.transfer.exports.reader import Export
from mnemic.kernel.ports import CommandRow, PayloadRow, Record
from tests.adapters.checkpoints.states import restored, space_of, told
from tests.torture.samples import COMMANDS, EMBEDDER, GRAPHS, QUESTION

SPACES: Final = ("default", "gone", "other")
CODEC: Final = Codec(SystemEntropy())
STORED_ONLY: Final = Graphs(always=True, least=GRAPHS.least, sizes=GRAPHS.sizes, builds=False)


class Named(Exception):
    """Reading has found damage, and reported it."""


@frozen
class Space:
    """The content of one space."""

    log: tuple[tuple[Record, tuple[PayloadRow, ...]], ...]
    commands: tuple[CommandRow | None, ...]
    state: str
    """Digest of the whole state, or of the log, event by event."""


Seen: TypeAlias = Mapping[str, Any]


def store(path: Path) -> Seen:
    """Return what a store holds: one space opened as anybody does, the others read.

    Raises:
        Named: A walk over a log finds damage.
        MnemicError: Opening or reading does.
    """
    with closing(SQLiteStore(path, synchronous="normal")) as opened:
        found: dict[str, Any] = {SPACES[0]: _space(opened)}
        found |= {name: _other(opened, name) for name in SPACES[1:]}
        return found | {"spaces": opened.spaces()}


def _space(opened: SQLiteStore) -> Space:
    with SyncMemory.open(opened, embedder=EMBEDDER, checkpoints=False) as memory:
        verified = memory.verify()
        if not verified.sound:
            raise Named(verified.summary)
        return _read(opened.log(SPACES[0]), _digest(memory))


def _other(opened: SQLiteStore, name: str) -> Space:
    log = opened.log(name, create=False)
    walk = Erasures(CODEC)
    for _ in walk.read(log.read()):
        pass
    if walk.unasked() is not None:
        raise Named(f"{name} lacks a payload at {walk.unasked()}")
    return _read(log, "")


def _read(log: SQLiteLog, state: str) -> Space:
    return Space(tuple(log.read()), tuple(log.command(each) for each in COMMANDS), state)


def _digest(memory: SyncMemory) -> str:
    digest = blake2b(digest_size=16)
    for name, (kind, data) in told(memory).items():
        digest.update(f"{name} {kind} {len(data)}".encode() + data)
    return digest.hexdigest()


def is_earlier(seen: Seen, whole: Seen) -> bool:
    """Return whether *seen* is the content of the store some commands before its end."""
    return seen["spaces"] == whole["spaces"] and all(
        seen[name].log == whole[name].log[: len(seen[name].log)]
        and seen[name].commands
        == tuple(
            row if row is not None and row.last < len(seen[name].log) else None
            for row in whole[name].commands
        )
        for name in SPACES
    )


def checkpoint(path: Path) -> Seen:
    """Return the state of a memory that may open from a checkpoint, and whether it did."""
    with SyncMemory.open(path, embedder=EMBEDDER, synchronous="normal") as memory:
        from_checkpoint = restored(memory) is not None
        return {"state": _digest(memory), "taken up": from_checkpoint}


def graph(path: Path) -> Seen:
    """Return what a memory finds that may load graphs, and how many it loaded."""
    with SyncMemory.open(
        path, embedder=EMBEDDER, synchronous="normal", retriever=STORED_ONLY
    ) as memory:
        answer = memory.recall(QUESTION, record=False)
        search = memory.status().search
        assert search is not None
        return {"state": answer.digest, "taken up": search.graphs}


def export(path: Path) -> Seen:
    """Return the content of an export."""
    return {"state": tuple(Export(path).entries())}


def tokens(path: Path) -> Seen:
    """Return every token in a file of them."""
    return {"state": tuple(Register(path).read().tokens.values())}


Look: TypeAlias = Callable[[Path], Seen]


def prefix(path: Path, whole: Seen, spare: Path) -> Iterator[str]:
    """Open a damaged store to read what stands before the damage, and export that.

    Args:
        path: The file.
        whole: What it held.
        spare: Where an export may be written.

    Yields:
        What could be done.

    Raises:
        MnemicError: It cannot be opened, or read, or exported.
        AssertionError: What is read is not what was written.
    """
    with SyncMemory.open(path, read_only=True, checkpoints=False) as memory:
        verified = memory.verify()
        last = memory.status().version
        if verified.first_bad_version is not None:
            last = min(last, verified.first_bad_version - 1)
        then = whole[SPACES[0]].log[: last + 1]
        read = list(space_of(memory).log.read(-1, last))
        assert [record for record, _ in read] == [record for record, _ in then], (
            "the prefix differs"
        )
        pairs = list(zip(read, then, strict=True))
        assert all({*rows} <= {*known} for (_, rows), (_, known) in pairs), "its words differ"
        is_whole = all(len(rows) == len(known) for (_, rows), (_, known) in pairs)
        yield "prefix read" if is_whole else "prefix read in part"
        memory.export(spare, upto=last)
    entries = [(each.record, each.payloads) for each in Export(spare).entries()]
    assert entries == list(then), "the export of the prefix differs"
    yield "prefix exported"
