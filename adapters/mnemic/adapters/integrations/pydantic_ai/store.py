"""``MnemicConversationStore``: Pydantic AI's ``ConversationStore`` on a memory.

The record of a conversation and each entry of its history are records. A message is learned as
such, with role and thread, so that a recall finds what was said. Saving, branching, forking and
deleting are the framework's own; each of them is one transaction here.
"""

from __future__ import annotations

import json
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, Self

from anyio.to_thread import run_sync
from pydantic import TypeAdapter
from pydantic_ai.conversation_store import (
    ConversationConflict,
    ConversationEntry,
    ConversationRecord,
    ConversationStore,
)
from pydantic_ai.messages import (
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    TextContent,
    TextPart,
    UserPromptPart,
)

from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.integrations.records import Put, Records, open_memory, valid_names
from mnemic.kernel.decisions.learning import MESSAGE

ROOT: Final = "pydantic-ai"
CONVERSATIONS: Final = "conversations"
ENTRIES: Final = "entries"

_RECORD: Final = TypeAdapter(ConversationRecord)


class MnemicConversationStore(ConversationStore):
    """A store of conversations, whose messages are recalled and whose past can be read.

    Args:
        memory: Where they are kept. Its policy limits the size of a message; see ``from_path``.
        scope: The user, agent or run that they all belong to, apart from a conversation's own
            ``scope``.
    """

    def __init__(self, memory: SyncMemory, *, scope: Mapping[str, str] | None = None) -> None:
        self.memory = memory
        self._records = Records(memory, root=ROOT, actor=ROOT, scope=scope)

    @classmethod
    @contextmanager
    def from_path(cls, path: str | Path, *, space: str = ROOT) -> Generator[Self]:
        """Open a file, or ``":memory:"``, and close it afterwards.

        A new space allows messages of a megabyte: prompts with images, results of tools.
        """
        with open_memory(path, space=space) as memory:
            yield cls(memory)

    async def read_record(self, conversation_id: str) -> ConversationRecord | None:
        """Return the record of a conversation; None: there is none."""
        return await run_sync(_record, self._records, conversation_id)

    async def read_records(
        self, *, scope: str | None = None, limit: int | None = None
    ) -> list[ConversationRecord]:
        """Return the records, or those with a scope, the latest first."""
        known = await run_sync(self._records.below, CONVERSATIONS)
        found = [_RECORD.validate_python(each.value) for each in known]
        found = [each for each in found if scope is None or each.scope == scope]
        found.sort(key=lambda each: each.updated_at, reverse=True)
        return found[:limit]

    async def write_record(
        self,
        record: ConversationRecord,
        *,
        new_entries: Sequence[ConversationEntry] = (),
        expected_revision: str | None,
    ) -> None:
        """Write a record and the entries that its history adds, in one transaction.

        Raises:
            ConversationConflict: The record has another revision, or its history ends in an entry
                that is not there; nothing is written.
        """
        puts: dict[tuple[str, ...], Put | None] = {
            (ENTRIES, each.id): _entry_put(each, record.conversation_id) for each in new_entries
        }
        head = None if record.head_id is None else (ENTRIES, record.head_id)
        puts[CONVERSATIONS, record.conversation_id] = Put(value=_plain(_RECORD, record))

        def work(records: Records) -> None:
            _check_revision(records, record.conversation_id, expected_revision)
            if head is not None and head not in puts and records.get(head) is None:
                raise ConversationConflict(record.conversation_id)
            records.write(puts)

        await run_sync(self._records.transaction, work)

    async def delete_record(self, conversation_id: str, *, expected_revision: str) -> None:
        """Delete a record, and the entries that no other history or branch has.

        They are archived: the past has them until they are erased.

        Raises:
            ConversationConflict: There is no record with this revision; nothing is deleted.
        """

        def work(records: Records) -> None:
            _check_revision(records, conversation_id, expected_revision)
            gone = {(CONVERSATIONS, conversation_id), *_unreached(records, conversation_id)}
            records.write(dict.fromkeys(sorted(gone)))

        await run_sync(self._records.transaction, work)

    async def read_entry(self, entry_id: str) -> ConversationEntry:
        """Return an entry.

        Raises:
            KeyError: There is none.
        """
        return await run_sync(_entry, self._records, entry_id)

    async def read_history(
        self, head_id: str | None, *, limit: int | None = None
    ) -> list[ConversationEntry]:
        """Return the entries up to one, the first one first, or the last *limit* of them.

        Raises:
            KeyError: One of them is not there.
        """

        def work() -> list[ConversationEntry]:
            found: list[ConversationEntry] = []
            entry_id = head_id
            while entry_id is not None and (limit is None or len(found) < limit):
                found.append(_entry(self._records, entry_id))
                entry_id = found[-1].parent_id
            return found[::-1]

        return await run_sync(work)


def _record(records: Records, conversation_id: str) -> ConversationRecord | None:
    found = records.get((CONVERSATIONS, conversation_id))
    return None if found is None else _RECORD.validate_python(found.value)


def _check_revision(records: Records, conversation_id: str, expected: str | None) -> None:
    known = _record(records, conversation_id)
    if (None if known is None else known.revision) != expected:
        raise ConversationConflict(conversation_id)


def _entry(records: Records, entry_id: str) -> ConversationEntry:
    found = records.get((ENTRIES, entry_id))
    if found is None:
        raise KeyError(entry_id)
    (message,) = ModelMessagesTypeAdapter.validate_python([found.value["message"]])
    return ConversationEntry(
        id=entry_id, parent_id=found.value["parent_id"], message=message, kind=found.value["kind"]
    )


def _entry_put(entry: ConversationEntry, conversation_id: str) -> Put:
    (message,) = _plain(ModelMessagesTypeAdapter, [entry.message])
    text, fields = _text_of(entry.message), {}
    if text is not None:
        role = "user" if isinstance(entry.message, ModelRequest) else "assistant"
        fields = {"category": MESSAGE, "role": role, **valid_names(thread=conversation_id)}
    value = {"parent_id": entry.parent_id, "kind": entry.kind, "message": message}
    return Put(value=value, text=text, fields=fields)


def _text_of(message: ModelMessage) -> str | None:
    """Return what a user or a model said in a message; None: nothing."""
    said: list[object] = []
    for part in message.parts:
        if isinstance(part, UserPromptPart):
            said += [part.content] if isinstance(part.content, str) else part.content
        elif isinstance(part, TextPart):
            said.append(part.content)
    texts = [each.content if isinstance(each, TextContent) else each for each in said]
    return "\n".join(each for each in texts if isinstance(each, str) and each.strip()) or None


def _unreached(records: Records, conversation_id: str) -> set[tuple[str, str]]:
    """Return the entries that no history or branch of another conversation has."""
    parents = {each.path[-1]: each.value["parent_id"] for each in records.below(ENTRIES)}
    for each in records.below(CONVERSATIONS):
        if each.path[-1] != conversation_id:
            for tip in (each.value["head_id"], *each.value["branches"]):
                entry_id = tip
                while entry_id in parents:
                    entry_id = parents.pop(entry_id)
    return {(ENTRIES, entry_id) for entry_id in parents}


def _plain(adapter: TypeAdapter[Any], value: Any) -> Any:
    """Return a value as JSON has it."""
    return json.loads(adapter.dump_json(value))
