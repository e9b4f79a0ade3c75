"""Where the vectors of an open space are: in this process, or on the server of its store."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Literal, Protocol, TypeAlias

from mnemic.adapters.proximity.keeper import Graphs
from mnemic.kernel.errors import FieldRefused
from mnemic.kernel.events import EmbedderIdentity
from mnemic.kernel.ports import FarRows, Store
from mnemic.projections.state import FarOf, State

Whereabouts: TypeAlias = Literal["process", "server"]

WHEREABOUTS: Final = ("process", "server")
BEFORE: Final = -2
"""No log ends here: of the version of an index that was given up, since words were erased."""


class _Vectors(Protocol):
    """What a store offers that keeps vectors where it stands."""

    def far(
        self, space: str, embedder: EmbedderIdentity, *, folded: Callable[[], int]
    ) -> FarRows: ...

    def count(self, space: str, embedder: EmbedderIdentity, *, below: int) -> int: ...

    def reach(self, space: str) -> None: ...

    def rebuild(self, space: str) -> None: ...


def are_on_server(vectors: object, *, retriever: object) -> bool:
    """Say whether the vectors are to stay on the server, and refuse what does not go with that.

    Raises:
        FieldRefused: They are to be nowhere, or graphs are asked for.
    """
    if vectors not in WHEREABOUTS:
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


def far_of(
    store: Store, space: str, *, folded: Callable[[], int], erasures: Callable[[], int]
) -> FarOf:
    """Return who has the vectors of each embedder of a space.

    Args:
        store: Of the space.
        space: Its name.
        folded: Returns the version up to which its state is folded.
        erasures: Returns how often that was begun again, since words were erased.

    Raises:
        FieldRefused: The store keeps none.
        Unavailable: It was opened without them.
    """
    vectors = _vectors_of(store)

    def of(embedder: EmbedderIdentity) -> FarRows:
        known = erasures()

        def reached() -> int:
            return folded() if erasures() == known else BEFORE

        return vectors.far(space, embedder, folded=reached)

    return of


def mend(store: Store, space: str, state: State) -> None:
    """Have the server's table made anew, should it lack vectors that the log has.

    A lack is found at opening; a changed vector where it is asked for.

    Raises:
        LogCorrupt: The log cannot be read.
    """
    vectors = _vectors_of(store)
    vectors.reach(space)
    head = store.log(space, create=False).head().version
    for embedder, index in state.indexes.items():
        there = vectors.count(space, embedder, below=index.rows)
        if head == state.version and there < (index.standing or 0):
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
