"""Markdown: sections under headings, divided into passages that split neither code nor tables.

The text of a passage is the unchanged lines of the document. Its metadata contains the path of
headings above it; the heading itself begins the first passage of its section, so that its words
are found too. A heading without text below it is joined to what follows it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from attrs import field, frozen

from mnemic.adapters.importers.frontmatter import front_matter
from mnemic.adapters.importers.parsed_items import (
    NO_LABELS,
    Labels,
    Sitting,
    Source,
    item,
)
from mnemic.adapters.importers.passages import (
    SIZE,
    Piece,
    packed,
    sentences,
    whole_lines,
)

if TYPE_CHECKING:
    from markdown_it.tree import SyntaxTreeNode

HEADING_GAP: Final = " > "
"""Separator between the headings of a path."""

_ATOMS: Final = frozenset({"code_block", "fence", "html_block", "table"})
_BREAKS: Final = frozenset({"hardbreak", "softbreak"})
_NESTED: Final = frozenset({"blockquote", "bullet_list", "list_item", "ordered_list"})


@frozen(kw_only=True)
class Section:
    """The part of a document under one heading, up to the next."""

    path: tuple[str, ...] = ()
    """Headings from the outermost to its own."""
    pieces: list[Piece] = field(factory=list)


def sitting(source: Source, text: str, labels: Labels = NO_LABELS) -> Sitting:
    """Return a document as one sitting; its thread is the file.

    Args:
        source: The file.
        text: The whole of it, lines ending in a line feed.
        labels: Values for the whole file.
    """
    about = front_matter(text)
    lines = text.split("\n")
    # The front matter is replaced by blank lines, so that every other line keeps its number.
    lines[: about.lines] = [""] * about.lines
    common = {
        "author": about.author,
        "created_at": about.date,
        "tags": list(about.tags) or None,
    }
    items = [
        item(
            source.at(passage.line),
            common | {"content": passage.text, "metadata": _metadata(about.title, section.path)},
            labels,
            derived={"thread": source.thread},
        )
        for section in sections(lines)
        for passage in packed(section.pieces)
    ]
    return Sitting(name=source.name, items=items, size=len(items))


def sections(lines: Sequence[str]) -> list[Section]:
    """Return the sections of a document in order; together they contain all of its text."""
    found = [Section()]
    path: dict[int, str] = {}
    carried: list[Piece] = []
    for node, pieces in _parts(lines):
        if node is None or node.type != "heading":
            found[-1].pieces.extend(pieces)
            continue
        level = int(node.tag[1:])
        path = {above: title for above, title in path.items() if above < level}
        path[level] = _title(node)
        if found[-1].pieces == carried:  # nothing but headings so far
            found.pop()
        else:
            carried = []
        carried = [*carried, *pieces]
        found.append(Section(path=tuple(path.values()), pieces=[*carried]))
    return [section for section in found if section.pieces]


def _metadata(title: str | None, path: tuple[str, ...]) -> dict[str, str] | None:
    found = {"title": title, "heading": HEADING_GAP.join(path)}
    return {key: value for key, value in found.items() if value} or None


# --- from lines to pieces ---------------------------------------------------------------------


def _parts(lines: Sequence[str]) -> Iterator[tuple[SyntaxTreeNode | None, list[Piece]]]:
    """Yield each outermost part of a document with its pieces."""
    from markdown_it import MarkdownIt
    from markdown_it.tree import SyntaxTreeNode

    parser = MarkdownIt("commonmark").enable("table")
    root = SyntaxTreeNode(parser.parse("\n".join(lines)))
    yield from _walk(lines, root, 0, len(lines))


def _walk(
    lines: Sequence[str], parent: SyntaxTreeNode, begin: int, end: int
) -> Iterator[tuple[SyntaxTreeNode | None, list[Piece]]]:
    """Yield the children of a node and, as None, the text between them.

    A link definition, for example, is text of the document but not a node of the tree.
    """
    at = begin
    for child in parent.children:
        if child.map is not None:
            yield None, _prose(lines, at, child.map[0])
            yield child, list(_spread(lines, child, *child.map))
            at = max(at, child.map[1])
    yield None, _prose(lines, at, end)


def _spread(lines: Sequence[str], node: SyntaxTreeNode, begin: int, end: int) -> Iterator[Piece]:
    piece = _piece(lines, begin, end)
    if piece is None:
        return
    if node.type in _ATOMS:
        yield from whole_lines(piece)
    elif len(piece.text) > SIZE and node.type in _NESTED:
        for _, pieces in _walk(lines, node, begin, end):
            yield from pieces
    else:
        yield from sentences(piece)


def _prose(lines: Sequence[str], begin: int, end: int) -> list[Piece]:
    piece = _piece(lines, begin, end)
    return [] if piece is None else list(sentences(piece))


def _piece(lines: Sequence[str], begin: int, end: int) -> Piece | None:
    """Return the lines from *begin* up to *end*; None if all are blank."""
    filled = [number for number in range(begin, end) if lines[number].strip()]
    if not filled:
        return None
    first, last = filled[0], filled[-1]
    return Piece(
        text="\n".join(lines[first : last + 1]).rstrip(),
        line=first + 1,
        apart=first == 0 or not lines[first - 1].strip(),
    )


def _title(heading: SyntaxTreeNode) -> str:
    """Return the text of a heading, without its markup."""
    words = (
        " " if node.type in _BREAKS else node.content
        for node in heading.walk()
        if node.type in {"text", "code_inline", *_BREAKS}
    )
    return " ".join("".join(words).split())
