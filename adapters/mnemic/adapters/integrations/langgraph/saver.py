"""``MnemicSaver``: LangGraph's checkpointer on a memory, so that the log of runs is hash-chained.

Each checkpoint, each value of a channel and each pending write is a record. What a put writes is
one transaction. Deleted checkpoints stay in the past of the log, until their blocks are erased.
"""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, Self, cast

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    WRITES_IDX_MAP,
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    get_checkpoint_id,
    get_checkpoint_metadata,
    writes_sort_key,
)
from langgraph.checkpoint.serde.base import SerializerProtocol

from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.integrations.records import Put, Record, Records, open_memory

ROOT: Final = "langgraph-checkpoints"
CHECKPOINT, VALUE, WRITE = "checkpoint", "value", "write"
"""Kinds of records: the first part of a key, before the thread and its namespace."""

Key = tuple[str, ...]
Changes = dict[Key, Put | None]
Keys = list[Key]
Found = list[Record]
Stored = list[str]


class MnemicSaver(BaseCheckpointSaver[str]):
    """A checkpointer whose runs can be verified and read as they were.

    Args:
        memory: The memory, best a space of its own: nothing of it is searched.
        serde: How values become bytes; None: LangGraph's own.
    """

    def __init__(self, memory: SyncMemory, *, serde: SerializerProtocol | None = None) -> None:
        super().__init__(serde=serde)
        self.memory = memory
        self._records = Records(memory, root=ROOT, actor="langgraph")

    @classmethod
    @contextmanager
    def from_path(
        cls, path: str | Path, *, space: str = ROOT, serde: SerializerProtocol | None = None
    ) -> Generator[Self]:
        """Open a file, or ``":memory:"``, and close it afterwards."""
        with open_memory(path, space=space) as memory:
            yield cls(memory, serde=serde)

    # --- reading ----------------------------------------------------------------------------

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Return the checkpoint that *config* names, or the latest of its thread."""
        thread, namespace = _place(config)
        wanted = get_checkpoint_id(config)
        if wanted:
            found = self._records.get((CHECKPOINT, thread, namespace, wanted))
        else:
            found = max(
                self._records.below(CHECKPOINT, thread, namespace), key=_id_of, default=None
            )
        return None if found is None else self._tuple(found)

    def list(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,  # noqa: A002 - the name that LangGraph gives
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> Iterator[CheckpointTuple]:
        """Yield checkpoints, the latest of each thread and namespace first.

        Args:
            config: Only those of its thread and, where it names them, its namespace and id.
            filter: Only those with these values in their metadata.
            before: Only those before the one that it names.
            limit: Most checkpoints.
        """
        named = _named(config) if config else {}
        prefix = (CHECKPOINT, *([named["thread_id"]] if "thread_id" in named else []))
        wanted, last = named.get("checkpoint_id"), get_checkpoint_id(before) if before else None
        count = 0
        for record in sorted(self._records.below(*prefix), key=_id_of, reverse=True):
            _, _, namespace, checkpoint_id = record.path
            if limit is not None and count >= limit:
                return
            if named.get("checkpoint_ns", namespace) != namespace:
                continue
            if (wanted and wanted != checkpoint_id) or (last and checkpoint_id >= last):
                continue
            metadata = self._load(record.value["metadata"])
            if all(metadata.get(name) == value for name, value in (filter or {}).items()):
                count += 1
                yield self._tuple(record)

    def _tuple(self, record: Record) -> CheckpointTuple:
        _, thread, namespace, checkpoint_id = record.path
        checkpoint = self._load(record.value["checkpoint"])
        values = {}
        for channel, version in checkpoint["channel_versions"].items():
            found = self._records.get((VALUE, thread, namespace, channel, str(version)))
            if found is not None and found.value is not None:
                values[channel] = self._load(found.value)
        writes = sorted(
            self._records.below(WRITE, thread, namespace, checkpoint_id), key=_write_order
        )
        parent = record.value["parent"]
        return CheckpointTuple(
            config=_config(thread, namespace, checkpoint_id),
            checkpoint=cast("Checkpoint", {**checkpoint, "channel_values": values}),
            metadata=self._load(record.value["metadata"]),
            parent_config=_config(thread, namespace, parent) if parent else None,
            pending_writes=[
                (each.path[4], each.value["channel"], self._load(each.value["value"]))
                for each in writes
            ],
        )

    # --- writing ----------------------------------------------------------------------------

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Save a checkpoint with the new values of its channels, and return its config."""
        thread, namespace = _place(config)
        plain: dict[str, Any] = {**checkpoint}
        values = plain.pop("channel_values")
        changes: Changes = {
            (VALUE, thread, namespace, channel, str(version)): Put(
                value=self._dump(values[channel]) if channel in values else None
            )
            for channel, version in new_versions.items()
        }
        changes[CHECKPOINT, thread, namespace, checkpoint["id"]] = Put(
            value={
                "checkpoint": self._dump(plain),
                "metadata": self._dump(get_checkpoint_metadata(config, metadata)),
                "parent": _named(config).get("checkpoint_id"),
            }
        )
        self._records.write(changes)
        return _config(thread, namespace, checkpoint["id"])

    def put_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        """Save the writes of a task; one that was saved before stays as it is."""
        thread, namespace = _place(config)
        place = (WRITE, thread, namespace, _named(config)["checkpoint_id"], task_id)
        changes: Changes = {}
        for number, (channel, value) in enumerate(writes):
            index = WRITES_IDX_MAP.get(channel, number)
            path = (*place, str(index))
            if index < 0 or self._records.get(path) is None:
                changes[path] = Put(
                    value={"channel": channel, "value": self._dump(value), "path": task_path}
                )
        self._records.write(changes)

    def delete_thread(self, thread_id: str) -> None:
        """Delete all checkpoints and writes of a thread."""
        self._delete(record.path for record in self._of_thread(thread_id))

    def delete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Delete the checkpoints of some runs, with their writes."""
        runs = frozenset(run_ids)
        gone = [
            record
            for record in self._records.below(CHECKPOINT)
            if self._load(record.value["metadata"]).get("run_id") in runs
        ]
        self._delete(path for record in gone for path in self._with_writes(record))

    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Copy all checkpoints and writes of a thread to another one."""
        self._records.write(
            {
                (record.path[0], target_thread_id, *record.path[2:]): Put(value=record.value)
                for record in self._of_thread(source_thread_id)
            }
        )

    def prune(
        self,
        thread_ids: Sequence[str],
        *,
        strategy: str = "keep_latest",
    ) -> None:
        """Delete the checkpoints of threads, all or all but the latest of each namespace.

        Of the latest, those ancestors are kept that hold the value of a channel which it has not
        itself, with all between them: such a value is made of their writes.

        Args:
            thread_ids: The threads.
            strategy: ``keep_latest`` or ``delete``.

        Raises:
            ValueError: The strategy is another one.
        """
        if strategy not in {"keep_latest", "delete"}:
            raise ValueError(f"strategy must be keep_latest or delete, got {strategy!r}")
        for thread in thread_ids:
            kept: set[Key] = set()
            if strategy == "keep_latest":
                known = {each.path: each for each in self._records.below(CHECKPOINT, thread)}
                for namespace in {path[2] for path in known}:
                    kept |= self._needed(known, max(p for p in known if p[2] == namespace))
            self._delete(each.path for each in self._of_thread(thread) if each.path not in kept)

    def _needed(self, known: dict[Key, Record], latest: Key) -> set[Key]:
        """Return the keys of all that a checkpoint is made of."""
        _, thread, namespace, _ = latest
        needed: set[Key] = set()
        open_channels: set[str] | None = None
        path: Key | None = latest
        while path in known and open_channels != set():
            record = known[path]
            needed |= set(self._with_writes(record))
            versions = self._load(record.value["checkpoint"])["channel_versions"]
            missing = set(versions) if open_channels is None else open_channels & set(versions)
            for channel in list(missing):
                value = (VALUE, thread, namespace, channel, str(versions[channel]))
                found = self._records.get(value)
                needed.add(value)
                if found is not None and found.value is not None:
                    missing.discard(channel)
            open_channels = missing
            parent = record.value["parent"]
            path = (CHECKPOINT, thread, namespace, parent) if parent else None
        return needed

    def _with_writes(self, record: Record) -> Keys:
        writes = self._records.below(WRITE, *record.path[1:])
        return [record.path, *(each.path for each in writes)]

    def _of_thread(self, thread: str) -> Found:
        return [
            record
            for kind in (CHECKPOINT, VALUE, WRITE)
            for record in self._records.below(kind, thread)
        ]

    def _delete(self, paths: Iterable[Key]) -> None:
        self._records.write(dict.fromkeys(paths))

    def get_next_version(self, current: str | None, channel: None) -> str:
        """Return the version after *current*; versions sort as text."""
        del channel
        return f"{int(current or 0) + 1:032}"

    def _dump(self, value: Any) -> Stored:
        kind, data = self.serde.dumps_typed(value)
        return [kind, base64.b64encode(data).decode("ascii")]

    def _load(self, stored: Sequence[str]) -> Any:
        kind, data = stored
        return self.serde.loads_typed((kind, base64.b64decode(data)))

    # --- on an event loop: the same on another thread ---------------------------------------

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Do as ``get_tuple``."""
        return await asyncio.to_thread(self.get_tuple, config)

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,  # noqa: A002 - the name that LangGraph gives
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        """Do as ``list``."""
        found = self.list(config, filter=filter, before=before, limit=limit)
        for each in await asyncio.to_thread(list, found):
            yield each

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Do as ``put``."""
        return await asyncio.to_thread(self.put, config, checkpoint, metadata, new_versions)

    async def aput_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        """Do as ``put_writes``."""
        await asyncio.to_thread(self.put_writes, config, writes, task_id, task_path)

    async def adelete_thread(self, thread_id: str) -> None:
        """Do as ``delete_thread``."""
        await asyncio.to_thread(self.delete_thread, thread_id)

    async def adelete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Do as ``delete_for_runs``."""
        await asyncio.to_thread(self.delete_for_runs, run_ids)

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Do as ``copy_thread``."""
        await asyncio.to_thread(self.copy_thread, source_thread_id, target_thread_id)

    async def aprune(
        self,
        thread_ids: Sequence[str],
        *,
        strategy: str = "keep_latest",
    ) -> None:
        """Do as ``prune``."""
        await asyncio.to_thread(self.prune, thread_ids, strategy=strategy)


def _named(config: RunnableConfig) -> dict[str, Any]:
    """Return what a config names: a thread, a namespace and a checkpoint."""
    return config.get("configurable", {})


def _place(config: RunnableConfig) -> tuple[str, str]:
    """Return the thread and the namespace of a config."""
    named = _named(config)
    return str(named["thread_id"]), named.get("checkpoint_ns", "")


def _config(thread: str, namespace: str, checkpoint_id: str) -> RunnableConfig:
    return {
        "configurable": {
            "thread_id": thread,
            "checkpoint_ns": namespace,
            "checkpoint_id": checkpoint_id,
        }
    }


def _id_of(record: Record) -> str:
    return record.path[-1]


def _write_order(record: Record) -> tuple[str, str, int]:
    return writes_sort_key(record.value["path"], record.path[4], int(record.path[5]))
