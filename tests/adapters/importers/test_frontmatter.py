"""Front matter is read where it is plain, and left as text where it is not."""

from __future__ import annotations

import pytest

from mnemic.adapters.importers.frontmatter import FrontMatter, front_matter


def test_the_four_keys_are_read_and_others_passed_over() -> None:
    text = (
        "---\n"
        "# about this\n"
        "Title: 'Harbour: notes'\n"
        "date: 2024-03-01T10:00:00Z\n"
        'author: "Ines"\n'
        "tags: [harbour, 'low tide', harbour]\n"
        "layout:\n"
        "  kind: wide\n"
        "\n"
        "---\n"
        "Body."
    )
    assert front_matter(text) == FrontMatter(
        lines=10,
        title="Harbour: notes",
        date="2024-03-01T10:00:00Z",
        author="Ines",
        tags=("harbour", "low tide"),
    )


@pytest.mark.parametrize(
    "tags",
    ["tags: a, b", "tags: [a, b]", "tags: ['a', \"b\"]", "tags:\n- a\n- b", "tags:\n  - a\n  - b"],
)
def test_tags_may_be_written_in_each_of_the_usual_ways(tags: str) -> None:
    assert front_matter(f"---\n{tags}\n---\n").tags == ("a", "b")


def test_several_authors_are_named_together() -> None:
    assert front_matter("---\nauthor:\n  - Ann\n  - Bo\n---\n").author == "Ann, Bo"


def test_an_empty_value_says_nothing() -> None:
    assert front_matter("---\ntitle:\ntags: []\nauthor: ''\n...\n") == FrontMatter(lines=5)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Text.",
        "---\ntitle: never closed",
        "---\n---\nan empty one is a pair of rules",
        "---\nA sentence between two rules.\n---",
        "---\n- a list\n---",
        "\n---\ntitle: not at the beginning\n---",
        "---\nsee https://example.org\n---",
    ],
)
def test_whatever_looks_otherwise_is_text(text: str) -> None:
    assert front_matter(text) == FrontMatter()
