"""The memories of a space, each by the id that the facade gives it.

What the facade wrote is a record, and its id is the last part of its key. What was imported from
mem0 has the id that it had there. Other blocks, such as facts and what other agents learned, have
the id of their block; once updated, they are records under that id. Messages that facts were
extracted from, and data of other integrations, are no memories.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final
from urllib.parse import unquote

from attrs import frozen

from mnemic.adapters.integrations.mem0.payloads import (
    PREFIX,
    SOURCE_ID,
    is_own,
    payload_of,
    put_of,
)
from mnemic.adapters.integrations.records import UNSEARCHED, Records
from mnemic.kernel.decisions.learning import MESSAGE
from mnemic.kernel.errors import MnemicError
from mnemic.kernel.results import Block, LogEntry
from mnemic.kernel.scope import KEY

OTHERS: Final = (MESSAGE, UNSEARCHED)
"""Categories of blocks that are memories only if the facade wrote them."""
FOUND: Final = {"any": [{"key": PREFIX, "category": MESSAGE}, {"not": {"category": [*OTHERS]}}]}
"""The memories that a recall may find."""
LISTED: Final = ("inbox", "active")
ENDS: Final = ("block-forgotten", "block-superseded")
UUID_FORM: Final = re.compile("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
ENTRIES_MAX: Final = 1000


@frozen(kw_only=True)
class Known:
    """A memory."""

    id: str
    block: Block
    """Its current block."""

    @property
    def payload(self) -> dict[str, Any]:
        """Its text and fields, by the names of mem0."""
        return payload_of(self.block)


def id_of(block: Block) -> str:
    """Return the id of the memory that a block is the text of."""
    if is_own(block):
        return unquote(str((block.metadata or {})[KEY]).removeprefix(PREFIX))
    return _imported_id(block) or block.id


def _imported_id(block: Block) -> str | None:
    """Return the id that an imported block has in mem0; None: it is of another source."""
    given = (block.metadata or {}).get(SOURCE_ID)
    return given if isinstance(given, str) and UUID_FORM.fullmatch(given) else None


def listed(records: Records) -> list[Known]:
    """Return the current memories, in the order in which each was written last."""
    found: dict[str, Block] = {}
    for block in records.blocks():
        if block.status in LISTED and (block.category not in OTHERS or is_own(block)):
            memory_id = id_of(block)
            found.pop(memory_id, None)  # after a revert there may be two: the later one counts
            found[memory_id] = block
    return [Known(id=key, block=block) for key, block in found.items()]


def known(records: Records, memory_id: object) -> Known | None:
    """Return the current memory of an id; None: there is none, or it was deleted."""
    chain = revisions(records, memory_id)
    current = [block for block in chain if block.status in LISTED]
    return Known(id=str(memory_id), block=current[-1]) if current else None


def revisions(records: Records, memory_id: object) -> list[Block]:
    """Return the blocks that a memory had, in order, without those that are erased."""
    return [block for block in _chain(records, memory_id) if block.content is not None]


def _chain(records: Records, memory_id: object) -> Iterator[Block]:
    following: object = memory_id
    while isinstance(following, str) and following:
        block = _block(records, following)
        if block is not None and not is_own(block):
            yield block
        own = records.revisions((following,))
        if UUID_FORM.fullmatch(following) and (not own or _imported_id(own[0]) == following):
            yield from (
                each
                for each in records.blocks()
                if not is_own(each) and _imported_id(each) == following
            )
        yield from own
        following = None if block is None else block.superseded_by


def _block(records: Records, block_id: str) -> Block | None:
    try:
        block = records.memory.block(block_id)
    except MnemicError:
        return None
    return block if block.id == block_id else None


def rewrite(records: Records, memory: Known, payload: Mapping[str, Any]) -> None:
    """Write another payload of a memory; a block that was no record becomes one."""
    block = memory.block
    records.write({(id_of(block),): put_of(payload)}, forget=() if is_own(block) else (block.id,))


def changes(records: Records, memory_id: object) -> list[dict[str, Any]]:
    """Return what happened to a memory, as ``history`` does."""
    rows: list[dict[str, Any]] = []
    before: str | None = None
    last: Block | None = None
    for block in revisions(records, memory_id):
        payload = payload_of(block)
        ended = None if last is None else _end(records, last)
        version = max(block.learned_version, -1 if ended is None else ended.version)
        rows.append(_row(memory_id, payload, "UPDATE" if rows else "ADD", version))
        rows[-1] |= {"old_memory": before, "created_at": rows[0]["created_at"]}
        before, last = payload["data"], block
    ended = None if last is None or last.status in LISTED else _end(records, last)
    if last is not None and ended is not None and last.superseded_by is None:
        row = _row(memory_id, payload_of(last), "DELETE", ended.version)
        row |= {"old_memory": before, "new_memory": None, "is_deleted": True}
        row |= {"updated_at": ended.recorded_at, "created_at": rows[0]["created_at"]}
        rows.append(row)
    return rows


def _end(records: Records, block: Block) -> LogEntry | None:
    """Return the event that archived a block, if it was forgotten or superseded."""
    events = records.memory.history(of=block.id, limit=ENTRIES_MAX)
    return next((each for each in reversed(events) if each.kind in ENDS), None)


def _row(memory_id: object, payload: Mapping[str, Any], event: str, version: int) -> dict[str, Any]:
    return {
        "id": str(version),
        "memory_id": memory_id,
        "old_memory": None,
        "new_memory": payload["data"],
        "event": event,
        "created_at": payload.get("created_at"),
        "updated_at": payload.get("updated_at"),
        "is_deleted": False,
        "actor_id": payload.get("actor_id"),
        "role": payload.get("role"),
    }
