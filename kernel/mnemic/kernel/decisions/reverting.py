"""Decision of revert: one event that undoes the changes of a range of versions.

Rules of this module (DOMAIN section 9):

1. A value is restored to what it was before the range if no later event changed it; otherwise it is
   left, with an objection that names the version that did.
2. A block that was learned in the range is archived as forgotten. It stays if a later event refers
   to it explicitly: an outcome, or a deliberate connection. Being found, returned or linked by
   similarity, or the use of one of its edges, does not count. The same holds for a block that would
   return to the inbox or archive.
3. If a block is left, so are its strength, evidence and uses.
4. A supersession is undone on both sides or on neither, so that no evidence counts twice and no
   edge that moved is lost; on neither if the successor has been superseded in the meantime.
5. An edge is restored if both ends are not archived and below the degree cap; it displaces nothing.
6. Erased texts are never restored.
7. Sessions, decisions, compositions, adoptions of an embedder and erasures are history and stay.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final

from mnemic.kernel.decision import Decision
from mnemic.kernel.decisions.connecting import remark_text
from mnemic.kernel.decisions.degree_cap import class_of
from mnemic.kernel.decisions.degree_cap import ends as ends_of
from mnemic.kernel.errors import FieldRefused, PointOutOfRange
from mnemic.kernel.events import (
    BlockErased,
    BlocksComposed,
    EmbedderAdopted,
    Objection,
    Pair,
    RecallRecorded,
    Reverted,
    SessionEnded,
    SessionStarted,
    VectorsStaged,
)
from mnemic.kernel.model.blocks import ACTIVE, ARCHIVED
from mnemic.kernel.model.edges import EdgeFacts
from mnemic.kernel.model.identity import BlockId, label_id
from mnemic.kernel.model.identity import pair as pair_of_ids
from mnemic.kernel.model.texts import Erased, Remark
from mnemic.kernel.policy import Policy
from mnemic.kernel.reading import Ends, Later, LogRange, Reading

Why = tuple[str, Later]
"""Reason why something is left unchanged, and the version that caused it."""

HISTORY: Final[tuple[type, ...]] = (
    BlockErased,
    BlocksComposed,
    EmbedderAdopted,
    RecallRecorded,
    SessionEnded,
    SessionStarted,
    VectorsStaged,
)
"""The events of rule 7, which a revert does not undo."""


def decide_revert(
    reading: Reading, first: int, last: int, *, reason: str | None
) -> Decision[Reverted]:
    """Decide what to revert of a range.

    Args:
        reading: The state before the command.
        first: The first version to revert.
        last: The last version to revert.
        reason: The caller's reason.

    Returns:
        As the result: the event, which is not written if it changes nothing.

    Raises:
        FieldRefused: The versions are not whole numbers, or in the wrong order.
        PointOutOfRange: The range is not within the log, or includes its first event.
        NoteTooLong: The reason is too long.

    Source: DOMAIN section 9.
    """
    _check(first, last, reading.version)
    words = remark_text("reason", reason, reading.policy)
    remark = None if words is None else Remark(text=words)
    event = Plan(reading, reading.stretch(first, last)).event(remark)
    return Decision((event,) if changes(event) else (), event)


def changes(event: Reverted) -> bool:
    """Whether a revert changes anything."""
    lists = (
        event.unlinked,
        event.cancelled,
        event.unbarred,
        event.forgotten,
        event.lives,
        event.strength,
        event.evidence,
        event.uses,
        event.linked,
        event.deferred,
        event.barred,
        event.retracted,
        event.recounted,
        event.withdrawn,
    )
    return event.policy is not None or any(lists)


def _check(first: object, last: object, head: int) -> None:
    for name, version in (("from_version", first), ("to_version", last)):
        if type(version) is not int:
            raise FieldRefused(f"{name} must be a whole number, got {version!r}", field=name)
        if not 1 <= version <= head:
            raise PointOutOfRange(
                f"{name} must be from 1 to {head}, got {version}",
                point="version",
                asked=version,
                head=head,
            )
    if first > last:  # type: ignore[operator]
        raise FieldRefused(
            f"from_version {first} is after to_version {last}",
            recovery="Name the earlier version first.",
            field="from_version",
        )


class Plan:
    """What is removed, restored and left, computed in the order of the event's fields."""

    def __init__(self, reading: Reading, stretch: LogRange) -> None:
        self._reading, self._stretch, self._before = reading, stretch, stretch.before
        self._left: list[Objection] = []
        self._chains = _joined(stretch.successions)
        self._policy = self._earlier_policy()
        self._stays: dict[int, Why] = {}
        """Blocks that are left unchanged."""
        self._forgotten, self._lives = self._blocks()
        gone = [number for number in self._lives if self._before.status(number) == ARCHIVED]
        self._gone = {*self._forgotten, *gone}
        self._counted = {
            "strength": self._putting_back("strength", stretch.strength),
            "evidence": self._putting_back("evidence", stretch.evidence),
            "uses": self._putting_back("uses", stretch.uses),
        }
        self._unlinked: set[Ends] = set()
        self._linked: set[Ends] = set()
        self._edges()
        self._cancelled: set[Ends] = set()
        self._deferred: set[Ends] = set()
        self._pending()
        self._unbarred: set[Ends] = set()
        self._barred: set[Ends] = set()
        self._bars()

    def event(self, reason: Remark | None) -> Reverted:
        policy = self._policy
        waiting = [ends_of(each.source, each.target) for each in self._before.pending()]
        retracted, recounted = self._labels()
        return Reverted(
            first=self._stretch.first,
            last=self._stretch.last,
            reason=reason,
            policy_id=None if policy is None else policy.id,
            policy=None if policy is None else policy.body,
            unlinked=self._pairs(self._unlinked),
            cancelled=self._pairs(self._cancelled),
            unbarred=self._pairs(self._unbarred),
            forgotten=self._ids(self._forgotten),
            lives=self._ids(self._lives),
            strength=self._ids(self._counted["strength"]),
            evidence=self._ids(self._counted["evidence"]),
            uses=self._ids(self._counted["uses"]),
            linked=self._pairs(self._linked),
            deferred=tuple(self._pair(ends) for ends in waiting if ends in self._deferred),
            barred=self._pairs(self._barred),
            retracted=retracted,
            recounted=recounted,
            left=tuple(self._left),
        )

    # --- names ------------------------------------------------------------------------------

    def _ids(self, numbers: Iterable[int]) -> tuple[BlockId, ...]:
        return tuple(sorted(map(self._reading.id, numbers)))

    def _pair(self, ends: Ends) -> Pair:
        return pair_of_ids(self._reading.id(ends[0]), self._reading.id(ends[1]))

    def _pairs(self, pairs: Iterable[Ends]) -> tuple[Pair, ...]:
        return tuple(sorted(map(self._pair, pairs)))

    def _object(self, what: str, of: tuple[str, ...], why: Why) -> None:
        self._left.append(Objection(what=what, of=of, why=why[0], version=why[1]))

    # --- policy and labels ------------------------------------------------------------------

    def _earlier_policy(self) -> Policy | None:
        for later in self._stretch.policy.values():
            if later is None:
                return self._before.policy
            self._object("policy", (self._reading.policy.id,), ("touched", later))
        return None

    def _labels(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Return the labels that no longer count, and those that count again."""
        retracted, recounted = [], []
        for version, later in sorted(self._stretch.labels.items()):
            before = self._before.label(version)
            if later is not None:
                self._object("label", (label_id(version),), ("touched", later))
            elif before is not None and before.counts:
                recounted.append(version)
            else:
                retracted.append(version)
        return tuple(retracted), tuple(recounted)

    # --- blocks -----------------------------------------------------------------------------

    def _blocks(self) -> tuple[list[int], list[int]]:
        """Return the blocks to forget and those to restore; note the blocks that are left."""
        going: list[int] = []
        coming: list[int] = []
        heirs = self._stretch.succeeded & {new for _, new in self._stretch.successions}
        for number, later in self._stretch.life.items():
            known = self._before.number(self._reading.id(number)) is not None
            erased = known and isinstance(self._before.text(number), Erased)
            if known and not erased:
                coming.append(number)
                self._stay(number, self._against(number, later))
            elif self._reading.status(number) != ARCHIVED:
                going.append(number)
                self._stay(number, self._later(number, later))
            elif number in heirs:
                self._stays[number] = "touched", later  # it was merged into its successor
            elif erased and self._before.status(number) != ARCHIVED:
                self._stays[number] = "erased", None
        self._stays = self._on_both_sides(self._stays, self._stretch.life)
        for number in sorted(self._stays, key=self._reading.id):
            self._object("life", (self._reading.id(number),), self._stays[number])
        return (
            [number for number in going if number not in self._stays],
            [number for number in coming if number not in self._stays],
        )

    def _stay(self, number: int, why: Why | None) -> None:
        if why is not None:
            self._stays[number] = why

    def _against(self, number: int, later: Later) -> Why | None:
        """Return the reason not to restore a block that existed before, or None."""
        if self._before.status(number) != ACTIVE:
            return self._later(number, later)
        if later is None and number in self._stretch.unvectored:
            return "no-vector", None
        return None if later is None else ("touched", later)

    def _later(self, number: int, later: Later) -> Why | None:
        """Return the reason not to archive a block or return it to the inbox, or None."""
        since = [each for each in (later, self._stretch.spoken.get(number)) if each is not None]
        return ("touched", min(since)) if since else None

    def _on_both_sides(
        self, left: Mapping[int, Why], changed: Mapping[int, Later]
    ) -> dict[int, Why]:
        """Return the blocks left, including the other sides of supersessions that are not undone.

        The other sides get the earliest of the reasons in their chain.
        """
        found = dict(left)
        for chain in self._chains:
            reasons = [left[number] for number in chain if number in left]
            if reasons:
                earliest = min(reasons, key=_earliness)
                for number in chain & changed.keys():
                    found.setdefault(number, earliest)
        return found

    def _putting_back(self, what: str, changed: Mapping[int, Later]) -> list[int]:
        """Return the blocks of which one property (*what*) is restored."""
        left: dict[int, Why] = {}
        for number, later in changed.items():
            if number in self._stays:
                left[number] = self._stays[number]
            elif later is not None:
                left[number] = "touched", later
        if what != "strength":  # strength stays with the block; the others move to a successor
            left = self._on_both_sides(left, changed)
        for number in sorted(left, key=self._reading.id):
            self._object(what, (self._reading.id(number),), left[number])
        return [number for number in changed if number not in left]

    def _stands(self, ends: Ends) -> bool:
        """Whether both blocks will be in the inbox or active."""
        return all(self._status(end) != ARCHIVED for end in ends)

    def _status(self, number: int) -> int:
        if number in self._gone:
            return ARCHIVED
        there = self._before if number in self._lives else self._reading
        return there.status(number)

    # --- edges ------------------------------------------------------------------------------

    def _edges(self) -> None:
        """Decide which edges are removed, which get their old values, and which come back."""
        wishes: list[EdgeFacts] = []
        for ends, later in self._in_order(self._stretch.edges):
            before, now = self._before.edge(*ends), self._reading.edge(*ends)
            if later is not None and before is None and not self._stands(ends):
                continue  # it is removed with its block, even if it was used
            if later is not None:
                self._object("edge", self._pair(ends), ("touched", later))
            elif before is None:
                self._unlinked.add(ends)
            elif not self._stands(ends):
                self._object("edge", self._pair(ends), ("archived", None))
            elif now is not None:
                self._linked.add(ends)
            else:
                wishes.append(before)
        self._keep_what_moved()
        self._admit(wishes)

    def _in_order(self, changed: Mapping[Ends, Later]) -> list[tuple[Ends, Later]]:
        return sorted(changed.items(), key=lambda entry: self._pair(entry[0]))

    def _keep_what_moved(self) -> None:
        """Leave an edge with the successor if it cannot move back to the superseded block."""
        for old, new in self._stretch.successions:
            if old not in self._stays:
                continue
            for edge in self._before.edges_of(old):
                ends = ends_of(new, edge.other(old))
                if ends in self._unlinked:
                    self._unlinked.remove(ends)
                    self._object("edge", self._pair(ends), self._stays[old])

    def _admit(self, wishes: list[EdgeFacts]) -> None:
        """Restore edges up to the degree cap: higher classes first, then heavier edges."""
        policy = self._policy or self._reading.policy
        change: Counter[int] = Counter()
        going = {
            ends_of(edge.source, edge.target)
            for number in self._gone
            for edge in self._reading.edges_of(number)
        }
        for ends in going | self._unlinked:
            change.subtract(ends)
        wishes.sort(key=self._urgency)
        for edge in wishes:
            ends = ends_of(edge.source, edge.target)
            full = (self._reading.degree(end) + change[end] >= policy.degree_cap for end in ends)
            if any(full):
                self._object("edge", self._pair(ends), ("no-room", None))
            else:
                change.update(ends)
                self._linked.add(ends)

    def _urgency(self, edge: EdgeFacts) -> tuple[int, int, Pair]:
        return -class_of(edge.relation), -edge.weight, self._pair((edge.source, edge.target))

    def _will_be_linked(self, ends: Ends) -> bool:
        if ends in self._linked:
            return True
        stands = self._reading.is_linked(*ends) and ends not in self._unlinked
        return stands and self._gone.isdisjoint(ends)

    # --- pending connections and bars -------------------------------------------------------

    def _pending(self) -> None:
        waited = {ends_of(each.source, each.target) for each in self._before.pending()}
        for ends, later in self._in_order(self._stretch.pending):
            if later is not None:
                self._object("pending", self._pair(ends), ("touched", later))
            elif ends not in waited:
                self._cancelled.add(ends)
            elif not self._stands(ends):
                self._object("pending", self._pair(ends), ("archived", None))
            elif self._will_be_linked(ends) and not self._reading.is_pending(*ends):
                self._object("pending", self._pair(ends), ("linked", None))
            else:
                self._deferred.add(ends)

    def _bars(self) -> None:
        for ends, later in self._in_order(self._stretch.barred):
            if later is not None:
                self._object("barred", self._pair(ends), ("touched", later))
            elif not self._before.is_barred(*ends):
                self._unbarred.add(ends)
            elif self._will_be_linked(ends):
                self._object("barred", self._pair(ends), ("linked", None))
            else:
                self._barred.add(ends)


def _earliness(why: Why) -> tuple[int, str]:
    """Return the sort key of a reason; one without an event comes first."""
    return why[1] or 0, why[0]


def _joined(successions: Iterable[tuple[int, int]]) -> list[set[int]]:
    """Return disjoint sets of the blocks that are connected by supersessions."""
    chains: list[set[int]] = []
    for two in successions:
        joined = set(two).union(*(chain for chain in chains if not chain.isdisjoint(two)))
        chains = [*(chain for chain in chains if chain.isdisjoint(two)), joined]
    return chains
