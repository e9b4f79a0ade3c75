"""The checks of a space: its hash chain, its checkpoints and graphs, and the model it needs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from mnemic.adapters.cli.doctor.findings import About, Finding
from mnemic.adapters.cli.invocation.failures import READ_ON
from mnemic.adapters.stores.logs.chain import check_end
from mnemic.kernel.errors import LogCorrupt, MnemicError, StoreTooNew
from mnemic.kernel.results import plural

if TYPE_CHECKING:
    from mnemic.adapters.inprocess import SyncMemory
    from mnemic.kernel.events import EmbedderIdentity
    from mnemic.kernel.ports import Log, Store
    from mnemic.kernel.results import Checkpoint

DIGEST_SHOWN = 12
RENEW = "Nothing is lost: `mnemic checkpoints drop`, then `mnemic checkpoints make`."
REEMBED = "Install the release that it was built with, or re-embed: `mnemic reembed`."


def space(store: Store, name: str, progress: Callable[[int, int], None]) -> Iterator[Finding]:
    """Check one space of a store open for reading.

    Args:
        store: The store.
        name: The space.
        progress: Called with the number of events verified and the total.
    """
    from mnemic.adapters.inprocess import SyncMemory

    about = About(name=f"space {name}")
    try:
        with SyncMemory.open(store, space=name, read_only=True) as memory:
            yield from _contents(about, memory)
            yield from _chain(about, memory, store.log(name, create=False), progress)
            yield from _checkpoints(about, memory.checkpoints())
            yield from _graphs(about, memory)
            yield _embedder(about, memory)
    except MnemicError as error:
        yield about.failure("log", error)


def is_empty(store: Store) -> bool:
    """Return whether nothing was ever learned in any space."""
    from mnemic.adapters.inprocess import SyncMemory

    for name in store.spaces():
        try:
            with SyncMemory.open(store, space=name, read_only=True) as memory:
                if memory.blocks(limit=1).items:
                    return False
        except MnemicError:
            return False  # its own check reports the error
    return True


def _contents(about: About, memory: SyncMemory) -> Iterator[Finding]:
    status = memory.status()
    yield about.ok(
        "contents",
        f"{status.active} active, {status.inbox} in the inbox, {status.archived} archived; "
        f"{plural(status.edges, 'edge')}; {plural(status.decisions, 'decision')}; "
        f"{status.hour:.3f} active hours",
    )
    for alert in status.alerts:
        yield about.warning("alert", alert, remedy="`mnemic status` shows it too.")


def _chain(
    about: About, memory: SyncMemory, log: Log, progress: Callable[[int, int], None]
) -> Iterator[Finding]:
    found = memory.verify(progress)
    if found.requests_lost:
        yield about.warning(
            "commands",
            f"the requests of {plural(found.requests_lost, 'command')} are lost; sent again, "
            "they are refused",
            remedy="A backup may still have them. Nothing else depends on them.",
        )
    if found.sound:
        head = found.head[:DIGEST_SHOWN]
        yield about.ok("log", f"{found.events} versions, every digest holds, head {head}")
        return
    if found.too_new:
        yield about.problem("log", found.summary, remedy=StoreTooNew.default_recovery)
        return
    yield about.problem(
        "log",
        f"damaged at version {found.first_bad_version}: {found.problem}",
        remedy=_remedy(log),
    )


def _remedy(log: Log) -> str:
    """Return the remedy for a damaged log; a missing end has its own."""
    try:
        check_end(log)
    except LogCorrupt as error:
        if error.recovery != error.default_recovery:
            return error.recovery
    return READ_ON


def _checkpoints(about: About, found: tuple[Checkpoint, ...]) -> Iterator[Finding]:
    valid = [each for each in found if each.state == "valid"]
    if valid:
        newest = max(each.version for each in valid)
        yield about.ok("checkpoints", f"{len(valid)} valid, the newest at version {newest}")
    elif not found:
        yield about.ok("checkpoints", "none; a short log needs none")
    for each in found:
        if each.state != "valid":
            yield about.warning(
                "checkpoint",
                f"{each.name} is {each.state}: {each.problem}",
                remedy=RENEW,
            )


def _graphs(about: About, memory: SyncMemory) -> Iterator[Finding]:
    search = memory.status().search
    if search is not None and search.stored:
        yield about.ok("graphs", f"{search.stored} in files, over {search.vectors} vectors")


def _embedder(about: About, memory: SyncMemory) -> Finding:
    """Check that the model that the space was built with is installed, and is the same."""
    from mnemic.adapters.embedders.shipped import embedder_for, is_shipped
    from mnemic.adapters.inprocess.queries import embedder_in_force

    needed = embedder_in_force(memory)
    if needed is None:
        return about.ok("embedder", "none yet; the first consolidation adopts one")
    if not is_shipped(needed):
        return about.warning(
            "embedder",
            f"{_identified(needed)} does not ship with mnemic; a host has to provide it",
            remedy="Use the memory through that host, or re-embed it: `mnemic reembed bundled`.",
        )
    try:
        here = embedder_for(needed)
        if here.identity != needed:
            return about.problem(
                "embedder",
                f"it needs {_identified(needed)}; installed is {_identified(here.identity)}",
                remedy=REEMBED,
            )
        here.embed(["a trial"])
    except MnemicError as error:
        return about.failure("embedder", error)
    return about.ok("embedder", f"{_identified(needed)} is installed, and is the same")


def _identified(identity: EmbedderIdentity) -> str:
    return f"{identity.name} ({identity.dimension}-d, weights {identity.weights[:DIGEST_SHOWN]})"
