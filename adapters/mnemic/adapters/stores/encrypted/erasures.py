"""Erasures in a key file: those intended, those fulfilled, and the events that record them.

Before an erasure is appended to the log, it is intended here, together with the version and digest
of the event that will record it. From then on its keys encrypt nothing new. Once the event is in
the log, the erasure is fulfilled: its keys are destroyed. Only the writer that intended it may
forget it, after a refused append: a log without the event may be a copy of one that has it.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable

from attrs import frozen

from mnemic.adapters.files import atomic_files
from mnemic.adapters.stores.encrypted.keyfile import KeyFile
from mnemic.kernel.values import Value

IS_DESTROYED = """EXISTS (
    SELECT 1 FROM doomed JOIN erasures ON erasures.id = doomed.erasure
    WHERE doomed.key = keys.id AND erasures.done > 0)"""
GENERATION = "SELECT coalesce(max(done), 0) FROM erasures"
OVERWRITE = "UPDATE secrets SET secret = zeroblob(length(secret)) WHERE id IN ({})"
_DOOM_ALL = f"""INSERT INTO doomed SELECT id, :erasure FROM keys
    WHERE space = :space AND NOT {IS_DESTROYED}"""  # noqa: S608 - of constants
_DOOM_OWNED = f"{_DOOM_ALL} AND owner IN (SELECT value FROM json_each(:owners))"  # noqa: S608
_ANY_KEY = f"SELECT 1 FROM keys WHERE space = :space AND NOT {IS_DESTROYED}"  # noqa: S608
_ANY_KEY_OWNED = f"{_ANY_KEY} AND owner IN (SELECT value FROM json_each(:owners))"  # noqa: S608


@frozen
class Account(Value):
    """An event that records an erasure, or the head of a log that has recorded it by then."""

    version: int
    digest: bytes
    """Chain digest of the log as it ends with that event."""


@frozen(kw_only=True)
class Erasure(Value):
    """Keys that were destroyed together, or are going to be."""

    number: int
    is_whole: bool
    """Whether it is of all keys of the space."""
    accounts: tuple[Account, ...]
    """First the event of the erasure itself, then those in other copies of the log."""


class Erasures(KeyFile):
    """The part of a table of keys that records how keys are destroyed."""

    def generation(self) -> int:
        """Return the number of fulfilled erasures.

        Raises:
            StoreFailed: The file is damaged, or was moved, removed or replaced.
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
        parameters = {"space": space, "owners": json.dumps(sorted(owners or ()))}
        with self._writing() as c:
            c.execute(
                "INSERT INTO erasures (space, is_whole, done) VALUES (?, ?, 0)",
                (space, owners is None),
            )
            number = int(c.lastrowid or 0)
            c.execute(
                _DOOM_ALL if owners is None else _DOOM_OWNED, {"erasure": number, **parameters}
            )
            c.execute("INSERT INTO accounts VALUES (?, ?, ?)", (number, *_parts(account)))
            return number

    def have_keys(self, space: int, owners: Collection[str] | None) -> bool:
        """Return whether any of *owners* has a key that is not destroyed.

        Args:
            space: Number of the space.
            owners: Owners of the keys; None: all of the space.
        """
        parameters = {"space": space, "owners": json.dumps(sorted(owners or ()))}
        with self._reading() as c:
            query = _ANY_KEY if owners is None else _ANY_KEY_OWNED
            return c.execute(query, parameters).fetchone() is not None

    def fulfil(self, number: int) -> None:
        """Destroy the keys of an erasure. Repeating it changes nothing.

        Args:
            number: Number of the erasure.
        """
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
        """Remove an intended erasure whose append was refused."""
        with self._writing() as c:
            c.execute("DELETE FROM doomed WHERE erasure = ?", (number,))
            c.execute("DELETE FROM accounts WHERE erasure = ?", (number,))
            c.execute("DELETE FROM erasures WHERE id = ?", (number,))

    def account(self, numbers: Iterable[int], account: Account) -> None:
        """Add an event that records these erasures in another copy of their log."""
        with self._writing() as c:
            for number in numbers:
                c.execute("INSERT INTO accounts VALUES (?, ?, ?)", (number, *_parts(account)))

    def intentions(self, space: int) -> tuple[Erasure, ...]:
        """Return the erasures that are intended and not fulfilled, newest first."""
        return self._erasures(space, "done = 0")

    def erasures(self, space: int, *, since: int = 0) -> tuple[Erasure, ...]:
        """Return the erasures whose keys are destroyed, the newest first.

        Args:
            space: Number of the space.
            since: A generation: only erasures fulfilled after it are returned.
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
