"""One host of a cluster: its lease, and the spaces that it leads.

What is remembered here saves asking the database. Nothing that is written depends on it being
right: appends are fenced by epoch, see ``stores.postgres.leadership``.

One thread renews the lease. A host whose lease has ended leads nothing, so requests wait for that
thread, for a lease at most. If it cannot reach the database, statements that wait for an answer are
given up, and requests are refused at once until it can.
"""

from __future__ import annotations

import logging
import time
from contextlib import closing
from threading import Condition, Event, Lock, Thread

from attrs import evolve

from mnemic.adapters.cluster.settings import RENEWALS, ClusterSettings
from mnemic.adapters.stores.addresses import parsed
from mnemic.adapters.stores.leaders import Leader, elsewhere
from mnemic.adapters.stores.postgres.connections import Datastore
from mnemic.adapters.stores.postgres.faults import named
from mnemic.adapters.stores.postgres.leadership import Leadership
from mnemic.adapters.stores.postgres.store import PostgresStore
from mnemic.kernel.errors import FieldRefused, MnemicError, SpaceNotFound, StoreFailed
from mnemic.kernel.ports import Store

LOG = logging.getLogger("mnemic.cluster")


class ClusterHost:
    """Renews the lease of this host on a thread of its own, and leads spaces when they are written.

    Args:
        store: Open to write; its appends are fenced from now on.
        settings: Of this host.

    Raises:
        StoreFailed: The database cannot be prepared for a cluster.
    """

    def __init__(self, store: PostgresStore, settings: ClusterSettings) -> None:
        self.settings = settings
        self.address = store.address
        self._store = store
        # A lease waits for no append, and after an answer that took longer it would have ended.
        answer_s = min(store.address.answer_timeout_s, settings.lease_s)
        self._datastore = Datastore(
            evolve(store.address, answer_timeout_s=answer_s),
            reconnect_s=settings.lease_s,
            lock_timeout_s=answer_s,
        )
        self._leadership = Leadership(self._datastore)
        self._epochs: dict[str, int] = {}
        self.takeovers = 0
        """Epochs that this process has begun."""
        self._until_s = float("-inf")
        """Until when the lease lasts, by this machine's monotonic clock."""
        self._changing = Lock()
        self._tried = Condition()
        """Notified when the lease was renewed, or could not be."""
        self._is_cut_off = False
        """Whether the lease has ended, and could not be renewed."""
        self._is_given_up = False
        """Whether what waited for the database then was ended; see ``Datastore.give_up``."""
        self._is_wanted = Event()
        """Set to have the lease renewed now."""
        self._stopping = Event()
        self._renewing = Thread(target=self._keep, name="mnemic-lease", daemon=True)
        try:
            with named(self.address):
                store.leadership.enable()
            self._renew()
        except BaseException:
            self._datastore.close()
            raise
        store.leads, store.is_home = self, settings.is_home
        self._renewing.start()

    @property
    def led(self) -> int:
        """How many spaces this process leads, as far as it knows without asking."""
        return len(self._epochs) if self.lease_left_s > 0 else 0

    @property
    def lease_left_s(self) -> float:
        """For how long the lease lasts unless it is renewed; 0: it has ended."""
        return max(0.0, self._until_s - time.monotonic())

    def leads(self, space: str) -> bool:
        """Return whether this host leads *space*, as far as it knows without asking."""
        return self._known_epoch(space) is not None

    def _known_epoch(self, space: str) -> int | None:
        return self._epochs.get(space) if self.lease_left_s > 0 else None

    def epoch_of(self, space: str) -> int:
        """Return the epoch in which this host leads *space*; lead it if no other host does.

        Raises:
            LedElsewhere: Another host leads it.
            SpaceNotFound: There is no such space.
            StoreFailed, StoreBusy: The database does not answer.
        """
        epoch = self._known_epoch(space)
        if epoch is not None:
            return epoch
        leader = self.leader(space)
        if leader.host != self.settings.id:
            raise elsewhere(space, leader)
        return leader.epoch

    def leader(self, space: str) -> Leader:
        """Return the leader of *space*, which is this host if no other is.

        Raises:
            SpaceNotFound: There is no such space.
            MovedAway: It is in another database now.
            StoreFailed, StoreBusy: The database does not answer.
        """
        self.check_connected()
        with named(self.address):
            began = self._leadership.take(space, self.settings.id)
            leader = self._leadership.leader(space)
        if leader is None:
            self._store.check_not_moved(space)
            raise SpaceNotFound(f"there is no space {space!r}", space=space)
        with self._changing:
            self.takeovers += began
            if leader.host == self.settings.id:
                self._epochs[space] = leader.epoch
            else:
                self._epochs.pop(space, None)
        return leader

    def check_connected(self) -> None:
        """Refuse what cannot be done while the lease has ended and cannot be renewed.

        Raises:
            StoreFailed: This host is cut off from the database, or that takes no writes.
        """
        if self.lease_left_s > 0:
            return
        with self._tried:
            if not self._is_cut_off:
                self._is_wanted.set()
                if not self._tried.wait_for(
                    lambda: self.lease_left_s > 0 or self._is_cut_off, self.settings.lease_s
                ):
                    self._is_cut_off = True
            if self.lease_left_s == 0:
                raise StoreFailed(
                    f"the lease of this host has ended, and {self.address.shown} does not renew it",
                    recovery="Ask another host; this one goes on when it reaches the database.",
                    path=self.address.shown,
                )

    def still_leads(self, space: str, leader: Leader) -> bool:
        """Return whether *leader* still leads *space*, and its lease has not ended.

        Raises:
            StoreFailed, StoreBusy: The database does not answer.
        """
        with named(self.address):
            found = self._leadership.leader(space)
        return found is not None and found.epoch == leader.epoch and found.left_s > 0

    def seize(self, space: str) -> int:
        """Take *space* over from the host that leads it; return the epoch that begins.

        Raises:
            SpaceNotFound, MovedAway, StoreFailed, StoreBusy: As ``leader``.
        """
        with named(self.address):
            epoch = self._leadership.seize(space, self.settings.id)
        return self.leader(space).epoch if epoch is None else epoch

    def has_moved(self, space: str) -> bool:
        """Return whether *space* is in another database now, as far as it was noticed."""
        return space in self._store.moved_away

    def check_not_moved(self, space: str) -> None:
        """Refuse a space that is in another database now.

        Raises:
            MovedAway: With its address.
        """
        self._store.check_not_moved(space)

    def moved(self) -> tuple[str, ...]:
        """Return the names of the spaces that were moved to other databases."""
        with named(self.address):
            return self._leadership.moved()

    def forget(self, space: str) -> None:
        """Ask the database the next time; see ``Leads``."""
        with self._changing:
            self._epochs.pop(space, None)

    def close(self) -> None:
        """Give up the lease, so that other hosts may lead the spaces at once. Idempotent.

        A lease that other workers have too ends by itself, or with all of them: see ``give_up``.
        """
        if self._stopping.is_set():
            return
        self._stopping.set()
        self._is_wanted.set()
        self._renewing.join()
        try:
            if not self.settings.is_shared:
                _end(self._datastore, self.settings)
        finally:
            self._datastore.close()

    def _keep(self) -> None:
        pause_s = self.settings.lease_s / RENEWALS
        while not self._stopping.is_set():
            self._is_wanted.wait(pause_s)
            self._is_wanted.clear()
            if not self._stopping.is_set():
                self._try_to_renew()

    def _try_to_renew(self) -> None:
        try:
            self._renew()
        except MnemicError as error:
            LOG.warning("the lease could not be renewed: %s", error)
        is_cut_off = self.lease_left_s == 0  # if not, it is tried again before the lease ends
        if is_cut_off and not self._is_given_up:
            self._store.recorder.datastore.give_up()
        self._is_given_up = is_cut_off
        with self._tried:
            self._is_cut_off = is_cut_off
            self._tried.notify_all()

    def _renew(self) -> None:
        began_s = time.monotonic()
        with named(self.address):
            self._leadership.renew(self.settings.id, self.settings.url, self.settings.lease_s)
        with self._changing:
            if began_s >= self._until_s:  # it had ended: others may have taken over
                self._epochs.clear()
            self._until_s = began_s + self.settings.lease_s


def joined(store: Store, settings: ClusterSettings) -> ClusterHost:
    """Return a host of a cluster that writes to *store*, perhaps an encrypted one.

    Raises:
        FieldRefused: It is not on a server.
        StoreFailed, StoreBusy: See ``ClusterHost``.
    """
    inner = getattr(store, "inner", store)
    if not isinstance(inner, PostgresStore):
        raise FieldRefused(
            "the hosts of a cluster share a store on a server",
            recovery="Name one with --db postgresql://user@host/database.",
            field="cluster",
        )
    return ClusterHost(inner, settings)


def give_up(address: str, settings: ClusterSettings) -> None:
    """Give up the lease of a host whose workers have ended."""
    with closing(Datastore(parsed(address))) as datastore:
        _end(datastore, settings)


def _end(datastore: Datastore, settings: ClusterSettings) -> None:
    try:
        with named(datastore.address):
            Leadership(datastore).end(settings.id)
    except MnemicError as error:
        LOG.warning("the lease is left to end by itself: %s", error)
