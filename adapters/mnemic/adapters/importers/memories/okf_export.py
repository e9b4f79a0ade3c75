"""Export of a memory as a bundle of the Open Knowledge Format: a page per active block.

Path and name of a page follow from the block's category and id, so that two exports of one memory
are equal. Edges are links, the author is ``generated.by``, the date ``generated.at``, and the end
of the time in which its fact holds ``stale_after``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from typing import Final

from mnemic.adapters.importers.memories.texts import RELATED, written_front_matter
from mnemic.adapters.importers.parsed_items import InputRefused
from mnemic.adapters.inprocess.queries import Queries
from mnemic.kernel.model.identity import BlockId
from mnemic.kernel.results import Block, Edge

_PAGE: Final = 500
_TITLE: Final = 80
_UNSAFE: Final = re.compile(r"[^\w-]+")


def write_okf(memory: Queries, folder: Path) -> int:
    """Write a bundle and return the number of its pages.

    Args:
        memory: What to export.
        folder: A folder that does not exist; it appears when it is complete.

    Raises:
        InputRefused: There is something at *folder*, or it cannot be written.
    """
    if folder.exists():
        raise InputRefused(f"{folder} exists", recovery="Name a folder that does not exist.")
    pages = {block.id: _path(block) for block in _active(memory)}
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        staged = Path(mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    except OSError as error:
        raise InputRefused(f"cannot write {folder}: {error.strerror}") from error
    try:
        for block in _active(memory):
            file = staged / pages[block.id]
            file.parent.mkdir(exist_ok=True)
            file.write_text(_page(block, memory.edges(block.id), pages), encoding="utf-8")
        staged.chmod(0o755)
        staged.rename(folder)
    except OSError as error:
        raise InputRefused(f"cannot write {folder}: {error.strerror}") from error
    finally:
        rmtree(staged, ignore_errors=True)
    return len(pages)


def _active(memory: Queries) -> Iterator[Block]:
    after: int | None = None
    while True:
        page = memory.blocks(status="active", after=after, limit=_PAGE)
        yield from page.items
        after = page.next_after
        if after is None:
            return


def _path(block: Block) -> str:
    folder = _UNSAFE.sub("-", block.category.lower()).strip("-") or "knowledge"
    return f"{folder}/{block.id}.md"


def _page(block: Block, edges: Sequence[Edge], pages: Mapping[BlockId, str]) -> str:
    generated = {"by": block.author or block.actor, "at": block.created_at}
    about = {
        "type": block.category,
        "title": " ".join((block.content or "").split())[:_TITLE],
        "tags": list(block.tags),
        "generated": {key: value for key, value in generated.items() if value},
        "status": "active",
        "valid_from": block.valid_from,
        "stale_after": block.valid_until,
        "sources": [{"resource": block.source}],
        "mnemic": {"id": block.id, "zone": block.zone, "confidence": block.confidence},
    }
    given = {key: value for key, value in about.items() if value}
    front = written_front_matter(given)
    ends = (
        (edge.relation, pages.get(edge.target_id)) for edge in edges if edge.source_id == block.id
    )
    links = sorted({f"- {relation}: [{path}](/{path})" for relation, path in ends if path})
    body = (block.content or "").strip()
    return f"---\n{front}---\n\n{body}{RELATED + chr(10).join(links) if links else ''}\n"
