"""What all verbs stand on: an open space, its models, and whether it is still open."""

from __future__ import annotations

from datetime import datetime

from mnemic.adapters.inprocess import analysing, consolidation
from mnemic.adapters.inprocess.breadcrumbs import Breadcrumbs
from mnemic.adapters.inprocess.opening import models
from mnemic.adapters.inprocess.queries import Queries
from mnemic.adapters.inprocess.space import Space
from mnemic.kernel.errors import Closed
from mnemic.kernel.identity import BlockId
from mnemic.kernel.ports import Analyst, Embedder, Store, TokenCounter
from mnemic.projections.views import View

Date = str | datetime | None
"""ISO 8601 or a datetime; a naive one is UTC."""


class Host(Queries):
    """An open space with the models of its host."""

    def __init__(
        self,
        space: Space,
        *,
        store: Store | None = None,
        embedder: Embedder | None = None,
        analyst: Analyst | None = None,
        analyst_timeout_s: float = analysing.TIMEOUT_S,
        tokens: TokenCounter | None = None,
    ) -> None:
        self._space = space
        self._store = store
        self._models = models(
            space,
            embedder=embedder,
            analyst=analyst,
            analyst_timeout_s=analyst_timeout_s,
            tokens=tokens,
        )
        self._crumbs = Breadcrumbs()
        self._closed = False

    def close(self) -> None:
        """Close the space; an open session stays open in the log and ends at its last event."""
        if not self._closed:
            self._closed = True
            self._space.close()
            if self._store is not None:
                self._store.close()

    @property
    def last_learned_block_id(self) -> BlockId | None:
        """The block that this handle learned last, since its session began.

        What was known already does not count. Breadcrumbs are kept in memory only, and a new
        session clears them.
        """
        return self._crumbs.last_learned

    @property
    def last_recall_block_ids(self) -> tuple[BlockId, ...]:
        """The blocks of the last recall, best first."""
        return self._crumbs.last_recalled

    @property
    def session_block_ids(self) -> tuple[BlockId, ...]:
        """Every block that was learned, recalled or scored, in the order of the first time."""
        return self._crumbs.touched

    def _open(self) -> Space:
        if self._closed:
            raise Closed("the memory is closed")
        return self._space

    def _view(self) -> View:
        space = self._open()
        space.catch_up()
        return space.live()

    def _auto_consolidate(self) -> None:
        space = self._open()
        if not space.read_only:
            space.catch_up()
            if space.state.timeline.policy.auto_consolidate and space.state.catalogue.waiting:
                consolidation.consolidate(space, self._models)
