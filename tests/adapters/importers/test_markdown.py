"""Markdown comes apart into sections and passages; no word is lost and nothing whole is cut."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from mnemic.adapters.importers.markdown import sitting
from mnemic.adapters.importers.parsed_items import Item, Labels, Source
from mnemic.adapters.importers.passages import ATOM_SIZE, SIZE

SOURCE = Source(name="docs/guide.md", thread="guide.md")

GUIDE = """\
Before any heading.

# The *Guide*

## Install `mnemic`

Run make.

- one
- two

## Use

It is used.
"""

LONG = "A sentence of a paragraph that goes on and on. " * 60
CODE = "```python\n" + "x = 1\n\n" * 400 + "```"
TABLE = "| a | b |\n|---|---|\n" + "| cell | another cell |\n" * 200


def items(text: str) -> list[Item]:
    return list(sitting(SOURCE, text).items)


def contents(text: str) -> list[str]:
    return [item.lesson["content"] for item in items(text) if item.lesson is not None]


def headings(text: str) -> list[str | None]:
    lessons = [item.lesson or {} for item in items(text)]
    return [lesson.get("metadata", {}).get("heading") for lesson in lessons]


def letters(text: str) -> str:
    return "".join(text.split())


def test_a_section_is_a_passage_with_its_path_of_headings() -> None:
    derived = {"source": "ingest", "thread": "guide.md"}
    assert items(GUIDE) == [
        Item(place="docs/guide.md:1", lesson={**derived, "content": "Before any heading."}),
        Item(
            place="docs/guide.md:3",
            lesson={
                **derived,
                "content": ("# The *Guide*\n\n## Install `mnemic`\n\nRun make.\n\n- one\n- two"),
                "metadata": {"heading": "The Guide > Install mnemic"},
            },
        ),
        Item(
            place="docs/guide.md:12",
            lesson={
                **derived,
                "content": "## Use\n\nIt is used.",
                "metadata": {"heading": "The Guide > Use"},
            },
        ),
    ]


def test_front_matter_says_who_when_and_what_of_every_passage() -> None:
    text = (
        "---\ntitle: Harbour\ndate: 2024-03-01\nauthor: Ines\ntags: [sea]\n---\nA tide.\n\n# B\nC."
    )
    derived = {"source": "ingest", "thread": "guide.md"}
    said = {"author": "Ines", "created_at": "2024-03-01", "tags": ["sea", "notes"]}
    assert list(sitting(SOURCE, text, Labels(author="Bo", tags=("notes",))).items) == [
        Item(
            place="docs/guide.md:7",
            lesson={**derived, **said, "content": "A tide.", "metadata": {"title": "Harbour"}},
        ),
        Item(
            place="docs/guide.md:9",
            lesson={
                **derived,
                **said,
                "content": "# B\nC.",
                "metadata": {"title": "Harbour", "heading": "B"},
            },
        ),
    ]


def test_a_date_of_the_front_matter_that_cannot_be_read_counts_as_unknown() -> None:
    (item,) = items("---\ndate: last spring\n---\nA tide.")
    assert (item.undated, (item.lesson or {})["created_at"]) == (True, "unknown")


def test_a_heading_closes_the_deeper_ones_above_it() -> None:
    text = "# A\na\n## B\nb\n### C\nc\n## D\nd\n# E\ne"
    assert headings(text) == ["A", "A > B", "A > B > C", "A > D", "E"]


def test_headings_underlined_and_over_several_lines_are_headings() -> None:
    assert headings("One\ntwo\n===\na\n\nThree\n---\nb") == ["One two", "One two > Three"]


def test_a_heading_at_the_end_is_kept() -> None:
    assert contents("# A\na\n\n# B") == ["# A\na", "# B"]


def test_short_paragraphs_are_put_together_and_long_ones_cut_behind_sentences() -> None:
    found = contents(f"First.\n\nSecond.\n\n{LONG}")
    assert found[0] == "First.\n\nSecond."
    assert [len(each) <= SIZE for each in found] == [True] * len(found)
    assert [each[-1] for each in found] == ["."] * len(found)


def test_code_and_tables_are_never_cut() -> None:
    assert contents(f"# A\n\nText.\n\n{CODE}\n\n{TABLE}\nMore.") == [
        "# A\n\nText.",
        CODE,
        TABLE.rstrip(),
        "More.",
    ]


def test_code_is_not_cut_within_a_long_list() -> None:
    code = "  ```\n" + "  line of code\n" * 100 + "  ```"
    found = contents(f"- a\n\n{code}\n\n- {LONG}")
    assert found[1] == code.strip("\n")


def test_code_longer_than_a_block_may_be_is_cut_between_lines() -> None:
    found = contents("```\n" + "a line of code\n" * 3_000 + "```")
    assert len(found) > 1
    assert {line for each in found for line in each.split("\n")} == {"```", "a line of code"}
    assert all(len(each) <= ATOM_SIZE for each in found)


def test_a_short_list_stays_whole_and_a_long_one_is_cut_between_its_items() -> None:
    assert contents("- one\n- two\n  - three") == ["- one\n- two\n  - three"]
    found = contents("".join(f"- item {number}: {'word ' * 20}\n" for number in range(30)))
    assert len(found) > 1
    assert all(each.startswith("- item ") and len(each) <= SIZE for each in found)


def test_the_definition_of_a_link_is_not_lost() -> None:
    assert contents("See [it].\n\n[it]: https://example.org") == [
        "See [it].\n\n[it]: https://example.org"
    ]


def test_an_indented_block_keeps_its_first_indentation() -> None:
    assert contents("    code") == ["    code"]


FRAGMENTS = st.sampled_from(
    [
        "# A heading",
        "## Another",
        "Title\n===",
        "- item\n- item",
        "1. one\n   two",
        "> quoted\n> again",
        "```\ncode\n\ncode\n```",
        "```",
        "    indented",
        "| a | b |\n|---|---|\n| 1 | 2 |",
        "[link]: https://example.org 'title'",
        "<div>\nhtml\n</div>",
        "<!-- comment",
        "---",
        "***",
        "\\# no heading",
        "word " * 250,
        "A sentence. " * 100,
        "x" * 2_500,
        "- " + "long item " * 120,
        "",
    ]
)
LINES = st.text(st.characters(blacklist_characters="\r\x00", codec="utf-8"), max_size=30)


@given(st.lists(FRAGMENTS | LINES, max_size=12).map("\n".join))
@example("---\nno: front\nmatter\n---")
def test_no_character_is_lost_and_all_keep_their_order(text: str) -> None:
    body = f"A beginning.\n\n{text}"
    assert letters("".join(contents(body))) == letters(body)


@given(st.lists(FRAGMENTS | LINES, max_size=12).map("\n".join))
def test_every_passage_says_the_line_at_which_it_begins(text: str) -> None:
    lines = f"A beginning.\n\n{text}".split("\n")
    found = items("\n".join(lines))
    for item in found:
        begins = lines[int(item.place.rpartition(":")[2]) - 1]
        assert letters((item.lesson or {})["content"].split("\n")[0]) in letters(begins)
