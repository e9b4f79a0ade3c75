"""Storage of the vectors of an open space: in this process, or on the server of its store."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Literal, Protocol, TypeAlias

from mnemic.adapters.ann.graphs import Graphs
from mnemic.kernel.errors import FieldRefused
from mnemic.kernel.events import EmbedderIdentity
from mnemic.kernel.ports import RemoteRows, Store
from mnemic.projections.state.state import RemoteRowsOf, State

VectorStorage: TypeAlias = Literal["process", "server"]

VECTOR_STORAGE: Final = ("process", "server")
BEFORE: Final = -2
"""Version reported for an index that was discarded after an erasure; no log ends there."""


class _Vectors(Protocol):
    """Interface of a store that keeps vectors on its server."""

    def far(
        self, space: str, embedder: EmbedderIdentity, *, folded: Callable[[], int]
    ) -> RemoteRows: ...

    def count(self, space: str, embedder: EmbedderIdentity, *, below: int) -> int: ...

    def reach(self, space: str) -> None: ...

    def rebuild(self, space: str) -> None: ...


def are_on_server(vectors: object, *, retriever: object) -> bool:
    """Return whether the vectors stay on the server, and refuse options incompatible with that.

    Raises:
        FieldRefused: The storage is unknown, or graphs are requested for vectors on the server.
    """
    if vectors not in VECTOR_STORAGE:
        raise FieldRefused(
            f"vectors must be process or server, got {vectors!r:.100}", field="vectors"
        )
    if vectors == "process":
        return False
    if retriever == "ann" or isinstance(retriever, Graphs):
        raise FieldRefused(
            "graphs are made of vectors in the process, and these are on the server",
            recovery="Let retriever be exact, or keep the vectors in the process.",
            field="retriever",
        )
    return True


def remote_rows_of(
    store: Store, space: str, *, folded: Callable[[], int], erasures: Callable[[], int]
) -> RemoteRowsOf:
    """Return a function from an embedder to the remote vectors of a space.

    Args:
        store: The store of the space.
        space: Its name.
        folded: Returns the version up to which its state is folded.
        erasures: Returns how often the state was replayed because text was erased.

    Raises:
        FieldRefused: The store keeps no vectors on a server.
        Unavailable: It was opened without them.
    """
    vectors = _vectors_of(store)

    def of(embedder: EmbedderIdentity) -> RemoteRows:
        known = erasures()

        def reached() -> int:
            return folded() if erasures() == known else BEFORE

        return vectors.far(space, embedder, folded=reached)

    return of


def mend(store: Store, space: str, state: State) -> None:
    """Rebuild the server's table if it lacks vectors that the log has.

    Missing vectors are detected when a space is opened; a changed vector when it is read.

    Raises:
        LogCorrupt: The log cannot be read.
    """
    vectors = _vectors_of(store)
    vectors.reach(space)
    head = store.log(space, create=False).head().version
    for embedder, index in state.indexes.items():
        there = vectors.count(space, embedder, below=index.rows)
        if head == state.version and there < (index.remote_count or 0):
            vectors.rebuild(space)
            return


def _vectors_of(store: Store) -> _Vectors:
    vectors: _Vectors | None = getattr(store, "vectors", None)
    if vectors is None:
        raise FieldRefused(
            "this store keeps no vectors on a server",
            recovery="Give the address of a PostgreSQL server, and no keys, or leave the vectors "
            "in the process.",
            field="vectors",
        )
    return vectors
