"""The table of keys: one small file, apart from every store, that decrypts the text of its spaces.

Rules of this module:

1. A key is on the disk before anything is encrypted with it, and is never changed.
2. A destroyed key is overwritten in place (see ``keyfile``). Its name stays, so that what it
   encrypted is known to be erased, and is not taken for lost.
3. Secrets are kept in ``secrets`` alone, whose rows are only ever added at the end: SQLite zeroes
   what it frees, but not the copies that stay behind when a row moves to another page.
4. A space is identified by the keys that its rows name, not by its own name: a copy of a store, or
   a backup, is the same space; a fork, whose text is encrypted anew, is another one.
5. A copy of this file from before an erasure can decrypt what was erased: keep copies of it apart
   from copies of stores, and replace them after an erasure.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from attrs import define, field, frozen

from mnemic.adapters.stores.encrypted.cipher import (
    NAME_BYTES,
    SECRET_BYTES,
    Key,
    name_of,
)
from mnemic.adapters.stores.encrypted.erasures import (
    GENERATION,
    IS_DESTROYED,
    OVERWRITE,
    Erasures,
)
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
_LIVE = f"""SELECT count(*) FROM keys JOIN spaces ON spaces.id = keys.space
    WHERE spaces.genesis = ? AND owner = ? AND NOT {IS_DESTROYED}"""  # noqa: S608 - of constants
_LISTING = f"""SELECT spaces.name, count(keys.id), count(CASE WHEN {IS_DESTROYED} THEN 1 END)
    FROM spaces LEFT JOIN keys ON keys.space = spaces.id
    GROUP BY spaces.id ORDER BY spaces.name, spaces.id"""  # noqa: S608 - of constants


@frozen(kw_only=True)
class KeyHolding:
    """How many keys one space has."""

    space: str
    """Its name when it was created."""
    live: int
    erased: int


@define(kw_only=True)
class _Known:
    """Cache of what was read since one generation of the keys, replaced as a whole with the next.

    A reader that looked before an erasure, and finishes after it, thus stores its result in a cache
    that is no longer used.
    """

    generation: int = 0
    keys: dict[bytes, Key | None] = field(factory=dict)
    """By name; None: destroyed."""
    spaces: set[int] = field(factory=set)
    """Spaces whose keys are all among them."""


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

    # --- lookup ---------------------------------------------------------------------------------

    def find(self, names: Iterable[bytes]) -> tuple[Key, ...] | None:
        """Return the keys with these names; None if one of them is destroyed.

        Raises:
            KeysMissing: This file never held one of them.
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
                "it is an older copy: text that was encrypted since needs the newer one.",
                path=str(self.path),
            )
        known.keys[name] = found = self._key(*row)
        return found

    def refresh(self, space: int | None) -> None:
        """Drop the cache if keys were destroyed since; load all keys of *space*."""
        with self._reading() as c:
            known, generation = self._known, c.execute(GENERATION).fetchone()[0]
            if generation != known.generation:
                self._known = known = _Known(generation=generation)
            if space is not None and space not in known.spaces:
                known.keys.update((row[0], self._key(*row)) for row in c.execute(_ALL_OF, (space,)))
                known.spaces.add(space)

    def _key(self, name: bytes, secret: bytes, *rest: Any) -> Key | None:
        """Return a key as stored; None if an erasure destroyed it.

        Raises:
            StoreFailed: It is damaged. Zeros that no erasure wrote are damage like any other: lost
                data must not pass for erased data.
        """
        space, owner, is_destroyed = rest
        if is_destroyed:
            return None
        if name_of(secret, space, owner) != name:
            raise self._damaged("a key is not what was written")
        return Key(name, secret)

    def are_of(self, names: Sequence[bytes], space: int | None, owners: Sequence[str]) -> bool:
        """Return whether keys belong to *owners* in *space*, in order; destroyed ones included."""
        with self._reading() as c:
            found = [c.execute(_WHOSE, (name,)).fetchone() for name in names]
        return found == [(space, owner) for owner in owners]

    def holdings(self) -> tuple[KeyHolding, ...]:
        """Return how many keys each space has, by name."""
        with self._reading() as c:
            rows = c.execute(_LISTING).fetchall()
        return tuple(KeyHolding(space=name, live=n - gone, erased=gone) for name, n, gone in rows)

    def live(self, genesis: bytes, owner: str) -> int:
        """Return how many keys of *owner* in spaces with this first event are not destroyed."""
        with self._reading() as c:
            found: int = c.execute(_LIVE, (genesis, owner)).fetchone()[0]
        return found

    # --- spaces ---------------------------------------------------------------------------------

    def space_with(self, name: bytes, genesis: bytes) -> int | None:
        """Return the space with this first event that the key called *name* belongs to."""
        with self._reading() as c:
            row = c.execute(_LOCKED, (name, genesis)).fetchone()
            return None if row is None else int(row[0])

    def space_begun(self, name: str, genesis: bytes) -> int | None:
        """Return the last space that was created with this name and first event."""
        with self._reading() as c:
            begun: int | None = c.execute(_BEGUN, (name, genesis)).fetchone()[0]
            return begun

    def begin(self, name: str, genesis: bytes) -> int:
        """Create a space, and return its number."""
        with self._writing() as c:
            return self._begun(c, name, genesis)

    def take_up(self, name: str, genesis: bytes) -> int:
        """Return the last space created with this name and first event; create it if missing."""
        with self._writing() as c:
            (begun,) = c.execute(_BEGUN, (name, genesis)).fetchone()
            return int(begun) if begun is not None else self._begun(c, name, genesis)

    def discard(self, space: int) -> None:
        """Remove a space whose creation failed, with its keys."""
        with self._writing() as c:
            c.execute(OVERWRITE.format("SELECT id FROM keys WHERE space = ?"), (space,))
            c.execute("DELETE FROM keys WHERE space = ?", (space,))
            c.execute("DELETE FROM spaces WHERE id = ?", (space,))

    # --- keys -----------------------------------------------------------------------------------

    def keys(self, space: int, owners: Collection[str]) -> Mapping[str, Key]:
        """Return a key for each owner; those that had none are given one, permanently.

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
        """Return the name of the newest key of *space*: a file that has it has all before it."""
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
        """Destroy the keys of an erasure. Idempotent."""
        super().fulfil(number)
        self._known = _Known()

    def close(self) -> None:
        """Close every connection. Closing twice is fine."""
        super().close()
        self._known = _Known()


def _owned(rows: Iterable[tuple[str, bytes, bytes]]) -> dict[str, Key]:
    """Return the keys by owner; the oldest if there are several."""
    return {owner: Key(name, secret) for owner, name, secret in rows}
