"""Checker that folds a log into the plain reference and verifies each event.

It reads stored bytes alone. Before it applies an event it computes, from the state before, what the
event should have been; afterwards it checks all invariants that must hold at every prefix.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import chain

import attrs

from mnemic.adapters.codec import Codec
from mnemic.adapters.system.entropy import SeededEntropy
from mnemic.kernel import events as happened
from mnemic.kernel.events import Link, Recorded
from mnemic.kernel.model.identity import BlockId, DecisionId, decision_id
from mnemic.kernel.numeric.arithmetic import NANO
from mnemic.kernel.ports import Log
from mnemic.specs.reference import decisions as expected
from mnemic.specs.reference.degree_cap import PlainRoom
from mnemic.specs.reference.fold import PlainState
from mnemic.specs.reference.records import Pair, pair
from mnemic.specs.reference.reverting import expected_revert
from mnemic.specs.reference.upkeep import expected_curate

EFFECTS = ("staged", "linked", "refreshed", "evicted")
"""Fields of the event of a recall that concern pairs."""


def read(log: Log, after: int = -1) -> list[Recorded]:
    """Return the events behind version *after*, decoded from their bytes."""
    codec = Codec(SeededEntropy("reader"))
    return [codec.decode(record, payloads) for record, payloads in log.read(after)]


class LogChecker:
    """Follows one log.

    Args:
        log: The log to follow.
        crowded: Whether others may write between the read of a recall and its record.
    """

    def __init__(self, log: Log, *, crowded: bool = False) -> None:
        self._log = log
        self._crowded = crowded
        self.plain = PlainState()
        self.seen: dict[DecisionId, frozenset[BlockId]] = {}
        """The blocks that each decision returned, by themselves or as the end of an edge."""
        self.known: dict[DecisionId, int] = {}
        """Number of blocks at each decision."""
        self.erased: dict[BlockId, int] = {}
        """The version that last erased a block, alone or with all others."""
        self._displacing_none: set[int] = set()
        """Versions that deferred a connection which could have displaced an edge: only those of an
        extraction, whose event is the last of a command."""

    def catch_up(self) -> None:
        """Check and apply the events written since."""
        for recorded in read(self._log, self.plain.version):
            self._take(recorded)
        assert not self._displacing_none

    def replays(self, decision: DecisionId) -> set[str]:
        """Return the possible outcomes of replaying a decision."""
        if self.plain.space_erased:  # and with it every question
            return {"sealed"}
        made = int(decision[1:])
        since = {block for block, version in self.erased.items() if version > made}
        if since & self.seen[decision]:
            return {"sealed"}
        if since & {*self.plain.order[: self.known[decision]]}:
            # Its text was not returned, but it may have been the context of one that was, or have
            # taken a place that nothing recorded.
            return {"sealed", "reproduced"}
        return {"reproduced"}

    # --- one event ------------------------------------------------------------------------------

    def _take(self, recorded: Recorded) -> None:
        plain, event = self.plain, recorded.event
        assert recorded.version == plain.version + 1
        assert recorded.active_us >= plain.active_us
        self._judge(recorded)
        if isinstance(event, happened.RecallRecorded):
            assert event.read_version == plain.version or self._crowded
            assert event.read_version <= plain.version
            decision = decision_id(recorded.version)
            rows = event.answer.rows
            numbers = {*(row.block for row in rows), *(row.via for row in rows)} - {-1}
            self.seen[decision] = frozenset(plain.order[number] for number in numbers)
            self.known[decision] = len(plain.order)
        if isinstance(event, happened.BlockErased):
            self.erased[event.block_id] = recorded.version
        if isinstance(event, happened.SpaceErased):
            self.erased.update(dict.fromkeys(plain.order, recorded.version))
        before, stood = Counter(chain.from_iterable(plain.edges)), set(plain.edges)
        plain.apply(recorded)
        assert plain.clock.active_us == recorded.active_us
        self._check_edges(stood, before)

    def _judge(self, recorded: Recorded) -> None:  # noqa: C901, PLR0912 - a case per kind
        """Compare a decision with that of the reference on the state before it."""
        plain, now_us = self.plain, recorded.active_us
        match recorded.event:
            case happened.BlocksPromoted() as event:
                assert event == expected.expected_chunk(plain, recorded)
            case happened.BlocksRelinked(links=links):
                self._judge_relink(links, now_us)
            case happened.BlockSuperseded(supersession=said):
                new = plain.blocks[said.new]
                assert said == expected.expected_supersession(
                    plain,
                    said.old,
                    said.new,
                    tags=new.tags,
                    category=new.category,
                    zone=new.zone,
                )
            case happened.EdgeConnected(action="created") as event:
                room = PlainRoom(plain, now_us)
                displaced = room.admit(event.source, event.target, event.relation)
                assert list(event.displaced) == displaced
            case happened.EdgeDeferred() as event:
                room = PlainRoom(plain, now_us)
                displaced = room.admit(event.source, event.target, event.relation)
                assert displaced is None or displaced  # no place was free
                if displaced:
                    self._displacing_none.add(recorded.version)
            case happened.FactsExtracted(preceding=preceding):
                version = recorded.version
                self._displacing_none.difference_update(range(version - preceding, version))
            case happened.RecallRecorded() as event:
                returned = [plain.order[row.block] for row in event.answer.rows]
                staging = expected.expected_staging(plain, returned, recorded.session_id, now_us)
                assert {name: getattr(event, name) for name in EFFECTS} == attrs.asdict(
                    staging, recurse=False
                )
            case happened.OutcomeRecorded() as event:
                self._judge_outcome(event, now_us)
            case happened.Curated() as event:
                assert event == expected_curate(plain, now_us, recorded.recorded_us)
            case happened.BlocksQuarantined(block_ids=ids, released=released):
                changed = {each for each in ids if plain.blocks[each].quarantined is released}
                assert list(ids) == sorted(changed) != []
            case happened.Reverted(first=first, last=last, reason=reason, selected=False) as event:
                assert event == attrs.evolve(expected_revert(plain, first, last), reason=reason)
            case _:
                pass

    def _judge_relink(self, links: tuple[Link, ...], now_us: int) -> None:
        """Compare the edges of a relink of a single chunk."""
        plain = self.plain
        few = [
            block
            for block in plain.with_status("active")
            if len(plain.edges_of(block)) < plain.policy.edge_candidates
        ]
        if len(few) <= plain.policy.consolidate_chunk:
            assert links == expected.expected_relink(plain, now_us)

    def _judge_outcome(self, event: happened.OutcomeRecorded, now_us: int) -> None:
        found = expected.expected_outcome(
            self.plain,
            chain(event.block_ids, (refused.block_id for refused in event.refused)),
            signal=event.signal,
            weight=event.weight,
            now_us=now_us,
        )
        assert found is not None
        composed = event.composition_id
        assert event == attrs.evolve(
            found, source=event.source, decision_id=event.decision_id, composition_id=composed
        )
        if composed is not None:
            members = {
                member.block_id for member in self.plain.compositions[composed].event.members
            }
            assert members == {*event.block_ids, *(each.block_id for each in event.refused)}

    # --- what holds at every prefix -------------------------------------------------------------

    def _check_edges(self, stood: set[Pair], degrees: Mapping[BlockId, int]) -> None:
        plain = self.plain
        now = Counter(chain.from_iterable(plain.edges))
        archived = set(plain.with_status("archived"))
        for kept in (plain.edges, plain.pending, plain.staged):
            assert archived.isdisjoint(chain.from_iterable(kept))
        assert all(0 <= edge.weight <= NANO for edge in plain.edges.values())
        assert all(pair(edge.source, edge.target) == ends for ends, edge in plain.edges.items())
        for end in _ends(set(plain.edges) - stood):
            # A cap that was lowered removes nothing, so a block may have been over it before.
            most = max(plain.policy.degree_cap, degrees.get(end, 0))
            assert now[end] <= most


def _ends(pairs: Iterable[Pair]) -> set[BlockId]:
    return set(chain.from_iterable(pairs))
