"""Messages of other libraries as lessons."""

from __future__ import annotations

from typing import Any

import pytest

from mnemic.adapters.extractors.messages import Labels, lesson_of
from mnemic.kernel.errors import FieldRefused

CALL = {"id": "c1", "type": "function", "function": {"name": "find", "arguments": '{"q": "x"}'}}

MESSAGES: dict[str, tuple[dict[str, Any], tuple[str, str | None, str | None, str]]] = {
    "openai": (
        {"role": "user", "content": "Hello.", "name": "ines"},
        ("Hello.", "user", "ines", "user"),
    ),
    "openai with a call": (
        {"role": "assistant", "content": None, "tool_calls": [CALL]},
        ('[tool call: find {"q": "x"}]', "assistant", None, "agent"),
    ),
    "openai tool": (
        {"role": "tool", "tool_call_id": "c1", "content": "4"},
        ("4", "tool", None, "tool"),
    ),
    "anthropic": (
        {
            "role": "user",
            "content": [
                {"type": "image", "source": {"data": "AAAA"}},
                {"type": "tool_result", "tool_use_id": "c", "content": "long"},
                {"type": "text", "text": "See?"},
            ],
        },
        ("[image left out]\n[tool result left out: 4 characters]\nSee?", "user", None, "user"),
    ),
    "anthropic with a use": (
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "hm"},
                {"type": "tool_use", "name": "find", "input": {"q": "y" * 300}},
            ],
        },
        (
            f'[tool call: find {{"q":"{"y" * 194}… (108 characters left out)]',
            "assistant",
            None,
            "agent",
        ),
    ),
    "langchain": (
        {"type": "human", "data": {"content": "Hi.", "name": "Ines", "id": "m1"}},
        ("Hi.", "user", "Ines", "user"),
    ),
    "langchain model": (
        {"type": "ai", "content": "Yes.", "tool_calls": [{"name": "f", "args": {"a": 1}}]},
        ('Yes.\n[tool call: f {"a":1}]', "assistant", None, "agent"),
    ),
    "a person": ({"author": "Bob", "content": "Hi."}, ("Hi.", None, "Bob", "user")),
}


@pytest.mark.parametrize("name", MESSAGES)
def test_a_message_of_another_library_is_taken_as_it_is(name: str) -> None:
    given, wanted = MESSAGES[name]
    lesson = lesson_of(given, Labels())
    assert (lesson.content, lesson.role, lesson.author, lesson.source) == wanted
    assert lesson.category == "message"


def test_an_object_is_taken_by_its_fields() -> None:
    class Said:
        def model_dump(self) -> dict[str, Any]:
            return {"type": "human", "content": "Hi.", "id": "7"}

    lesson = lesson_of(Said(), Labels(thread="t", scope={"user": "ines"}, zone="vetted"))
    assert (lesson.metadata, lesson.thread) == ({"message_id": "7"}, "t")
    assert (lesson.scope, lesson.zone) == ({"user": "ines"}, "vetted")


@pytest.mark.parametrize("at", ["2026-03-02T09:00:00Z", 1772442000, 1772442000000])
def test_a_date_is_text_seconds_or_milliseconds(at: object) -> None:
    lesson = lesson_of({"role": "user", "content": "x", "timestamp": at}, Labels())
    assert str(lesson.created_at).startswith("2026-03-02")


BAD: tuple[object, ...] = (
    "hello",
    7,
    {},
    {"content": "x"},
    {"role": "user"},
    {"role": "user", "content": " "},
    {"role": "user", "content": []},
    {"role": "user", "content": "x", "created_at": [1]},
    {"role": "user", "content": "x", "created_at": 1e300},
    {"role": "user", "content": "x", "metadata": "y"},
)


@pytest.mark.parametrize("given", BAD)
def test_what_is_no_message_is_refused(given: object) -> None:
    with pytest.raises(FieldRefused) as refused:
        lesson_of(given, Labels())
    assert refused.value.recovery
