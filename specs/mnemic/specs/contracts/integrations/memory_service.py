"""``MemoryServiceContract``: what Google ADK relies on in a memory service."""

from __future__ import annotations

import asyncio
import unicodedata
from abc import ABC, abstractmethod
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest

APP, USER = "app", "ines"
LIMIT = 10
"""Memories that a search returns at most."""


class MemoryServiceContract(ABC):
    """The guarantees of a memory service.

    Implement the fixture ``service``. Events are given as objects with the attributes that the
    framework's have; ``event`` and ``memory`` may be overridden to make those of the framework.
    """

    @pytest.fixture
    @abstractmethod
    def service(self) -> Any:
        """Return a service that is empty."""

    def part(self, text: str | None = None, *, thought: bool = False) -> Any:
        """Return a part of a content: a text, or else a call of a tool."""
        call = {"name": "look"} if text is None else None
        return SimpleNamespace(text=text, thought=thought, function_call=call)

    def event(self, name: str, parts: Sequence[Any] | None, **fields: Any) -> Any:
        """Return an event; one without a content if *parts* is None."""
        content = None if parts is None else SimpleNamespace(parts=list(parts), role="user")
        known = {"author": "user", "timestamp": 12345.0}
        return SimpleNamespace(id=name, content=content, **{**known, **fields})

    def memory(self, text: str | None, **fields: Any) -> Any:
        """Return an explicit memory."""
        content = SimpleNamespace(parts=[self.part(text)], role=None)
        known: dict[str, Any] = {"custom_metadata": {}}
        known |= dict.fromkeys(("id", "author", "timestamp"))
        return SimpleNamespace(content=content, **{**known, **fields})

    def said(self, name: str, text: str, **fields: Any) -> Any:
        """Return an event with a text."""
        return self.event(name, [self.part(text)], **fields)

    def add(self, service: Any, *events: Any, session: str = "s", user: str = USER) -> None:
        """Add a session that has these events so far."""
        given = SimpleNamespace(id=session, app_name=APP, user_id=user, events=list(events))
        asyncio.run(service.add_session_to_memory(given))

    def add_events(self, service: Any, *events: Any, session: str | None = "s") -> None:
        """Add some events of a session."""
        where: dict[str, Any] = {"app_name": APP, "user_id": USER, "session_id": session}
        asyncio.run(service.add_events_to_memory(events=list(events), **where))

    def memories(self, service: Any, query: str, *, app: str = APP, user: str = USER) -> list[Any]:
        """Return what a search finds."""
        answer = service.search_memory(app_name=app, user_id=user, query=query)
        return list(asyncio.run(answer).memories)

    def found(self, service: Any, query: str, **whose: str) -> list[str]:
        """Return the texts that a search finds."""
        found = self.memories(service, query, **whose)
        return ["\n".join(part.text for part in each.content.parts) for each in found]

    def test_events_of_a_session_are_found(self, service: Any) -> None:
        self.add(service, self.said("1", "The kit is a great toolkit."), self.event("2", None))
        agreed = self.said("1", "I agree. The Agent Development Kit rocks!", author="model")
        self.add(service, agreed, session="r")
        self.add(service, self.said("1", "I like to code in Python."), session="t")
        (memory,) = self.memories(service, "Python")
        assert memory.content.parts[0].text == "I like to code in Python."
        assert (memory.author, memory.timestamp) == ("user", "1970-01-01T03:25:45+00:00")
        assert memory.custom_metadata == {"session_id": "t", "event_id": "1"}
        assert self.found(service, "development") == ["I agree. The Agent Development Kit rocks!"]
        about_kit = sorted(self.found(service, "What about the kit?"))
        assert about_kit == [
            "I agree. The Agent Development Kit rocks!",
            "The kit is a great toolkit.",
        ]
        assert self.found(service, "nonexistent") == []

    @pytest.mark.parametrize("query", ["", "  \n\t "])
    def test_a_blank_question_finds_nothing(self, service: Any, query: str) -> None:
        self.add(service, self.said("1", "I like to code in Python."))
        assert self.found(service, query) == []

    def test_users_and_apps_are_kept_apart(self, service: Any) -> None:
        self.add(service, self.said("1", "This is a secret."), user="tom/b")
        assert self.found(service, "secret") == []
        assert self.found(service, "secret", app=f"{APP}/tom", user="b") == []
        assert self.found(service, "secret", app="other", user="tom/b") == []
        assert self.found(service, "secret", user="nobody") == []
        assert self.found(service, "secret", user="tom/b") == ["This is a secret."]

    @pytest.mark.parametrize(
        ("text", "query", "count"),
        [
            ("私の名前は太郎です", "太郎", 1),
            ("私の名前は太郎です", "天気", 0),
            ("我喜欢机器学习", "机器学习", 1),
            ("제 이름은 민수입니다", "민수입니다", 1),
            ("Меня зовут Алексей", "Алексей", 1),
            ("私はPythonを使っています", "python", 1),
            ("私はPythonを使っています", "Java", 0),
            ("I like to code in Python.", "thon", 0),
            (unicodedata.normalize("NFD", "Meet at the Café"), "café", 1),
            ("Meet at the Café", unicodedata.normalize("NFD", "Café"), 1),
        ],
    )
    def test_texts_of_any_script_are_found(
        self, service: Any, text: str, query: str, count: int
    ) -> None:
        self.add(service, self.said("1", text))
        assert self.found(service, query) == [text][:count]

    def test_what_matches_best_comes_first(self, service: Any) -> None:
        texts = ("The deploy is ready.", "Ready.", "The deploy status is ready.")
        for session, text in enumerate(texts):
            self.add(service, self.said("1", text), session=str(session))
        assert self.found(service, "deploy status ready") == [texts[2], texts[0], texts[1]]

    def test_a_search_finds_ten_at_most(self, service: Any) -> None:
        for n in range(20):
            self.add(service, self.said("1", f"note {n} about work"), session=str(n))
        self.add_events(service, self.said("1", "the backlog note about work"))
        found = self.found(service, "work backlog note")
        assert len(found) == LIMIT
        assert found[0] == "the backlog note about work"

    def test_a_session_is_added_as_often_as_one_likes(self, service: Any) -> None:
        first, second = self.said("1", "I keep bees."), self.said("2", "The bees are well.")
        self.add(service)
        self.add(service, first)
        self.add(service, first, second)
        self.add(service, first, second)
        assert sorted(self.found(service, "bees")) == ["I keep bees.", "The bees are well."]
        self.add(service, self.said("1", "I keep bees and goats."), second)
        assert self.found(service, "goats")[0] == "I keep bees and goats."
        kept = sorted(self.found(service, "bees"))
        assert kept == ["I keep bees and goats.", "The bees are well."]

    def test_events_are_added_to_those_that_are_there(self, service: Any) -> None:
        self.add(service, self.said("1", "I keep bees."))
        self.add_events(service)
        self.add_events(
            service,
            self.said("1", "I keep wasps."),
            self.said("2", "Bees sting."),
            self.said("2", "Bees sting twice."),
        )
        assert sorted(self.found(service, "bees")) == ["Bees sting.", "I keep bees."]
        self.add_events(service, self.said("1", "Bees hum."), session=None)
        assert sorted(self.found(service, "bees")) == ["Bees hum.", "Bees sting.", "I keep bees."]

    def test_events_without_an_id_are_added_once(self, service: Any) -> None:
        said = [self.said("", "I keep bees."), self.said("", "Bees sting.", timestamp=1.0)]
        for _ in range(2):
            self.add_events(service, *said)
        assert sorted(self.found(service, "bees")) == ["Bees sting.", "I keep bees."]

    def test_only_texts_are_kept(self, service: Any) -> None:
        spoken = [self.part("I keep bees."), self.part(), self.part("They sting.")]
        self.add(
            service,
            self.event("1", []),
            self.event("2", [self.part()]),
            self.event("3", [self.part(" \n ")]),
            self.event("4", [self.part("The bees may be wasps.", thought=True)]),
            self.event("5", [*spoken, self.part("Bees?", thought=True)]),
        )
        assert self.found(service, "bees") == ["I keep bees.\nThey sting."]

    @pytest.mark.parametrize("text", ["bees " * 5000, "  bees\n\n", "bees \u2028 🐝"])
    def test_any_text_comes_back_as_it_was(self, service: Any, text: str) -> None:
        self.add(service, self.said("1", text))
        assert self.found(service, "bees") == [text]

    @pytest.mark.parametrize("timestamp", [float("nan"), float("inf"), -1e300, 1e300, None, "soon"])
    def test_a_time_that_cannot_be_read_hinders_nothing(
        self, service: Any, timestamp: float | str | None
    ) -> None:
        asyncio.run(
            service.add_events_to_memory(
                app_name=APP,
                user_id=USER,
                events=[self.noted("bees", timestamp)],
            )
        )
        (memory,) = self.memories(service, "bees")
        assert memory.timestamp == (timestamp if isinstance(timestamp, str) else None)

    def noted(self, text: str, timestamp: float | str | None) -> Any:
        """Return an event with a time that the framework itself might refuse."""
        content = SimpleNamespace(parts=[SimpleNamespace(text=text, thought=None)], role="user")
        return SimpleNamespace(id="1", author="user", timestamp=timestamp, content=content)

    def test_memories_are_copies(self, service: Any) -> None:
        event = self.said("1", "I prefer jasmine tea.")
        self.add(service, event)
        event.content.parts[0].text = "I prefer coffee."
        (memory,) = self.memories(service, "jasmine")
        memory.content.parts.clear()
        assert self.found(service, "jasmine") == ["I prefer jasmine tea."]

    def test_what_is_added_at_once_is_all_kept(self, service: Any) -> None:
        whose: dict[str, Any] = {"app_name": APP, "user_id": USER}

        async def work() -> None:
            added = [
                service.add_events_to_memory(
                    events=[self.said(str(n), f"fact {n}")], session_id=f"s{n % 3}", **whose
                )
                for n in range(8)
            ]
            searched = [service.search_memory(query="fact", **whose) for _ in range(8)]
            await asyncio.gather(*added, *searched)

        asyncio.run(work())
        assert sorted(self.found(service, "fact")) == [f"fact {n}" for n in range(8)]

    def test_memories_are_written_explicitly(self, service: Any) -> None:
        def write(*memories: Any, **shared: Any) -> None:
            adding = service.add_memory(app_name=APP, user_id=USER, memories=memories, **shared)
            asyncio.run(adding)

        write()
        write(
            self.memory("Ines likes tea.", id="1", timestamp="last week", author="tom"),
            self.memory("Ines likes cake.", custom_metadata={"sure": True}),
            custom_metadata={"sure": False, "from": "a note"},
        )
        write(self.memory("Ines likes cake.", custom_metadata={"sure": True}))
        (tea,), (cake,) = (self.memories(service, each) for each in ("tea", "cake"))
        assert (tea.author, tea.timestamp) == ("tom", "last week")
        assert tea.custom_metadata == {"sure": False, "from": "a note"}
        assert cake.custom_metadata == {"sure": True}
        write(self.memory("Ines likes coffee.", id="1"))
        assert self.found(service, "tea") == []
        assert self.found(service, "coffee") == ["Ines likes coffee."]
        with pytest.raises(ValueError, match="memory 1 has no text"):
            write(self.memory("Ines likes plums."), self.memory(None))
        assert self.found(service, "plums") == []

    def test_a_memory_is_deleted_for_good(self, service: Any) -> None:
        event = self.said("1", "I keep bees.")
        self.add(service, event)
        self.add(service, self.said("1", "I keep goats."), session="t")
        (memory,) = self.memories(service, "bees")

        def delete(memory_id: str | None, user: str = USER) -> None:
            asyncio.run(service.delete_memory(app_name=APP, user_id=user, memory_id=memory_id))

        delete(None)
        delete("unknown")
        delete(memory.id, user="tom")
        assert self.found(service, "bees") == ["I keep bees."]
        delete(memory.id)
        delete(memory.id)
        self.add(service, event)
        self.add_events(service, event)
        assert self.found(service, "bees") == []
        assert self.found(service, "goats") == ["I keep goats."]
