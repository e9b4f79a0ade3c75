"""Records: JSON values under keys in a memory, for the integrations.

A record is the block of a key (``kernel.scope``). Its text is what a recall searches, its
value is kept in the metadata as JSON. Writing a record supersedes its block, so the earlier values
stay in the past; many records are written and deleted in one transaction.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from copy import copy
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final, Self, TypeVar
from urllib.parse import quote, unquote

from attrs import field, frozen

from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.system.clocks import SystemClock
from mnemic.kernel.decisions.learning import MESSAGE
from mnemic.kernel.errors import FieldRefused, VersionConflict
from mnemic.kernel.model.identity import SCOPE_KEYS, normalised
from mnemic.kernel.policy import Policy
from mnemic.kernel.policy.ranges import COUNT_MAX
from mnemic.kernel.ports import Clock, Embedder, Extractor
from mnemic.kernel.results import Block
from mnemic.kernel.validation import checked_name

T = TypeVar("T")

POLICY: Final = Policy(
    name="integrations",
    content_length_max=COUNT_MAX,
    metadata_bytes_max=COUNT_MAX,
    recall_promotion_ms=COUNT_MAX,
    candidates=1000,
)
"""Policy of a space that an integration makes: values of a megabyte, and recalls that find what was
written just before, however much that is."""
SEARCHED: Final = "record"
"""Category of the records that a search finds; messages have their own."""
UNSEARCHED: Final = "data"
"""Category of those that it does not find."""
METADATA: Final = frozenset({"since", "ttl", "value", "around", "at"})
"""What the metadata of a record's block says about the record itself."""
PAGE: Final = 1000
BATCH: Final = 10_000
ATTEMPTS: Final = 20

Path_ = tuple[str, ...]


def open_memory(
    path: str | Path,
    *,
    space: str,
    embedder: Embedder | None = None,
    extractor: Extractor | None = None,
) -> SyncMemory:
    """Open the space of an integration, and make it with ``POLICY`` if it does not exist."""
    return SyncMemory.open(path, space=space, embedder=embedder, extractor=extractor, policy=POLICY)


@frozen(kw_only=True)
class Record:
    """The current value of a key."""

    path: Path_
    """The parts of its key."""
    value: Any
    """As it was written, as JSON."""
    block: Block = field(repr=False)
    created_at: datetime
    """When the record was first written since it was last deleted."""
    updated_at: datetime
    ttl: timedelta | None = None
    """How long it is kept after it was written or read last."""

    @property
    def is_searched(self) -> bool:
        """Whether a search may find it."""
        return self.block.category != UNSEARCHED

    @property
    def expires_at(self) -> datetime | None:
        """From then on it counts as deleted; None: never."""
        given = self.block.expires_at
        return None if given is None else datetime.fromisoformat(given)


@frozen(kw_only=True)
class Put:
    """A value to write."""

    value: Any
    """Anything that JSON can hold."""
    text: str | None = None
    """What a search finds it by; None: nothing. It is stored once if the value is or has it."""
    ttl: timedelta | None = None
    fields: Mapping[str, Any] = field(factory=dict)
    """Further fields of the block, see ``learn``."""
    metadata: Mapping[str, Any] = field(factory=dict)
    """Further metadata of the block, which a recall can filter by."""


class Records:
    """The records of one integration in a memory.

    Args:
        memory: The memory.
        root: First part of all keys, so that several integrations can share a space.
        actor: The name to record as actor in the log.
        scope: The user, agent or run that they belong to; None: the whole space.
        is_shared: Whether records of every scope are read; the fields of a ``Put`` say which scope
            it belongs to.
        clock: The wall clock; None: the system's.
    """

    def __init__(
        self,
        memory: SyncMemory,
        *,
        root: str,
        actor: str,
        scope: Mapping[str, str] | None = None,
        is_shared: bool = False,
        clock: Clock | None = None,
    ) -> None:
        self._memory = memory
        self._root = root
        self._actor = actor
        self._scope = dict(scope or {})
        self._is_shared = is_shared
        self._clock = clock or SystemClock()
        self.memory = self._handle()
        """The session handle that they are read and written with."""

    def _handle(self, version: int | None = None) -> SyncMemory:
        return self._memory.session_handle(actor=self._actor, scope=self._scope, version=version)

    def at_version(self, version: int) -> Self:
        """Return the same records, to be written while the log is at *version* only.

        A write after that of another writer raises ``VersionConflict``.
        """
        other = copy(self)
        other.memory = self._handle(version)
        return other

    def transaction(self, work: Callable[[Self], T]) -> T:
        """Return what *work* returns, which reads and then writes once.

        It gets the records at the present version, and is repeated if another writer was quicker.

        Raises:
            VersionConflict: It never was the quickest.
        """
        for _ in range(ATTEMPTS - 1):
            try:
                return work(self.at_version(self.version))
            except VersionConflict:
                continue
        return work(self.at_version(self.version))

    @property
    def version(self) -> int:
        """The version of the log."""
        return self.memory.status().version

    def get(self, path: Path_) -> Record | None:
        """Return the record of a key, unless it was never written, deleted, or has expired."""
        return next(iter(self._found(self._name(path))), None)

    def below(self, *prefix: str) -> list[Record]:
        """Return the records below some parts of a key, in the order written."""
        return self._found(self.key(prefix) + "/")

    def revisions(self, path: Path_) -> list[Block]:
        """Return every block of a key, archived ones too, in the order written."""
        return [block for block in self.blocks(self._name(path)) if self._is_mine(block)]

    def expired(self) -> list[Record]:
        """Return the records that have expired and are not deleted yet."""
        now = self.now()
        records = map(self._record, self._current(self.key(()) + "/"))
        return [each for each in records if each.expires_at is not None and each.expires_at <= now]

    def write(self, changes: Mapping[Path_, Put | None], *, forget: Sequence[str] = ()) -> None:
        """Write and delete records, 10,000 in one transaction.

        Args:
            changes: By key: the new value; None: delete it.
            forget: Ids of other blocks to archive, in the same transactions.

        Raises:
            Refused: A value is too large for the space; nothing of its transaction is written.
            TypeError, ValueError: A value is not JSON; the same.
            VersionConflict: See ``at_version``.
        """
        given = list(changes.items())
        for start in range(0, max(len(given), len(forget)), BATCH):
            part = slice(start, start + BATCH)
            self._write(given[part], list(forget[part]))

    def _write(self, changes: Sequence[tuple[Path_, Put | None]], forget: list[str]) -> None:
        lessons: list[dict[str, Any]] = []
        for path, put in changes:
            if put is None:
                forget += [block.id for block in self._current(self._name(path))]
            else:
                lessons.append(self._lesson(path, put, self.get(path)))
        if lessons or forget:
            self.memory.learn_many(lessons, forget=forget, atomic=True)

    def refresh(self, records: Iterable[Record]) -> None:
        """Begin the time to live of records anew."""
        renewed = {
            each.path: Put(
                value=each.value,
                text=each.block.content if each.is_searched else None,
                ttl=each.ttl,
            )
            for each in records
            if each.ttl is not None
        }
        self.write(renewed)

    def search(
        self,
        query: str,
        *prefix: str,
        limit: int,
        min_probability: float = 0.0,
        asked_by: str | None = None,
    ) -> list[tuple[Record, float]]:
        """Return the records that a recall finds below some parts, best first, with their scores.

        Args:
            query: The question.
            prefix: The first parts of their keys.
            limit: Most records. Range: 1 to 1000.
            min_probability: Least probability of a record to bear on the question.
            asked_by: See ``recall``.
        """
        answer = self.memory.recall(
            query,
            top_k=limit,
            token_budget=COUNT_MAX,
            where={"key": self.key(prefix) + "/", "category": [SEARCHED, MESSAGE]},
            asked_by=asked_by,
            min_probability=min_probability,
        )
        ranked: list[tuple[Record, float]] = []
        for each in answer.blocks:
            key = (self.memory.block(each.id).metadata or {})["key"]
            current = self._found(key)  # nothing once it expired, another block after a revert
            ranked += [(one, each.composite_score) for one in current if one.block.id == each.id]
        return ranked

    def key(self, path: Sequence[str]) -> str:
        """Return the key of a block: the root and the parts, each escaped."""
        return "/".join((self._root, *(quote(part, safe="") for part in path)))

    def _name(self, path: Path_) -> str:
        """Return the key of a record: a last part that is empty is ``%``, which nothing escapes to.

        A key that ends in ``/`` would name all keys below it.
        """
        key = self.key(path)
        return f"{key}%" if key.endswith("/") else key

    def now(self) -> datetime:
        """Return the time of the wall clock, in UTC."""
        return datetime.fromtimestamp(0, UTC) + timedelta(microseconds=self._clock.now_us())

    def _lesson(self, path: Path_, put: Put, known: Record | None) -> dict[str, Any]:
        now = self.now()
        since = now if known is None else known.created_at
        about: dict[str, Any] = {"since": since.isoformat()}
        text, value = put.text, put.value
        if text is not None and normalised(text) == text.strip() != "":
            place, rest = _parted(value, text)
            if place is not None:
                # A block's identity ignores the white space around its text.
                whole, text, value = text, text.strip(), rest
                about |= {"around": whole.split(text, 1), **({"at": place} if place else {})}
        if value is not None or "around" not in about:
            about["value"] = json.dumps(value, ensure_ascii=False, allow_nan=False)
        if put.ttl is not None:
            about["ttl"] = put.ttl.total_seconds()
        key = self._name(path)
        return {
            "content": key if text is None or not text.strip() else text,
            "category": UNSEARCHED if put.text is None else SEARCHED,
            "key": key,
            "metadata": {**put.metadata, **about},
            "expires_at": None if put.ttl is None else now + put.ttl,
            **put.fields,
        }

    def _found(self, key: str) -> list[Record]:
        now = self.now()
        records = map(self._record, self._current(key))
        return [each for each in records if each.expires_at is None or each.expires_at > now]

    def _current(self, key: str) -> list[Block]:
        """Return the blocks with a key, or with one below a prefix, that are not archived.

        One for each key: after a revert there may be two, of which the later one counts.
        """
        found: dict[str, Block] = {}
        for block in self.blocks(key):
            metadata = block.metadata or {}
            is_record = "since" in metadata and block.status != "archived"
            if is_record and self._is_mine(block):
                found.pop(metadata["key"], None)
                found[metadata["key"]] = block
        return list(found.values())

    def blocks(self, key: str | None = None) -> list[Block]:
        """Return all blocks of a key, or of the space, archived ones too, in order of learning."""
        found: list[Block] = []
        after: int | None = None
        while True:
            page = self.memory.blocks(key=key, after=after, limit=PAGE)
            found += page.items
            after = page.next_after
            if after is None:
                return found

    def _is_mine(self, block: Block) -> bool:
        return self._is_shared or scope_of(block) == self._scope

    def _record(self, block: Block) -> Record:
        metadata = block.metadata or {}
        _, *parts = metadata["key"].split("/")
        seconds = metadata.get("ttl")
        return Record(
            path=tuple("" if part == "%" else unquote(part) for part in parts),
            value=value_of(block),
            block=block,
            created_at=datetime.fromisoformat(metadata["since"]),
            updated_at=datetime.fromisoformat(block.created_at or metadata["since"]),
            ttl=None if seconds is None else timedelta(seconds=seconds),
        )


def valid_names(**names: str | None) -> dict[str, str]:
    """Return the fields of a block whose value can be a name: not None, empty or too long."""
    found: dict[str, str] = {}
    for name, value in names.items():
        with suppress(FieldRefused):
            found[name] = checked_name(name, value)
    return found


def scope_of(block: Block) -> dict[str, str]:
    """Return the user, agent and run that a block belongs to."""
    metadata = block.metadata or {}
    return {name: metadata[name] for name in SCOPE_KEYS if name in metadata}


def value_of(block: Block) -> Any:
    """Return the value of the record that a block is a revision of."""
    metadata = block.metadata or {}
    value = [json.loads(metadata.get("value", "null"))]
    if "around" in metadata:
        before, after = metadata["around"]
        way: list[Any] = [0, *metadata.get("at", ())]
        last, holder = way.pop(), value
        for step in way:
            holder = holder[step]
        holder[last] = f"{before}{block.content}{after}"
    return value[0]


def _parted(value: Any, text: str) -> tuple[list[str | int] | None, Any]:
    """Return where a value has a text, and the value with None there.

    The place is the keys and indexes that lead to it: none for the value itself, None if the
    value does not have the text.
    """
    if isinstance(value, str):
        return ([], None) if value == text else (None, value)
    inner: Iterable[tuple[Any, Any]] = ()
    if isinstance(value, Mapping):
        inner = ((name, each) for name, each in value.items() if isinstance(name, str))
    elif isinstance(value, list | tuple):
        inner = enumerate(value)
    for name, each in inner:
        place, rest = _parted(each, text)
        if place is not None:
            parted: Any = dict(value) if isinstance(value, Mapping) else list(value)
            parted[name] = rest
            return [name, *place], parted
    return None, value
