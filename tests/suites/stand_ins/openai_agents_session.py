"""Pytest plugin: the tests of ``SQLiteSession`` of the OpenAI Agents SDK get our session."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import agents
from agents.memory import SessionSettings
from openai.types.responses import ResponseOutputMessage, ResponseOutputText

from mnemic.adapters.integrations.openai_agents import MnemicSession
from mnemic.adapters.integrations.records import open_memory


class SQLiteSession(MnemicSession):
    """In a file of its own, with the constructor of the session on SQLite."""

    def __init__(
        self, session_id: str, db_path: str | Path = ":memory:", *, session_settings: Any = None
    ) -> None:
        if isinstance(session_settings, dict):
            session_settings = SessionSettings(**session_settings)
        self._memory = open_memory(db_path, space="sessions")
        settings = session_settings or SessionSettings()
        super().__init__(session_id, self._memory, session_settings=settings)

    def close(self) -> None:
        """Close the file."""
        self._memory.close()


def get_text_message(text: str) -> ResponseOutputMessage:
    """Return a message of a model."""
    content = ResponseOutputText(text=text, type="output_text", annotations=[])
    return ResponseOutputMessage(
        id="1", type="message", role="assistant", content=[content], status="completed"
    )


agents.SQLiteSession = SQLiteSession  # type: ignore[misc,assignment]
_responses = ModuleType("tests.test_responses")
_responses.get_text_message = get_text_message  # type: ignore[attr-defined]
sys.modules["tests.test_responses"] = _responses
for _name in ("tests", "tests.memory"):
    sys.modules[_name] = ModuleType(_name)
    sys.modules[_name].__path__ = [os.environ["MNEMIC_SUITE"]]
