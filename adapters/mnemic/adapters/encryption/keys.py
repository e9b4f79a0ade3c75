"""The table of keys: one small file, apart from every store, that all words of its spaces hang on.

Rules of this module:

1. A key is on the disk before anything is locked with it, and is never changed.
2. A destroyed key is overwritten where it stands, and the write-ahead log is emptied: no file keeps
   a copy. Its name stays, so that what it locked is known to be erased, and is not taken for lost.
3. Secrets stand in ``secrets`` alone, whose rows are only ever added at the end: SQLite zeroes what
   it frees, but not the copies that stay behind when a row moves to another page.
4. An erasure is first intended, with the record that will say so, and its keys lock nothing from
   then on. It is fulfilled once that record stands in the log. Nobody forgets it but who intended
   it and was refused: a log that lacks the record may be a copy of the one that has it.
5. A space is known by the keys that its rows name, and not by what it is called: so a copy of a
   store, or a backup, is the same space, and a fork, whose words are locked anew, is another one.
6. Whoever holds a copy of this file from before an erasure can read what was erased: keep copies
   of it apart from copies of stores, and replace them after an erasure.
"""

from __future__ import annotations

import json
import os
import sqlite3
import stat
import tempfile
from collections.abc import Collection, Generator, Iterable, Mapping
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

from attrs import frozen

from mnemic.adapters.encryption.cipher import NAME_BYTES, SECRET_BYTES, Key, name_of
from mnemic.adapters.encryption.format import STATEMENTS, check_format, not_ours
from mnemic.adapters.exchange import files
from mnemic.adapters.stores.sqlite.connections import BUSY_TIMEOUT_S, Datastore, Mode
from mnemic.adapters.stores.sqlite.faults import family, fault, is_damage
from mnemic.kernel.errors import (
    KeysMissing,
    LogCorrupt,
    MnemicError,
    NotAStore,
    StoreFailed,
    ViewReadOnly,
)

OTHERS = 0o077
"""Permissions that anybody but the owner may have."""
SCRUB_PATIENCE_S = 2.0
"""How long an erasure waits for others to be done with the write-ahead log; they take moments."""

_IS_DESTROYED = """EXISTS (
    SELECT 1 FROM doomed JOIN erasures ON erasures.id = doomed.erasure
    WHERE doomed.key = keys.id AND erasures.done > 0)"""
_KEYS_OF = """SELECT owner, name, secret FROM keys JOIN secrets USING (id)
    WHERE space = :space AND NOT EXISTS (SELECT 1 FROM doomed WHERE doomed.key = keys.id)
    AND owner IN (SELECT value FROM json_each(:owners)) ORDER BY id DESC"""
_FOUND = f"""SELECT name, secret, space, owner,
    secret = zeroblob({SECRET_BYTES}) AND {_IS_DESTROYED}
    FROM keys JOIN secrets USING (id)"""  # noqa: S608 - of constants
_NAMED = f"{_FOUND} WHERE name = ?"
_ALL_OF = f"{_FOUND} WHERE space = ?"
_GENERATION = "SELECT coalesce(max(done), 0) FROM erasures"
_DOOM_ALL = f"""INSERT INTO doomed SELECT id, :erasure FROM keys
    WHERE space = :space AND NOT {_IS_DESTROYED}"""  # noqa: S608 - of constants
_DOOM_OWNED = f"{_DOOM_ALL} AND owner IN (SELECT value FROM json_each(:owners))"  # noqa: S608
_SERVING = f"SELECT 1 FROM keys WHERE space = :space AND NOT {_IS_DESTROYED}"  # noqa: S608
_SERVING_OWNED = f"{_SERVING} AND owner IN (SELECT value FROM json_each(:owners))"  # noqa: S608
_OVERWRITE = "UPDATE secrets SET secret = zeroblob(length(secret)) WHERE id IN ({})"
_LISTING = f"""SELECT spaces.name, count(keys.id), count(CASE WHEN {_IS_DESTROYED} THEN 1 END)
    FROM spaces LEFT JOIN keys ON keys.space = spaces.id
    GROUP BY spaces.id ORDER BY spaces.name, spaces.id"""  # noqa: S608 - of constants


@frozen
class Account:
    """An event of a log that tells of an erasure, or after which nothing was left to tell."""

    version: int
    digest: bytes
    """Chain digest of the log as it ends with that event."""


@frozen(kw_only=True)
class Erasure:
    """Keys that were destroyed together, or are to be."""

    number: int
    is_whole: bool
    """Whether all keys of the space went."""
    accounts: tuple[Account, ...]
    """The first is the event that erased; others stand in other copies of the log."""


@frozen(kw_only=True)
class Holding:
    """How many keys one space has."""

    space: str
    """What it was called when it began."""
    live: int
    erased: int


class KeyTable:
    """The keys of any number of spaces, for any number of threads and processes.

    Args:
        path: The file. It is made with the first key, readable by its owner only.
        read_only: Never write.

    Raises:
        StoreFailed: Others may read the file, or it is damaged, or cannot be opened.
        NotAStore: It is something else.
        StoreTooNew: A later release made it.
    """

    def __init__(self, path: str | Path, *, read_only: bool = False) -> None:
        self.path = Path(os.path.realpath(path))
        self.read_only = read_only
        self._data: Datastore | None = None
        self._identity: tuple[int, int] | None = None
        self._known: dict[bytes, Key | None] = {}
        self._loaded: set[int] = set()
        self._generation = 0
        self._is_scrubbed = True
        if files.stands(self.path):
            self._open()
            self.scrub()  # the last one may have died over an erasure

    # --- looking --------------------------------------------------------------------------------

    def find(self, names: Iterable[bytes]) -> tuple[Key, ...] | None:
        """Return the keys with these names; None if one of them is destroyed.

        Raises:
            KeysMissing: One of them never stood in this file.
        """
        known = self._known
        try:
            found = tuple([known[name] for name in names])
        except KeyError:
            found = tuple([self._looked_up(name) for name in names])
        return None if None in found else found  # type: ignore[return-value]

    def _looked_up(self, name: bytes) -> Key | None:
        with self._reading() as c:
            row = c.execute(_NAMED, (name,)).fetchone()
        if row is None:
            raise KeysMissing(
                f"{self.path} does not have a key that this space needs",
                recovery="Name the file of keys that the space is written with. If it is this one, "
                "it is an older copy: words that were locked since need the newer one.",
                path=str(self.path),
            )
        self._known[name] = found = self._key(*row)
        return found

    def refresh(self, space: int | None) -> None:
        """Forget what was known if keys were destroyed since; take up all keys of *space*."""
        with self._reading() as c:
            generation: int = c.execute(_GENERATION).fetchone()[0]
            if generation != self._generation:
                self._generation = generation
                self._unlearn()
            if space is not None and space not in self._loaded:
                self._known.update(
                    (row[0], self._key(*row)) for row in c.execute(_ALL_OF, (space,))
                )
                self._loaded.add(space)

    def _key(self, name: bytes, secret: bytes, *rest: Any) -> Key | None:
        """Return a key as it stands; None if an erasure destroyed it.

        Raises:
            StoreFailed: It is damaged. Zeros that no erasure wrote are damage like any other: what
                is lost must not pass for erased.
        """
        space, owner, is_destroyed = rest
        if is_destroyed:
            return None
        if name_of(secret, space, owner) != name:
            raise self._damaged("a key is not what was written")
        return Key(name, secret)

    def _unlearn(self) -> None:
        self._known.clear()
        self._loaded.clear()

    def holdings(self) -> tuple[Holding, ...]:
        """Return how many keys each space has, by name."""
        with self._reading() as c:
            rows = c.execute(_LISTING).fetchall()
        return tuple(Holding(space=name, live=n - gone, erased=gone) for name, n, gone in rows)

    def copy(self, to: Path) -> None:
        """Copy everything to a new file that only its owner may read, also while others write.

        Raises:
            FieldRefused: There is such a file.
            StoreFull, StoreFailed: It cannot be written.
        """
        files.checked_new(to)
        with (
            self._named(),
            files.appearing(to) as (out,),
            closing(sqlite3.connect(":memory:")) as copied,
            closing(sqlite3.connect(f"{self.path.as_uri()}?mode=ro", uri=True)) as source,
        ):
            source.backup(copied)
            out.write(copied.serialize())

    # --- spaces ---------------------------------------------------------------------------------

    def space_with(self, name: bytes) -> int | None:
        """Return the space that the key called *name* belongs to."""
        with self._reading() as c:
            row = c.execute("SELECT space FROM keys WHERE name = ?", (name,)).fetchone()
            return None if row is None else int(row[0])

    def space_begun(self, name: str, genesis: bytes) -> int | None:
        """Return the last space that was begun with this name and first event."""
        with self._reading() as c:
            row = c.execute(
                "SELECT max(id) FROM spaces WHERE name = ? AND genesis = ?", (name, genesis)
            ).fetchone()
            return None if row is None else row[0]

    def begin(self, name: str, genesis: bytes) -> int:
        """Begin a space, and return its number."""
        with self._writing() as c:
            c.execute("INSERT INTO spaces (name, genesis) VALUES (?, ?)", (name, genesis))
            return int(c.lastrowid or 0)

    def discard(self, space: int) -> None:
        """Let go of a space that came to nothing, keys and all."""
        with self._writing() as c:
            c.execute(_OVERWRITE.format("SELECT id FROM keys WHERE space = ?"), (space,))
            c.execute("DELETE FROM keys WHERE space = ?", (space,))
            c.execute("DELETE FROM spaces WHERE id = ?", (space,))

    # --- keys -----------------------------------------------------------------------------------

    def keys(self, space: int, owners: Collection[str]) -> Mapping[str, Key]:
        """Return a key for each owner; those that had none have one from now on, for good.

        Raises:
            StoreFailed: The file is damaged, or is not where it was.
        """
        asked = {"space": space, "owners": json.dumps(sorted(owners))}
        if self._data is not None:
            with self._named():
                self._check_in_place()
        with self._reading() as c:
            found = _owned(c.execute(_KEYS_OF, asked).fetchall())
        if len(found) < len(owners):
            with self._writing() as c:
                found = _owned(c.execute(_KEYS_OF, asked).fetchall())
                for owner in sorted(owners - found.keys()):
                    found[owner] = self._made(c, space, owner)
        for owner, key in found.items():
            if name_of(key.secret, space, owner) != key.name:
                raise self._damaged("a key is not what was written")
        return found

    def newest(self, space: int) -> bytes:
        """Return the name of the key that *space* was given last: who has it has all before."""
        with self._reading() as c:
            row = c.execute(
                "SELECT name FROM keys WHERE space = ? ORDER BY id DESC LIMIT 1", (space,)
            ).fetchone()
            return bytes(NAME_BYTES) if row is None else row[0]

    @staticmethod
    def _made(c: sqlite3.Cursor, space: int, owner: str) -> Key:
        key = Key.fresh(space, owner)
        c.execute("INSERT INTO secrets (secret) VALUES (?)", (key.secret,))
        c.execute(
            "INSERT INTO keys (id, name, space, owner) VALUES (?, ?, ?, ?)",
            (c.lastrowid, key.name, space, owner),
        )
        return key

    # --- erasing --------------------------------------------------------------------------------

    def intend(self, space: int, owners: Collection[str] | None, account: Account) -> int:
        """Take note that keys are to be destroyed, and return the number of the erasure.

        Args:
            space: Whose.
            owners: Of what; None: all of the space.
            account: The event that will say so.
        """
        asked = {"space": space, "owners": json.dumps(sorted(owners or ()))}
        with self._writing() as c:
            c.execute(
                "INSERT INTO erasures (space, is_whole, done) VALUES (?, ?, 0)",
                (space, owners is None),
            )
            number = int(c.lastrowid or 0)
            c.execute(_DOOM_ALL if owners is None else _DOOM_OWNED, {"erasure": number, **asked})
            c.execute("INSERT INTO accounts VALUES (?, ?, ?)", (number, *_parts(account)))
            return number

    def serve(self, space: int, owners: Collection[str] | None) -> bool:
        """Say whether there is a key of *owners* that is not destroyed; None: any of the space."""
        asked = {"space": space, "owners": json.dumps(sorted(owners or ()))}
        with self._reading() as c:
            query = _SERVING if owners is None else _SERVING_OWNED
            return c.execute(query, asked).fetchone() is not None

    def fulfil(self, number: int) -> None:
        """Destroy the keys of an erasure. Twice is fine."""
        self._is_scrubbed = False
        with self._writing() as c:
            c.execute(_OVERWRITE.format("SELECT key FROM doomed WHERE erasure = ?"), (number,))
            c.execute(
                "UPDATE erasures SET done = 1 + (SELECT max(done) FROM erasures) "
                "WHERE id = ? AND done = 0",
                (number,),
            )
        self._unlearn()
        self.scrub()

    def forget(self, number: int) -> None:
        """Let an erasure that nothing came of be as if it had not been intended."""
        with self._writing() as c:
            c.execute("DELETE FROM doomed WHERE erasure = ?", (number,))
            c.execute("DELETE FROM accounts WHERE erasure = ?", (number,))
            c.execute("DELETE FROM erasures WHERE id = ?", (number,))

    def account(self, numbers: Iterable[int], account: Account) -> None:
        """Take note of another event that tells of erasures, in another copy of their log."""
        with self._writing() as c:
            for number in numbers:
                c.execute("INSERT INTO accounts VALUES (?, ?, ?)", (number, *_parts(account)))

    def intentions(self, space: int) -> tuple[Erasure, ...]:
        """Return the erasures that were begun, and neither fulfilled nor forgotten."""
        return self._erasures(space, done=False)

    def erasures(self, space: int) -> tuple[Erasure, ...]:
        """Return the erasures whose keys are destroyed, the newest first."""
        return self._erasures(space, done=True)

    def _erasures(self, space: int, *, done: bool) -> tuple[Erasure, ...]:
        found: dict[int, tuple[bool, list[Account]]] = {}
        with self._reading() as c:
            for number, is_whole, version, digest in c.execute(
                """SELECT id, is_whole, version, digest
                FROM erasures JOIN accounts ON accounts.erasure = erasures.id
                WHERE space = ? AND (done > 0) = ? ORDER BY id DESC, accounts.rowid""",
                (space, done),
            ):
                found.setdefault(number, (bool(is_whole), []))[1].append(Account(version, digest))
        return tuple(
            Erasure(number=number, is_whole=is_whole, accounts=tuple(accounts))
            for number, (is_whole, accounts) in found.items()
        )

    # --- the file -------------------------------------------------------------------------------

    def scrub(self) -> None:
        """Try to leave no destroyed key in the write-ahead log; ``left`` says how it went."""
        if self._data is None or self.read_only:
            return
        self._is_scrubbed = False
        with suppress(sqlite3.Error, MnemicError), self._data.get_connection(commit=True) as lent:
            cursor = lent.cursor()
            cursor.execute(f"PRAGMA busy_timeout = {round(SCRUB_PATIENCE_S * 1000)}")
            cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            self._is_scrubbed = not cursor.fetchone()[0]
            cursor.execute(f"PRAGMA busy_timeout = {BUSY_TIMEOUT_S * 1000}")

    @property
    def left(self) -> tuple[str, ...]:
        """The names of files that may hold a destroyed key, since somebody still reads them."""
        return () if self._is_scrubbed else (f"{self.path.name}-wal",)

    def close(self) -> None:
        """Close every connection. Closing twice is fine."""
        if self._data is not None:
            if not self._is_scrubbed and not self._data.pool.closed:
                self.scrub()
            self._data.close()
        self._unlearn()

    def _open(self) -> None:
        with self._named():
            self._check_private()
            self._identity = _identity(self.path)
            try:
                self._data = self._connected("ro" if self.read_only else "rwc")
            except sqlite3.OperationalError:
                if not self.read_only or self.path.with_name(f"{self.path.name}-wal").exists():
                    raise
                self._data = self._connected("ro&immutable=1")

    def _connected(self, mode: Mode) -> Datastore:
        data = Datastore(self.path, mode=mode, synchronous="full")
        try:
            with data.reading() as c:
                check_format(c, self.path)
        except BaseException:
            data.close()
            raise
        return data

    def _check_private(self) -> None:
        if not self.path.is_file():
            raise NotAStore(f"{self.path} is no file", path=str(self.path))
        mode = stat.S_IMODE(self.path.stat().st_mode)
        if os.name == "posix" and mode & OTHERS:
            raise StoreFailed(
                f"{self.path} holds keys, and is open to others (mode {mode:04o})",
                recovery=f"Run `chmod 600 {self.path}`. Whoever read it can read every copy of "
                "what it locks.",
                path=str(self.path),
            )

    def _check_in_place(self) -> None:
        """Refuse to write keys that nobody would find again.

        Raises:
            StoreFailed: Another file stands there since this one was opened, or none.
        """
        try:
            found = _identity(self.path)
        except FileNotFoundError:
            found = None
        if found != self._identity:
            raise StoreFailed(
                f"{self.path} was moved, removed or replaced since it was opened",
                recovery="Put it back, or close this process and begin anew with the file that is "
                "there. Nothing was written.",
                path=str(self.path),
            )

    def _make(self) -> None:
        """Make the file: whole, or not at all."""
        if not self.path.parent.is_dir():
            raise StoreFailed(
                f"there is no folder {self.path.parent}",
                recovery=f"Make the folder {self.path.parent}, or name another path.",
                path=str(self.path),
            )
        with files.named(self.path):
            made = tempfile.TemporaryDirectory(prefix=f".{self.path.name}.", dir=self.path.parent)
        with made as folder:
            aside = Path(folder) / self.path.name
            with files.named(aside):
                aside.touch(mode=0o600)
            with closing(sqlite3.connect(aside, isolation_level=None)) as connection:
                for statement in STATEMENTS:
                    connection.execute(statement)
            with files.named(self.path), suppress(FileExistsError):  # another one was faster
                files.settle(aside, self.path)

    @contextmanager
    def _reading(self) -> Generator[sqlite3.Cursor]:
        if self._data is None and files.stands(self.path):
            self._open()  # somebody else has made it
        if self._data is None:
            with closing(sqlite3.connect(":memory:", isolation_level=None)) as nothing:
                for statement in STATEMENTS[1:]:
                    nothing.execute(statement)
                yield nothing.cursor()
            return
        with self._named(), self._data.reading() as c:
            yield c

    @contextmanager
    def _writing(self) -> Generator[sqlite3.Cursor]:
        if self.read_only:
            raise ViewReadOnly(f"{self.path} is open to read only", path=str(self.path))
        with self._named():
            if self._data is None:
                if not files.stands(self.path):
                    self._make()
                self._open()
            assert self._data is not None  # noqa: S101 - it is open now
            self._check_in_place()
            with self._data.transaction(commit=True) as c:
                c.sqlite_cursor.row_factory = None
                yield c.sqlite_cursor

    @contextmanager
    def _named(self) -> Generator[None]:
        try:
            yield
        except sqlite3.Error as error:
            if family(error) == sqlite3.SQLITE_NOTADB:
                raise not_ours(self.path) from error
            found = fault(error, self.path)
            if is_damage(error) or isinstance(found, LogCorrupt):  # the store itself is sound
                raise self._damaged(str(error)) from error
            raise found from error
        except (TypeError, ValueError) as error:  # a column that holds something else
            raise self._damaged(str(error)) from error

    def _damaged(self, detail: str) -> StoreFailed:
        return StoreFailed(
            f"{self.path} is no sound file of keys: {detail}",
            recovery="Put your copy of it in its place, and erase again what was erased since.",
            path=str(self.path),
        )


def _identity(path: Path) -> tuple[int, int]:
    status = path.stat()
    return status.st_dev, status.st_ino


def _owned(rows: Iterable[tuple[str, bytes, bytes]]) -> dict[str, Key]:
    """Return the keys by owner; of several the oldest."""
    return {owner: Key(name, secret) for owner, name, secret in rows}


def _parts(account: Account) -> tuple[int, bytes]:
    return account.version, account.digest
