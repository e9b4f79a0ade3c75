"""Decision of revert_source: undo the changes of selected events, wherever they are in the log.

It is ``reverting`` with another idea of what changed, see ``LogSelection``, and these rules:

1. A block whose text a selected event learned is archived as forgotten, even if it was scored
   since: what others made of it is no reason to keep it. A block that it superseded comes back.
2. Values that cannot be restored since other events changed them too are left, with an objection.
   Evidence and uses are sums, so what selected events added to them is subtracted.
3. Each event restores values to what they were at one version, so there is one per such version:
   removals first, then blocks, then edges, which need both of their ends.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final, TypeVar

from attrs import evolve

from mnemic.kernel.decision import Decision
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


def decide_revert_selection(
    reading: Reading, selection: LogSelection, *, reason: str | None
) -> Decision[Reverted]:
    """Decide what to revert of selected events.

    Args:
        reading: The state before the command.
        selection: What the selected events changed.
        reason: The caller's reason.
    Returns:
        As the result: all that is reverted, in one event that is not written.

    Raises:
        NoteTooLong, FieldRefused: The reason is too long, or not text.
    """
    words = remark_text("reason", reason, reading.policy)
    whole = Plan(reading, selection).event(None if words is None else Remark(text=words))
    stay = tuple(
        Objection(what="reviews", of=(reading.id(number),), why="touched", version=later)
        for number, later in sorted(selection.reviews.items())
    )
    whole = evolve(whole, withdrawn=selection.withdrawn, left=(*whole.left, *stay), selected=True)
    return Decision(tuple(_events(reading, whole, selection)), whole)


def _events(reading: Reading, whole: Reverted, selection: LogSelection) -> Iterator[Reverted]:
    """Yield the revert as events, each of which restores values of one version."""

    def ends(pair: Pair) -> Ends:
        return ends_of(_number(reading, pair[0]), _number(reading, pair[1]))

    def block(of: BlockId) -> int:
        return _number(reading, of)

    blocks = {
        "lives": _by_version(whole.lives, block, selection.life_then),
        "strength": _by_version(whole.strength, block, selection.strength_then),
        "evidence": _by_version(whole.evidence, block, selection.evidence_then),
    }
    ties = {
        "linked": _by_version(whole.linked, ends, selection.edges_then),
        "deferred": _by_version(whole.deferred, ends, selection.pending_then),
        "barred": _by_version(whole.barred, ends, selection.barred_then),
    }
    nothing: dict[str, Any] = dict.fromkeys(RESTORED, ())
    left = whole.left
    for event in (evolve(whole, **nothing), *_restoring(whole, blocks), *_restoring(whole, ties)):
        if changes(event):
            yield evolve(event, left=left)
            left = ()


def _number(reading: Reading, block: BlockId) -> int:
    number = reading.number(block)
    assert number is not None  # noqa: S101 - the plan names known blocks
    return number


def _by_version(
    named: Iterable[T], key: Callable[[T], Any], then: Mapping[Any, int]
) -> dict[int, tuple[T, ...]]:
    """Return what is restored by the version that has the value, in the given order."""
    found: dict[int, tuple[T, ...]] = {}
    for each in named:
        version = then[key(each)]
        found[version] = (*found.get(version, ()), each)
    return found


def _restoring(
    whole: Reverted, restored: Mapping[str, Mapping[int, tuple[Any, ...]]]
) -> Iterator[Reverted]:
    for version in sorted({version for each in restored.values() for version in each}):
        fields: dict[str, Any] = {name: each.get(version, ()) for name, each in restored.items()}
        yield Reverted(
            first=version + 1,
            last=max(whole.last, version + 1),
            reason=whole.reason,
            selected=True,
            **fields,
        )
