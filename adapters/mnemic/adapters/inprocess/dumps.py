"""Plain dumps of the blocks of a memory or a view: Markdown, JSON lines and CSV.

A dump is for reading and for other programs. It has the blocks alone, of one version; what moves a
memory elsewhere with its log, edges and decisions is ``export``. A memory on a server is read page
by page, so every interface with ``blocks`` has dumps.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import suppress
from io import StringIO
from typing import TYPE_CHECKING, Any, Final, TypedDict, Unpack

from mnemic.kernel.errors import FieldRefused
from mnemic.kernel.late import late_pattern
from mnemic.kernel.rendering import cited, escaped, labelled, render_line
from mnemic.kernel.results.shape import json_text

if TYPE_CHECKING:
    from mnemic.kernel.results import Block, Page

PAGE: Final = 1000
"""Blocks that are read at a time."""
COLUMNS: Final = (
    *("id", "status", "content", "category", "tags", "author", "thread", "metadata"),
    *("zone", "source", "actor", "confidence", "created_at", "expires_at"),
    *("learned_version", "superseded_by"),
)
"""Columns of a CSV file."""
HEADINGS: Final = {
    "active": "Active",
    "inbox": "Waiting in the inbox",
    "archived": "Archived",
    "quarantined": "In quarantine",
}
"""Headings of a Markdown dump by status, in order."""

MARKUP: Final = late_pattern(r"^(\s*[0-9]*)([#>+*=`~|_.)-])")
"""What would make a line a heading, a list, a quotation, a table or a rule in Markdown."""
LINE_ENDS: Final = {ord(each): f"\\u{ord(each):04x}" for each in "\x85\u2028\u2029"}
"""What JSON leaves as it is and many readers, ``str.splitlines`` among them, end a line at."""
CONDITIONS: Final = ("tag", "category", "author", "thread", "status")
Asked = dict[str, Any]
"""Arguments of ``blocks``."""


def markdown(blocks: Iterable[Block]) -> Iterator[str]:
    """Yield a list of blocks with headings by status, in which no text becomes markup of its own.

    Args:
        blocks: Sorted by status.
    """
    status = None
    for block in blocks:
        if block.status != status:
            yield f"{'' if status is None else chr(10)}## {HEADINGS[block.status]}\n\n"
            status = block.status
        yield f"- {_text(block)}  \n  {_facts(block)}\n"


def jsonl(blocks: Iterable[Block]) -> Iterator[str]:
    """Yield a line for each block: an object with all of its fields."""
    for block in blocks:
        yield f"{block.to_json().translate(LINE_ENDS)}\n"


def csv_lines(blocks: Iterable[Block]) -> Iterator[str]:
    """Yield a header and a row for each block; tags and metadata are JSON."""
    yield _row(COLUMNS)
    for block in blocks:
        fields = block.to_dict()
        yield _row([_cell(fields[name]) for name in COLUMNS])


FORMATS: Final[dict[str, Callable[[Iterable[Block]], Iterator[str]]]] = {
    "markdown": markdown,
    "jsonl": jsonl,
    "csv": csv_lines,
}


def _text(block: Block) -> str:
    """Return the text of a block as an entry of a list, its further lines indented."""
    if block.content is None:
        return "(lost)" if block.lost else "(erased)"
    lines = block.content.splitlines() or [""]
    return "  \n  ".join(MARKUP.sub(r"\1\\\2", escaped(line)) for line in lines)


def _facts(block: Block) -> str:
    """Return where a text comes from, as texts of recalls have it, and how it is filed."""
    head = render_line(
        cited(
            block.id,
            "",
            zone=block.zone,
            actor=block.actor,
            author=block.author,
            created_at=block.created_at,
        )
    )
    filed = [f"category {labelled(block.category)}"]
    if block.tags:
        filed.append(f"{'tag' if len(block.tags) == 1 else 'tags'} {' '.join(block.tags)}")
    return f"{head}{escaped(', '.join(filed))}"


def _cell(value: Any) -> Any:
    return json_text(value, None) if isinstance(value, list | dict) else value


def _row(cells: Iterable[Any]) -> str:
    import csv

    written = StringIO()
    csv.writer(written, lineterminator="\n").writerow(cells)
    return written.getvalue()


def _asked(conditions: Mapping[str, Any]) -> Generator[Asked, Page, None]:
    """Yield what to ask ``blocks`` for, status by status, page by page; it is sent each page.

    Raises:
        FieldRefused: A condition is none of ``blocks``.
    """
    for name in conditions:
        if name not in CONDITIONS:
            raise FieldRefused(
                f"a dump knows no argument {name!r:.80}",
                recovery=f"It takes: {', '.join(CONDITIONS)}.",
                field=name[:80],
            )
    status = conditions.get("status")
    for each in HEADINGS if status is None else (status,):
        after = None
        while True:
            page = yield {**conditions, "status": each, "after": after, "limit": PAGE}
            after = page.next_after
            if after is None:
                break


def listed(source: Any, conditions: Mapping[str, Any]) -> Iterator[Block]:
    """Yield the blocks of a memory or a view that ``blocks`` is synchronous in, by status.

    Raises:
        FieldRefused: A condition is invalid.
    """
    asking = _asked(conditions)
    with suppress(StopIteration):
        page = source.blocks(**next(asking))
        while True:
            yield from page
            page = source.blocks(**asking.send(page))


class Conditions(TypedDict, total=False):
    """Which blocks are dumped: the filters of ``blocks``; without any, all of them."""

    tag: str | None
    category: str | None
    author: str | None
    thread: str | None
    status: str | None


class SyncDumps:
    """Dumps of a memory or a view."""

    def _at_one_version(self) -> Any:
        """Return what is read: a view, so that all pages are of one version."""
        return self

    def to_markdown(self, **conditions: Unpack[Conditions]) -> str:
        """Return the blocks as a Markdown list, with a heading for each status.

        Args:
            conditions: Filters as of ``blocks``: ``tag``, ``category``, ``author``, ``thread``,
                ``status``. None: all blocks, those archived and in quarantine included.

        Raises:
            FieldRefused: A condition is invalid.
        """
        return "".join(markdown(listed(self._at_one_version(), conditions)))

    def to_jsonl(self, **conditions: Unpack[Conditions]) -> str:
        """Return the blocks as JSON lines, each an object with all fields of a block.

        Args:
            conditions: See ``to_markdown``.

        Raises:
            FieldRefused: A condition is invalid.
        """
        return "".join(jsonl(listed(self._at_one_version(), conditions)))

    def to_csv(self, **conditions: Unpack[Conditions]) -> str:
        """Return the blocks as CSV with a header; tags and metadata are JSON.

        Texts are as they were learned. A spreadsheet may take one that begins with ``=`` for a
        formula: import the columns as text.

        Args:
            conditions: See ``to_markdown``.

        Raises:
            FieldRefused: A condition is invalid.
        """
        return "".join(csv_lines(listed(self._at_one_version(), conditions)))


class AsyncDumps:
    """The same of a memory or a view whose operations are awaited."""

    async def _at_one_version(self) -> Any:
        """Return what is read: a view, so that all pages are of one version."""
        return self

    async def _listed(self, conditions: Mapping[str, Any]) -> list[Block]:
        source = await self._at_one_version()
        found: list[Block] = []
        asking = _asked(conditions)
        with suppress(StopIteration):
            page = await source.blocks(**next(asking))
            while True:
                found += page
                page = await source.blocks(**asking.send(page))
        return found

    async def to_markdown(self, **conditions: Unpack[Conditions]) -> str:
        """Return the blocks as Markdown. See ``SyncDumps``."""
        return "".join(markdown(await self._listed(conditions)))

    async def to_jsonl(self, **conditions: Unpack[Conditions]) -> str:
        """Return the blocks as JSON lines. See ``SyncDumps``."""
        return "".join(jsonl(await self._listed(conditions)))

    async def to_csv(self, **conditions: Unpack[Conditions]) -> str:
        """Return the blocks as CSV. See ``SyncDumps``."""
        return "".join(csv_lines(await self._listed(conditions)))
