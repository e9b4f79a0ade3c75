"""Work on a folded space, for any runner: here on the open space, elsewhere on its store.

A worker of another process opens the store by its address, read-only, checks that its log holds
the head that was known here, and folds it once.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, Final, TypeAlias

from attrs import define, evolve, field, frozen

from mnemic.adapters.inprocess.engine.commands import RunnerChoice
from mnemic.adapters.inprocess.engine.opening import Models, open_space
from mnemic.adapters.inprocess.engine.session_handle import SessionHandle
from mnemic.adapters.runners import runner_named
from mnemic.adapters.runners.in_process import in_process
from mnemic.adapters.stores.addresses import Address
from mnemic.adapters.stores.opening import address_of_store
from mnemic.adapters.system.processors import processors
from mnemic.kernel.errors import FieldRefused, HistoryReplaced
from mnemic.kernel.ports import Row, Runner

Begin: TypeAlias = Callable[[SessionHandle, Models], Callable[[Any], Row]]
"""A function of a module: from a space and models to what gives the row of a task."""
CHUNK: Final = 16
"""Decisions of one task: enough of them to share their reading, and few enough to spread."""
AUTO_ANSWERS: Final = 4000
"""Answers from which ``auto`` starts processes: ten seconds of one processor, against one or two
that it takes to start a worker and to fold a space of middle size."""


@frozen(kw_only=True)
class StoredSpace:
    """Where another process finds a space, and up to where it is to know it."""

    address: Address = field(repr=False)
    keys: Path | None
    space: str
    version: int
    digest: bytes | None


@define
class SpaceWork:
    """Does tasks on a folded space. Implements ``mnemic.kernel.ports.Work``."""

    do: Begin
    models: Models
    stored: StoredSpace | None
    """None: no other process can open the store."""
    handle: SessionHandle | None
    """The space in this process; it is not sent to others."""

    @classmethod
    def on(cls, space: SessionHandle, models: Models, do: Begin) -> SpaceWork:
        """Return the work of *do* on an open space."""
        found = address_of_store(space.store)
        stored = None
        if found is not None:
            version = space.view().version
            stored = StoredSpace(
                address=found[0],
                keys=found[1],
                space=space.name,
                version=version,
                digest=space.log.digest_at(version),
            )
        return cls(do, models, stored, space)

    @contextmanager
    def begin(self) -> Generator[Callable[[Any], Row]]:
        """Open the space, unless it is open here, for a ``with`` block.

        Raises:
            HistoryReplaced: The store holds another history than the one that was read.
            NotAStore, StoreFailed, LogCorrupt: The store cannot be opened.
        """
        if self.handle is not None:
            yield self.do(self.handle, self.models)
            return
        assert self.stored is not None  # noqa: S101 - it was pickled
        with _opened(self.stored) as handle:
            yield self.do(handle, self.models)

    def __getstate__(self) -> tuple[Any, ...]:
        if self.stored is None:
            raise FieldRefused(
                "this store cannot be opened by another process",
                recovery="Use runner 'inprocess', or open a file or a server by its address.",
                field="runner",
            )
        # No other process needs a model: questions have their vectors in the record.
        bare = evolve(
            self.models, embedder=None, coming=None, others=(), analyst=None, extractor=None
        )
        return self.do, bare, self.stored

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self.do, self.models, self.stored = state
        self.handle = None


@contextmanager
def _opened(stored: StoredSpace) -> Generator[SessionHandle]:
    store, handle = open_space(
        stored.address,
        space=stored.space,
        policy=None,
        clock=None,
        entropy=None,
        actor="runner",
        synchronous="full",
        read_only=True,
        keys=stored.keys,
    )
    try:
        handle.view()
        if handle.log.digest_at(stored.version) != stored.digest:
            raise HistoryReplaced(
                f"the store of space {stored.space!r} was replaced while decisions were answered"
            )
        yield handle
    finally:
        handle.log_state.close()
        if store is not None:
            store.close()


def started(
    choice: RunnerChoice, work: SpaceWork, *, answers: int
) -> AbstractContextManager[Runner]:
    """Start the runner that a caller chose, for a ``with`` block.

    Args:
        choice: See ``RunnerChoice``.
        work: What it does.
        answers: How many answers are to be computed, for ``auto``.

    Raises:
        FieldRefused: There is no such runner, or no other process can open the store.
        Unavailable: The extra ``ray`` is not installed.
    """
    if choice is None:
        return in_process(work)
    if choice == "auto":
        pays = answers >= AUTO_ANSWERS and work.stored is not None and processors() > 1
        choice = "processes" if pays else "inprocess"
    start = runner_named(choice) if isinstance(choice, str) else choice
    if not callable(start):
        raise FieldRefused(f"not a runner: {choice!r:.100}", field="runner")
    if start is not in_process:
        work.__getstate__()  # refuses a store that no other process can open
    return start(work)


def chunks(versions: Sequence[int], size: int) -> Iterator[tuple[int, ...]]:
    """Yield *versions* in groups of *size*, the last one smaller."""
    for first in range(0, len(versions), size):
        yield tuple(versions[first : first + size])
