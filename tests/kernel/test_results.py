"""Results iterate, have a length, and convert to plain values, JSON and HTML."""

from __future__ import annotations

import json
from copy import copy
from html.parser import HTMLParser
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from mnemic.kernel.model.identity import BlockId
from mnemic.kernel.results import (
    ConnectResult,
    ConnectsResult,
    LearnManyResult,
    LearnResult,
    Page,
    Refusal,
    ResultList,
)
from tests.kernel.blocks import block


class Reader(HTMLParser):
    """Collects the tags and the text of a document."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.cells: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert not attrs
        self.tags.add(tag)
        self.cells.append("")

    def handle_data(self, data: str) -> None:
        self.cells[-1] += data


def read(document: str) -> Reader:
    reader = Reader()
    reader.feed(document)
    reader.close()
    return reader


def shown(result: Any) -> str:
    """Return what a notebook displays."""
    document: str = result._repr_html_()
    return document


def test_a_page_is_a_sequence_of_its_entries() -> None:
    one, two = block(content="one"), block(content="two")
    page = Page(items=(one, two))
    assert (len(page), list(page), page[0], page[-1:], two in page) == (
        2,
        [one, two],
        one,
        (two,),
        True,
    )
    assert not Page(items=())


def test_a_list_of_results_is_a_tuple_with_their_conversions() -> None:
    learned = LearnResult(block_id=BlockId("b"), action="created", version=2)
    results = ResultList([learned])
    assert (*results,) == (learned,)
    assert json.loads(results.to_json()) == results.to_dict() == {"items": [results[0].to_dict()]}
    assert copy(results).to_dict() == results.to_dict()


def test_json_is_that_of_the_plain_values() -> None:
    page = Page(items=(block(content="Ünïcode 🧠"),), next_after=7)
    assert json.loads(page.to_json(indent=2)) == page.to_dict()
    assert "Ünïcode 🧠" in page.to_json()


@given(st.text(max_size=80))
def test_no_text_becomes_markup_in_a_notebook(content: str) -> None:
    page = Page(items=(block(content=content, author=content),))
    for document in (shown(page), shown(page[0]), shown(ResultList(page))):
        assert read(document).tags <= {"p", "table", "thead", "tbody", "tr", "th", "td"}


def test_a_table_shows_texts_and_leaves_out_empty_columns() -> None:
    page = Page(items=(block(content="<script>alert(1)</script>"),))
    reader = read(shown(page))
    assert "<script>alert(1)</script>" in reader.cells
    assert "content" in reader.cells
    assert "author" not in reader.cells


def test_a_long_list_is_cut() -> None:
    page = Page(items=tuple(block(content=str(n)) for n in range(60)))
    assert read(shown(page)).cells[-1] == "and 10 more"


def test_a_summary_names_three_refusals_and_counts_the_rest() -> None:
    refused: Any = tuple(Refusal(position=n, code="no", detail=f"d{n}") for n in range(5))
    result = LearnManyResult(results=(), refused=refused)
    assert result.summary == (
        "Learned: 0 created, 5 refused (#0 no: d0; #1 no: d1; #2 no: d2; and 2 more)."
    )


def test_a_summary_says_what_was_ignored() -> None:
    connected = ConnectResult(
        source_id=BlockId("a" * 16),
        target_id=BlockId("b" * 16),
        relation="similar",
        weight=0.85,
        action="reinforced",
        warnings=("relation was ignored",),
    )
    assert connected.summary == (
        "Reinforced similar edge: aaaaaaaa…→bbbbbbbb… (weight=0.85). Warning: relation was ignored"
    )
    assert ConnectsResult(results=(connected,), reinforced=1).summary == (
        "Edges: 0 created, 1 reinforced. 1 edge with warnings: see results."
    )
