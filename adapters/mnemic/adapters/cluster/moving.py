"""Moving a space to another database while it is written.

1. The log is copied and compared, and followed until little is left, see ``transfer.catch_up``.
2. The space is taken over from its leader: hosts refuse its writes for a moment. The rest is
   copied.
3. One statement at the source hides the space there and records its new address, if its log still
   ends where the copy does. From then on the copy is the space.
4. What remains at the source is destroyed.

Killed before 3, the source is the space, and its hosts go on when the lease of the move has ended;
killed after it, the copy is. Either way the same command continues. If the copy is where the space
had been before, hosts find it only when that is done: its database still names the source.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack, closing
from typing import Final
from uuid import uuid4

from attrs import frozen

from mnemic.adapters.cluster.host import ClusterHost
from mnemic.adapters.cluster.settings import ClusterSettings
from mnemic.adapters.codec import Codec
from mnemic.adapters.stores.addresses import is_server, parsed
from mnemic.adapters.stores.postgres import PostgresStore
from mnemic.adapters.stores.postgres.leadership import remains_of
from mnemic.adapters.system.entropy import SystemEntropy
from mnemic.adapters.transfer.catch_up import caught_up
from mnemic.adapters.transfer.copies.pipeline import Progress
from mnemic.adapters.transfer.destination import check_apart
from mnemic.adapters.transfer.migration import migrate
from mnemic.kernel.errors import FieldRefused, SpaceNotFound, StoreBusy
from mnemic.kernel.ports import Head, Log
from mnemic.kernel.results.shape import Result

LEASE_S: Final = 10.0
"""For how long hosts wait for a move that was killed."""
CLOSE: Final = 50
"""Events; with fewer left the space is taken over."""
ROUNDS_MAX: Final = 30
TRIES: Final = 5
HOPS_MAX: Final = 8


@frozen(kw_only=True, str=False)
class MoveResult(Result):
    """A space that is in another database now."""

    space: str
    source: str
    """Address of the database that it was in, without secrets."""
    target: str
    version: int
    """Of its last event there."""
    chain: str
    """Chain digest there, hex."""
    late: int
    """Events that were copied while its hosts refused writes."""

    @property
    def summary(self) -> str:
        return f"{self.space} is at {self.target}, version {self.version}"


def move(
    home: str,
    space: str,
    target: str,
    *,
    progress: Progress | None = None,
    step: Callable[[str], None] = lambda _: None,
) -> MoveResult:
    """Move *space* to the database at *target*, wherever the database *home* says it is now.

    Args:
        home: Address of the database that the hosts were begun with.
        space: Its name.
        target: Address of another database. All hosts use it as it is written here, so it holds no
            password: that belongs into their password files.
        progress: Called now and then with the number of events processed and the total.
        step: Called before each step with its name, for tests that end the process there.

    Raises:
        FieldRefused: One is no address of a server, or holds a password, or the space is there.
        SpaceNotFound: There is no such space.
        SpaceExists: The target has another space of that name.
        StoreBusy: Processes that are no hosts of the cluster write to it all the time.
        LogCorrupt, StoreFailed, NotAStore, StoreTooNew, KeysMissing: See ``migrate``.
    """
    for address, name in ((home, "db"), (target, "to")):
        if not is_server(address):
            raise FieldRefused(
                f"{address} is no address of a server",
                recovery="Name it like postgresql://user@host/database.",
                field=name,
            )
    if parsed(target).secrets:
        raise FieldRefused(
            "the address to move to holds a password, and is kept where hosts find it",
            recovery="Put the password into the password file of each host (~/.pgpass).",
            field="to",
        )
    with ExitStack() as stack:

        def opened(address: str) -> PostgresStore:
            store = stack.enter_context(closing(PostgresStore(address)))
            store.leadership.enable()
            store.is_followed = False
            return store

        *before, source = _path(home, space, opened)
        destination = opened(target)
        late = 0
        if source.address != destination.address:
            check_apart(source.address.shown, destination.address.shown)
            migrate(source, destination, spaces=[space], progress=progress)
            late = _handed_over(source, destination, space, target=target, step=step)
        destination.leadership.came_back(space)
        for store in (*before, source):
            if store.address != destination.address:
                store.leadership.point_to(space, target)
                _destroy_remains(store, space)
        head = destination.log(space, create=False).head()
        return MoveResult(
            space=space,
            source=source.address.shown,
            target=destination.address.shown,
            version=head.version,
            chain=head.digest.hex(),
            late=late,
        )


def _path(home: str, space: str, opened: Callable[[str], PostgresStore]) -> list[PostgresStore]:
    """Return the databases from *home* to the one that has *space*, each of which names the next.

    Raises:
        SpaceNotFound: It is not where they lead.
    """
    path = [opened(home)]
    for _ in range(HOPS_MAX):
        address = path[-1].leadership.moved_to(space)
        if address is None:
            return path
        if parsed(address) in [store.address for store in path]:
            return _path_to_holder(path, space)
        path.append(opened(address))
    raise SpaceNotFound(
        f"{space!r} was moved on more than {HOPS_MAX} times",
        recovery="Name a later database with --db: `mnemic cluster` shows where each one points.",
        space=space,
    )


def _path_to_holder(circle: list[PostgresStore], space: str) -> list[PostgresStore]:
    """Return a circle of databases, ending with the one that has *space*, which is then told so.

    A move back that is killed after step 3 leaves one: its target still says where the space was.

    Raises:
        SpaceNotFound: None has it.
    """
    holder = next((store for store in circle if store.recorder.space(space) is not None), None)
    if holder is None:
        raise SpaceNotFound(
            f"{space!r} is in none of the databases that it was moved to",
            recovery="Restore one of them from a backup.",
            space=space,
        )
    holder.leadership.came_back(space)
    return [*(store for store in circle if store is not holder), holder]


def _handed_over(
    source: PostgresStore,
    destination: PostgresStore,
    space: str,
    *,
    target: str,
    step: Callable[[str], None],
) -> int:
    """Copy the rest and hand the space over; return how many events its hosts had to wait for.

    Raises:
        StoreBusy: Others write to it all the time.
    """
    codec = Codec(SystemEntropy())
    log, copy = source.log(space, create=False), destination.log(space, create=False)
    for _ in range(ROUNDS_MAX):
        if log.head().version - copy.head().version <= CLOSE:
            break
        caught_up(log, destination, codec)
    step("copied")
    settings = ClusterSettings(id=f"move#{uuid4().hex[:8]}", url="", lease_s=LEASE_S)
    with closing(ClusterHost(source, settings)) as mover:
        for _ in range(TRIES):
            epoch, before = mover.seize(space), copy.head().version
            step("taken over")
            head = caught_up(log, destination, codec)
            if not _is_same(log, copy, head):
                continue  # a process that is no host has just erased text
            destination.leadership.continue_epoch(space, epoch)
            step("caught up")
            if source.leadership.move(space, target, head=head, epoch=epoch):
                step("moved")
                return head.version - before
    raise StoreBusy(
        f"{space!r} is written all the time by processes that are no hosts of the cluster",
        recovery="End them, or have them ask a host, and move it again.",
    )


def _is_same(log: Log, copy: Log, head: Head) -> bool:
    """Return whether two logs that end at *head* hold the same payloads too."""
    ours, theirs = copy.capabilities.payload_count, log.capabilities.payload_count
    assert ours is not None  # noqa: S101 - a database counts them
    assert theirs is not None  # noqa: S101
    return ours(head.version) == theirs(head.version)


def _destroy_remains(store: PostgresStore, space: str) -> None:
    """Destroy what is left of *space* in a database that it was moved away from."""
    recorder, is_any = store.recorder, False
    for name in recorder.names():
        if name.startswith(remains_of(space)):
            number = recorder.space(name)
            assert number is not None  # noqa: S101 - rows are never deleted
            recorder.clear(number, name, recorder.head(number))
            is_any = True
    if is_any:
        store.vacuum()
