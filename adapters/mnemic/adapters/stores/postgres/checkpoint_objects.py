"""Checkpoints in the database: a table of the objects that hosts publish for each other.

Any process that erases text of a space deletes its objects in the same statement, see ``recorder``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property
from typing import Final

from mnemic.adapters.stores.postgres.connections import Datastore
from mnemic.adapters.stores.postgres.faults import named
from mnemic.adapters.stores.postgres.format import CHECKPOINT_STATEMENTS, filled, prepare
from mnemic.kernel.errors import StoreFailed

_AGES: Final = """SELECT name, extract(epoch FROM now() - at)::float8
    FROM {schema}.checkpoints WHERE space = %b"""
_GET: Final = "SELECT data FROM {schema}.checkpoints WHERE space = %b AND name = %b"
# A space that was moved away ends at -1, and what was published of it has been deleted.
_PUT: Final = """INSERT INTO {schema}.checkpoints (space, name, data)
    SELECT s.id, %b::text, %b::bytea FROM {schema}.spaces s WHERE s.id = %b AND s.version >= 0
    ON CONFLICT (space, name) DO UPDATE SET data = excluded.data, at = now() RETURNING name"""
_REMOVE: Final = """DELETE FROM {schema}.checkpoints
    WHERE space = %b AND name = ANY(%b::text[]) RETURNING name"""


def enable(datastore: Datastore) -> None:
    """Prepare the store for checkpoints; releases before 0.5 cannot open it afterwards.

    Raises:
        StoreFailed: The user of the database may not change its tables, or it does not answer.
    """
    option = "--checkpoints database"
    with named(datastore.address):
        prepare(datastore, CHECKPOINT_STATEMENTS, purpose="checkpoints", option=option)


class CheckpointObjects:
    """The objects of one space.

    Args:
        datastore: Connections to the database, which the caller closes.
        number: Returns the number of the space; called once, when it is needed.
    """

    def __init__(self, datastore: Datastore, number: Callable[[], int]) -> None:
        self._datastore, self._find_number = datastore, number
        self.shown = f"the database {datastore.address.shown}"
        self._ages, self._get, self._put, self._remove = (
            filled(each, datastore.schema) for each in (_AGES, _GET, _PUT, _REMOVE)
        )

    @cached_property
    def _number(self) -> int:
        return self._find_number()

    def ages(self) -> dict[str, float]:
        """Return the names of all objects, each with the seconds since it was put."""
        with named(self._datastore.address):
            return dict(self._datastore.rows(self._ages, (self._number,)))

    def get(self, name: str) -> bytes | None:
        """Return an object; None: there is none of that name."""
        with named(self._datastore.address):
            rows = self._datastore.rows(self._get, (self._number, name))
        return rows[0][0] if rows else None

    def put(self, name: str, data: bytes) -> None:
        """Store an object.

        Raises:
            StoreFailed: The space was moved to another database.
        """
        with named(self._datastore.address):
            is_here = self._datastore.written(self._put, (name, data, self._number))
        if not is_here:
            raise StoreFailed(
                f"{self.shown} does not hold the space any more",
                recovery="Ask any host of the cluster, or the database that it was moved to.",
                path=self._datastore.address.shown,
            )

    def remove(self, names: Iterable[str]) -> None:
        """Remove objects, if they are there."""
        with named(self._datastore.address):
            self._datastore.written(self._remove, (self._number, list(names)))
