"""``Memory``: the same verbs for async hosts.

Each verb is the one of ``SyncMemory``, run on a worker thread so that the event loop never waits
for a disk or a model. The verbs of one seat run one after the other, in the order of their calls;
several seats, and several memories, run beside each other. Once begun a verb runs to its end, so a
cancelled caller never leaves half a command behind.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import asynccontextmanager
from copy import copy
from functools import partial, update_wrapper
from threading import Lock
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, Self, TypeVar
from weakref import WeakSet

import anyio
from anyio import to_thread

from mnemic.adapters.inprocess.guiding import Guided
from mnemic.adapters.inprocess.snapshot import SyncView
from mnemic.adapters.inprocess.sync import SyncMemory
from mnemic.kernel.errors import Closed
from mnemic.kernel.identity import BlockId, SessionId
from mnemic.kernel.policy import Policy

P = ParamSpec("P")
T = TypeVar("T")


WORKERS_MAX = 4
"""Threads of one memory: one that works, and some that wait for it though nobody waits for them."""
LOOK_AGAIN_S = 0.02


class _Unlimited(anyio.CapacityLimiter):
    """Lets everybody in at once: whoever comes has stood in a queue of ours already.

    One of anyio's, without a limit, gives way to the event loop before it says so.
    """

    def __new__(cls) -> Self:
        return object.__new__(cls)

    async def __aenter__(self) -> None:
        pass

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        pass

    async def acquire_on_behalf_of(self, borrower: object) -> None:
        pass

    def release_on_behalf_of(self, borrower: object) -> None:
        pass


class _Turns:
    """Turns of one seat at something synchronous, one after the other, each on a worker thread.

    The limiter queues the callers, in order. Beside it a turn is held by the worker itself: a
    task that is cancelled natively gives its place in the queue away while its verb still runs,
    and so may whoever comes next. Their threads wait for the turn, so there must not be many.
    """

    def __init__(self, table: _Table | None = None) -> None:
        self.table = table or _Table()
        self.table.turns.add(self)
        self._limiter = anyio.CapacityLimiter(1)
        self._unlimited = _Unlimited()
        self._turn = Lock()
        self._workers: set[object] = set()

    async def take(self, act: Callable[[], T]) -> T:
        """Run *act* to its end when its turn has come."""
        worker = object()

        def work() -> T:
            self._workers.add(worker)
            try:
                with self._turn:
                    return act()
            finally:
                self._workers.discard(worker)

        try:
            self._limiter.acquire_nowait()
        except anyio.WouldBlock:
            await self._limiter.acquire()
        try:
            while len(self._workers) >= WORKERS_MAX:  # noqa: ASYNC110 - by threads
                await anyio.sleep(LOOK_AGAIN_S)
            # Gives way to the event loop before it begins, where a cancellation comes through.
            return await to_thread.run_sync(work, limiter=self._unlimited)
        finally:
            self._limiter.release()


class _Table:
    """The turns of all seats on one open memory."""

    def __init__(self) -> None:
        self.turns: WeakSet[_Turns] = WeakSet()
        self.is_cleared = False
        """Whether no verb of any seat begins any more."""

    async def clear(self) -> None:
        """Wait for the verbs that have begun, of every seat."""
        self.is_cleared = True
        for turns in list(self.turns):
            await turns.take(_rest)


def _rest() -> None:
    """Do nothing with a turn."""


class _Threaded:
    """Something synchronous, reached through one worker thread at a time."""

    def __init__(self, behind: Any, turns: _Turns) -> None:
        self._behind = behind
        self._turns = turns

    async def run(self, call: Callable[..., T], *args: Any, **keywords: Any) -> T:
        """Run a synchronous verb to its end on the worker thread."""

        def work() -> T:
            if self._behind is None:
                raise Closed("the memory is not open", recovery="Enter it: async with memory.")
            if self._turns.table.is_cleared:
                raise Closed("the memory is closed")
            return call(self._behind, *args, **keywords)

        return await self._turns.take(work)


def _verb(
    call: Callable[Concatenate[Any, P], T],
) -> Callable[Concatenate[Any, P], Coroutine[Any, Any, T]]:
    """Return the async twin of a verb: same arguments, same result, same words."""

    async def verb(self: Any, /, *args: P.args, **keywords: P.kwargs) -> T:
        behind: _Threaded = self
        return await behind.run(call, *args, **keywords)

    update_wrapper(verb, call)
    return verb


def _apart(call: Callable[P, T]) -> Callable[P, Coroutine[Any, Any, T]]:
    """Return the async twin of a verb that needs no open memory."""

    async def verb(*args: P.args, **keywords: P.kwargs) -> T:
        return await to_thread.run_sync(partial(call, *args, **keywords))

    update_wrapper(verb, call)
    return verb


class View(_Threaded):
    """The memory as it was. See ``SyncView``."""

    _behind: SyncView

    analogies = _verb(SyncView.analogies)
    block = _verb(SyncView.block)
    blocks = _verb(SyncView.blocks)
    compare = _verb(SyncView.compare)
    composed_with = _verb(SyncView.composed_with)
    composition = _verb(SyncView.composition)
    deep_reference = _verb(SyncView.deep_reference)
    diff = _verb(SyncView.diff)
    edges = _verb(SyncView.edges)
    frontier = _verb(SyncView.frontier)
    history = _verb(SyncView.history)
    ledger = _verb(SyncView.ledger)
    log = _verb(SyncView.log)
    near_duplicates = _verb(SyncView.near_duplicates)
    pending_connections = _verb(SyncView.pending_connections)
    recall = _verb(SyncView.recall)
    status = _verb(SyncView.status)
    timeline = _verb(SyncView.timeline)

    @property
    def version(self) -> int:
        """The version the view stands at."""
        return self._behind.version

    @property
    def hour(self) -> float:
        """The active hours decay is evaluated at."""
        return self._behind.hour


class Memory(_Threaded, Guided):
    """One space of memory for async hosts. ``async with Memory.open(path) as memory: ...``.

    The arguments of ``open`` are those of ``SyncMemory.open``. It is one seat on the space; verbs
    of several seats run at once, each on a thread. Use all of them on one event loop.
    """

    _behind: SyncMemory | None

    adopt_policy = _verb(SyncMemory.adopt_policy)
    analogies = _verb(SyncMemory.analogies)
    backtest = _verb(SyncMemory.backtest)
    block = _verb(SyncMemory.block)
    blocks = _verb(SyncMemory.blocks)
    checkpoint = _verb(SyncMemory.checkpoint)
    checkpoints = _verb(SyncMemory.checkpoints)
    compare = _verb(SyncMemory.compare)
    compose = _verb(SyncMemory.compose)
    composed_graph = _verb(SyncMemory.composed_graph)
    composed_with = _verb(SyncMemory.composed_with)
    composition = _verb(SyncMemory.composition)
    connect = _verb(SyncMemory.connect)
    connect_by_query = _verb(SyncMemory.connect_by_query)
    connects = _verb(SyncMemory.connects)
    consolidate = _verb(SyncMemory.consolidate)
    curate = _verb(SyncMemory.curate)
    deep_reference = _verb(SyncMemory.deep_reference)
    diff = _verb(SyncMemory.diff)
    disconnect = _verb(SyncMemory.disconnect)
    dream = consolidate
    drop_checkpoints = _verb(SyncMemory.drop_checkpoints)
    edges = _verb(SyncMemory.edges)
    end_session = _verb(SyncMemory.end_session)
    erase = _verb(SyncMemory.erase)
    erase_space = _verb(SyncMemory.erase_space)
    explain = _verb(SyncMemory.explain)
    export = _verb(SyncMemory.export)
    forget = _verb(SyncMemory.forget)
    fork = _verb(SyncMemory.fork)
    frontier = _verb(SyncMemory.frontier)
    history = _verb(SyncMemory.history)
    import_space = staticmethod(_apart(SyncMemory.import_space))
    label = _verb(SyncMemory.label)
    learn = _verb(SyncMemory.learn)
    learn_many = _verb(SyncMemory.learn_many)
    ledger = _verb(SyncMemory.ledger)
    log = _verb(SyncMemory.log)
    near_duplicates = _verb(SyncMemory.near_duplicates)
    outcome = _verb(SyncMemory.outcome)
    pending_connections = _verb(SyncMemory.pending_connections)
    recall = _verb(SyncMemory.recall)
    receipt = _verb(SyncMemory.receipt)
    reembed = _verb(SyncMemory.reembed)
    replay = _verb(SyncMemory.replay)
    replay_all = _verb(SyncMemory.replay_all)
    retract_label = _verb(SyncMemory.retract_label)
    revert = _verb(SyncMemory.revert)
    revise = _verb(SyncMemory.revise)
    rezone = _verb(SyncMemory.rezone)
    start_session = _verb(SyncMemory.start_session)
    status = _verb(SyncMemory.status)
    timeline = _verb(SyncMemory.timeline)
    verify = _verb(SyncMemory.verify)
    verify_receipt = _verb(SyncMemory.verify_receipt)
    what_if = _verb(SyncMemory.what_if)
    why_not = _verb(SyncMemory.why_not)

    def __init__(self, opening: Callable[[], SyncMemory]) -> None:
        super().__init__(None, _Turns())
        self._opening = opening
        self._is_seat = False

    @property
    def last_learned_block_id(self) -> BlockId | None:
        """The block learned last in this session. See ``SyncMemory``; nothing to wait for."""
        return None if self._behind is None else self._behind.last_learned_block_id

    @property
    def last_recall_block_ids(self) -> tuple[BlockId, ...]:
        """The blocks of the last recall, best first."""
        return () if self._behind is None else self._behind.last_recall_block_ids

    @property
    def session_block_ids(self) -> tuple[BlockId, ...]:
        """Every block learned, recalled or scored, in the order of the first time."""
        return () if self._behind is None else self._behind.session_block_ids

    @classmethod
    def open(cls, *args: Any, **keywords: Any) -> Self:
        """Prepare a memory; entering it opens the file. Arguments as ``SyncMemory.open``."""
        return cls(partial(SyncMemory.open, *args, **keywords))

    async def __aenter__(self) -> Self:
        try:
            await self._turns.take(self._enter)
        except BaseException:
            with anyio.CancelScope(shield=True):
                await self.close()  # a cancelled caller must not leave the file open
            raise
        return self

    def _enter(self) -> None:
        self._behind = self._opening()
        if not self._is_seat:
            self._turns.table.is_cleared = False

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with anyio.CancelScope(shield=True):
            await self.close()

    async def seat(
        self,
        *,
        actor: str,
        session: str | None = None,
        read_only: bool = False,
        version: int | None = None,
        zone: str | None = None,
    ) -> Self:
        """Return another handle on the same open space. See ``SyncMemory.seat``.

        It is open already; enter it to have it closed. It waits for no verb of this one.
        """
        if self._behind is None:
            raise Closed("the memory is not open", recovery="Enter it: async with memory.")
        sit = partial(
            self._behind.seat,
            actor=actor,
            session=session,
            read_only=read_only,
            version=version,
            zone=zone,
        )
        behind = await to_thread.run_sync(sit)
        seat = copy(self)
        seat._sit_down(behind)  # noqa: SLF001 - one of our own
        return seat

    def _sit_down(self, behind: SyncMemory) -> None:
        """Be the async twin of a seat, from a copy of another."""
        self._behind, self._opening = behind, lambda: behind
        self._turns, self._is_seat = _Turns(self._turns.table), True

    async def close(self) -> None:
        """Close the space, once the verbs that run are done, those of all seats.

        A seat closes itself alone.
        """
        if not self._is_seat:
            await self._turns.table.clear()
        await self._turns.take(self._leave)

    def _leave(self) -> None:
        if self._behind is not None:
            self._behind.close()

    async def policy(self) -> Policy:
        """Return the policy in force; awaited, for the log may have moved on."""
        return await self.run(lambda memory: memory.policy)

    async def as_of(self, **point: Any) -> View:
        """Return the memory as it was. Arguments as ``SyncMemory.as_of``."""
        fixed: SyncView = await self.run(SyncMemory.as_of, **point)
        return View(fixed, self._turns)

    @asynccontextmanager
    async def session(self) -> AsyncGenerator[SessionId]:
        """Hold a session open for an ``async with`` block."""
        started = await self.start_session()
        try:
            yield started.session_id
        finally:
            with anyio.CancelScope(shield=True):
                await self.end_session()
