"""Contracts of ``HistoryProvider`` and ``ContextProvider`` of the Microsoft Agent Framework.

The framework is a fixture, as an imported module; an agent runs with a scripted chat client.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import pytest

Agent = Any
MakeAgent = Callable[..., Agent]
"""Returns an agent: ``make(*answers, providers)``, whose client gives these answers."""


class _AgentContract(ABC):
    """Fixtures of both contracts. Implement ``framework`` and ``make``."""

    @pytest.fixture
    @abstractmethod
    def framework(self) -> Any:
        """Return the module of the framework."""

    @pytest.fixture
    @abstractmethod
    def make(self) -> Callable[..., Any]:
        """Return a function that returns providers of one store: ``make(**options)``."""

    @pytest.fixture
    def seen(self) -> list[list[tuple[str, str]]]:
        """Return the list of what the client was shown, by call: role and text of each message."""
        return []

    @pytest.fixture
    def make_agent(self, framework: Any, seen: list[Any]) -> MakeAgent:
        """Return a function that makes an agent."""

        class Scripted(framework.BaseChatClient):  # type: ignore[misc]
            def __init__(self, answers: Sequence[str]) -> None:
                super().__init__()
                self.answers = list(answers)

            async def _inner_get_response(self, *, messages: Any, **_: Any) -> Any:
                seen.append([(each.role, each.text) for each in messages])
                answer = framework.Message("assistant", [self.answers.pop(0)])
                return framework.ChatResponse(messages=[answer])

        def make(*answers: str, providers: Sequence[Any]) -> Agent:
            return framework.Agent(client=Scripted(answers), context_providers=list(providers))

        return make


class HistoryProviderContract(_AgentContract):
    """The guarantees of a provider of the history."""

    def test_a_run_sees_what_was_said_before(
        self, make: Callable[..., Any], make_agent: MakeAgent, seen: list[Any]
    ) -> None:
        async def work() -> None:
            agent = make_agent("Noted.", "In Oslo.", providers=[make()])
            session = agent.create_session(session_id="monday")
            await agent.run("I live in Oslo.", session=session)
            await agent.run("Where do I live?", session=session)

        asyncio.run(work())
        first = [("user", "I live in Oslo.")]
        assert seen == [first, [*first, ("assistant", "Noted."), ("user", "Where do I live?")]]

    def test_another_process_goes_on_with_a_session(
        self, make: Callable[..., Any], make_agent: MakeAgent, seen: list[Any]
    ) -> None:
        async def work(question: str, session_id: str) -> None:
            agent = make_agent("Yes.", providers=[make()])
            await agent.run(question, session=agent.create_session(session_id=session_id))

        for question, session_id in (("one", "a"), ("two", "a"), ("three", "b")):
            asyncio.run(work(question, session_id))
        assert seen[1] == [("user", "one"), ("assistant", "Yes."), ("user", "two")]
        assert seen[2] == [("user", "three")]

    def test_messages_come_back_as_they_were(
        self, make: Callable[..., Any], framework: Any
    ) -> None:
        content = framework.Content
        messages = [
            framework.Message("user", ["Where?"], author_name="Ines", message_id="m1"),
            framework.Message(
                "assistant",
                [content.from_function_call(call_id="1", name="look", arguments={"who": "Ines"})],
            ),
            framework.Message("tool", [content.from_function_result(call_id="1", result="Oslo")]),
            framework.Message("assistant", ["In ", "Oslo."], additional_properties={"n": 1}),
            framework.Message("user", ["日本 \u2028 🧠"]),
            framework.Message("user", []),
        ]

        async def work() -> list[Any]:
            await make().save_messages("a", messages[:2])
            await make().save_messages("a", [])
            await make().save_messages("a", messages[2:], state={})
            await make().save_messages(None, messages[:1])
            assert len(await make().get_messages(None)) == 1
            assert await make().get_messages("none") == []
            return list(await make().get_messages("a"))

        found = asyncio.run(work())
        assert [each.to_dict() for each in found] == [each.to_dict() for each in messages]
        assert (found[0].author_name, found[0].message_id) == ("Ines", "m1")

    def test_options_say_what_is_kept(
        self, make: Callable[..., Any], make_agent: MakeAgent
    ) -> None:
        async def work() -> list[Any]:
            provider = make(load_messages=False, store_outputs=False)
            agent = make_agent("Yes.", "No.", providers=[provider])
            session = agent.create_session(session_id="a")
            await agent.run("one", session=session)
            await agent.run("two", session=session)
            return list(await provider.get_messages("a"))

        assert [each.text for each in asyncio.run(work())] == ["one", "two"]


class ContextProviderContract(_AgentContract):
    """The guarantees of a provider of memories."""

    def test_what_was_said_in_one_session_is_remembered_in_another(
        self, make: Callable[..., Any], make_agent: MakeAgent, seen: list[Any]
    ) -> None:
        async def work() -> None:
            agent = make_agent("Noted.", "In Oslo.", providers=[make()])
            for name, said in (("monday", "I live in Oslo."), ("friday", "Where do I live?")):
                await agent.run(said, session=agent.create_session(session_id=name))

        asyncio.run(work())
        assert seen[0] == [("user", "I live in Oslo.")]
        (remembered_by, remembered), question = seen[1]
        assert remembered_by == "user"
        assert "I live in Oslo." in remembered
        assert question == ("user", "Where do I live?")

    def test_a_run_without_a_question_recalls_nothing(
        self, make: Callable[..., Any], framework: Any
    ) -> None:
        async def work() -> None:
            provider, session = make(), framework.AgentSession(session_id="a")
            for messages in ([], [framework.Message("user", [" "])]):
                context = framework.SessionContext(session_id="a", input_messages=messages)
                state: dict[str, Any] = {}
                around = {"agent": None, "session": session, "context": context, "state": state}
                await provider.before_run(**around)
                await provider.after_run(**around)
                assert context.get_messages() == []

        asyncio.run(work())
