"""The table of keys: one small file, apart from every store, that all words of its spaces hang on.

Rules of this module:

1. A key is on the disk before anything is locked with it, and is never changed.
2. A destroyed key is overwritten where it stands (see ``keyfile``). Its name stays, so that what it
   locked is known to be erased, and is not taken for lost.
3. Secrets stand in ``secrets`` alone, whose rows are only ever added at the end: SQLite zeroes what
   it frees, but not the copies that stay behind when a row moves to another page.
4. A space is known by the keys that its rows name, and not by what it is called: so a copy of a
   store, or a backup, is the same space, and a fork, whose words are locked anew, is another one.
5. Whoever holds a copy of this file from before an erasure can read what was erased: keep copies
   of it apart from copies of stores, and replace them after an erasure.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from attrs import define, field, frozen

from mnemic.adapters.encryption.cipher import NAME_BYTES, SECRET_BYTES, Key, name_of
from mnemic.adapters.encryption.erasures import GENERATION, IS_DESTROYED, OVERWRITE, Erasures
from mnemic.kernel.errors import KeysMissing

_KEYS_OF = """SELECT owner, name, secret FROM keys JOIN secrets USING (id)
    WHERE space = :space AND NOT EXISTS (SELECT 1 FROM doomed WHERE doomed.key = keys.id)
    AND owner IN (SELECT value FROM json_each(:owners)) ORDER BY id DESC"""
_FOUND = f"""SELECT name, secret, space, owner,
    secret = zeroblob({SECRET_BYTES}) AND {IS_DESTROYED}
    FROM keys JOIN secrets USING (id)"""  # noqa: S608 - of constants
_BEGUN = "SELECT max(id) FROM spaces WHERE name = ? AND genesis = ?"
_NAMED = f"{_FOUND} WHERE name = ?"
_ALL_OF = f"{_FOUND} WHERE space = ?"
_LOCKED = """SELECT space FROM keys JOIN spaces ON spaces.id = keys.space
    WHERE keys.name = ? AND spaces.genesis = ?"""
_WHOSE = "SELECT space, owner FROM keys WHERE name = ?"
_LISTING = f"""SELECT spaces.name, count(keys.id), count(CASE WHEN {IS_DESTROYED} THEN 1 END)
    FROM spaces LEFT JOIN keys ON keys.space = spaces.id
    GROUP BY spaces.id ORDER BY spaces.name, spaces.id"""  # noqa: S608 - of constants


@frozen(kw_only=True)
class Holding:
    """How many keys one space has."""

    space: str
    """What it was called when it began."""
    live: int
    erased: int


@define(kw_only=True)
class _Known:
    """What was read since one generation of the keys, and is put aside as a whole with the next.

    So whoever looked before an erasure, and is done after it, puts down what it found where nobody
    looks any more.
    """

    generation: int = 0
    keys: dict[bytes, Key | None] = field(factory=dict)
    """By name; None: destroyed."""
    spaces: set[int] = field(factory=set)
    """All whose keys are among them."""


class KeyTable(Erasures):
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
        self._known = _Known()
        super().__init__(path, read_only=read_only)

    # --- looking --------------------------------------------------------------------------------

    def find(self, names: Iterable[bytes]) -> tuple[Key, ...] | None:
        """Return the keys with these names; None if one of them is destroyed.

        Raises:
            KeysMissing: One of them never stood in this file.
        """
        known = self._known
        try:
            found = tuple([known.keys[name] for name in names])
        except KeyError:
            found = tuple([self._looked_up(name, known) for name in names])
        return None if None in found else found  # type: ignore[return-value]

    def _looked_up(self, name: bytes, known: _Known) -> Key | None:
        with self._reading() as c:
            row = c.execute(_NAMED, (name,)).fetchone()
        if row is None:
            raise KeysMissing(
                f"{self.path} does not have a key that this space needs",
                recovery="Name the file of keys that the space is written with. If it is this one, "
                "it is an older copy: words that were locked since need the newer one.",
                path=str(self.path),
            )
        known.keys[name] = found = self._key(*row)
        return found

    def refresh(self, space: int | None) -> None:
        """Forget what was known if keys were destroyed since; take up all keys of *space*."""
        with self._reading() as c:
            known, generation = self._known, c.execute(GENERATION).fetchone()[0]
            if generation != known.generation:
                self._known = known = _Known(generation=generation)
            if space is not None and space not in known.spaces:
                known.keys.update((row[0], self._key(*row)) for row in c.execute(_ALL_OF, (space,)))
                known.spaces.add(space)

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

    def are_of(self, names: Sequence[bytes], space: int | None, owners: Sequence[str]) -> bool:
        """Say whether keys are those of *owners* in *space*, in this order; destroyed ones too."""
        with self._reading() as c:
            found = [c.execute(_WHOSE, (name,)).fetchone() for name in names]
        return found == [(space, owner) for owner in owners]

    def holdings(self) -> tuple[Holding, ...]:
        """Return how many keys each space has, by name."""
        with self._reading() as c:
            rows = c.execute(_LISTING).fetchall()
        return tuple(Holding(space=name, live=n - gone, erased=gone) for name, n, gone in rows)

    # --- spaces ---------------------------------------------------------------------------------

    def space_with(self, name: bytes, genesis: bytes) -> int | None:
        """Return the space with this first event that the key called *name* belongs to."""
        with self._reading() as c:
            row = c.execute(_LOCKED, (name, genesis)).fetchone()
            return None if row is None else int(row[0])

    def space_begun(self, name: str, genesis: bytes) -> int | None:
        """Return the last space that was begun with this name and first event."""
        with self._reading() as c:
            begun: int | None = c.execute(_BEGUN, (name, genesis)).fetchone()[0]
            return begun

    def begin(self, name: str, genesis: bytes) -> int:
        """Begin a space, and return its number."""
        with self._writing() as c:
            return self._begun(c, name, genesis)

    def take_up(self, name: str, genesis: bytes) -> int:
        """Return the last space that was begun so; if there is none, begin it."""
        with self._writing() as c:
            (begun,) = c.execute(_BEGUN, (name, genesis)).fetchone()
            return int(begun) if begun is not None else self._begun(c, name, genesis)

    def discard(self, space: int) -> None:
        """Let go of a space that came to nothing, keys and all."""
        with self._writing() as c:
            c.execute(OVERWRITE.format("SELECT id FROM keys WHERE space = ?"), (space,))
            c.execute("DELETE FROM keys WHERE space = ?", (space,))
            c.execute("DELETE FROM spaces WHERE id = ?", (space,))

    # --- keys -----------------------------------------------------------------------------------

    def keys(self, space: int, owners: Collection[str]) -> Mapping[str, Key]:
        """Return a key for each owner; those that had none have one from now on, for good.

        Raises:
            StoreFailed: The file is damaged, or is not where it was.
        """
        asked = {"space": space, "owners": json.dumps(sorted(owners))}
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
    def _begun(c: sqlite3.Cursor, name: str, genesis: bytes) -> int:
        c.execute("INSERT INTO spaces (name, genesis) VALUES (?, ?)", (name, genesis))
        return int(c.lastrowid or 0)

    @staticmethod
    def _made(c: sqlite3.Cursor, space: int, owner: str) -> Key:
        key = Key.fresh(space, owner)
        c.execute("INSERT INTO secrets (secret) VALUES (?)", (key.secret,))
        c.execute(
            "INSERT INTO keys (id, name, space, owner) VALUES (?, ?, ?, ?)",
            (c.lastrowid, key.name, space, owner),
        )
        return key

    def fulfil(self, number: int) -> None:
        """Destroy the keys of an erasure. Twice is fine."""
        super().fulfil(number)
        self._known = _Known()

    def close(self) -> None:
        """Close every connection. Closing twice is fine."""
        super().close()
        self._known = _Known()


def _owned(rows: Iterable[tuple[str, bytes, bytes]]) -> dict[str, Key]:
    """Return the keys by owner; of several the oldest."""
    return {owner: Key(name, secret) for owner, name, secret in rows}
