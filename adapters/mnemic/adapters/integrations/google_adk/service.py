"""The methods of Google ADK's memory service, for objects with the attributes of its events.

Nothing here imports ADK: ``adk`` gives its base class and its answers to them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final, TypeVar

from anyio.to_thread import run_sync

from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.integrations.google_adk.entries import Entry, Found, UserEntries

T = TypeVar("T")

LIMIT: Final = 10
MIN_PROBABILITY: Final = 0.1
"""What shares nothing with a question has about 0.01, and a message beside one that answers it up
to 0.4: often it is what makes that one understood. In conversations of LoCoMo this floor loses none
of the evidence among ten memories, 0.5 loses a ninth."""


class EntryService(ABC):
    """The methods of a memory service.

    Args:
        memory: Where it is kept.
        limit: Most memories of a search. Range: 1 to 1000.
        min_probability: Least probability of a memory to bear on the question. Range: [0, 1].
    """

    def __init__(
        self,
        memory: SyncMemory,
        *,
        limit: int = LIMIT,
        min_probability: float = MIN_PROBABILITY,
    ) -> None:
        self.memory = memory
        self.limit = limit
        self.min_probability = min_probability

    async def add_session_to_memory(self, session: Any) -> None:
        """Add the events of a session that have a text; those that changed are revised.

        Args:
            session: As ADK keeps it. Events that it does not have any longer are kept.
        """
        events = [_entry(each) for each in session.events]
        add = partial(UserEntries.add_events, events=events, session=session.id, updating=True)
        await self._on_thread(session.app_name, session.user_id, add)

    async def add_events_to_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        events: Sequence[Any],
        session_id: str | None = None,
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        """Add some events of a session; those that are known are left as they are.

        Args:
            app_name: The name of the app.
            user_id: The id of the user.
            events: The events.
            session_id: The session that they are of.
            custom_metadata: A JSON object that a search returns with each of them.
        """
        entries = [_entry(each, custom_metadata) for each in events]
        add = partial(UserEntries.add_events, events=entries, session=session_id)
        await self._on_thread(app_name, user_id, add)

    async def add_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        memories: Sequence[Any],
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        """Write explicit memories; one with an id that is known is revised.

        Args:
            app_name: The name of the app.
            user_id: The id of the user.
            memories: The memories.
            custom_metadata: A JSON object that a search returns with each, under their own.

        Raises:
            ValueError: A memory has no text; none is written.
        """
        shared = custom_metadata or {}
        entries = [_entry(each, {**shared, **each.custom_metadata}) for each in memories]
        await self._on_thread(
            app_name, user_id, partial(UserEntries.add_memories, memories=entries)
        )

    async def search_memory(self, *, app_name: str, user_id: str, query: str) -> Any:
        """Return the memories that bear on a question, best first; none if none does."""
        search = partial(
            UserEntries.search, query=query, limit=self.limit, min_probability=self.min_probability
        )
        return self.response(await self._on_thread(app_name, user_id, search))

    @abstractmethod
    def response(self, memories: list[Found]) -> Any:
        """Return the answer of a search."""

    async def delete_memory(
        self, *, app_name: str, user_id: str, memory_id: str | None = None
    ) -> None:
        """Archive the memory that a search returned with this id; its past remains."""
        if memory_id:
            await self._on_thread(
                app_name, user_id, partial(UserEntries.delete, block_id=memory_id)
            )

    async def _on_thread(self, app: str, user: str, work: Callable[[UserEntries], T]) -> T:
        """Return what *work* returns for the entries of a user, on another thread."""
        return await run_sync(lambda: work(UserEntries(self.memory, app=app, user=user)))


def _entry(given: Any, metadata: Mapping[str, object] | None = None) -> Entry:
    """Return an event or a memory entry of ADK."""
    content = given.content
    parts = (content.parts if content is not None else None) or ()
    return Entry(
        texts=tuple(part.text for part in parts if part.text and not part.thought),
        id=given.id or "",
        role=content.role if content is not None else None,
        author=given.author or None,
        timestamp=given.timestamp,
        metadata=metadata or {},
    )
