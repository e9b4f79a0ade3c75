"""Base class of the operations: a session handle on an open space, with the host's models."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from datetime import date, datetime
from typing import Self, TypeVar

from attrs import define, field

from mnemic.adapters.inprocess.consolidation.inbox_worker import ROUND_US, InboxWorker
from mnemic.adapters.inprocess.consolidation.pacing import Pace, Speed
from mnemic.adapters.inprocess.engine import analysis
from mnemic.adapters.inprocess.engine.embedding import embedder_of
from mnemic.adapters.inprocess.engine.opening import EXTRACTOR_TIMEOUT_S, Models, models
from mnemic.adapters.inprocess.engine.recent_ids import RecentIds
from mnemic.adapters.inprocess.engine.session_handle import SessionHandle
from mnemic.adapters.inprocess.queries import Queries
from mnemic.kernel.errors import Closed, EmbedderMismatch, HistoryReplaced, InboxFull
from mnemic.kernel.model.identity import BlockId
from mnemic.kernel.ports import Analyst, Embedder, Extractor, Store, TokenCounter
from mnemic.kernel.scope import checked_scope
from mnemic.projections.view import Snapshot, View

T = TypeVar("T")
Date = str | datetime | None
"""ISO 8601 or a datetime; a naive one is UTC."""
Day = str | date | None
"""The same, or a day, which means its end: see ``system.days``."""


@define
class _SharedModels:
    """The models, shared by all handles: a re-embedding by one of them applies to all."""

    models: Models
    speed: Speed = field(factory=Speed)
    """How fast they and the space promote blocks."""


class Host(Queries):
    """A session handle on an open space, with the models of its host."""

    def __init__(
        self,
        space: SessionHandle,
        *,
        store: Store | None = None,
        embedder: Embedder | None = None,
        embedders: Sequence[Embedder] = (),
        analyst: Analyst | None = None,
        analyst_timeout_s: float = analysis.TIMEOUT_S,
        extractor: Extractor | None = None,
        extractor_timeout_s: float = EXTRACTOR_TIMEOUT_S,
        tokens: TokenCounter | None = None,
        scope: Mapping[str, str] | None = None,
    ) -> None:
        self._space = space
        self._scope = checked_scope(scope)
        self._store = store
        self._shared_models = _SharedModels(
            models(
                space,
                embedder=embedder,
                embedders=embedders,
                analyst=analyst,
                analyst_timeout_s=analyst_timeout_s,
                extractor=extractor,
                extractor_timeout_s=extractor_timeout_s,
                tokens=tokens,
            )
        )
        self._inbox_worker = InboxWorker(self._promote_in_background)
        self._recent = RecentIds()
        self._is_handle = False
        self._is_closed = False

    def session_handle(
        self,
        *,
        actor: str,
        session: str | None = None,
        read_only: bool = False,
        version: int | None = None,
        zone: str | None = None,
        scope: Mapping[str, str] | None = None,
    ) -> Self:
        """Return another handle on the same open space, for another caller.

        It has its own actor, session and recent ids and shares everything else, so it
        costs next to nothing. Operations of several session handles may run at once, on several
        threads. Closing a session handle leaves the space open; closing the memory that was opened
        closes it for all.

        Args:
            actor: The name to record as actor in the log.
            session: Continue this open session, which the same actor began; None: no session.
            read_only: Whether the session handle may not write.
            version: Write only while the log is at this version, or at the one that this session
                handle's last command produced: after another writer its next command raises
                ``VersionConflict``. None: write at any version.
            zone: Trust zone of its caller: what it learns is of this zone at most, and it may not
                change blocks of a higher one; None: that of this handle.
            scope: The user, agent or run of its caller: what it learns belongs to this scope, and
                its recalls find nothing else; None: that of this handle.

        Raises:
            FieldRefused: The actor, the session, the zone or the scope is not valid, or the version
                is not a whole number.
            SessionState: The session is not open, or another actor began it.
        """
        session_handle = copy(self)
        if scope is not None:
            session_handle._scope = checked_scope(scope)  # noqa: SLF001 - of the same class
        space = self._open().handle_of(
            actor, session, read_only=read_only, version=version, zone=zone
        )
        session_handle._make_handle(space)  # noqa: SLF001 - of the same class
        return session_handle

    def _make_handle(self, space: SessionHandle) -> None:
        """Turn a copy of another handle into a session handle on *space*."""
        self._space = space
        self._recent = RecentIds()
        self._is_handle = True

    def _host_of(self, space: SessionHandle) -> Self:
        """Return a memory on another open space, with the models of this one."""
        host = copy(self)
        host._make_handle(space)  # noqa: SLF001 - of the same class
        host._is_handle, host._store = False, None  # noqa: SLF001
        host._shared_models = _SharedModels(self._models)  # noqa: SLF001
        host._inbox_worker = InboxWorker(host._promote_in_background)  # noqa: SLF001
        return host

    def close(self) -> None:
        """Close the space; an open session stays open in the log and ends at its last event.

        An operation that runs on another thread ends first, or raises ``Closed`` at its next step.
        A session handle closes itself only. In a child of the process that opened the memory this
        does nothing: files, connections and threads are the parent's.
        """
        if self._is_closed or self._space.log_state.is_from_parent:
            self._is_closed = True
            return
        if not self._is_handle:
            self._inbox_worker.close()
        self._is_closed = True
        if not self._is_handle:
            self._space.log_state.close()
            if self._store is not None:
                self._store.close()

    @property
    def last_learned_block_id(self) -> BlockId | None:
        """The block that this handle learned last, since its session began.

        Duplicates do not count. Recent ids are kept in memory only, and a new session clears them.
        """
        return self._recent.last_learned

    @property
    def last_recall_block_ids(self) -> tuple[BlockId, ...]:
        """The blocks of the last recall, best first."""
        return self._recent.last_recalled

    @property
    def session_block_ids(self) -> tuple[BlockId, ...]:
        """Every block that was learned, recalled or scored, in the order of first touch."""
        return self._recent.touched

    def _scoped(self, scope: Mapping[str, str] | None) -> Mapping[str, str] | None:
        """Return the scope of one call: that of this handle, with what the call adds or replaces.

        Raises:
            FieldRefused: It is not valid.
        """
        given = self._scope if scope is None else {**self._scope, **checked_scope(scope)}
        return given or None

    def _open(self) -> SessionHandle:
        if self._is_closed:
            raise Closed(f"this {'session handle' if self._is_handle else 'memory'} is closed")
        self._space.log_state.check_open()
        return self._space

    @property
    def _models(self) -> Models:
        return self._shared_models.models

    def _view(self) -> View:
        """Return the view of the present."""
        return self._open().view()

    def _with_models(self, act: Callable[[Models], T]) -> T:
        """Run *act* with the models; repeat it if another handle switched the embedder meanwhile.

        A re-embedding sets its model before the event that adopts it, so the models are read after
        the event.
        """
        return self._at(self._open().snapshot(), lambda models, _: act(models))

    def _at(self, snapshot: Snapshot, act: Callable[[Models, Snapshot], T]) -> T:
        """Like ``_with_models``, with a snapshot just taken; *act* is repeated on a later one."""
        space = self._open()
        while True:
            models = self._models
            try:
                return act(models, snapshot)
            except EmbedderMismatch:
                adopted, snapshot = snapshot.embedder, space.snapshot()
                now, models = snapshot.embedder, self._models
                if now == adopted or embedder_of(models, now).identity != now:
                    raise

    def _auto_consolidate(self, snapshot: Snapshot | None = None) -> Snapshot:
        """Promote what waits in the inbox, if the policy says so, within its time limit.

        What does not fit is left to the background. While that is at work, only blocks of fully
        trusted zones are promoted here: a flood of others delays no caller by more than the limit.

        Args:
            snapshot: One just taken; None: one is taken here.

        Returns:
            A snapshot with what was promoted.
        """
        space = self._open()
        snapshot = snapshot or space.snapshot()
        policy = snapshot.policy
        wanted = not space.read_only and policy.auto_consolidate and snapshot.waiting
        if not wanted or not space.view_of(snapshot).inbox():
            return snapshot
        limit_us = policy.promotion_limit_us
        from mnemic.adapters.inprocess.consolidation import consolidation

        with space.unpinned():
            if limit_us is None:
                self._at(snapshot, lambda models, _: consolidation.consolidate(space, models))
            elif self._promote(
                space, snapshot, limit_us, only_privileged=self._inbox_worker.is_running
            ):
                self._inbox_worker.start()
        return space.snapshot()

    @contextmanager
    def _emptying_full_inbox(self) -> Generator[None]:
        """Begin to promote in the background if a command of the ``with`` block found no room."""
        try:
            yield
        except InboxFull:
            if self._open().snapshot().policy.auto_consolidate:
                self._inbox_worker.start()
            raise

    def _promote(
        self,
        space: SessionHandle,
        snapshot: Snapshot,
        limit_us: int,
        *,
        only_privileged: bool = False,
    ) -> bool:
        """Promote for at most *limit_us*, and return whether there is more to promote."""
        from mnemic.adapters.inprocess.consolidation import consolidation

        pace = Pace(limit_us, space.caller.clock.now_us, self._shared_models.speed)
        return self._at(
            snapshot,
            lambda models, _: consolidation.promote_within(
                space, models, pace, only_privileged=only_privileged
            ),
        )

    def _promote_in_background(self) -> bool:
        """Promote for one round of the background thread; see ``InboxWorker``."""
        space = self._open()
        try:
            own = space.handle_of(space.caller.actor, None)
            return self._promote(own, space.snapshot(), ROUND_US)
        except HistoryReplaced:
            space.inform_again()  # of this thread, its error reaches no caller
            raise


def check_not_erased(memory: Host) -> None:
    """Refuse a space whose texts were erased as a whole, for a host that lends spaces to others.

    Raises:
        SpaceErased: They were; nothing can be learned in it.
    """
    space = memory._open()  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
    space.check_not_erased()
