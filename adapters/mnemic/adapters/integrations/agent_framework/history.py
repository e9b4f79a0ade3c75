"""``MnemicHistoryProvider``: the messages of sessions, as the Agent Framework keeps them."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, Final

from agent_framework import HistoryProvider, Message

from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.integrations.conversation import Conversation, Said
from mnemic.adapters.integrations.records import Records

ROOT: Final = "agent-framework"
NO_SESSION: Final = "default"
"""Session of messages that come without one."""


class MnemicHistoryProvider(HistoryProvider):
    """A provider to pass to ``Agent(..., context_providers=[provider])``.

    Args:
        memory: Where the messages are kept.
        source_id: The name of the provider in an agent.
        scope: The user, agent or run that the sessions belong to.
        options: Which messages are loaded and stored, as of every ``HistoryProvider``.
    """

    def __init__(
        self,
        memory: SyncMemory,
        *,
        source_id: str = "mnemic_history",
        scope: Mapping[str, str] | None = None,
        **options: Any,
    ) -> None:
        super().__init__(source_id, **options)
        self._records = Records(memory, root=ROOT, actor=ROOT, scope=scope)

    async def get_messages(
        self, session_id: str | None, *, state: dict[str, Any] | None = None, **kwargs: Any
    ) -> list[Message]:
        """Return the messages of a session, oldest first."""
        del state, kwargs
        conversation = self._conversation(session_id)
        items = await asyncio.to_thread(lambda: conversation.items)
        return [Message.from_dict(item) for item in items]

    async def save_messages(
        self,
        session_id: str | None,
        messages: Sequence[Message],
        *,
        state: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        """Append messages to a session, in one transaction."""
        del state, kwargs
        items = [message.to_dict() for message in messages]
        await asyncio.to_thread(self._conversation(session_id).append, items)

    def _conversation(self, session_id: str | None) -> Conversation:
        return Conversation(self._records, session_id or NO_SESSION, _said)


def _said(item: Mapping[str, Any]) -> Said | None:
    text = Message.from_dict(dict(item)).text
    return Said(text, item["role"]) if text.strip() else None
