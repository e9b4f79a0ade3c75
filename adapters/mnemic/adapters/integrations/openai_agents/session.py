"""``MnemicSession``: the history of a conversation, as the OpenAI Agents SDK keeps it.

Each item is a record under its number. An item that is popped is forgotten by an event: what was
taken back stays in the past. Messages are learned as such, with role and thread, so that a recall
finds what was said.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, Final

from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.integrations.records import Put, Record, Records
from mnemic.kernel.decisions.learning import MESSAGE
from mnemic.kernel.errors import FieldRefused
from mnemic.kernel.roles import role_named
from mnemic.kernel.validation import checked_name

NUMBER_WIDTH: Final = 12

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
        self._records = Records(memory, root="openai-agents", actor="openai-agents", scope=scope)

    async def get_items(self, limit: int | None = None) -> list[Any]:
        """Return the items, oldest first.

        Args:
            limit: Only the latest so many; None: as many as the settings say.
        """
        if limit is None:
            limit = getattr(self.session_settings, "limit", None)
        records = await asyncio.to_thread(self._kept, self._records)
        shown = records if limit is None else records[max(0, len(records) - max(0, limit)) :]
        return [record.value for record in shown]

    async def add_items(self, items: Sequence[Any]) -> None:
        """Append items, in one transaction."""

        def work(records: Records) -> None:
            kept = self._kept(records)
            number = int(kept[-1].path[-1]) + 1 if kept else 0
            records.write(
                {self._path(place): self._put(item) for place, item in enumerate(items, number)}
            )

        await asyncio.to_thread(self._records.transaction, work)

    async def pop_item(self) -> Any:
        """Take back the latest item, and return it; None: there is none."""

        def work(records: Records) -> Any:
            kept = self._kept(records)
            if not kept:
                return None
            records.write({kept[-1].path: None})
            return kept[-1].value

        return await asyncio.to_thread(self._records.transaction, work)

    async def clear_session(self) -> None:
        """Take back all items."""

        def work(records: Records) -> None:
            records.write({record.path: None for record in self._kept(records)})

        await asyncio.to_thread(self._records.transaction, work)

    def _kept(self, records: Records) -> list[Record]:
        return sorted(records.below(self.session_id), key=lambda record: record.path[-1])

    def _path(self, number: int) -> tuple[str, ...]:
        return self.session_id, f"{number:0{NUMBER_WIDTH}}"

    def _put(self, item: Item) -> Put:
        text, fields = text_of(item), {}
        if text is not None:
            fields = {"category": MESSAGE, "role": role_named(item.get("role"))}
            with suppress(FieldRefused):  # a long name: then the messages have no thread
                fields["thread"] = checked_name("thread", self.session_id)
        return Put(value=item, text=text, fields=fields)


def text_of(item: Item) -> str | None:
    """Return the text of a message; None: the item is none, or has no text."""
    content = item.get("content") if "role" in item else None
    if isinstance(content, str):
        return content if content.strip() else None
    if not isinstance(content, list):
        return None
    texts = [part.get("text") for part in content if isinstance(part, Mapping)]
    found = "\n".join(text for text in texts if isinstance(text, str) and text.strip())
    return found or None
