"""A custom store: plain files in a folder, so that the log can be inspected with any tool.

Each append is two JSON files: ``000042.payloads`` with the text and vectors that may have to be
erased later, and then ``000042.json`` with the records, the commands and the erased payloads. The
second is written to a temporary name and renamed, so it exists completely or not at all; a payload
file without its entry is left by a killed writer, and the next one overwrites it. An erasure is
first part of the entry; then the payload files are rewritten without the erased rows.

Good for a notebook of some thousand events. Limitations: every append reads the last entry and
lists the folder, and every read reads all of it. Nothing is flushed to the disk, so it survives a
killed process and no power cut; nor are the disk blocks of a deleted file overwritten.
Damage is detected, but a file that is not JSON any more makes the sound ones before it unreadable
too. ``StoreContract`` certifies everything else, in two lines: see
``tests/examples/test_custom_store.py``.
"""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Collection, Generator, Iterator, Sequence
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

from attrs import asdict
from filelock import FileLock

from mnemic.kernel.errors import (
    CommandIdReused,
    FieldRefused,
    HistoryReplaced,
    LogCorrupt,
    SpaceNotFound,
    VersionConflict,
)
from mnemic.kernel.ports import (
    GENESIS_DIGEST,
    NO_CAPABILITIES,
    CommandRow,
    Head,
    LogCapabilities,
    PayloadRow,
    Record,
)

Entry = dict[str, Any]
"""One append: the records, the head of the log after it, the commands, the erased payloads."""


class FolderStore:
    """Store of many spaces in one folder, each a folder of files."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def spaces(self) -> tuple[str, ...]:
        """Return the names of all spaces, sorted."""
        return tuple(sorted(unquote(path.name[1:]) for path in self._folder.glob("=*")))

    def log(self, space: str, *, create: bool = True) -> FolderLog:
        """Return the log of *space*.

        Raises:
            SpaceNotFound: There is no such space, and none may be created.
        """
        folder = self._folder / f"={quote(space, safe='')}"  # a name may contain any character
        if not create and not folder.exists():
            raise SpaceNotFound(f"there is no space {space!r}", space=space)
        return FolderLog(space, folder)

    def close(self) -> None:
        """Do nothing: no file stays open."""


class FolderLog:
    """One space of a folder store."""

    def __init__(self, name: str, folder: Path) -> None:
        self.name = name
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self._turn = FileLock(folder / "turn.lock", poll_interval=0.005)
        with self._turn:
            self._forget()  # a writer may have been killed before it could

    def head(self) -> Head:
        """Return the current head of the log."""
        entries = self._paths()
        return _head(_parsed(entries[-1])) if entries else Head(-1, GENESIS_DIGEST)

    def read(
        self, after: Head | int = -1, upto: Head | int | None = None
    ) -> Iterator[tuple[Record, tuple[PayloadRow, ...]]]:
        """Yield records with version in (after, upto] in order, each with its payloads by slot.

        Raises:
            HistoryReplaced: The log does not hold a head that was given.
            LogCorrupt: At the first entry that breaks the chain.
        """
        for known in (after, upto):
            if isinstance(known, Head):
                self._check_holds(known)
        after = after.version if isinstance(after, Head) else after
        upto = upto.version if isinstance(upto, Head) else upto
        entries = self._entries()
        link, version = GENESIS_DIGEST, -1
        for number, entry in enumerate(entries):
            records = _records(entry)
            link = _chained(link, records)
            if link.hex() != entry["digest"]:
                raise LogCorrupt(f"damaged after version {version}", version=version + 1)
            rows = self._payloads(number, entries[number:])
            for record in records:
                version = record.version
                if after < version and (upto is None or version <= upto):
                    yield record, tuple(row for row in rows if row.version == version)

    @property
    def capabilities(self) -> LogCapabilities:
        """What this log can do beyond the port: nothing."""
        return NO_CAPABILITIES

    def digest_at(self, version: int) -> bytes | None:
        """Return the chain digest of the record at *version*."""
        if not 0 <= version <= self.head().version:
            return None
        return _chained(GENESIS_DIGEST, [record for record, _ in self.read(upto=version)])

    @contextmanager
    def write_lock(self) -> Generator[None]:
        """Hold the exclusive right to append, among threads and processes."""
        with self._turn:
            yield

    def append(
        self,
        records: Sequence[Record],
        payloads: Sequence[PayloadRow],
        *,
        after: Head,
        commands: Sequence[CommandRow] = (),
        erase: Sequence[str] = (),
        erase_all: bool = False,
    ) -> Head:
        """Write everything, or nothing, and return the new head.

        Raises:
            VersionConflict: Another writer was first.
            HistoryReplaced: The log does not hold *after*.
            CommandIdReused: A command id is stored already.
            FieldRefused: The records leave a gap, or a payload slot is taken or has no record.
        """
        with self._turn:
            before = self.head()
            if before.version <= after.version and before != after:
                raise _replaced(after, before)
            _require_fit(records, payloads, before.version)
            for command in commands:
                if self.command(command.id) is not None:
                    raise CommandIdReused(f"{command.id!r} is remembered", command_id=command.id)
            entry = {
                "records": [(*record[:2], _text(record.body)) for record in records],
                "head": before.version + len(records),
                "digest": _chained(before.digest, records).hex(),
                "commands": [
                    asdict(command) | {"request": _text(command.request)} for command in commands
                ],
                "erase": list(erase),
                "erase_all": erase_all,
            }
            path = self._folder / f"{len(self._paths()):06}.json"
            _write(path.with_suffix(".payloads"), [_row(payload) for payload in payloads])
            _write(path, entry)
            if erase or erase_all:
                self._forget()
            return _head(entry)

    def command(self, command_id: str) -> CommandRow | None:
        """Return the stored command with this id."""
        for entry in self._entries():
            for found in entry["commands"]:
                if found["id"] == command_id:
                    return CommandRow(**found | {"request": b64decode(found["request"])})
        return None

    def close(self) -> None:
        """Do nothing: no file stays open."""

    def _check_holds(self, known: Head) -> None:
        head = self.head()
        if known.version > head.version or (
            known.version >= 0 and self.digest_at(known.version) != known.digest
        ):
            raise _replaced(known, head)

    # --- files ------------------------------------------------------------------------------

    def _paths(self) -> list[Path]:
        return sorted(self._folder.glob("*.json"))

    def _entries(self) -> list[Entry]:
        return [_parsed(path) for path in self._paths()]

    def _payloads(self, number: int, since: Sequence[Entry]) -> list[PayloadRow]:
        """Return the payloads of one entry, without those that it or a later one erased.

        Args:
            number: Of the entry.
            since: The entry itself, and all that follow it.
        """
        rows = [_payload(row) for row in _parsed(self._folder / f"{number:06}.payloads")]
        if any(entry["erase_all"] for entry in since):
            return []
        erased = {owner for entry in since for owner in entry["erase"]}
        kept = [row for row in rows if erased.isdisjoint(row.owners)]
        return sorted(kept, key=lambda row: (row.version, row.slot))

    def _forget(self) -> None:
        """Rewrite payload files that still hold erased payloads."""
        entries = self._entries()
        for number in range(len(entries)):
            path = self._folder / f"{number:06}.payloads"
            kept = self._payloads(number, entries[number:])
            if len(kept) < len(_parsed(path)):
                _write(path, [_row(payload) for payload in kept])


def _replaced(known: Head, found: Head) -> HistoryReplaced:
    return HistoryReplaced(
        f"the log does not continue what was read up to version {known.version}",
        known=known.version,
        head=found.version,
    )


def _require_fit(records: Sequence[Record], payloads: Collection[PayloadRow], head: int) -> None:
    versions = [record.version for record in records]
    expected = list(range(head + 1, head + 1 + len(records)))
    if versions and versions[0] <= head:
        raise VersionConflict(f"version {versions[0]} is taken, the log ends at {head}")
    places = {(payload.version, payload.slot) for payload in payloads}
    known = all(payload.version in expected for payload in payloads)
    if versions != expected or len(places) < len(payloads) or not known:
        raise FieldRefused(f"these records and payloads do not belong behind version {head}")


def _chained(link: bytes, records: Sequence[Record]) -> bytes:
    """Return the digest of a log after *records* are appended; the contract gives the formula."""
    for version, topic, body in records:
        link = sha256(link + version.to_bytes(8, "big") + topic.encode() + body).digest()
    return link


def _head(entry: Entry) -> Head:
    return Head(entry["head"], bytes.fromhex(entry["digest"]))


def _records(entry: Entry) -> list[Record]:
    return [Record(version, topic, b64decode(body)) for version, topic, body in entry["records"]]


def _row(payload: PayloadRow) -> dict[str, Any]:
    return payload._asdict() | {"key": _text(payload.key), "data": _text(payload.data)}


def _payload(row: dict[str, Any]) -> PayloadRow:
    key, data = b64decode(row["key"]), b64decode(row["data"])
    return PayloadRow(row["version"], row["slot"], row["id"], key, tuple(row["owners"]), data)


def _text(data: bytes) -> str:
    return b64encode(data).decode()


def _parsed(path: Path) -> Any:
    try:
        return json.loads(path.read_bytes())
    except ValueError as error:
        raise LogCorrupt(f"{path.name} cannot be read any more: {error}") from error


def _write(path: Path, document: Any) -> None:
    """Write a document to its path, completely or not at all."""
    aside = path.with_suffix(".new")
    aside.write_text(json.dumps(document), encoding="utf-8")
    aside.replace(path)
