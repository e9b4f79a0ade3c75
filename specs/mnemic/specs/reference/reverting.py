"""The expected result of a revert, computed by examining every version of the log."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import attrs

from mnemic.kernel.events import Objection, PolicyAdopted, RecallRecorded, Reverted
from mnemic.kernel.model.identity import BlockId, label_id
from mnemic.kernel.numeric.arithmetic import nano
from mnemic.specs.reference.fold import PlainState, fold
from mnemic.specs.reference.records import LIFE, STRENGTH, Pair, PlainBlock, PlainEdge, pair

Seen = dict[str, dict[Any, Any]]
"""Values by kind of fact and key."""
Reason = tuple[str, int | None]

CLASSES = ("similar", "co_occurs")
MEANT = ("agent", "outcome")


def expected_revert(state: PlainState, first: int, last: int) -> Reverted:
    """Return the expected event of a revert, without the caller's reason.

    Args:
        state: The state before the revert.
        first: First version of the range.
        last: Last version of the range.
    """
    return _Taking(state, first, last).event()


class _Taking:
    """One revert: the values at each version, and the resulting changes."""

    def __init__(self, state: PlainState, first: int, last: int) -> None:
        self.state, self.first, self.last = state, first, last
        self.then = fold(state.log[:first])
        self.end = fold(state.log[: last + 1])
        self.seen = _films(state, first)
        self.left: list[Objection] = []
        self.policy = state.policy
        self.undone_policy = False
        for later in self.changed("policy").values():
            if not self.seen[0]["policy"]:
                continue  # a log has a policy from its start
            if later is None:
                self.policy, self.undone_policy = self.then.policy, True
            else:
                self.object("policy", (state.policy.id,), ("touched", later))

    def changed(self, kind: str) -> dict[Any, int | None]:
        """Return what the range changed and is not undone, with the version of later changes."""
        films = [seen[kind] for seen in self.seen]
        before, end, now = films[0], films[self.last - self.first + 1], films[-1]
        found: dict[Any, int | None] = {}
        for key in {*before, *end, *now}:
            if before.get(key) == end.get(key) or before.get(key) == now.get(key):
                continue
            found[key] = next(
                (
                    version
                    for version in range(self.last + 1, self.state.version + 1)
                    if self.at(kind, key, version) != self.at(kind, key, version - 1)
                ),
                None,
            )
        return dict(sorted(found.items()))

    def at(self, kind: str, key: Any, version: int) -> Any:
        return self.seen[version - self.first + 1][kind].get(key)

    def object(self, what: str, of: tuple[str, ...], why: Reason) -> None:
        self.left.append(Objection(what=what, of=of, why=why[0], version=why[1]))

    # --- blocks -------------------------------------------------------------------------------

    def event(self) -> Reverted:
        lives, forgotten, stays = self.blocks()
        strength, evidence, uses = (
            self.counted(kind, stays) for kind in ("strength", "evidence", "uses")
        )
        status = {block: each.status for block, each in self.state.blocks.items()}
        status.update({block: self.then.blocks[block].status for block in lives})
        status.update(dict.fromkeys(forgotten, "archived"))
        unlinked, linked = self.edges(stays, status)
        edges = {
            ends
            for ends in ({*self.state.edges} - {*unlinked}) | {*linked}
            if all(status[end] != "archived" for end in ends)
        }
        cancelled, deferred = self.pending(status, edges)
        unbarred, barred = self.bars(edges)
        retracted, recounted = self.labels()
        return Reverted(
            first=self.first,
            last=self.last,
            policy_id=self.policy.id if self.undone_policy else None,
            policy=self.policy.body if self.undone_policy else None,
            unlinked=unlinked,
            cancelled=cancelled,
            unbarred=unbarred,
            forgotten=forgotten,
            lives=lives,
            strength=strength,
            evidence=evidence,
            uses=uses,
            linked=linked,
            deferred=deferred,
            barred=barred,
            retracted=retracted,
            recounted=recounted,
            left=tuple(self.left),
        )

    def blocks(self) -> tuple[tuple[BlockId, ...], tuple[BlockId, ...], dict[BlockId, Reason]]:
        """Return the blocks to restore, the blocks to forget, and those left with the reason."""
        stays: dict[BlockId, Reason] = {}
        lives, forgotten = [], []
        changed = self.changed("life")
        for block, later in changed.items():
            before, now = self.then.blocks.get(block), self.state.blocks[block]
            touched = [] if later is None else [later]
            away = before is None or before.content is None
            if away or (before is not None and before.status != "active"):
                touched += self.spoken(block)
            why: Reason | None = ("touched", min(touched)) if touched else None
            if not away:
                lives.append(block)
                if why is None and not self.has_vector(block):
                    why = "no-vector", None
            elif now.status != "archived":
                forgotten.append(block)
            elif self.is_heir(block) and later is not None and now.reason == "superseded":
                why = "touched", later  # it was merged into its successor
            else:
                erased = before is not None and before.status != "archived"
                why = ("erased", None) if erased else None
            if why is not None:
                stays[block] = why
        self.spread(stays, changed)
        for block in sorted(stays):
            self.object("life", (block,), stays[block])
        return (
            tuple(block for block in lives if block not in stays),
            tuple(block for block in forgotten if block not in stays),
            stays,
        )

    def is_heir(self, block: BlockId) -> bool:
        """Whether a block was a successor at the end of the range, and not before it."""
        return any(
            (end.status, end.reason, end.successor) == ("archived", "superseded", block)
            for end in map(self.end.blocks.get, self.changed("life"))
            if end is not None
        )

    def has_vector(self, block: BlockId) -> bool:
        before, now = self.then.blocks[block], self.state.blocks[block]
        if before.status != "active" or self.then.embedder == self.state.embedder:
            return True
        return now.status == "active" and now.learned_version == before.learned_version

    def spoken(self, block: BlockId) -> list[int]:
        """Return the later versions that refer to a block explicitly."""
        found = self.steps("evidence", block)
        for kind, existing in (("edge", self.state.edges), ("pending", self.state.pending)):
            for ends, each in existing.items():
                meant = not isinstance(each, PlainEdge) or each.origin in MEANT
                if block in ends and meant:
                    found += self.steps(kind, ends)[-1:]
        return found

    def steps(self, kind: str, key: Any) -> list[int]:
        """Return the later versions that changed a value; use by a recall is not a change."""
        return [
            version
            for version in range(self.last + 1, self.state.version + 1)
            if not isinstance(self.state.log[version].event, RecallRecorded)
            and self.at(kind, key, version) != self.at(kind, key, version - 1)
        ]

    def spread(self, stays: dict[BlockId, Reason], among: Mapping[BlockId, Any]) -> None:
        """Leave both sides of a supersession if one has to be left, for the earliest reason."""
        twos = [
            (block, self.end.blocks[block].successor or block)
            for block in self.changed("life")
            if block in self.end.blocks
            and self.end.blocks[block].status == "archived"
            and self.end.blocks[block].reason == "superseded"
        ]
        causes = dict(stays)
        for block in among:
            if block not in stays:
                kin = {block}
                while more := {each for two in twos for each in two if kin & {*two}} - kin:
                    kin |= more
                why = [causes[each] for each in kin if each in causes]
                if why:
                    stays[block] = min(why, key=lambda each: (each[1] or -1, each[0]))

    def counted(self, kind: str, stays: Mapping[BlockId, Reason]) -> tuple[BlockId, ...]:
        changed = self.changed(kind)
        left: dict[BlockId, Reason] = {}
        for block, later in changed.items():
            if block in stays:
                left[block] = stays[block]
            elif later is not None:
                left[block] = "touched", later
        if kind != "strength":
            self.spread(left, changed)
        for block in sorted(left):
            self.object(kind, (block,), left[block])
        return tuple(block for block in changed if block not in left)

    # --- pairs --------------------------------------------------------------------------------

    def edges(
        self, stays: Mapping[BlockId, Reason], status: Mapping[BlockId, str]
    ) -> tuple[tuple[Pair, ...], tuple[Pair, ...]]:
        """Return the edges to remove, and those to restore."""
        then, now = self.then.edges, self.state.edges
        going: list[Pair] = []
        coming: list[Pair] = []
        wishes: list[Pair] = []
        for ends, later in self.changed("edge").items():
            away = any(status[end] == "archived" for end in ends)
            if later is not None and ends not in then and away:
                continue  # it is removed with its block, even if it was used
            if later is not None:
                self.object("edge", ends, ("touched", later))
            elif ends not in then:
                going.append(ends)
            elif away:
                self.object("edge", ends, ("archived", None))
            else:
                (coming if ends in now else wishes).append(ends)
        self.keep_what_moved(going, stays)
        stand = {
            ends
            for ends in now
            if ends not in going and all(status[end] != "archived" for end in ends)
        }
        for ends in sorted(wishes, key=lambda ends: (*_rank(then[ends]), ends)):
            degrees = [sum(end in each for each in stand) for end in ends]
            if max(degrees) >= self.policy.degree_cap:
                self.object("edge", ends, ("no-room", None))
            else:
                stand.add(ends)
                coming.append(ends)
        return tuple(going), tuple(sorted(coming))

    def keep_what_moved(self, going: list[Pair], stays: Mapping[BlockId, Reason]) -> None:
        """Remove from *going* the edges a successor took over from a block that stays archived."""
        for block in self.changed("life"):
            end = self.end.blocks.get(block)
            if end is None or (end.status, end.reason) != ("archived", "superseded"):
                continue
            for ends in self.then.edges_of(block) if block in stays else ():
                (other,) = {*ends} - {block}
                moved = pair(end.successor or block, other)
                if moved in going:
                    going.remove(moved)
                    self.object("edge", moved, stays[block])

    def pending(
        self, status: Mapping[BlockId, str], edges: set[Pair]
    ) -> tuple[tuple[Pair, ...], tuple[Pair, ...]]:
        going: list[Pair] = []
        coming: list[Pair] = []
        for ends, later in sorted({**self.changed("pending"), **self.admitted()}.items()):
            if later is not None:
                self.object("pending", ends, ("touched", later))
            elif ends not in self.then.pending:
                going.append(ends)
            elif any(status[end] == "archived" for end in ends):
                self.object("pending", ends, ("archived", None))
            elif ends in edges and ends not in self.state.pending:
                self.object("pending", ends, ("linked", None))
            else:
                coming.append(ends)
        return tuple(going), tuple(ends for ends in self.then.pending if ends in coming)

    def admitted(self) -> dict[Pair, int | None]:
        """Return what was pending only at the end of the range, and when it became an edge."""
        return {
            ends: next(
                version
                for version in range(self.last + 1, self.state.version + 1)
                if self.at("pending", ends, version) != self.at("pending", ends, version - 1)
            )
            for ends in self.end.pending
            if ends not in self.then.pending
            and ends not in self.state.pending
            and ends in self.state.edges
        }

    def bars(self, edges: set[Pair]) -> tuple[tuple[Pair, ...], tuple[Pair, ...]]:
        going: list[Pair] = []
        coming: list[Pair] = []
        for ends, later in self.changed("barred").items():
            if later is not None:
                self.object("barred", ends, ("touched", later))
            elif ends not in self.then.barred:
                going.append(ends)
            elif ends in edges:
                self.object("barred", ends, ("linked", None))
            else:
                coming.append(ends)
        return tuple(going), tuple(coming)

    def labels(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        going: list[int] = []
        coming: list[int] = []
        for version, later in self.changed("label").items():
            if later is not None:
                self.object("label", (label_id(version),), ("touched", later))
            else:
                counted = self.seen[0]["label"].get(version)
                (coming if counted else going).append(version)
        return tuple(going), tuple(coming)


def _films(state: PlainState, first: int) -> list[Seen]:
    """Return the values at every version, from the one before *first*."""
    film = fold(state.log[:first])
    films = [_seen(film)]
    for recorded in state.log[first:]:
        film.apply(recorded)
        films.append(_seen(film))
    return films


def _seen(state: PlainState) -> Seen:
    prior = nano(state.policy.outcome_prior)
    adopted = any(isinstance(each.event, PolicyAdopted) for each in state.log)
    return {
        "life": {block: _fields(each, LIFE) for block, each in state.blocks.items()},
        "strength": _counts({name: _fields(each, STRENGTH) for name, each in state.blocks.items()}),
        "evidence": _counts(
            {
                name: (each.alpha - prior, each.beta - prior, *each.reviews)
                for name, each in state.blocks.items()
            }
        ),
        "uses": _counts({name: (each.retrievals,) for name, each in state.blocks.items()}),
        "edge": {ends: attrs.astuple(each) for ends, each in state.edges.items()},
        "pending": {ends: attrs.astuple(each) for ends, each in state.pending.items()},
        "barred": dict.fromkeys(state.barred, True),
        "label": {
            version: True
            for each in state.compositions.values()
            for version, label in each.labels.items()
            if label.retracted is None
        },
        "policy": {"policy": state.policy.id} if adopted else {},
    }


def _fields(block: PlainBlock, names: Iterable[str]) -> tuple[Any, ...]:
    return tuple(getattr(block, name) for name in names if name != "summary")


def _counts(counted: dict[BlockId, tuple[Any, ...]]) -> dict[BlockId, tuple[Any, ...]]:
    """Return *counted* without blocks whose counts are all zero."""
    return {block: each for block, each in counted.items() if any(each)}


def _rank(edge: PlainEdge) -> tuple[int, int]:
    """Return the priority of an edge under the cap: higher class first, then heavier."""
    worth = CLASSES.index(edge.relation) if edge.relation in CLASSES else len(CLASSES)
    return -worth, -edge.weight
