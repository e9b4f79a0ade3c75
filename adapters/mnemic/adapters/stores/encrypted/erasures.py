"""Erasures in a file of keys: what was intended, what was fulfilled, and which events record it.

An erasure is first intended, together with the record that will state it; from then on its keys
encrypt nothing. It is fulfilled once that record is in the log. Only the writer who intended it and
was refused may forget it: a log that lacks the record may be a copy of the one that has it.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable

from attrs import frozen

from mnemic.adapters.files import atomic_files
from mnemic.adapters.stores.encrypted.keyfile import KeyFile

IS_DESTROYED = """EXISTS (
    SELECT 1 FROM doomed JOIN erasures ON erasures.id = doomed.erasure
    WHERE doomed.key = keys.id AND erasures.done > 0)"""
GENERATION = "SELECT coalesce(max(done), 0) FROM erasures"
OVERWRITE = "UPDATE secrets SET secret = zeroblob(length(secret)) WHERE id IN ({})"
_DOOM_ALL = f"""INSERT INTO doomed SELECT id, :erasure FROM keys
    WHERE space = :space AND NOT {IS_DESTROYED}"""  # noqa: S608 - of constants
_DOOM_OWNED = f"{_DOOM_ALL} AND owner IN (SELECT value FROM json_each(:owners))"  # noqa: S608
_SERVING = f"SELECT 1 FROM keys WHERE space = :space AND NOT {IS_DESTROYED}"  # noqa: S608
_SERVING_OWNED = f"{_SERVING} AND owner IN (SELECT value FROM json_each(:owners))"  # noqa: S608


@frozen
class Account:
    """An event of a log that records an erasure, or after which none was left to record."""

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
    """The first is the event that erased; the others are in other copies of the log."""


class Erasures(KeyFile):
    """The part of a table of keys that records how keys are destroyed."""

    def generation(self) -> int:
        """Return how many erasures were fulfilled; every erasure increases it.

        Raises:
            StoreFailed: The file is damaged, or is not where it was.
        """
        if self._data is None and not atomic_files.stands(self.path):
            return 0
        with self._reading() as c:
            generation: int = c.execute(GENERATION).fetchone()[0]
            return generation

    def intend(self, space: int, owners: Collection[str] | None, account: Account) -> int:
        """Record that keys are to be destroyed, and return the number of the erasure.

        Args:
            space: Number of the space.
            owners: Owners of the keys; None: all of the space.
            account: The event that will record it.
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
        """Return whether *owners* have a key that is not destroyed; None: any of the space."""
        asked = {"space": space, "owners": json.dumps(sorted(owners or ()))}
        with self._reading() as c:
            query = _SERVING if owners is None else _SERVING_OWNED
            return c.execute(query, asked).fetchone() is not None

    def fulfil(self, number: int) -> None:
        """Destroy the keys of an erasure. Idempotent."""
        self._is_scrubbed = False
        with self._writing() as c:
            c.execute(OVERWRITE.format("SELECT key FROM doomed WHERE erasure = ?"), (number,))
            c.execute(
                "UPDATE erasures SET done = 1 + (SELECT max(done) FROM erasures) "
                "WHERE id = ? AND done = 0",
                (number,),
            )
        self.scrub()

    def forget(self, number: int) -> None:
        """Remove an erasure that was refused, as if it had not been intended."""
        with self._writing() as c:
            c.execute("DELETE FROM doomed WHERE erasure = ?", (number,))
            c.execute("DELETE FROM accounts WHERE erasure = ?", (number,))
            c.execute("DELETE FROM erasures WHERE id = ?", (number,))

    def account(self, numbers: Iterable[int], account: Account) -> None:
        """Record another event that states these erasures, in another copy of their log."""
        with self._writing() as c:
            for number in numbers:
                c.execute("INSERT INTO accounts VALUES (?, ?, ?)", (number, *_parts(account)))

    def intentions(self, space: int) -> tuple[Erasure, ...]:
        """Return the erasures that were begun, and neither fulfilled nor forgotten."""
        return self._erasures(space, "done = 0")

    def erasures(self, space: int, *, since: int = 0) -> tuple[Erasure, ...]:
        """Return the erasures whose keys are destroyed, the newest first.

        Args:
            space: Whose.
            since: A generation; only those fulfilled after it.
        """
        return self._erasures(space, "done > :since", since=since)

    def _erasures(self, space: int, which: str, **bounds: int) -> tuple[Erasure, ...]:
        found: dict[int, tuple[bool, list[Account]]] = {}
        with self._reading() as c:
            for number, is_whole, version, digest in c.execute(
                f"""SELECT id, is_whole, version, digest
                FROM erasures JOIN accounts ON accounts.erasure = erasures.id
                WHERE space = :space AND {which} ORDER BY id DESC, accounts.rowid""",  # noqa: S608
                {"space": space, **bounds},
            ):
                found.setdefault(number, (bool(is_whole), []))[1].append(Account(version, digest))
        return tuple(
            Erasure(number=number, is_whole=is_whole, accounts=tuple(accounts))
            for number, (is_whole, accounts) in found.items()
        )


def _parts(account: Account) -> tuple[int, bytes]:
    return account.version, account.digest
