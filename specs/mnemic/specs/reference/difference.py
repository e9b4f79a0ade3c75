"""The difference of two points of a log, computed from two whole states."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mnemic.kernel.model.identity import BlockId, label_id
from mnemic.kernel.numeric.arithmetic import nano
from mnemic.specs.reference.fold import PlainState
from mnemic.specs.reference.records import Pair, PlainBlock, PlainEdge

Edges = dict[Pair, PlainEdge]


def expected_difference(before: PlainState, after: PlainState) -> dict[str, list[Any]]:
    """Return the expected entries of each list of a difference, in order.

    Args:
        before: The state at the earlier point of a log.
        after: The state at the later point.
    """
    was, now = before.blocks, after.blocks

    def blocks(wanted: Callable[[PlainBlock | None, PlainBlock], bool]) -> list[BlockId]:
        return [block for block in after.order if wanted(was.get(block), now[block])]

    def again(then: PlainBlock | None, each: PlainBlock) -> bool:
        return then is not None and each.learned_version > before.version

    def became(status: str) -> Callable[[PlainBlock | None, PlainBlock], bool]:
        return lambda then, each: (
            each.base == status and (then is None or then.base != status or again(then, each))
        )

    archived = blocks(became("archived"))
    return {
        "learned": blocks(lambda then, _: then is None),
        "reactivated": blocks(again),
        "promoted": blocks(became("active")),
        "superseded": [block for block in archived if now[block].reason == "superseded"],
        "archived": [block for block in archived if now[block].reason != "superseded"],
        "rezoned": blocks(lambda then, each: then is not None and then.zone != each.zone),
        "quarantined": blocks(lambda then, each: each.quarantined and not _apart(then)),
        "released": blocks(lambda then, each: _apart(then) and not each.quarantined),
        "evidence": [
            block for block in after.order if _outcomes(before, block) != _outcomes(after, block)
        ],
        "edges_formed": sorted({*after.edges} - {*before.edges}),
        "edges_removed": sorted({*before.edges} - {*after.edges}),
        "edges_changed": sorted(
            ends
            for ends in {*before.edges} & {*after.edges}
            if before.edges[ends] != after.edges[ends]
        ),
        "compositions": [name for name in after.compositions if name not in before.compositions],
        "labels_set": _labels(after, without=before),
        "labels_retracted": _labels(before, without=after),
    }


def _apart(each: PlainBlock | None) -> bool:
    return each is not None and each.quarantined


def _outcomes(state: PlainState, block: BlockId) -> tuple[int, int]:
    if block not in state.blocks:
        return 0, 0
    prior, each = nano(state.policy.outcome_prior), state.blocks[block]
    return each.alpha - prior, each.beta - prior


def _labels(state: PlainState, *, without: PlainState) -> list[str]:
    """Return the labels that count in *state* and not in *without*, in the order of setting."""
    return [label_id(version) for version in sorted(_counting(state) - _counting(without))]


def _counting(state: PlainState) -> set[int]:
    return {
        version
        for each in state.compositions.values()
        for version, label in each.labels.items()
        if label.retracted is None
    }
