"""What all verbs stand on: a seat on an open space, its models, and whether it is still open."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from datetime import datetime
from functools import partial
from typing import Self, TypeVar

from attrs import define

from mnemic.adapters.inprocess import analysing, consolidation
from mnemic.adapters.inprocess.breadcrumbs import Breadcrumbs
from mnemic.adapters.inprocess.opening import Models, models
from mnemic.adapters.inprocess.queries import Queries
from mnemic.adapters.inprocess.space import Space
from mnemic.kernel.errors import Closed, EmbedderMismatch
from mnemic.kernel.identity import BlockId
from mnemic.kernel.ports import Analyst, Embedder, Store, TokenCounter
from mnemic.projections.views import View

T = TypeVar("T")
Date = str | datetime | None
"""ISO 8601 or a datetime; a naive one is UTC."""


@define
class _Plugged:
    """The models of all seats: a re-embedding by one of them is one for all."""

    models: Models


class Host(Queries):
    """A seat on an open space, with the models of its host."""

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
        self._plugged = _Plugged(
            models(
                space,
                embedder=embedder,
                analyst=analyst,
                analyst_timeout_s=analyst_timeout_s,
                tokens=tokens,
            )
        )
        self._crumbs = Breadcrumbs()
        self._is_seat = False
        self._is_closed = False

    def seat(
        self,
        *,
        actor: str,
        session: str | None = None,
        read_only: bool = False,
        version: int | None = None,
        zone: str | None = None,
    ) -> Self:
        """Return another handle on the same open space, for another caller.

        It has an actor, a session and breadcrumbs of its own and shares everything else, so it
        costs next to nothing. Verbs of several seats may run at once, on several threads. Closing
        a seat leaves the space open; closing the memory that was opened closes it for all.

        Args:
            actor: Who acts, as the log should name it.
            session: Go on with this open session, which the same actor began; None: with none.
            read_only: Whether the seat may not write.
            version: Write only while the log stands at this version, or where this seat left it
                since: whoever comes in between makes its next command a ``VersionConflict``.
                None: write wherever it stands.
            zone: How far its caller is trusted: what it learns is of this zone at most, and of
                blocks of a higher one it may change nothing; None: as far as this handle.

        Raises:
            FieldRefused: The actor, the session or the zone is no name, or the version is none.
            SessionState: The session is not open, or another actor began it.
        """
        seat = copy(self)
        space = self._open().seated(actor, session, read_only=read_only, version=version, zone=zone)
        seat._sit_down(space)  # noqa: SLF001 - one of our own
        return seat

    def _sit_down(self, space: Space) -> None:
        """Be a seat on *space*, from a copy of another."""
        self._space = space
        self._crumbs = Breadcrumbs()
        self._is_seat = True

    def close(self) -> None:
        """Close the space; an open session stays open in the log and ends at its last event.

        A verb that runs on another thread ends first, or is refused as ``Closed`` at its next
        step. A seat closes itself alone.
        """
        if self._is_closed:
            return
        self._is_closed = True
        if not self._is_seat:
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
        if self._is_closed:
            raise Closed(f"this {'seat' if self._is_seat else 'memory'} is closed")
        self._space.check_open()
        return self._space

    @property
    def _models(self) -> Models:
        return self._plugged.models

    def _view(self) -> View:
        """Return the live view; the guard is held."""
        space = self._open()
        space.catch_up()
        return space.live()

    def _asking(self, act: Callable[[Models], T]) -> T:
        """Do what asks the models; again, if a seat moved the space to another embedder meanwhile.

        A re-embedding plugs its model in before the event that adopts it, so models and event are
        read together.
        """
        space = self._open()
        while True:
            with space.guard:
                space.catch_up()
                models, adopted = self._models, space.live().embedder
            try:
                return act(models)
            except EmbedderMismatch:
                with space.guard:
                    models, now = self._models, space.live().embedder
                if now == adopted or consolidation.embedder_of(models, now).identity != now:
                    raise

    def _auto_consolidate(self) -> None:
        space = self._open()
        if space.read_only:
            return
        with space.guard:
            space.catch_up()
            state = space.state
            wanted = state.timeline.policy.auto_consolidate and not space.is_still
            is_due = wanted and bool(state.catalogue.waiting)
        if is_due:
            self._asking(partial(consolidation.consolidate, space))
