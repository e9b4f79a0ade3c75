"""``Memory``: the operations of ``SyncMemory`` as coroutines, for async hosts.

Each operation is the one of ``SyncMemory``, run on a worker thread so that the event loop never
waits for a disk or a model. The operations of one session handle run one after the other, in the
order of their calls; several session handles, and several memories, run concurrently. Once begun,
an operation runs to its end, so a cancelled caller never leaves a command half executed.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager
from copy import copy
from functools import partial, update_wrapper
from threading import Lock
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, Self, TypeVar
from weakref import WeakSet

import anyio
from anyio import to_thread

from mnemic.adapters.inprocess.facade import AsyncFacade, MemoryTable, ViewTable
from mnemic.adapters.inprocess.operations.guide import Guided
from mnemic.adapters.inprocess.queries import Queries
from mnemic.adapters.inprocess.sync import SyncMemory
from mnemic.adapters.inprocess.view import SyncView
from mnemic.adapters.system.forks import OpeningProcess
from mnemic.kernel.errors import Closed
from mnemic.kernel.model.identity import BlockId, SessionId
from mnemic.kernel.policy import Policy

P = ParamSpec("P")
T = TypeVar("T")


WORKERS_MAX = 4
"""Threads of one session handle: one that runs, and others queued by calls since cancelled."""
LOOK_AGAIN_S = 0.02


class _Unlimited(anyio.CapacityLimiter):
    """Limiter without a limit: callers have already queued in a ``_CallQueue``.

    One of anyio's own, set to no limit, yields to the event loop before it admits a caller.
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


class _CallQueue:
    """Queue that runs the calls of one session handle in order, each on a worker thread.

    The limiter queues the callers, in order. In addition the worker itself holds a lock: a task
    that is cancelled natively leaves the limiter while its operation still runs, and so may the
    next one. Their threads wait for the lock, so their number is limited.
    """

    def __init__(self, registry: _QueueRegistry | None = None) -> None:
        self.registry = registry or _QueueRegistry()
        self.registry.queues.add(self)
        self._limiter = anyio.CapacityLimiter(1)
        self._unlimited = _Unlimited()
        self._call_lock = Lock()
        self._workers: set[object] = set()

    async def run(self, act: Callable[[], T]) -> T:
        """Run *act* to its end after all earlier calls."""
        self.registry.process.check()
        worker = object()

        def work() -> T:
            self._workers.add(worker)
            try:
                with self._call_lock:
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
            # Yields to the event loop before it begins, so that a cancellation is delivered.
            return await to_thread.run_sync(work, limiter=self._unlimited)
        finally:
            self._limiter.release()


class _QueueRegistry:
    """The call queues of all session handles on one open memory."""

    def __init__(self) -> None:
        self.queues: WeakSet[_CallQueue] = WeakSet()
        self.process = OpeningProcess("the memory")
        self.is_closed = False
        """Whether new operations are refused, for every session handle."""

    async def drain(self) -> None:
        """Refuse new operations and wait for those in progress, of every session handle."""
        self.is_closed = True
        for queue in list(self.queues):
            await queue.run(_do_nothing)


def _do_nothing() -> None:
    """Do nothing: waits for the earlier calls of a queue."""


class _Threaded(AsyncFacade):
    """Asynchronous wrapper of a synchronous object, called on one worker thread at a time."""

    def __init__(self, behind: Any, queue: _CallQueue) -> None:
        self._behind = behind
        self._queue = queue

    async def run(self, call: Callable[..., T], *args: Any, **keywords: Any) -> T:
        """Run a synchronous operation to its end on the worker thread."""

        def work() -> T:
            if self._behind is None:
                raise Closed("the memory is not open", recovery="Enter it: async with memory.")
            if self._queue.registry.is_closed:
                raise Closed("the memory is closed")
            return call(self._behind, *args, **keywords)

        return await self._queue.run(work)

    @staticmethod
    def _offered(call: Callable[..., Any]) -> Callable[..., Any]:
        return _operation(call)


def _operation(
    call: Callable[Concatenate[Any, P], T],
) -> Callable[Concatenate[Any, P], Coroutine[Any, Any, T]]:
    """Return the async version of an operation: same arguments, result and documentation."""

    async def operation(self: Any, /, *args: P.args, **keywords: P.kwargs) -> T:
        behind: _Threaded = self
        return await behind.run(call, *args, **keywords)

    update_wrapper(operation, call)
    return operation


def _unbound_operation(call: Callable[P, T]) -> Callable[P, Coroutine[Any, Any, T]]:
    """Return the async version of an operation that needs no open memory."""

    async def operation(*args: P.args, **keywords: P.kwargs) -> T:
        return await to_thread.run_sync(partial(call, *args, **keywords))

    update_wrapper(operation, call)
    return operation


class _Dumping(_Threaded):
    """Dumps, each made on a worker thread in one go."""

    to_markdown = _operation(Queries.to_markdown)
    to_jsonl = _operation(Queries.to_jsonl)
    to_csv = _operation(Queries.to_csv)


class View(_Dumping, ViewTable, of=SyncView):
    """The memory as it was. See ``SyncView``."""

    _behind: SyncView

    def __repr__(self) -> str:
        return repr(self._behind).replace(SyncView.__name__, View.__name__, 1)

    @property
    def version(self) -> int:
        """The version of the log that the view shows."""
        return self._behind.version

    @property
    def hour(self) -> float:
        """The active hours decay is evaluated at."""
        return self._behind.hour


class Memory(_Dumping, MemoryTable, Guided, of=SyncMemory):
    """One space of memory for async hosts. ``async with Memory.open(path) as memory: ...``.

    The arguments of ``open`` are those of ``SyncMemory.open``. It is one session handle on the
    space; operations of several session handles run at once, each on a thread. Use all of them on
    one event loop.
    """

    _behind: SyncMemory | None

    export = _operation(SyncMemory.export)
    reembed = _operation(SyncMemory.reembed)
    import_space = staticmethod(_unbound_operation(SyncMemory.import_space))

    def __init__(self, opening: Callable[[], SyncMemory]) -> None:
        super().__init__(None, _CallQueue())
        self._opening = opening
        self._is_handle = False

    @property
    def last_learned_block_id(self) -> BlockId | None:
        """The block learned last in this session. See ``SyncMemory``; never waits."""
        return None if self._behind is None else self._behind.last_learned_block_id

    @property
    def last_recall_block_ids(self) -> tuple[BlockId, ...]:
        """The blocks of the last recall, best first."""
        return () if self._behind is None else self._behind.last_recall_block_ids

    @property
    def session_block_ids(self) -> tuple[BlockId, ...]:
        """Every block learned, recalled or scored, in the order of first touch."""
        return () if self._behind is None else self._behind.session_block_ids

    @classmethod
    def open(cls, *args: Any, **keywords: Any) -> Self:
        """Prepare a memory; entering it opens the file. Arguments as ``SyncMemory.open``."""
        return cls(partial(SyncMemory.open, *args, **keywords))

    async def __aenter__(self) -> Self:
        try:
            await self._queue.run(self._enter)
        except BaseException:
            with anyio.CancelScope(shield=True):
                await self.close()  # a cancelled caller must not leave the file open
            raise
        return self

    def _enter(self) -> None:
        self._behind = self._opening()
        if not self._is_handle:
            self._queue.registry.is_closed = False

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with anyio.CancelScope(shield=True):
            await self.close()

    async def session_handle(
        self,
        *,
        actor: str,
        session: str | None = None,
        read_only: bool = False,
        version: int | None = None,
        zone: str | None = None,
        scope: Mapping[str, str] | None = None,
    ) -> Self:
        """Return another handle on the same open space. See ``SyncMemory.session_handle``.

        It is open already; enter it to have it closed. It does not wait for operations of this one.
        """
        if self._behind is None:
            raise Closed("the memory is not open", recovery="Enter it: async with memory.")
        open_handle = partial(
            self._behind.session_handle,
            actor=actor,
            session=session,
            read_only=read_only,
            version=version,
            zone=zone,
            scope=scope,
        )
        behind = await to_thread.run_sync(open_handle)
        session_handle = copy(self)
        session_handle._make_handle(behind)  # noqa: SLF001 - of the same class
        return session_handle

    def _make_handle(self, behind: SyncMemory) -> None:
        """Turn a copy of another handle into the async version of a session handle."""
        self._behind, self._opening = behind, lambda: behind
        self._queue, self._is_handle = _CallQueue(self._queue.registry), True

    async def close(self) -> None:
        """Close the space after the running operations of all session handles are done.

        A session handle closes itself only.
        """
        if self._queue.registry.process.is_another:
            self._leave()  # the operations in progress are the parent's
            return
        if not self._is_handle:
            await self._queue.registry.drain()
        await self._queue.run(self._leave)

    def _leave(self) -> None:
        if self._behind is not None:
            self._behind.close()

    async def policy(self) -> Policy:
        """Return the policy in force; awaited, since the log may have grown."""
        return await self.run(lambda memory: memory.policy)

    async def as_of(self, **point: Any) -> View:
        """Return the memory as it was. Arguments as ``SyncMemory.as_of``."""
        fixed: SyncView = await self.run(SyncMemory.as_of, **point)
        return View(fixed, self._queue)

    @asynccontextmanager
    async def session(self) -> AsyncGenerator[SessionId]:
        """Hold a session open for an ``async with`` block."""
        started = await self.start_session()
        try:
            yield started.session_id
        finally:
            with anyio.CancelScope(shield=True):
                await self.end_session()
