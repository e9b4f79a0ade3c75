"""Messages in JSON, of models and of people."""

from __future__ import annotations

from typing import Any

import pytest

from mnemic.adapters.importers import InputRefused, Sitting
from mnemic.adapters.importers.lines import Line
from mnemic.adapters.importers.messages import is_transcript, sittings
from mnemic.adapters.importers.parsed_items import Item, Labels, Source

SOURCE = Source(name="old/chat.json", thread="chat.json")


def read(*documents: Any, only: str | None = None) -> list[Sitting]:
    return sittings(SOURCE, [Line("old/chat.json", each) for each in documents], only=only)


def lessons(*documents: Any) -> list[dict[str, Any]]:
    return [dict(item.lesson or {}) for each in read(*documents) for item in each.items]


def said(*documents: Any) -> list[tuple[Any, ...]]:
    keys = ("thread", "author", "created_at", "content")
    return [tuple(lesson.get(key) for key in keys) for lesson in lessons(*documents)]


def node(parent: str | None, words: object = None, role: str = "user") -> dict[str, Any]:
    message = {"author": {"role": role}, "content": {"content_type": "text", "parts": [words]}}
    return {"parent": parent, "message": None if words is None else message}


def test_a_list_of_messages_is_one_conversation() -> None:
    (found,) = read(
        [
            {"role": "user", "content": "Hello!", "id": "m1", "created_at": "2024-03-01T10:00:00Z"},
            {"role": "assistant", "content": "Hi."},
        ]
    )
    derived = {"source": "ingest", "category": "message", "thread": "chat.json"}
    assert (found.name, found.size) == ("chat.json", 2)
    assert list(found.items) == [
        Item(
            place="old/chat.json: 1",
            lesson={
                **derived,
                "content": "Hello!",
                "created_at": "2024-03-01T10:00:00Z",
                "metadata": {"turn": "m1", "role": "user"},
            },
        ),
        Item(
            place="old/chat.json: 2",
            lesson={
                **derived,
                "content": "Hi.",
                "created_at": "unknown",
                "metadata": {"role": "assistant"},
            },
        ),
    ]


def test_lines_of_messages_are_parted_by_their_threads() -> None:
    found = read(
        {"role": "user", "content": "a", "thread": "t1"},
        {"role": "user", "content": "b", "conversation_id": "t2"},
        {"role": "user", "content": "c", "thread": "t1"},
    )
    assert [(each.name, each.size) for each in found] == [("t1", 2), ("t2", 1)]


def test_conversations_are_threads_by_their_titles_and_numbered_if_these_repeat() -> None:
    messages = [{"role": "user", "content": "a"}]
    document = [
        {"title": "Trip", "messages": messages},
        {"title": "Trip", "messages": messages},
        {"id": 7, "messages": messages},
        {"messages": messages},
    ]
    assert [each.name for each in read(document)] == ["Trip (1)", "Trip (2)", "7", "chat.json"]


def test_an_author_of_the_whole_file_is_its_user() -> None:
    turns = [{"role": role, "content": role} for role in ("user", "assistant", "tool")]
    (sitting,) = sittings(SOURCE, [Line("old/chat.json", turns)], Labels(author="Ann"))
    authors = [(each.lesson or {}).get("author") for each in sitting.items]
    assert authors == ["Ann", None, None]


def test_a_name_goes_before_a_role_and_people_have_other_keys() -> None:
    assert said(
        {"role": "user", "name": "Ann", "content": "a", "timestamp": 1709287000},
        {"sender": {"name": "Bo"}, "text": "b", "ts": "1709287000.25"},
        {"from": "Cy", "body": "c", "date": 1709287000000},
        {"speaker": "Di", "message": "d", "time": "20240301"},
    ) == [
        ("chat.json", "Ann", "2024-03-01T09:56:40+00:00", "a"),
        ("chat.json", "Bo", "2024-03-01T09:56:40.250000+00:00", "b"),
        ("chat.json", "Cy", "2024-03-01T09:56:40+00:00", "c"),
        ("chat.json", "Di", "20240301", "d"),
    ]


@pytest.mark.parametrize("date", ["last spring", {"year": 2024}, True, 1e300])
def test_a_date_that_cannot_be_read_counts_as_unknown(date: Any) -> None:
    (found,) = read({"role": "user", "content": "a", "created_at": date})
    (item,) = found.items
    assert (item.undated, (item.lesson or {})["created_at"]) == (True, "unknown")


def test_of_a_message_in_parts_the_text_is_read() -> None:
    parts = [{"type": "text", "text": "one"}, {"type": "image_url", "image_url": {}}, "two"]
    assert said([{"role": "user", "content": parts}])[0][-1] == "one\ntwo"


def test_of_a_tree_the_branch_that_was_shown_is_read() -> None:
    tree = {
        "root": node(None),
        "system": node("root", "", "system"),
        "question": node("system", "Where to?"),
        "first": node("question", "Nowhere.", "assistant"),
        "second": node("question", "To Lyon.", "assistant"),
    }
    document = [{"title": "Trip", "id": "c1", "current_node": "second", "mapping": tree}]
    assert said(document) == [
        ("Trip", None, "unknown", "Where to?"),
        ("Trip", None, "unknown", "To Lyon."),
    ]
    roles = [lesson["metadata"]["role"] for lesson in lessons(document)]
    assert roles == ["user", "assistant"]


def test_a_tree_that_does_not_say_what_was_shown_is_read_to_its_last_leaf() -> None:
    tree = {"a": {**node(None, "one"), "children": ["b"]}, "b": node("a", "two")}
    assert [each[-1] for each in said([{"mapping": tree}])] == ["one", "two"]


def test_a_tree_that_is_a_ring_ends() -> None:
    tree = {"a": node("b", "one"), "b": node("a", "two")}
    assert [each[-1] for each in said([{"mapping": tree, "current_node": "a"}])] == ["two", "one"]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (5, "expected a message, got int"),
        ({"role": "user"}, "a message without a text"),
        ({"role": "user", "content": None}, "a message without a text"),
        ({"role": "user", "content": [{"type": "image"}]}, "a message without a text"),
        (InputRefused("not JSON"), "not JSON"),
    ],
)
def test_what_is_no_message_is_refused_and_the_others_go_on(given: Any, message: str) -> None:
    (found,) = read(given, {"role": "user", "content": "a"})
    refused, kept = found.items
    assert (refused.refusal and refused.refusal.message, kept.refusal) == (message, None)


def test_what_is_nested_without_end_is_refused_like_anything_else() -> None:
    nested: Any = {"role": "user"}
    for _ in range(5_000):
        nested = [{"messages": []}, nested, {"content": [nested], "author": nested}]
    refused = [item.refusal for sitting in read(nested) for item in sitting.items]
    assert [each and each.message for each in refused] == [
        "expected a message, got list",
        "a message without a text",
    ]


def test_one_thread_may_be_asked_for() -> None:
    document = [
        {"title": title, "messages": [{"role": "user", "content": title}]} for title in ("a", "b")
    ]
    assert [each.name for each in read(document, only="b")] == ["b"]
    with pytest.raises(InputRefused) as refused:
        read(document, only="c")
    assert refused.value.recovery == "Choose from a, b."


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"role": "user", "content": "a"}, True),
        ({"messages": []}, True),
        ({"mapping": {}}, True),
        ({"sender": "Ann", "content": "a"}, True),
        ({"author": "Ann", "text": "a"}, True),
        ({"author": "Ann", "content": "a"}, False),
        ({"content": "a", "colour": "red"}, False),
        ({"text": "a"}, False),
        ([], False),
        (None, False),
    ],
)
def test_a_memory_is_no_message(given: Any, *, expected: bool) -> None:
    assert is_transcript(given) is expected
