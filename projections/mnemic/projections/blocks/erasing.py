"""Threads, passages and tags without some texts, as if these had been erased before.

The functions work on the arrays of ``frozen``, or on columns of tables, and write to none of them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Final

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from mnemic.kernel.decisions.supersession import inherited
from mnemic.kernel.model.blocks import ARCHIVED, INBOX
from mnemic.kernel.numeric.arithmetic import Integers
from mnemic.kernel.passages import passages
from mnemic.kernel.policy import Policy
from mnemic.kernel.scoring.signals import UNKNOWN
from mnemic.kernel.values import Value
from mnemic.projections.blocks.catalogue import NO_TAGS, REASONS, Catalogue
from mnemic.projections.blocks.threads import NOBODY, NONE, SITTING_GAP_US, STEPS
from mnemic.projections.lexical import erasing as lexicons
from mnemic.projections.lexical.erasing import TextOf
from mnemic.projections.storage.array_bundle import ArrayBundle, nested, packed, unpacked, within
from mnemic.projections.storage.columns import Rows, VersionedTable
from mnemic.projections.storage.first_use import in_first_use

_SUPERSEDED: Final = REASONS.index("superseded")


# --- threads --------------------------------------------------------------------------------


def threads(
    parts: Mapping[str, NDArray[Any]], documents: Sequence[int], created_us: Integers
) -> ArrayBundle:
    """Return the parts of ``Threads.frozen`` in which *documents* have no thread and no author.

    Args:
        parts: The parts as they are.
        documents: Numbers of the documents, ascending.
        created_us: When each document was created, or ``UNKNOWN``.
    """
    gone = np.array(documents, dtype=np.int64)
    author, role, thread = (parts[name].copy() for name in ("author", "role", "thread"))
    links, ends = parts["links"].copy(), parts["ends"].copy()
    broken = np.setdiff1d(thread[gone], [NONE])
    author[gone], role[gone], thread[gone], links[gone] = NOBODY, NONE, NONE, NONE
    for each in broken.tolist():
        among = np.flatnonzero(thread == each)
        if len(among):
            ends[each] = _relinked(links, among, created_us[among])
    names, authors = unpacked(parts["threads"]), unpacked(parts["authors"])
    used, thread = in_first_use(thread, len(names))
    speakers, author = in_first_use(author, len(authors))
    return {
        "author": author,
        "role": role,
        "authors": packed([authors[number] for number in speakers.tolist()]),
        "links": links,
        "thread": thread,
        "threads": packed([names[number] for number in used.tolist()]),
        "ends": ends[used],
    }


def _relinked(links: Rows, documents: Integers, created_us: Integers) -> tuple[int, int]:
    """Link the documents of one thread again, and return its last one and its last known date."""
    dated = created_us != UNKNOWN
    latest = np.maximum.accumulate(np.where(dated, np.arange(len(documents)), -1))
    known = np.where(latest >= 0, created_us[latest], UNKNOWN)
    far = np.abs(created_us[1:] - known[:-1]) > SITTING_GAP_US
    far &= dated[1:] & (known[:-1] != UNKNOWN)
    sitting = np.concatenate(([0], np.cumsum(far)))
    links[documents] = NONE
    for step in range(min(STEPS, len(documents) - 1)):
        before, after = documents[: -step - 1], documents[step + 1 :]
        same = sitting[: -step - 1] == sitting[step + 1 :]
        links[after[same], step] = before[same]
        links[before[same], STEPS + step] = after[same]
    return int(documents[-1]), int(known[-1])


# --- passages -------------------------------------------------------------------------------


def cut(
    parts: Mapping[str, NDArray[Any]],
    documents: Sequence[int],
    text_of: TextOf,
    links: Rows,
) -> ArrayBundle:
    """Return the parts of ``Passages.frozen`` in which *documents* have one empty passage each.

    Args:
        parts: The parts as they are.
        documents: Numbers of the documents, ascending.
        text_of: Their texts, and those of the others.
        links: The links of all documents, without those.
    """
    if "seen" in parts:
        return dict(parts)
    ends = parts["cut/ends"]
    counts = np.diff(ends, prepend=0)
    firsts = ends - counts
    emptied = [at for each in documents for at in range(int(firsts[each]), int(ends[each]))]
    spare = [at for each in documents for at in range(int(firsts[each]) + 1, int(ends[each]))]
    counts[list(documents)] = 1
    if (counts == 1).all():
        return {"seen": np.array([len(counts)])}

    def passage(number: int) -> str | None:
        document = int(np.searchsorted(ends, number, side="right"))
        text = text_of(document)
        return None if text is None else [*passages(text)][number - int(firsts[document])]

    found = lexicons.erased(within(parts, "lexicon"), emptied, passage, dropped=spare)
    new = np.cumsum(counts)
    return nested(
        lexicon=found, cut={"ends": new, "links": _passage_links(new, new - counts, links[:, 0])}
    )


def _passage_links(ends: Integers, firsts: Integers, earlier: Rows) -> Rows:
    """Return the links between passages.

    Args:
        ends: By document: the number of passages up to its last one.
        firsts: By document: its first passage.
        earlier: By document: the one before it in its sitting, or ``NONE``.
    """
    size = int(ends[-1])
    before = np.arange(-1, size - 1)
    before[firsts] = np.where(earlier == NONE, NONE, ends[earlier] - 1)
    after = np.full(size, NONE, dtype=np.int64)
    linked = np.flatnonzero(before != NONE)
    after[before[linked]] = linked
    links = np.full((size, 2 * STEPS), NONE, dtype=np.int32)
    for start, following in ((0, before), (STEPS, after)):
        at = np.arange(size)
        for step in range(STEPS):
            at = np.where(at == NONE, NONE, following[at])
            links[:, start + step] = at
    return links


# --- tags -----------------------------------------------------------------------------------


@frozen
class Tags(Value):
    """The tags of the blocks after an erasure."""

    column: NDArray[np.int32]
    """By row of the life table: the number of the set."""
    sets: list[tuple[str, ...]]


def tags(
    catalogue: Catalogue,
    blocks: Collection[int],
    *,
    policy_at: Callable[[int], Policy],
    reverted: Callable[[int], bool],
) -> Tags | None:
    """Return the tags of all blocks if some had been erased; None: they cannot be derived.

    The tags of an erased block are gone, and with them those that its successors inherited. What a
    revert restored, or an analyst added to tags that would have been others, is in the log alone.

    Args:
        catalogue: The blocks as they are.
        blocks: Numbers of the erased blocks.
        policy_at: Returns the policy in force at a version.
        reverted: Returns whether the event at a version is a revert.
    """
    life, known = catalogue.life, catalogue.tag_sets
    column = life.column("tags")[: life.count]
    history = _History(life, known)
    trails = history.of_successors(blocks)
    if not any(column[rows].any() for block, rows in trails.items() if block in blocks):
        return Tags(column, known)
    changed = _Retagged(history, trails, frozenset(blocks), policy_at, reverted).all()
    if changed is None:
        return None
    numbers, sets = {each: at for at, each in enumerate(known)}, list(known)
    column = column.copy()
    for row, found in changed.items():
        number = numbers.setdefault(found, len(sets))
        if number == len(sets):
            sets.append(found)
        column[row] = number
    used, column = in_first_use(column, len(sets), fixed=1)
    return Tags(column, [sets[number] for number in used.tolist()])


class _History:
    """The rows of the life table, by block."""

    def __init__(self, life: VersionedTable, sets: Sequence[tuple[str, ...]]) -> None:
        self.keys = life.keys(0)
        self.columns = {
            name: life.column(name) for name in ("status", "reason", "successor", "text", "tags")
        }
        self.since = life.since(0)
        self._sets = sets
        self._rows: dict[int, list[int]] = {}

    def rows(self, block: int) -> list[int]:
        """Return the rows of a block, in order."""
        if block not in self._rows:
            self._rows[block] = np.flatnonzero(self.keys == block).tolist()
        return self._rows[block]

    def value(self, name: str, row: int) -> int:
        """Return one value of a row."""
        return int(self.columns[name][row])

    def tags(self, row: int) -> tuple[str, ...]:
        """Return the tags of a row as they are."""
        return self._sets[self.value("tags", row)]

    def of_successors(self, blocks: Collection[int]) -> dict[int, list[int]]:
        """Return the rows of *blocks*, of those that succeeded them, and so on."""
        found: dict[int, list[int]] = {}
        waiting = sorted(blocks)
        while waiting:
            block = waiting.pop()
            if block not in found:
                found[block] = self.rows(block)
                successors = {self.value("successor", row) for row in found[block]}
                waiting += sorted(successors - {-1})
        return found

    def ceding(self, block: int) -> dict[int, int]:
        """Return the blocks that *block* superseded, by version."""
        found: dict[int, int] = {}
        is_ceding = (self.columns["successor"][: len(self.keys)] == block) & (
            self.columns["reason"][: len(self.keys)] == _SUPERSEDED
        )
        for row in np.flatnonzero(is_ceding).tolist():
            rows = self.rows(int(self.keys[row]))
            at = rows.index(row)
            if at and self.value("status", rows[at - 1]) != ARCHIVED:
                found[int(self.since[row])] = int(self.keys[row])
        return found


@frozen
class _Retagged(Value):
    """The derivation of new tags, row by row in the order of writing."""

    history: _History
    trails: Mapping[int, Sequence[int]]
    erased: Collection[int]
    policy_at: Callable[[int], Policy]
    reverted: Callable[[int], bool]

    def all(self) -> dict[int, tuple[str, ...]] | None:
        """Return the new tags of each row of the blocks in question; None: see ``tags``."""
        history, found = self.history, dict[int, tuple[str, ...]]()
        ceding = {block: history.ceding(block) for block in self.trails}
        last: dict[int, int] = {}
        order = sorted((row, block) for block, rows in self.trails.items() for row in rows)
        ends = {(block, int(history.since[row])): row for row, block in order}
        for row, block in order:
            version, before = int(history.since[row]), last.get(block)
            last[block] = row
            if self.reverted(version):
                return None
            ceded = ceding[block].get(version)
            if before is None or self._is_learning(row, before):
                found[row] = NO_TAGS if block in self.erased else history.tags(row)
            elif ceded is not None and ends[block, version] == row:
                old = self._tags_of(ceded, row, found)
                found[row] = inherited(found[before], old, self.policy_at(version))
            elif block in self.erased or history.tags(row) == history.tags(before):
                found[row] = found[before]
            elif found[before] == history.tags(before):
                found[row] = history.tags(row)
            else:
                return None
        return found

    def _is_learning(self, row: int, before: int) -> bool:
        history = self.history
        is_new = history.value("text", row) != history.value("text", before)
        return is_new and history.value("status", row) == INBOX

    def _tags_of(
        self, block: int, row: int, found: Mapping[int, tuple[str, ...]]
    ) -> tuple[str, ...]:
        """Return the new tags of a block when *row* of another one was written."""
        before = max(each for each in self.history.rows(block) if each < row)
        return found[before] if block in self.trails else self.history.tags(before)
