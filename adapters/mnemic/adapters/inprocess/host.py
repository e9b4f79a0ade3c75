"""What all verbs stand on: an open space, its models, and whether it is still open."""

from __future__ import annotations

from datetime import datetime

from mnemic.adapters.inprocess import consolidation
from mnemic.adapters.inprocess.opening import models
from mnemic.adapters.inprocess.queries import Queries
from mnemic.adapters.inprocess.space import Space
from mnemic.kernel.errors import Closed
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
        tokens: TokenCounter | None = None,
    ) -> None:
        self._space = space
        self._store = store
        self._models = models(embedder, analyst, tokens, space)
        self._closed = False

    def close(self) -> None:
        """Close the space; an open session stays open in the log and ends at its last event."""
        if not self._closed:
            self._closed = True
            self._space.close()
            if self._store is not None:
                self._store.close()

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
