"""``Mem0MemoryContract``: what programs rely on in mem0's ``Memory``."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from datetime import datetime
from typing import Any

import pytest

Memory = Any

INES: dict[str, Any] = {"user_id": "ines"}
ROUNDED = 1.0001
ADDED = ("I moved to Oslo.", "My cat is called Miso.", "I mend gates on Mondays.")


def texts(results: dict[str, Any]) -> list[str]:
    """Return the texts of a result."""
    return [each["memory"] for each in results["results"]]


class Mem0MemoryContract(ABC):
    """The guarantees of the calls, without a language model.

    Implement the fixture ``memory``: an empty one, in which texts that share words are near.
    """

    @pytest.fixture
    @abstractmethod
    def memory(self) -> Memory:
        """Return an empty memory."""

    @pytest.fixture
    def ids(self, memory: Memory) -> list[str]:
        """Return the ids of ``ADDED``, which are the memories of Ines."""
        topics = ("home", "pet", "work")
        return [
            memory.add(text, **INES, metadata={"topic": topic, "rank": rank}, infer=False)[
                "results"
            ][0]["id"]
            for rank, (text, topic) in enumerate(zip(ADDED, topics, strict=True))
        ]

    # --- add and get ------------------------------------------------------------------------

    def test_each_message_with_a_text_is_a_memory(self, memory: Memory) -> None:
        added = memory.add(
            [
                {"role": "system", "content": "Be brief."},
                {"role": "user", "name": "Ines", "content": "I moved to Oslo."},
                {"role": "assistant", "content": " Noted. "},
                {"role": "assistant"},
            ],
            user_id="ines",
            agent_id="helper",
            run_id="monday",
            infer=False,
        )
        told, answered = added["results"]
        assert {**told, "id": ""} == {
            "id": "",
            "memory": "I moved to Oslo.",
            "event": "ADD",
            "actor_id": "Ines",
            "role": "user",
        }
        assert (answered["memory"], answered["actor_id"]) == (" Noted. ", None)
        assert memory.get(answered["id"])["memory"] == " Noted. "

    def test_a_memory_is_what_was_added(self, memory: Memory, ids: list[str]) -> None:
        found = memory.get(ids[0])
        created = found.pop("created_at")
        assert datetime.fromisoformat(created).tzinfo is not None
        assert found == {
            "id": ids[0],
            "memory": ADDED[0],
            "hash": hashlib.md5(ADDED[0].encode(), usedforsecurity=False).hexdigest(),
            "metadata": {"topic": "home", "rank": 0},
            "score": None,
            "updated_at": created,
            "user_id": "ines",
            "role": "user",
        }
        assert memory.get("nothing") is None

    def test_the_same_text_twice_is_two_memories(self, memory: Memory) -> None:
        first, second = (memory.add("Again.", **INES, infer=False) for _ in range(2))
        assert first["results"][0]["id"] != second["results"][0]["id"]
        assert texts(memory.get_all(filters=INES)) == ["Again.", "Again."]

    def test_metadata_cannot_say_to_whom_a_memory_belongs(self, memory: Memory) -> None:
        memory.add("Secret.", **INES, metadata={"user_id": "bo", "key": "k"}, infer=False)
        assert texts(memory.get_all(filters={"user_id": "bo"})) == []
        (found,) = memory.get_all(filters=INES)["results"]
        assert found["metadata"] == {"key": "k"}

    def test_an_id_may_be_a_number(self, memory: Memory) -> None:
        memory.add("Seven.", user_id=7, infer=False)
        assert texts(memory.get_all(filters={"user_id": "7"})) == ["Seven."]

    # --- get_all and search -----------------------------------------------------------------

    def test_memories_of_users_agents_and_runs_are_kept_apart(self, memory: Memory) -> None:
        for text, owner in (
            ("one", {"user_id": "ines"}),
            ("two", {"user_id": "ines", "agent_id": "helper"}),
            ("three", {"user_id": "ines", "agent_id": "helper", "run_id": "monday"}),
            ("four", {"user_id": "bo", "run_id": "monday"}),
        ):
            memory.add(f"rivers {text}", **owner, infer=False)
        for filters, found in (
            ({"user_id": "ines"}, {"one", "two", "three"}),
            ({"agent_id": "helper"}, {"two", "three"}),
            ({"run_id": "monday"}, {"three", "four"}),
            ({"user_id": "ines", "run_id": "monday"}, {"three"}),
            ({"user_id": "stranger"}, set()),
        ):
            expected = {f"rivers {text}" for text in found}
            assert set(texts(memory.get_all(filters=filters))) == expected
            assert set(texts(memory.search("rivers", filters=filters))) == expected

    def test_the_best_memory_comes_first(self, memory: Memory, ids: list[str]) -> None:
        found = memory.search("What is my cat called?", filters=INES)["results"]
        assert found[0]["id"] == ids[1]
        scores = [each["score"] for each in found]
        assert scores == sorted(scores, reverse=True)
        assert all(0 <= score <= ROUNDED for score in scores)
        assert {**found[0], "score": None} == memory.get(ids[1])
        assert texts(memory.search("What is my cat called?", filters=INES, top_k=1)) == [ADDED[1]]

    def test_metadata_filters(self, memory: Memory, ids: list[str]) -> None:
        assert len(ids) == len(ADDED)
        for given, found in (
            ({"topic": "pet"}, 1),
            ({"topic": ["home", "pet"]}, 2),
            ({"no": 1}, 0),
        ):
            filters = {**INES, **given}
            assert len(memory.get_all(filters=filters)["results"]) == found
        found = memory.search("I mend gates on Mondays.", filters={**INES, "topic": "work"})
        assert texts(found) == [ADDED[2]]

    def test_expired_memories_are_shown_on_request(self, memory: Memory) -> None:
        memory.add("Old voucher.", **INES, expiration_date="2020-01-31", infer=False)
        memory.add("New voucher.", **INES, expiration_date="2999-01-31", infer=False)
        both = {"Old voucher.", "New voucher."}
        assert texts(memory.get_all(filters=INES)) == ["New voucher."]
        assert texts(memory.search("voucher", filters=INES)) == ["New voucher."]
        assert set(texts(memory.get_all(filters=INES, show_expired=True))) == both
        assert set(texts(memory.search("voucher", filters=INES, show_expired=True))) == both

    # --- update, delete, history ------------------------------------------------------------

    def test_an_update_changes_text_and_metadata(self, memory: Memory, ids: list[str]) -> None:
        before = memory.get(ids[0])
        said = memory.update(
            ids[0], "I moved to Bergen.", metadata={"topic": "flat", "user_id": "bo"}
        )
        assert said == {"message": "Memory updated successfully!"}
        after = memory.get(ids[0])
        assert (after["memory"], after["metadata"]) == (
            "I moved to Bergen.",
            {"topic": "flat", "rank": 0},
        )
        assert after["created_at"] == before["created_at"]
        assert after["updated_at"] > before["updated_at"]
        assert after["user_id"] == "ines"
        assert texts(memory.search("Bergen", filters=INES, top_k=1)) == ["I moved to Bergen."]

    def test_history_says_what_happened(self, memory: Memory, ids: list[str]) -> None:
        memory.update(ids[0], "I moved to Bergen.")
        memory.update(ids[0], ADDED[0])
        memory.update(ids[0], metadata={"topic": "flat"})
        memory.delete(ids[0])
        rows = memory.history(ids[0])
        assert [(row["event"], row["old_memory"], row["new_memory"]) for row in rows] == [
            ("ADD", None, ADDED[0]),
            ("UPDATE", ADDED[0], "I moved to Bergen."),
            ("UPDATE", "I moved to Bergen.", ADDED[0]),
            ("UPDATE", ADDED[0], ADDED[0]),
            ("DELETE", ADDED[0], None),
        ]
        assert [row["is_deleted"] for row in rows] == [False] * 4 + [True]
        assert {row["memory_id"] for row in rows} == {ids[0]}
        assert len({row["id"] for row in rows}) == len(rows)
        assert len({row["created_at"] for row in rows}) == 1
        assert [row["updated_at"] for row in rows] == sorted(row["updated_at"] for row in rows)
        assert memory.history("nothing") == []

    def test_a_deleted_memory_is_gone(self, memory: Memory, ids: list[str]) -> None:
        assert memory.delete(ids[0]) == {"message": "Memory deleted successfully!"}
        assert memory.get(ids[0]) is None
        assert texts(memory.get_all(filters=INES)) == [*ADDED[1:]]
        for method, *args in (("delete", ids[0]), ("update", ids[0], "text")):
            with pytest.raises(ValueError, match=f"Memory with id {ids[0]} not found"):
                getattr(memory, method)(*args)

    def test_all_memories_of_a_user_are_deleted(self, memory: Memory, ids: list[str]) -> None:
        memory.add("Bo stays.", user_id="bo", infer=False)
        said = memory.delete_all(user_id="ines")
        assert said == {"message": "Memories deleted successfully!"}
        assert memory.get(ids[0]) is None
        assert texts(memory.get_all(filters={"user_id": "bo"})) == ["Bo stays."]
        with pytest.raises(ValueError, match="At least one filter is required"):
            memory.delete_all()

    def test_a_reset_leaves_nothing(self, memory: Memory, ids: list[str]) -> None:
        memory.delete(ids[0])
        memory.reset()
        assert texts(memory.get_all(filters=INES)) == []
        assert [memory.history(each) for each in ids] == [[], [], []]
        memory.add("New start.", **INES, infer=False)
        assert texts(memory.get_all(filters=INES)) == ["New start."]

    # --- arguments --------------------------------------------------------------------------

    @pytest.mark.parametrize(
        ("method", "args", "options", "says"),
        [
            ("add", ("text",), {"user_id": " "}, "Invalid user_id: cannot be empty"),
            ("add", ("text",), {"run_id": "a b"}, "Invalid run_id: cannot contain whitespace"),
            ("add", ("text",), {**INES, "expiration_date": "soon"}, "YYYY-MM-DD"),
            ("add", ("text",), {**INES, "timestamp": 5}, "timestamp"),
            ("get_all", (), {}, "filters must contain at least one of"),
            ("get_all", (), {"user_id": "ines"}, "Top-level entity parameters"),
            ("get_all", (), {"filters": INES, "top_k": -1}, "Invalid top_k: -1"),
            ("search", ("text",), {"filters": {"topic": "x"}}, "filters must contain"),
            ("search", ("text",), {"filters": INES, "threshold": 2}, "Invalid threshold: 2"),
            ("search", ("text",), {"filters": INES, "top_k": "3"}, "top_k must be a valid integer"),
            ("search", (" ",), {"filters": INES}, "Invalid query: cannot be empty"),
            ("search", ("text",), {"filters": INES, "reference_date": 1}, "reference_date"),
            ("search", ("text",), {"filters": {**INES, "OR": []}}, "OR operator requires"),
            (
                "search",
                ("text",),
                {"filters": {**INES, "n": {"near": 1, "gt": 1}}},
                "Unsupported metadata filter operator: near",
            ),
            ("update", ("id",), {}, "At least one of text, metadata, or expiration_date"),
        ],
    )
    def test_an_argument_that_is_not_valid_is_refused(  # noqa: PLR0917 - a row
        self, memory: Memory, method: str, args: tuple[str, ...], options: dict[str, Any], says: str
    ) -> None:
        with pytest.raises(ValueError, match=says):
            getattr(memory, method)(*args, **options)

    @pytest.mark.parametrize(
        ("messages", "options", "code"),
        [
            ("text", {}, "VALIDATION_001"),
            ("text", {**INES, "memory_type": "episodic"}, "VALIDATION_002"),
            (5, INES, "VALIDATION_003"),
        ],
    )
    def test_a_call_of_add_that_is_not_valid_names_a_code(
        self, memory: Memory, messages: Any, options: dict[str, Any], code: str
    ) -> None:
        with pytest.raises(Exception, match=r".") as refused:
            memory.add(messages, **options, infer=False)
        assert type(refused.value).__name__ == "ValidationError"
        assert getattr(refused.value, "error_code", None) == code
