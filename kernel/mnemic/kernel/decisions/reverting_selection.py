"""Decision of revert_source: undo the changes of selected events, wherever they are in the log.

It is ``reverting`` with another idea of what changed, see ``LogSelection``, and these rules:

1. A block whose text a selected event learned is archived as forgotten, whatever was said of it
   since: what others made of it is no reason to keep it. A block that it superseded comes back.
2. Values that cannot be restored since other events changed them too are left, with an objection.
   Evidence and uses are sums, so what selected events added to them is subtracted.
3. Each event restores values to what they were at one version, so there is one per such version:
   removals first, then blocks, then edges, which need both of their ends.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, TypeVar

from attrs import evolve, frozen

from mnemic.kernel.decisions.connecting import remark_text
from mnemic.kernel.decisions.degree_cap import ends as ends_of
from mnemic.kernel.decisions.reverting import Plan, changes
from mnemic.kernel.events import Objection, Pair, Reverted
from mnemic.kernel.model.identity import BlockId
from mnemic.kernel.model.texts import Remark
from mnemic.kernel.reading import Ends, LogSelection, Reading

T = TypeVar("T")
RESTORED: Final = ("lives", "strength", "evidence", "uses", "linked", "deferred", "barred")
"""Fields of the event whose values are those of an earlier version."""


@frozen(kw_only=True)
class SelectionReverted:
    """The revert of a selection."""

    whole: Reverted
    """All that is reverted, in one event that is not written."""
    events: tuple[Reverted, ...]
    """The events to write; none if nothing changes."""


def decide_revert_selection(
    reading: Reading, selection: LogSelection, *, reason: str | None
) -> SelectionReverted:
    """Decide what to revert of selected events.

    Args:
        reading: The state before the command.
        selection: What the selected events changed.
        reason: The caller's reason.

    Raises:
        NoteTooLong, FieldRefused: The reason is too long, or not text.
    """
    words = remark_text("reason", reason, reading.policy)
    whole = Plan(reading, selection).event(None if words is None else Remark(text=words))
    stay = tuple(
        Objection(what="reviews", of=(reading.id(number),), why="touched", version=later)
        for number, later in sorted(selection.reviews.items())
    )
    whole = evolve(
        whole, withdrawn=selection.withdrawn, left=(*whole.left, *stay), selected=True
    )
    return SelectionReverted(whole=whole, events=tuple(_events(reading, whole, selection)))


def _events(reading: Reading, whole: Reverted, selection: LogSelection) -> Iterable[Reverted]:
    """Yield the revert as events, each of which restores values of one version."""
    number_of: dict[BlockId, int] = {}

    def number(block: BlockId) -> int:
        found = number_of.get(block)
        if found is None:
            named = reading.number(block)
            assert named is not None  # noqa: S101 - the plan names known blocks
            found = number_of[block] = named
        return found

    def ends(pair: Pair) -> Ends:
        return ends_of(number(pair[0]), number(pair[1]))

    def then(of: Mapping[Any, int], keys: Iterable[Any], named: Iterable[T]) -> list[tuple[int, T]]:
        return [(of[key], name) for key, name in zip(keys, named, strict=True)]

    blocks = {
        name: then(of, map(number, getattr(whole, name)), getattr(whole, name))
        for name, of in (
            ("lives", selection.life_then),
            ("strength", selection.strength_then),
            ("evidence", selection.evidence_then),
        )
    }
    ties = {
        name: then(of, map(ends, getattr(whole, name)), getattr(whole, name))
        for name, of in (
            ("linked", selection.edges_then),
            ("deferred", selection.pending_then),
            ("barred", selection.barred_then),
        )
    }
    removals = evolve(whole, **dict.fromkeys(RESTORED, ()))
    left = whole.left
    for event in (removals, *_by_version(whole, blocks), *_by_version(whole, ties)):
        if changes(event):
            yield evolve(event, left=left)
            left = ()


def _by_version(
    whole: Reverted, restored: Mapping[str, list[tuple[int, Any]]]
) -> Iterable[Reverted]:
    for version in sorted({version for each in restored.values() for version, _ in each}):
        yield Reverted(
            first=version + 1,
            last=max(whole.last, version + 1),
            reason=whole.reason,
            selected=True,
            **{
                name: tuple(named for at, named in each if at == version)
                for name, each in restored.items()
            },
        )
