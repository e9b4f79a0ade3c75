"""What a user said to an app and what was remembered about them, as Google ADK knows it.

An event of a session is a record under app, user, session and event id; an explicit memory is one
under app, user and its id. Only the texts of both are kept: it is what a search finds and what
ADK's tools give to a model. The user is also the scope of the block, so a recall by any interface
can be limited to them. Nothing here imports ADK.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, Final

from attrs import evolve, field, frozen

from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.integrations.records import Put, Record, Records, valid_names
from mnemic.kernel.decisions.learning import MESSAGE
from mnemic.kernel.roles import role_named

ROOT: Final = "google-adk"
SESSIONS: Final = "sessions"
MEMORIES: Final = "memories"


@frozen(kw_only=True)
class Entry:
    """An event of a session, or an explicit memory."""

    texts: tuple[str, ...]
    """The texts of its parts, without thoughts."""
    id: str = ""
    """Unique within its session, or among the memories; empty: made of the other fields."""
    role: str | None = None
    author: str | None = None
    timestamp: float | str | None = None
    """When it was said: seconds since 1970, or text, preferably ISO 8601."""
    metadata: Mapping[str, Any] = field(factory=dict)
    """Any JSON object of the caller."""

    @property
    def name(self) -> str:
        """Its id, or one that is the same for equal entries."""
        said = [self.author, self.timestamp, self.role, self.texts]
        return self.id or hashlib.sha256(json.dumps(said).encode()).hexdigest()[:32]

    @property
    def is_text(self) -> bool:
        """Whether there is anything that a search can find."""
        return any(text.strip() for text in self.texts)

    @property
    def said_at(self) -> datetime | None:
        """The timestamp; None: it has none, or none that can be read."""
        with suppress(ValueError, OverflowError, OSError):
            if isinstance(self.timestamp, int | float):
                return datetime.fromtimestamp(self.timestamp, UTC)
            if self.timestamp is not None:
                return datetime.fromisoformat(self.timestamp)
        return None


@frozen(kw_only=True)
class Found:
    """An entry that a search found."""

    id: str
    """That of its block, for ``delete``, and for ``outcome`` and the like."""
    texts: tuple[str, ...]
    role: str | None
    author: str | None
    timestamp: str | None
    """When it was said; ISO 8601, UTC, or the text that was given."""
    metadata: dict[str, Any]
    """What was given, and ``session_id`` and ``event_id`` of an event."""


class UserEntries:
    """The entries of a user of an app.

    Args:
        memory: Where they are.
        app: The name of the app.
        user: The id of the user, a short name.
    Raises:
        FieldRefused: The id is empty, long, or has hidden characters.
    """

    def __init__(self, memory: SyncMemory, *, app: str, user: str) -> None:
        self._of = (app, user)
        self._records = Records(memory, root=ROOT, actor=ROOT, scope={"user": user})

    def add_events(
        self, events: Iterable[Entry], *, session: str | None, updating: bool = False
    ) -> None:
        """Add the events of a session that have a text, in one transaction.

        An event that is known is left as it is, and one that was deleted stays deleted.

        Args:
            events: The events; others of the session remain.
            session: The id of the session; None: unknown.
            updating: Whether an event that is known with another text gets this one.
        """
        given: dict[tuple[str, ...], Entry] = {}
        for each in events:
            if each.is_text:
                given.setdefault((*self._of, SESSIONS, session or "", each.name), each)

        def work(records: Records) -> None:
            changes: dict[tuple[str, ...], Put | None] = {}
            for path, each in given.items():
                known = records.get(path)
                is_new = known is None and not records.revisions(path)
                put = _event(each, session)
                if is_new or (updating and known and known.value["texts"] != put.value["texts"]):
                    changes[path] = put
            records.write(changes)

        self._records.transaction(work)

    def add_memories(self, memories: Sequence[Entry]) -> None:
        """Write explicit memories, in one transaction; the same id again replaces one.

        Raises:
            ValueError: One has no text; none is written.
        """
        for place, each in enumerate(memories):
            if not each.is_text:
                raise ValueError(f"memory {place} has no text: nothing could find it")
        self._records.write({(*self._of, MEMORIES, each.name): _memory(each) for each in memories})

    def search(self, query: str, *, limit: int, min_probability: float) -> list[Found]:
        """Return the entries that bear on a question, best first.

        Args:
            query: The question; a blank one finds nothing.
            limit: Most entries. Range: 1 to 1000.
            min_probability: Least probability of each. Range: [0, 1].
        """
        if not query.strip():
            return []
        ranked = self._records.search(
            query, *self._of, limit=limit, min_probability=min_probability, asked_by="user"
        )
        return [_found(record) for record, _ in ranked]

    def delete(self, block_id: str) -> None:
        """Archive an entry that a search found; nothing if the user has none of this id."""
        for record in self._records.below(*self._of):
            if record.block.id == block_id:
                self._records.write({record.path: None})


def _event(entry: Entry, session: str | None) -> Put:
    """Return the record of an event: a message, with role and thread."""
    put = _memory(entry)
    fields = {**put.fields, "category": MESSAGE, "role": role_named(entry.role or entry.author)}
    return evolve(put, fields=fields | valid_names(thread=session))


def _memory(entry: Entry) -> Put:
    said_at = entry.said_at
    timestamp = entry.timestamp if said_at or isinstance(entry.timestamp, str) else None
    value = {
        "texts": list(entry.texts),
        "id": entry.id,
        "role": entry.role,
        "author": entry.author,
        "timestamp": timestamp,
        "metadata": dict(entry.metadata),
    }
    fields: dict[str, Any] = {} if said_at is None else {"created_at": said_at}
    fields |= valid_names(author=entry.author)
    return Put(
        value={name: each for name, each in value.items() if each not in (None, "", {})},
        text="\n".join(text for text in entry.texts if text.strip()),
        fields=fields,
    )


def _found(record: Record) -> Found:
    fields: dict[str, Any] = {**record.value, "texts": tuple(record.value["texts"])}
    entry = Entry(**fields)
    said_at = entry.timestamp if isinstance(entry.timestamp, str) else entry.said_at
    _, _, kind, *place = record.path
    about = {"session_id": place[0], "event_id": entry.id} if kind == SESSIONS else {}
    return Found(
        id=record.block.id,
        texts=entry.texts,
        role=entry.role,
        author=entry.author,
        timestamp=said_at.isoformat() if isinstance(said_at, datetime) else said_at,
        metadata={**entry.metadata, **{name: each for name, each in about.items() if each}},
    )
