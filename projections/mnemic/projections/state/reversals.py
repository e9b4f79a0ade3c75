"""Reverts: restoring the rows that were current before a log range.

The event says which; their values are in the tables, since nothing is ever overwritten there. They
are restored in the order given in ``Reverted``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from mnemic.kernel.events import Pair, Recorded, Reverted
from mnemic.kernel.model.blocks import ARCHIVED
from mnemic.kernel.model.identity import BlockId
from mnemic.kernel.policy import Policy
from mnemic.projections.graph.graph import key
from mnemic.projections.state.state import State
from mnemic.projections.storage.columns import Rows, VersionedTable


def put_back(state: State, event: Reverted, at: Recorded) -> None:
    """Apply one revert."""
    then = event.first - 1
    if event.policy is not None:
        state.timeline.policies.put("policy", at.version, Policy.parse(event.policy))
    _untie(state, event, at.version)
    _blocks(state, event, at.version, then)
    _tie(state, event, at.version, then)
    for label in (*event.retracted, *event.recounted):
        state.ledger.turn(label, at.version)
    for each in event.withdrawn:
        number = state.catalogue.numbers[each.block_id]
        state.catalogue.score(number, at.version, -each.alpha, -each.beta)
        if each.retrievals:
            state.catalogue.retrieve(number, at.version, -each.retrievals)


def _untie(state: State, event: Reverted, version: int) -> None:
    graph = state.graph
    for ends in _ends(state, event.unlinked):
        graph.unlink(*ends, version)
    for ends in _ends(state, event.cancelled):
        graph.pending.drop(ends, version)
    for ends in _ends(state, event.unbarred):
        graph.barred.drop(ends, version)


def _blocks(state: State, event: Reverted, version: int, then: int) -> None:
    catalogue = state.catalogue
    _lives(state, _numbers(state, event.lives), version, then)
    for number in _numbers(state, event.forgotten):
        catalogue.archive(number, version, "forgotten")
    for table, ids in (
        (catalogue.strength, event.strength),
        (catalogue.evidence, event.evidence),
        (catalogue.uses, event.uses),
    ):
        numbers = _numbers(state, ids)
        _rows(table, numbers, version, table.rows_at(then, len(catalogue.ids)))
    for number in _numbers(state, event.evidence):
        catalogue.reviews.put_back(number, version, then)
    moved = _numbers(state, (*event.forgotten, *event.lives))
    gone = {number for number in moved if catalogue.life.value("status", number) == ARCHIVED}
    state.graph.isolate(gone, version)
    catalogue.queue_again()


def _lives(state: State, numbers: Sequence[int], version: int, then: int) -> None:
    """Restore the lives of blocks; one from before another embedder keeps the vector it has."""
    if not numbers:
        return
    catalogue, embedders = state.catalogue, state.timeline.embedders
    rows = catalogue.life.rows_at(then, len(catalogue.ids))
    same = embedders.at(then).get("embedder") == state.timeline.embedder
    for number in numbers:
        vector = catalogue.life.value("vector", number)
        catalogue.life.put(number, version, catalogue.life.row_values(int(rows[number])))
        if not same:
            catalogue.revector(number, version, vector)
        text = catalogue.life.value("text", number)
        summary = catalogue.summary(text, then)
        if summary != catalogue.summary(text, version):
            catalogue.summarise(text, version, summary)
        for staged in state.staged_vectors.values():
            staged.pop(number, None)


def _rows(table: VersionedTable, numbers: Iterable[int], version: int, rows: Rows) -> None:
    """Restore the rows that were current then; where there was none, all counts are 0."""
    for number in numbers:
        row = int(rows[number])
        now = table.values(number)
        table.put(number, version, (0,) * len(now) if row < 0 else table.row_values(row))


def _tie(state: State, event: Reverted, version: int, then: int) -> None:
    graph = state.graph
    if event.linked:
        rows = graph.rows.rows_at(then, len(graph.pairs))
        for ends in _ends(state, event.linked):
            graph.relink(ends, version, graph.rows.row_values(int(rows[graph.pairs[ends]])))
    if event.deferred:
        waited = graph.pending.at(then)
        for ends in _ends(state, event.deferred):
            graph.pending.put(ends, version, waited[ends])
    if event.barred:
        barred = graph.barred.at(then)
        for ends in _ends(state, event.barred):
            graph.barred.put(ends, version, barred[ends])


def _numbers(state: State, ids: Iterable[BlockId]) -> list[int]:
    return [state.catalogue.numbers[block] for block in ids]


def _ends(state: State, pairs: Iterable[Pair]) -> list[tuple[int, int]]:
    numbers = state.catalogue.numbers
    return [key(numbers[a], numbers[b]) for a, b in pairs]
