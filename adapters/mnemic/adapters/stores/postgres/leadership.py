"""Which host leads a space: leases of hosts, and an epoch that fences their appends.

A host has one row, which it renews; it leads spaces for as long as that row is current. Each change
of a space's leader begins an epoch, kept in the space's head row. A host appends only in the epoch
in which it became the leader, by the same statement that moves the head: so one that was replaced
writes nothing, even if it wakes late and believes to be the leader. Times are those of the server,
so clocks of hosts do not matter; and they decide only when a space may be taken over, never what
may be written.
"""

from __future__ import annotations

from functools import partial
from typing import Final

from attrs import frozen

from mnemic.adapters.stores.leaders import Leader
from mnemic.adapters.stores.logs.staged_spaces import MARK, hidden
from mnemic.adapters.stores.postgres.connections import Datastore
from mnemic.adapters.stores.postgres.format import CLUSTER_STATEMENTS, filled, prepare
from mnemic.kernel.ports import GENESIS_DIGEST, Head

_HAS_LEADERS = b"SELECT to_regclass(quote_ident(%b) || '.hosts') IS NOT NULL"
_RENEW: Final = """INSERT INTO {schema}.hosts (id, url, until)
    VALUES (%b, %b, now() + %b * interval '1 second')
    ON CONFLICT (id) DO UPDATE SET url = excluded.url, until = excluded.until RETURNING id"""
_END: Final = "DELETE FROM {schema}.hosts WHERE id = %b RETURNING id"
_FORGET: Final = """DELETE FROM {schema}.hosts WHERE until < now() - interval '1 day'
    RETURNING id"""
_LEAD: Final = """UPDATE {schema}.spaces s SET epoch = s.epoch + 1, leader = %b
    WHERE s.name = %b AND s.leader IS DISTINCT FROM %b AND NOT EXISTS
        (SELECT 1 FROM {schema}.hosts h WHERE h.id = s.leader AND h.until > now())
    RETURNING s.epoch"""
_LEADER: Final = """SELECT s.epoch, coalesce(s.leader, ''), coalesce(h.url, ''),
        coalesce(extract(epoch FROM h.until - now()), 0)::float8
    FROM {schema}.spaces s LEFT JOIN {schema}.hosts h ON h.id = s.leader WHERE s.name = %b"""
_SEIZE: Final = """UPDATE {schema}.spaces SET epoch = epoch + 1, leader = %b
    WHERE name = %b RETURNING epoch"""
_MOVED_TO: Final = "SELECT address FROM {schema}.moved WHERE space = %b"
_POINT_TO: Final = """INSERT INTO {schema}.moved VALUES (%b, %b)
    ON CONFLICT (space) DO UPDATE SET address = excluded.address RETURNING space"""
_MOVED: Final = "SELECT space FROM {schema}.moved"
_MOVE: Final = """WITH
    away AS (UPDATE {schema}.spaces SET name = %b, version = -1, digest = %b, leader = NULL
        WHERE name = %b AND version = %b AND digest = %b AND epoch = %b RETURNING id)
    INSERT INTO {schema}.moved SELECT %b, %b FROM away
    ON CONFLICT (space) DO UPDATE SET address = excluded.address RETURNING space"""
_CONTINUE: Final = """UPDATE {schema}.spaces SET epoch = greatest(epoch, %b)
    WHERE name = %b RETURNING id"""
_CAME_BACK: Final = "DELETE FROM {schema}.moved WHERE space = %b RETURNING space"
_HOSTS: Final = """SELECT h.id, h.url, extract(epoch FROM h.until - now())::float8,
        coalesce(led.spaces, 0)
    FROM {schema}.hosts h LEFT JOIN
        (SELECT leader, count(*) AS spaces FROM {schema}.spaces GROUP BY leader) AS led
        ON led.leader = h.id
    ORDER BY h.id"""
_SPACES: Final = """SELECT * FROM
    (SELECT name, version, epoch, coalesce(h.id, ''), ''
        FROM {schema}.spaces s LEFT JOIN {schema}.hosts h ON h.id = s.leader
        WHERE NOT starts_with(name, %b)
    UNION ALL SELECT space, -1, 0, '', address FROM {schema}.moved) AS found
    ORDER BY name COLLATE "C" LIMIT %b"""
_STANDBYS = b"""SELECT coalesce(application_name, ''), coalesce(host(client_addr), ''),
        coalesce(state, ''), coalesce(sync_state, ''),
        coalesce(pg_wal_lsn_diff(pg_current_wal_lsn(), replay_lsn), 0)::bigint
    FROM pg_stat_replication ORDER BY 1, 2"""
_IS_STANDBY = b"SELECT pg_is_in_recovery()"


@frozen(kw_only=True)
class HostRow:
    """One host of a cluster, as the database knows it."""

    id: str
    url: str
    left_s: float
    """Seconds until its lease ends; at most 0: it has ended."""
    spaces: int
    """How many spaces it led last."""


@frozen(kw_only=True)
class SpaceRow:
    """One space of a cluster, as the database knows it."""

    space: str
    version: int
    """Of the last event; -1: it was moved away, or has none."""
    epoch: int
    leader: str
    """The id of the host that led it last; empty: none, or one that has ended."""
    moved_to: str
    """Address of the database that it was moved to; empty: it is here."""


@frozen(kw_only=True)
class StandbyRow:
    """One standby of the database, as the primary sees it."""

    name: str
    address: str
    """Empty: a socket of the same machine, or hidden from this user."""
    state: str
    mode: str
    """``sync`` if commits wait for it, else ``async``; empty: hidden from this user."""
    behind_bytes: int
    """Of the log of the database that it has not replayed."""


def remains_of(space: str) -> str:
    """Return how the names begin under which the remains of a moved space are hidden."""
    return f"{hidden(space)} moved at "


class Leadership:
    """Leases and epochs in the database of a store.

    Args:
        datastore: Connections to the database, which the caller closes.
    """

    def __init__(self, datastore: Datastore) -> None:
        self._datastore = datastore
        self._is_enabled = False
        written = partial(filled, schema=datastore.schema)
        self._renew, self._end, self._forget = map(written, (_RENEW, _END, _FORGET))
        self._lead, self._leader = written(_LEAD), written(_LEADER)
        self._hosts, self._spaces = written(_HOSTS), written(_SPACES)
        self._seize, self._move, self._came_back = map(written, (_SEIZE, _MOVE, _CAME_BACK))
        self._point_to = written(_POINT_TO)
        self._continue = written(_CONTINUE)
        self._moved_to, self._moved = written(_MOVED_TO), written(_MOVED)

    def is_enabled(self) -> bool:
        """Return whether the store is prepared for hosts that lead its spaces, as it then stays."""
        if not self._is_enabled:
            found = self._datastore.rows(_HAS_LEADERS, (self._datastore.schema,))
            self._is_enabled = found == [(True,)]
        return self._is_enabled

    def enable(self) -> None:
        """Prepare the store, which releases before 0.5 cannot open afterwards.

        Raises:
            StoreFailed: The user of the database may not change its tables.
        """
        if self.is_enabled():
            return
        prepare(self._datastore, CLUSTER_STATEMENTS, purpose="a cluster", option="--cluster")
        self._is_enabled = True

    def renew(self, host: str, url: str, lease_s: float) -> None:
        """Begin or renew the lease of a host, for *lease_s* seconds from now."""
        self._datastore.written(self._renew, (host, url, lease_s))

    def end(self, host: str) -> None:
        """Remove a host, so that others may lead its spaces, and hosts that ended long ago.

        Spaces go on naming it until another leads them: there may be millions.
        """
        self._datastore.written(self._end, (host,))
        self._datastore.written(self._forget)

    def take(self, space: str, host: str) -> bool:
        """Make *host* the leader of *space*, unless it or a host with a current lease is.

        Returns:
            Whether an epoch was begun. After a lost answer that is not certain: see ``leader``.
        """
        return bool(self._datastore.written(self._lead, (host, space, host)))

    def leader(self, space: str) -> Leader | None:
        """Return the leader of *space*; None: there is no such space."""
        for epoch, host, url, left_s in self._datastore.rows(self._leader, (space,)):
            return Leader(epoch=epoch, host=host, url=url, left_s=left_s)
        return None

    def seize(self, space: str, host: str) -> int | None:
        """Make *host* the leader of *space* in place of any other; return its epoch.

        Returns None if there is no such space.

        If an answer is lost the epoch may rise by two, which does no harm.
        """
        rows = self._datastore.written(self._seize, (host, space))
        return rows[0][0] if rows else None

    def moved_to(self, space: str) -> str | None:
        """Return the address of the database that holds *space* now; None: it was not moved."""
        rows = self._datastore.rows(self._moved_to, (space,))
        return rows[0][0] if rows else None

    def point_to(self, space: str, address: str) -> None:
        """Record that *space*, which is not here, is at *address* now."""
        self._datastore.written(self._point_to, (space, address))

    def moved(self) -> tuple[str, ...]:
        """Return the names of the spaces that were moved away."""
        return tuple(name for (name,) in self._datastore.rows(self._moved))

    def move(self, space: str, address: str, *, head: Head, epoch: int) -> bool:
        """Record that *space* is at *address* now, if it ends at *head* in *epoch*.

        Its remains are hidden under a name that begins with ``remains_of``.

        Returns:
            Whether it was done; False: it does not end there any more.
        """
        name = f"{remains_of(space)}{head.version}"
        before = (space, head.version, head.digest, epoch)
        # Readers find the log empty at once, and look where it is.
        values = (name, GENESIS_DIGEST, *before, space, address)
        if self._datastore.written(self._move, values):
            return True
        # If a server hung up before it answered, the repeated statement finds it done.
        return self.moved_to(space) == address

    def continue_epoch(self, space: str, epoch: int) -> None:
        """Begin no earlier epoch than *epoch* here: epochs of a space are never used twice."""
        self._datastore.written(self._continue, (epoch, space))

    def came_back(self, space: str) -> None:
        """Forget that *space* was moved away from here."""
        self._datastore.written(self._came_back, (space,))

    def hosts(self) -> tuple[HostRow, ...]:
        """Return all hosts, also those whose lease has ended, by id."""
        return tuple(
            HostRow(id=name, url=url, left_s=left_s, spaces=spaces)
            for name, url, left_s, spaces in self._datastore.rows(self._hosts)
        )

    def spaces(self, limit: int) -> tuple[SpaceRow, ...]:
        """Return the first *limit* spaces by name, also those that were moved away."""
        return tuple(
            SpaceRow(space=space, version=version, epoch=epoch, leader=leader, moved_to=moved_to)
            for space, version, epoch, leader, moved_to in self._datastore.rows(
                self._spaces, (MARK, limit)
            )
        )

    def standbys(self) -> tuple[StandbyRow, ...]:
        """Return the standbys of the database, by name; none, if this is a standby."""
        if self._datastore.rows(_IS_STANDBY) == [(True,)]:
            return ()
        return tuple(
            StandbyRow(name=name, address=address, state=state, mode=mode, behind_bytes=behind)
            for name, address, state, mode, behind in self._datastore.rows(_STANDBYS)
        )
