"""``MnemicStore``: LangGraph's ``BaseStore`` on a memory.

An item is a record, under its namespace and key. Its text is what ``index`` selects of the value,
so a recall by any interface finds it; ``search`` with a query is a recall, which is recorded.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Generator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from copy import copy
from datetime import timedelta
from pathlib import Path
from typing import Any, Final, Self

from langgraph.store.base import (
    BaseStore,
    GetOp,
    IndexConfig,
    Item,
    ListNamespacesOp,
    MatchCondition,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
    TTLConfig,
    get_text_at_path,
    validate_op_namespace,
)
from langgraph.store.base.batch import AsyncBatchedBaseStore

from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.integrations.langgraph.embeddings import LangChainEmbedder
from mnemic.adapters.integrations.records import Put, Record, Records, open_memory
from mnemic.kernel.ports import Clock

ROOT: Final = "langgraph"
FOUND_MAX: Final = 1000
"""Items that a recall ranks; further ones follow without a score."""

_COMPARISONS: Final[Mapping[str, Callable[[Any, Any], bool]]] = {
    "$eq": lambda value, wanted: bool(value == wanted),
    "$ne": lambda value, wanted: bool(value != wanted),
    "$gt": lambda value, wanted: float(value) > float(wanted),
    "$gte": lambda value, wanted: float(value) >= float(wanted),
    "$lt": lambda value, wanted: float(value) < float(wanted),
    "$lte": lambda value, wanted: float(value) <= float(wanted),
}


class MnemicStore(BaseStore):
    """A store of items with search, whose past can be read.

    Args:
        memory: The memory. Its embedder is used; ``index`` may select the fields to search.
        index: As of every LangGraph store. Without it the whole value is searched.
        ttl: When items expire; an expired item is never returned.
        scope: The user, agent or run that all items belong to.
        clock: The wall clock, for times to live; None: the system's.
    """

    supports_ttl = True

    def __init__(
        self,
        memory: SyncMemory,
        *,
        index: IndexConfig | None = None,
        ttl: TTLConfig | None = None,
        scope: Mapping[str, str] | None = None,
        clock: Clock | None = None,
    ) -> None:
        self.memory = memory
        self.index_config = index
        self.ttl_config = ttl
        self._fields = list((index or {}).get("fields") or ["$"])
        self._records = Records(memory, root=ROOT, actor=ROOT, scope=scope, clock=clock)

    @classmethod
    @contextmanager
    def from_path(
        cls,
        path: str | Path,
        *,
        space: str = ROOT,
        index: IndexConfig | None = None,
        ttl: TTLConfig | None = None,
    ) -> Generator[Self]:
        """Open a file, or ``":memory:"``, and close it afterwards.

        Args:
            path: The file of the store.
            space: The space in it.
            index: With ``embed`` and ``dims``, the embedder of a new space.
            ttl: See the class.
        """
        embedder = None
        if index is not None and "embed" in index:
            embedder = LangChainEmbedder(index["embed"], index.get("dims", 0))
        with open_memory(path, space=space, embedder=embedder) as memory:
            yield cls(memory, index=index, ttl=ttl)

    @property
    def version(self) -> int:
        """The version of the log, to be expected by a later write."""
        return self._records.version

    def expecting(self, version: int) -> Self:
        """Return this store for writes that are refused once the log has left *version*.

        A write after that of another writer raises ``VersionConflict``, and nothing is written.
        """
        other = copy(self)
        other._records = self._records.at_version(version)  # noqa: SLF001 - of the same class
        return other

    def sweep_ttl(self) -> int:
        """Delete the expired items, and return how many there were."""
        gone = self._records.expired()
        self._records.write({each.path: None for each in gone})
        return len(gone)

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Carry out operations: reads of the state before the batch, then all writes at once.

        Raises:
            Refused: A value cannot be stored; nothing of the batch is written.
            InvalidNamespaceError: A label is no text, empty, or has a period; the same.
        """
        ops = list(ops)
        for op in ops:
            validate_op_namespace(op)
        results: list[Result] = []
        puts: dict[tuple[str, ...], Put | None] = {}
        for op in ops:
            match op:
                case GetOp():
                    results.append(self._get(op))
                case SearchOp():
                    results.append(self._search(op))
                case ListNamespacesOp():
                    results.append(self._namespaces(op))
                case PutOp():
                    path = (*op.namespace, op.key)
                    puts.pop(path, None)  # the last one counts, and is written last
                    puts[path] = None if op.value is None else self._put(op, dict(op.value))
                    results.append(None)
                case _:  # pyright: ignore[reportUnnecessaryComparison]
                    raise ValueError(f"not an operation of a store: {op!r}")
        self._records.write(puts)
        return results

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Carry out operations as ``batch`` does, on another thread."""
        return await asyncio.to_thread(self.batch, list(ops))

    def _get(self, op: GetOp) -> Item | None:
        found = self._records.get((*op.namespace, op.key))
        if found is None:
            return None
        if op.refresh_ttl:
            self._records.refresh([found])
        return Item(**_item(found))

    def _put(self, op: PutOp, value: dict[str, Any]) -> Put:
        fields = self._fields if op.index is None else op.index or []
        found = [text for name in fields for text in get_text_at_path(value, name)]
        ttl = None if op.ttl is None else timedelta(minutes=op.ttl)
        return Put(value=value, text="\n".join(found) if found else None, ttl=ttl)

    def _search(self, op: SearchOp) -> list[SearchItem]:
        op = op._replace(query=(op.query or "").strip())
        stop = op.offset + op.limit
        scored: list[tuple[Record, float | None]] = []
        if op.query and stop > 0:
            most = FOUND_MAX if op.filter else min(stop, FOUND_MAX)
            ranked = self._records.search(op.query, *op.namespace_prefix, limit=most)
            scored = [(each, score) for each, score in ranked if _passes(each.value, op.filter)]
        if len(scored) < stop:
            known = {each.block.id for each, _ in scored}
            others = [
                each
                for each in self._records.below(*op.namespace_prefix)
                if each.block.id not in known and _passes(each.value, op.filter)
            ]
            if op.query:  # those that do not match come before those that are not searched
                others.sort(key=lambda each: not each.is_searched)
            scored += [(each, 0.0 if op.query and each.is_searched else None) for each in others]
        found = scored[op.offset : stop]
        if op.refresh_ttl:
            self._records.refresh(each for each, _ in found)
        return [SearchItem(**_item(each), score=score) for each, score in found]

    def _namespaces(self, op: ListNamespacesOp) -> list[tuple[str, ...]]:
        known = {each.path[:-1] for each in self._records.below()}
        found = {
            namespace[: op.max_depth]
            for namespace in known
            if all(_matches(condition, namespace) for condition in op.match_conditions or ())
        }
        return sorted(found)[op.offset : op.offset + op.limit]


class AsyncMnemicStore(AsyncBatchedBaseStore):
    """``MnemicStore`` for an event loop: what is awaited together is one batch, on another thread.

    Args:
        store: The store.
    """

    supports_ttl = True

    def __init__(self, store: MnemicStore) -> None:
        super().__init__()
        self.store = store
        self.index_config = store.index_config
        self.ttl_config = store.ttl_config

    @classmethod
    @asynccontextmanager
    async def from_path(
        cls,
        path: str | Path,
        *,
        space: str = ROOT,
        index: IndexConfig | None = None,
        ttl: TTLConfig | None = None,
    ) -> AsyncGenerator[Self]:
        """Open a file, see ``MnemicStore.from_path``."""
        with MnemicStore.from_path(path, space=space, index=index, ttl=ttl) as store:
            yield cls(store)

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Carry out operations as ``MnemicStore.batch`` does."""
        return await self.store.abatch(ops)

    async def sweep_ttl(self) -> int:
        """Delete the expired items, and return how many there were."""
        return await asyncio.to_thread(self.store.sweep_ttl)


def _item(record: Record) -> dict[str, Any]:
    return {
        "namespace": record.path[:-1],
        "key": record.path[-1],
        "value": record.value,
        "created_at": record.created_at,
        "updated_at": record.updated_at,
    }


def _passes(value: Mapping[str, Any], wanted: Mapping[str, Any] | None) -> bool:
    """Whether a value meets a filter, as other stores understand it."""
    return all(_meets(_at(value, name), each) for name, each in (wanted or {}).items())


def _at(value: Any, name: str) -> Any:
    """Return what a value has under a name, or, as ``user.city``, in an object within it."""
    if not isinstance(value, Mapping):
        return None
    if name in value:
        return value[name]
    first, dot, rest = name.partition(".")
    return _at(value.get(first), rest) if dot else None


def _meets(value: Any, wanted: Any) -> bool:
    if isinstance(wanted, Mapping):
        if any(str(name).startswith("$") for name in wanted):
            return all(_compared(value, name, each) for name, each in wanted.items())
        return isinstance(value, Mapping) and _passes(value, wanted)
    if isinstance(wanted, list | tuple):
        return (
            isinstance(value, list | tuple)
            and len(value) == len(wanted)
            and all(map(_meets, value, wanted))
        )
    return bool(value == wanted)


def _compared(value: Any, name: str, wanted: Any) -> bool:
    """Return the result of a comparison; what cannot be compared as numbers does not meet it.

    Raises:
        ValueError: There is no such comparison.
    """
    compare = _COMPARISONS.get(name)
    if compare is None:
        raise ValueError(f"no comparison {name!r}; there are {', '.join(_COMPARISONS)}")
    try:
        return compare(value, wanted)
    except (TypeError, ValueError):
        return False


def _matches(condition: MatchCondition, namespace: Sequence[str]) -> bool:
    path = tuple(condition.path)
    if len(namespace) < len(path):
        return False
    if condition.match_type == "suffix":
        namespace = namespace[len(namespace) - len(path) :]
    return all(each in {"*", part} for each, part in zip(path, namespace, strict=False))
