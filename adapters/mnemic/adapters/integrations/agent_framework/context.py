"""``MnemicContextProvider``: what an agent recalls before a run, and learns after it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any, Final

from agent_framework import AgentSession, ContextProvider, Message, SessionContext

from mnemic.adapters.inprocess import SyncMemory

ACTOR: Final = "agent-framework"
ROLES: Final = ("user", "assistant")


class MnemicContextProvider(ContextProvider):
    """A provider to pass to ``Agent(..., context_providers=[provider])``.

    The recall of a run is recorded; ``state["decision_id"]`` names it, for ``outcome`` and
    ``explain``.

    Args:
        memory: What is recalled from, and learned into.
        source_id: The name of the provider in an agent.
        scope: The user, agent or run of the memory.
        top_k: Most texts that are recalled; None: that of the policy's frame.
        token_budget: Most tokens of them together; None: the frame's.
        learns: Whether messages are learned after a run. A ``MnemicHistoryProvider`` on the same
            memory learns them itself.
        extract: The extractor of facts, see ``add``.
    """

    def __init__(
        self,
        memory: SyncMemory,
        *,
        source_id: str = "mnemic",
        scope: Mapping[str, str] | None = None,
        top_k: int | None = None,
        token_budget: int | None = None,
        learns: bool = True,
        extract: str | None = None,
    ) -> None:
        super().__init__(source_id)
        self._memory = memory.session_handle(actor=ACTOR, scope=scope)
        self._recall = partial(self._memory.recall, top_k=top_k, token_budget=token_budget)
        self._learns = learns
        self._extract = extract

    async def before_run(
        self, *, agent: Any, session: AgentSession, context: SessionContext, state: dict[str, Any]
    ) -> None:
        """Add what is recalled for the question, as a message of the user."""
        del agent, session
        question = "\n".join(_texts(context.input_messages))
        if not question:
            return
        answer = await asyncio.to_thread(self._recall, question)
        state["decision_id"] = answer.decision_id
        if answer.blocks:
            context.extend_messages(self, [Message("user", [answer.text])])

    async def after_run(
        self, *, agent: Any, session: AgentSession, context: SessionContext, state: dict[str, Any]
    ) -> None:
        """Learn what was asked and answered."""
        del agent, session, state
        response = context.response
        messages = [*context.input_messages, *(response.messages if response else ())]
        given = [_plain(each) for each in messages if each.role in ROLES and each.text.strip()]
        if self._learns and given:
            await asyncio.to_thread(
                self._memory.add, given, thread=context.session_id, extract=self._extract
            )


def _texts(messages: Iterable[Message]) -> list[str]:
    return [message.text for message in messages if message.text.strip()]


def _plain(message: Message) -> dict[str, Any]:
    found = {"role": message.role, "content": message.text}
    if message.author_name is not None:
        found["name"] = message.author_name
    if message.message_id is not None:
        found["id"] = message.message_id
    return found
