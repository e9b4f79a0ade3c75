"""Table of keys: the keys of encrypted spaces, in one small file separate from every store.

Rules of this module:

1. A key is on the disk before anything is encrypted with it, and is never changed.
2. A destroyed key is overwritten in place (see ``keyfile``). Its name stays, so that text that it
   encrypted counts as erased, not as lost.
3. Secrets are only in the table ``secrets``, to which rows are only appended: SQLite overwrites
   what it frees with zeros, but not the old copy of a row that it moves to another page.
4. A space is identified by the keys that its rows name, not by its own name: in a copy or backup
   of a store it is the same space; a fork, whose text is encrypted anew, is another one.
5. A copy of this file from before an erasure can decrypt the erased text: users are to store copies
   of it apart from copies of stores, and replace them after an erasure.
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
from mnemic.kernel.values import Value

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
class KeyHolding(Value):
    """How many keys one space has."""

    space: str
    """The name of the space when it was created."""
    live: int
    """Keys that are not destroyed."""
    erased: int
    """Keys that are destroyed."""


@define(kw_only=True)
class _Known:
    """Cache of the keys of one generation; the next generation gets a new cache.

    So a reader that looks up a key before an erasure, and finishes after it, stores the result in a
    cache that is no longer used.
    """

    generation: int = 0
    keys: dict[bytes, Key | None] = field(factory=dict)
    """By name; None: destroyed."""
    spaces: set[int] = field(factory=set)
    """Spaces of which all keys are cached."""


class KeyTable(Erasures):
    """The keys of any number of spaces, shared by any number of threads and processes.

    Args:
        path: The file. It is created with the first key, readable by its owner only.
        read_only: Whether writing is refused.

    Raises:
        StoreFailed: Other users have access to the file, or it is damaged or cannot be opened.
        NotAStore: It is not a key file.
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
            raise self._missing()
        known.keys[name] = found = self._key(*row)
        return found

    def _missing(self) -> KeysMissing:
        path = str(self.path)
        if not Path(path).exists():
            return KeysMissing(
                f"there is no file of keys at {path}, and this space is encrypted",
                recovery="Give the key file that the space is written with.",
                path=path,
            )
        return KeysMissing(
            f"{path} does not have a key that this space needs",
            recovery="Give the key file that the space is written with. If it is this one, it "
            "is an older copy: text that was encrypted since needs the newer file.",
            path=path,
        )

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
            StoreFailed: The key is damaged. Zeros that no erasure wrote are damage too, since lost
                text must not count as erased.
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
        return tuple(
            KeyHolding(space=name, live=n - erased, erased=erased) for name, n, erased in rows
        )

    def live(self, genesis: bytes, owner: str) -> int:
        """Return how many keys of *owner* are not destroyed, in spaces with this first event.

        Args:
            genesis: Chain digest of the first event.
            owner: Owner of the keys.
        """
        with self._reading() as c:
            found: int = c.execute(_LIVE, (genesis, owner)).fetchone()[0]
        return found

    # --- spaces ---------------------------------------------------------------------------------

    def space_with(self, name: bytes, genesis: bytes) -> int | None:
        """Return the space that a key belongs to, if it has this first event.

        Args:
            name: Name of the key.
            genesis: Chain digest of the first event.
        """
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
        """Return a key for each owner, after creating those that are missing.

        Raises:
            StoreFailed: The file is damaged, or was moved, removed or replaced.
        """
        parameters = {"space": space, "owners": json.dumps(sorted(owners))}
        with self._reading() as c:
            found = _owned(c.execute(_KEYS_OF, parameters).fetchall())
        if len(found) < len(owners):
            with self._writing() as c:
                found = _owned(c.execute(_KEYS_OF, parameters).fetchall())
                for owner in sorted(owners - found.keys()):
                    found[owner] = self._made(c, space, owner)
        for owner, key in found.items():
            if name_of(key.secret, space, owner) != key.name:
                raise self._damaged("a key is not what was written")
        return found

    def newest(self, space: int) -> bytes:
        """Return the name of the newest key of *space*; a file with it has all earlier keys too."""
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
        """Destroy the keys of an erasure. Repeating it changes nothing."""
        super().fulfil(number)
        self._known = _Known()

    def close(self) -> None:
        """Close every connection. A second call does nothing."""
        super().close()
        self._known = _Known()


def _owned(rows: Iterable[tuple[str, bytes, bytes]]) -> dict[str, Key]:
    """Return the keys by owner; the oldest if there are several."""
    return {owner: Key(name, secret) for owner, name, secret in rows}
