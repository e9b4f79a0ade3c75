"""``ConversationStoreContract``: what Pydantic AI relies on in a ``ConversationStore``."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import pytest


class ConversationStoreContract(ABC):
    """The guarantees of a store of conversations.

    Implement the fixtures ``store`` and ``kit``.
    """

    @pytest.fixture
    @abstractmethod
    def store(self) -> Any:
        """Return a store that is empty."""

    @pytest.fixture
    @abstractmethod
    def kit(self) -> Any:
        """Return what has the classes of the framework: those of conversations and messages."""

    def asked(self, kit: Any, text: Any) -> Any:
        """Return a message of a user."""
        return kit.ModelRequest(parts=[kit.UserPromptPart(text)])

    def turn(self, kit: Any, question: str, answer: str) -> list[Any]:
        """Return what a run adds to a conversation."""
        said = kit.ModelResponse(parts=[kit.TextPart(answer)], model_name="test")
        return [self.asked(kit, question), said]

    def saved(self, store: Any, kit: Any, *, name: str = "a", turns: int = 1, **how: Any) -> Any:
        """Save a new conversation, and return it."""
        messages = [each for n in range(turns) for each in self.turn(kit, f"q{n}", f"a{n}")]
        conversation = kit.Conversation(conversation_id=name, messages=messages)
        asyncio.run(store.save(conversation, **how))
        return conversation

    def texts(self, messages: Sequence[Any]) -> list[str]:
        """Return the text of each message."""
        return [each.parts[0].content for each in messages]

    def loaded(self, store: Any, name: str = "a", **how: Any) -> Any:
        """Load a conversation."""
        return asyncio.run(store.load(name, **how))

    def record(self, store: Any, name: str = "a") -> Any:
        """Return the record of a conversation."""
        return asyncio.run(store.read_record(name))

    def test_what_is_unknown_is_not_there(self, store: Any, kit: Any) -> None:
        self.saved(store, kit)
        assert self.loaded(store, "b") is None
        assert self.record(store, "b") is None
        asyncio.run(store.delete("b"))
        assert asyncio.run(store.read_records(scope="ines")) == []
        with pytest.raises(LookupError):
            asyncio.run(store.read_entry("b"))
        with pytest.raises(kit.ConversationConflict):
            asyncio.run(store.delete_record("b", expected_revision="1"))

    def test_a_conversation_is_continued(self, store: Any, kit: Any) -> None:
        first = self.saved(store, kit)
        again = self.loaded(store)
        assert again == first
        again.messages += self.turn(kit, "q1", "a1")
        again.usage = kit.RunUsage(requests=2, input_tokens=5, details={"cached": 1})
        added = asyncio.run(store.save(again))
        assert [each.message for each in added] == again.messages[2:]
        assert asyncio.run(store.save(again)) == []
        assert self.loaded(store) == again
        entries = asyncio.run(store.load_entries("a"))
        assert entries[2:] == added
        assert [each.parent_id for each in entries] == [None, *(each.id for each in entries[:3])]
        assert asyncio.run(store.read_entry(entries[0].id)) == entries[0]

    def test_a_writer_that_was_late_is_refused(self, store: Any, kit: Any) -> None:
        self.saved(store, kit)
        late, other = self.loaded(store), self.loaded(store)
        for each in (other, late):
            each.messages += self.turn(kit, "q1", "a1")
        asyncio.run(store.save(other))
        for refused in (late, kit.Conversation(conversation_id="a")):
            with pytest.raises(kit.ConversationConflict):
                asyncio.run(store.save(refused))
        assert self.loaded(store) == other
        asyncio.run(store.delete("a"))
        self.saved(store, kit)
        with pytest.raises(kit.ConversationConflict):
            asyncio.run(store.save(other))

    def test_of_writers_at_once_one_wins(self, store: Any, kit: Any) -> None:
        self.saved(store, kit)
        writers = [self.loaded(store) for _ in range(4)]

        async def save(conversation: Any) -> None:
            conversation.messages += self.turn(kit, "q1", "a1")
            await store.save(conversation)

        async def work() -> list[Any]:
            return await asyncio.gather(*map(save, writers), return_exceptions=True)

        lost = [result for result in asyncio.run(work()) if result is not None]
        assert len(lost) == len(writers) - 1
        assert all(isinstance(each, kit.ConversationConflict) for each in lost)
        assert self.texts(self.loaded(store).messages) == ["q0", "a0", "q1", "a1"]

    def test_a_refused_write_leaves_nothing(self, store: Any, kit: Any) -> None:
        revision = self.saved(store, kit).revision
        entry = kit.ConversationEntry(parent_id=None, message=self.asked(kit, "lost"))
        for name, head, expected in (
            ("a", entry.id, None),
            ("a", entry.id, "another"),
            ("b", entry.id, revision),
            ("b", "unknown", None),
        ):
            record = kit.ConversationRecord(conversation_id=name, head_id=head)
            write = store.write_record(record, new_entries=[entry], expected_revision=expected)
            with pytest.raises(kit.ConversationConflict):
                asyncio.run(write)
        with pytest.raises(LookupError):
            asyncio.run(store.read_entry(entry.id))
        with pytest.raises(kit.ConversationConflict):
            asyncio.run(store.delete_record("a", expected_revision="another"))
        assert self.record(store).revision == revision

    @pytest.mark.parametrize("limit", [0, 1, 3, 9])
    def test_the_last_messages_are_continued(self, store: Any, kit: Any, limit: int) -> None:
        self.saved(store, kit, turns=2)
        window = self.loaded(store, limit=limit)
        assert self.texts(window.messages) == ["q0", "a0", "q1", "a1"][max(0, 4 - limit) :]
        window.messages += self.turn(kit, "q2", "a2")
        asyncio.run(store.save(window))
        assert self.texts(self.loaded(store).messages) == "q0 a0 q1 a1 q2 a2".split()

    def test_a_conversation_branches_and_comes_back(self, store: Any, kit: Any) -> None:
        revision = self.saved(store, kit, turns=2).revision
        tip = self.record(store).head_id
        with pytest.raises(kit.ConversationConflict):
            asyncio.run(store.branch("a", at=2, expected_revision="another"))
        branched = asyncio.run(store.branch("a", at=2, expected_revision=revision))
        branched.messages += self.turn(kit, "other", "answer")
        asyncio.run(store.save(branched))
        assert self.texts(self.loaded(store).messages) == ["q0", "a0", "other", "answer"]
        record = self.record(store)
        assert record.branches == [tip]
        asyncio.run(store.branch("a", from_entry=tip, expected_revision=record.revision))
        assert self.texts(self.loaded(store).messages) == ["q0", "a0", "q1", "a1"]
        assert self.record(store).branches == [record.head_id]

    def test_a_history_that_was_rewritten_is_a_branch(self, store: Any, kit: Any) -> None:
        self.saved(store, kit, turns=2)
        tip = self.record(store).head_id
        conversation = self.loaded(store)
        conversation.messages[1:] = self.turn(kit, "summary", "answer")
        conversation.new_message_index = None
        added = asyncio.run(store.save(conversation))
        assert self.texts([each.message for each in added]) == ["summary", "answer"]
        assert self.texts(self.loaded(store).messages) == ["q0", "summary", "answer"]
        assert self.record(store).branches == [tip]

    def test_forks_share_what_was_said(self, store: Any, kit: Any) -> None:
        self.saved(store, kit, turns=2, scope="ines")
        fork = asyncio.run(store.fork("a", at=3, new_conversation_id="b"))
        with pytest.raises(kit.ConversationConflict):
            asyncio.run(store.fork("a", new_conversation_id="b"))
        entries = asyncio.run(store.load_entries("a"))
        assert asyncio.run(store.load_entries("b")) == entries[:3]
        record = self.record(store, "b")
        assert (record.forked_from, record.scope) == ("a", "ines")
        fork.messages += self.turn(kit, "other", "answer")
        asyncio.run(store.save(fork))
        asyncio.run(store.delete("a"))
        assert self.loaded(store, "a") is None
        assert self.texts(self.loaded(store, "b").messages) == "q0 a0 q1 other answer".split()
        with pytest.raises(LookupError):
            asyncio.run(store.read_entry(entries[3].id))
        asyncio.run(store.delete("b"))
        with pytest.raises(LookupError):
            asyncio.run(store.read_entry(entries[0].id))

    def test_branches_of_others_outlive_a_deletion(self, store: Any, kit: Any) -> None:
        self.saved(store, kit, turns=2)
        tip = self.record(store).head_id
        fork = asyncio.run(store.fork("a", new_conversation_id="b"))
        asyncio.run(store.branch("b", at=1, expected_revision=fork.revision))
        asyncio.run(store.delete("a"))
        revision = self.record(store, "b").revision
        back = asyncio.run(store.branch("b", from_entry=tip, expected_revision=revision))
        assert self.texts(back.messages) == ["q0", "a0", "q1", "a1"]

    def test_conversations_are_listed_by_scope(self, store: Any, kit: Any) -> None:
        for name, scope in (("a", "ines"), ("b", "tom"), ("c", "ines"), ("d", None)):
            self.saved(store, kit, name=name, scope=scope)
        again = self.loaded(store, "a")
        asyncio.run(store.save(again))

        def names(**how: Any) -> list[str]:
            listed = asyncio.run(store.list_conversations(**how))
            return [each.conversation_id for each in listed]

        assert names() == ["a", "d", "c", "b"]
        assert names(limit=2) == ["a", "d"]
        assert names(limit=0) == []
        assert names(scope="ines") == ["a", "c"]
        assert names(scope="ines", limit=1) == ["a"]
        assert self.loaded(store, "a", scope="tom") is None
        asyncio.run(store.delete("a", scope="tom"))
        assert self.loaded(store, "a", scope="ines") == again
        with pytest.raises(kit.ConversationConflict):
            asyncio.run(store.save(again, scope="tom"))

    def test_what_is_kept_is_a_copy(self, store: Any, kit: Any) -> None:
        conversation = self.saved(store, kit)
        conversation.messages[0].parts[0].content = "changed"
        self.loaded(store).messages[0].parts[0].content = "changed"
        self.record(store).branches.append("changed")
        assert self.texts(self.loaded(store).messages) == ["q0", "a0"]
        assert self.record(store).branches == []

    def test_any_message_is_kept(self, store: Any, kit: Any) -> None:
        file = kit.BinaryContent(data=bytes(range(256)), media_type="application/pdf")
        call = kit.ToolCallPart("look", {"who": "Ines", "near": [1, 2.5, None]}, "1")
        messages = [
            kit.ModelRequest(
                parts=[
                    kit.SystemPromptPart("Be brief."),
                    kit.UserPromptPart(["Who is that?", file, kit.TextContent("A friend?")]),
                ],
                instructions="Say who it is.",
            ),
            kit.ModelResponse(parts=[kit.ThinkingPart("Let me see."), call]),
            kit.ModelRequest(parts=[kit.ToolReturnPart("look", {"found": "Oslo"}, "1")]),
            kit.ModelResponse(parts=[kit.TextPart("日本 \u2028 🧠\r\n\n"), kit.TextPart("")]),
            self.asked(kit, ""),
            self.asked(kit, ""),
            self.asked(kit, "  word " * 5000),
            kit.ModelResponse(parts=[]),
        ]
        waiting = kit.DeferredToolRequests(approvals=[call], metadata={"1": {"why": "cost"}})
        conversation = kit.Conversation(
            conversation_id="a", messages=messages, deferred_tool_requests=waiting
        )
        asyncio.run(store.save(conversation))
        again = self.loaded(store)
        assert again.messages == messages
        assert again.deferred_tool_requests == waiting

    def test_conversations_are_kept_apart(self, store: Any, kit: Any) -> None:
        names = ("a", "a/b", "a b", "%", "", "ä'; DROP TABLE entries; --", "x" * 300)
        for name in names:
            assert self.loaded(store, name) is None
            conversation = kit.Conversation(conversation_id=name, messages=[self.asked(kit, name)])
            asyncio.run(store.save(conversation))
        for name in names:
            assert self.texts(self.loaded(store, name).messages) == [name]
        asyncio.run(store.delete(""))
        assert len(asyncio.run(store.list_conversations())) == len(names) - 1
