"""``MnemicSession``: the history of a conversation, as the OpenAI Agents SDK keeps it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.integrations.conversation import Conversation, Said
from mnemic.adapters.integrations.records import Records

Item = Mapping[str, Any]


class MnemicSession:
    """A session to pass to ``Runner.run(agent, ..., session=session)``.

    Args:
        session_id: The name of the conversation.
        memory: Where it is kept.
        session_settings: As of every session: ``limit`` is how many items are returned.
        scope: The user, agent or run that it belongs to.
    """

    def __init__(
        self,
        session_id: str,
        memory: SyncMemory,
        *,
        session_settings: Any = None,
        scope: Mapping[str, str] | None = None,
    ) -> None:
        self.session_id = session_id
        self.session_settings = session_settings
        records = Records(memory, root="openai-agents", actor="openai-agents", scope=scope)
        self._conversation = Conversation(records, session_id, said_in)

    async def get_items(self, limit: int | None = None) -> list[Any]:
        """Return the items, oldest first.

        Args:
            limit: Only the latest so many; None: as many as the settings say.
        """
        if limit is None:
            limit = getattr(self.session_settings, "limit", None)
        items = await asyncio.to_thread(lambda: self._conversation.items)
        return items if limit is None else items[max(0, len(items) - max(0, limit)) :]

    async def add_items(self, items: Sequence[Any]) -> None:
        """Append items, in one transaction."""
        await asyncio.to_thread(self._conversation.append, items)

    async def pop_item(self) -> Any:
        """Take back the latest item, and return it; None: there is none."""
        return await asyncio.to_thread(self._conversation.pop)

    async def clear_session(self) -> None:
        """Take back all items."""
        await asyncio.to_thread(self._conversation.clear)


def said_in(item: Item) -> Said | None:
    """Return what a message says; None: the item is none, or has no text."""
    content = item.get("content") if "role" in item else None
    if isinstance(content, str):
        return Said(content, item["role"]) if content.strip() else None
    if not isinstance(content, list):
        return None
    texts = [part.get("text") for part in content if isinstance(part, Mapping)]
    found = "\n".join(text for text in texts if isinstance(text, str) and text.strip())
    return Said(found, item["role"]) if found else None
