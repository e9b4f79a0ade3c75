"""Relevance judgments: gains of the blocks of a decision, derived from later events.

Rules of this module:

1. Nothing up to the decision itself counts, and nothing beyond the horizon.
2. Events that name the decision take precedence: they judge these blocks as an answer to this
   question. Other events about a block count only if no event judges it in this way.
3. Events that name another decision are about another question, and are ignored.
4. Reverted events do not count: a label after its retraction, an outcome after a revert.

Source: DOMAIN section 9; specs/backtests.toml, rule "gain".
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Collection, Iterable
from operator import itemgetter
from typing import Final, TypeAlias

from attrs import frozen

from mnemic.kernel.events import CompositionLabelled, OutcomeRecorded, Recorded, Reverted
from mnemic.kernel.model.identity import BlockId, decision_version
from mnemic.kernel.numeric.arithmetic import NANO, share
from mnemic.kernel.values import Value
from mnemic.projections.frontier.outcomes import CLOSED, DUPLICATE, SUCCESS
from mnemic.projections.view import View

FAILURE: Final = CLOSED | DUPLICATE
"""Labels that count against a composition and its members."""


Said: TypeAlias = tuple[int, int, tuple[int, ...], int, int]
"""Version, active time, blocks, signal times weight, and weight of a piece of evidence. Plain
tuples, which the garbage collector does not track: a backtest may hold a hundred thousand."""


@frozen(kw_only=True)
class Evidence(Value):
    """How something went, according to one event."""

    version: int
    active_us: int
    blocks: tuple[int, ...]
    """Numbers, each once."""
    signal: int
    """Nano-units, [0, 1]."""
    weight: int = NANO
    decision: int | None = None
    """Version of the decision that it names."""


class TakenBack:
    """Outcomes that were reverted, by block.

    Args:
        reverts: All reverts of a log after the first outcome that is queried, in order.
    """

    def __init__(self, reverts: Iterable[Recorded]) -> None:
        self._of_block: defaultdict[BlockId, list[tuple[int, int]]] = defaultdict(list)
        self._withdrawn: set[tuple[BlockId, int]] = set()
        for recorded in reverts:
            if isinstance(recorded.event, Reverted):
                for each in recorded.event.withdrawn:
                    self._withdrawn.update((each.block_id, version) for version in each.outcomes)
                for block in recorded.event.evidence:
                    self._of_block[block].append((recorded.version, recorded.event.first))

    def holds(self, block: BlockId, version: int) -> bool:
        """Whether an outcome for a block at *version* no longer counts at the end of the log.

        Read backwards, a revert restores the state before its log range: nothing between the two
        counts, neither an outcome nor an earlier revert.
        """
        if (block, version) in self._withdrawn:
            return True
        behind: int | None = None
        for at, first in reversed(self._of_block.get(block, ())):
            if at > version and (behind is None or at < behind):
                behind = first
        return behind is not None and version >= behind


def evidence(view: View, recorded: Recorded, taken_back: TakenBack) -> Evidence | None:
    """Return the evidence of an event about blocks, as *view* reads it; None if it has none.

    Args:
        view: At the end of the log: it knows the members of compositions and which labels count.
        recorded: Any event.
        taken_back: Outcomes that do not count.
    """
    event = recorded.event
    if isinstance(event, OutcomeRecorded):
        meant = (b for b in event.block_ids if not taken_back.holds(b, recorded.version))
        numbers = map(view.number, meant)
        named = None if event.decision_id is None else decision_version(event.decision_id)
        return Evidence(
            version=recorded.version,
            active_us=recorded.active_us,
            blocks=tuple(number for number in numbers if number is not None),
            signal=event.signal,
            weight=event.weight,
            decision=named,
        )
    if isinstance(event, CompositionLabelled) and event.label in SUCCESS | FAILURE:
        composed = view.composition(event.composition_id)
        if composed is None or not _counts(view, recorded.version):
            return None
        return Evidence(
            version=recorded.version,
            active_us=recorded.active_us,
            blocks=tuple(dict.fromkeys(composed.members)),
            signal=NANO if event.label in SUCCESS else 0,
        )
    return None


def _counts(view: View, label: int) -> bool:
    found = view.state.ledger.label_at(label, view.point.version)
    return found is not None and found.counts_at(view.point.version)


class RelevanceJudgments:
    """Evidence indexed for queries about any decision.

    Args:
        found: In the order of the log.
        horizon_us: How long after a decision evidence counts for it, active microseconds.
    """

    def __init__(self, found: Iterable[Evidence], *, horizon_us: int) -> None:
        self._horizon_us = horizon_us
        self._of_decision: defaultdict[int, list[Said]] = defaultdict(list)
        self._of_block: defaultdict[int, list[Said]] = defaultdict(list)
        for each in found:
            part = each.signal * each.weight
            said = (each.version, each.active_us, each.blocks, part, each.weight)
            if each.decision is not None:
                self._of_decision[each.decision].append(said)
                continue
            for block in each.blocks:
                self._of_block[block].append(said)

    def gains(self, version: int, active_us: int, blocks: Collection[int]) -> dict[int, int]:
        """Return the gain of each of *blocks* for a decision; unjudged blocks are left out.

        Args:
            version: Of the decision's event.
            active_us: Its active time.
            blocks: Numbers.

        Returns:
            By number, nano-units in [0, 1]: the weighted mean of all signals.
        """
        until_us = active_us + self._horizon_us
        named = _between(self._of_decision.get(version, []), version, until_us)
        gains = {}
        for block in blocks:
            said = [each for each in named if block in each[2]]
            gain = _mean(said or _between(self._of_block.get(block, []), version, until_us))
            if gain is not None:
                gains[block] = gain
        return gains


def _between(found: list[Said], version: int, until_us: int) -> list[Said]:
    """Return the evidence after *version*, up to *until_us*."""
    first = bisect_right(found, version, key=itemgetter(0))
    last = bisect_right(found, until_us, lo=first, key=itemgetter(1))
    return found[first:last]


def _mean(said: Iterable[Said]) -> int | None:
    weighed = [(part, weight) for _, _, _, part, weight in said]
    whole = sum(weight for _, weight in weighed)
    return share(sum(part for part, _ in weighed), whole * NANO) if whole else None
