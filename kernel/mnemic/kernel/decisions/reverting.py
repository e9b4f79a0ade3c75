"""revert: one event that puts back what a stretch of the log changed and nothing later touched.

Rules of this module (DOMAIN section 9):

1. A thing is put back as it stood before the stretch if nothing changed it after; otherwise it is
   left, with an objection that names the version which did.
2. A block that the stretch learned is archived as forgotten. It stays if something was said of it
   since: an outcome, or a connection that was meant. That it was found, returned or tied by
   likeness, or an edge of it used, is no word about it. The same holds for a block that goes back
   to the inbox or archive.
3. What a block has (strength, evidence, uses) is left where the block itself is.
4. A supersession is taken back on both sides or on none, so that no evidence counts twice and no
   edge that moved is lost; on none if the successor has a successor of its own by now.
5. An edge comes back if both ends stand and both have room under the cap; nothing makes way for it.
6. Erased words never come back.
7. Sessions, decisions, compositions, adoptions of an embedder and erasures are history and stay.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final

from mnemic.kernel.decisions.connecting import remark_text
from mnemic.kernel.decisions.room import class_of
from mnemic.kernel.decisions.room import ends as ends_of
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
from mnemic.kernel.identity import BlockId, label_id
from mnemic.kernel.identity import pair as pair_of_ids
from mnemic.kernel.policy import Policy
from mnemic.kernel.reading import ACTIVE, ARCHIVED, EdgeFacts, Reading
from mnemic.kernel.stretch import Ends, Later, Stretch
from mnemic.kernel.texts import Erased, Remark

Why = tuple[str, Later]
"""Why something is left as it is, and the version that it is due to."""

HISTORY: Final[tuple[type, ...]] = (
    BlockErased,
    BlocksComposed,
    EmbedderAdopted,
    RecallRecorded,
    SessionEnded,
    SessionStarted,
    VectorsStaged,
)
"""The events of rule 7: a stretch still holds them when it is reverted."""


def decide_revert(
    reading: Reading, first: int, last: int, *, head: int, reason: str | None
) -> Reverted:
    """Decide what of a stretch is taken back; an event that changes nothing need not be written.

    Args:
        reading: The state before the command.
        first: The first version to take back.
        last: The last one.
        head: The last version of the log.
        reason: Why, in the caller's words.

    Raises:
        FieldRefused: The versions are no whole numbers, or in the wrong order.
        PointOutOfRange: The log has no such stretch behind its first event.
        NoteTooLong: The reason is too long.

    Source: DOMAIN section 9.
    """
    _check(first, last, head)
    words = remark_text("reason", reason, reading.policy)
    return _Plan(reading, reading.stretch(first, last)).event(
        None if words is None else Remark(text=words)
    )


def changes(event: Reverted) -> bool:
    """Whether a revert puts anything back."""
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
            f"from_version {first} lies behind to_version {last}",
            recovery="Name the earlier version first.",
            field="from_version",
        )


class _Plan:
    """What goes, what comes back and what is left, worked out in the order of the event."""

    def __init__(self, reading: Reading, stretch: Stretch) -> None:
        self._reading, self._stretch, self._before = reading, stretch, stretch.before
        self._left: list[Objection] = []
        self._chains = _joined(stretch.successions)
        self._policy = self._earlier_policy()
        self._stays: dict[int, Why] = {}
        """Blocks that are left as they are."""
        self._forgotten: list[int] = []
        self._lives: list[int] = []
        self._blocks()
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
        """Return the labels that cease to count, and those that count again."""
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

    def _blocks(self) -> None:
        """Decide for each block whether it is put back, forgotten, or left as it is."""
        going, coming = [], []
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
                self._stays[number] = "touched", later  # it lives on in what took its place
            elif erased and self._before.status(number) != ARCHIVED:
                self._stays[number] = "erased", None
        self._stays = self._on_both_sides(self._stays, self._stretch.life)
        for number in sorted(self._stays, key=self._reading.id):
            self._object("life", (self._reading.id(number),), self._stays[number])
        self._forgotten = [number for number in going if number not in self._stays]
        self._lives = [number for number in coming if number not in self._stays]

    def _stay(self, number: int, why: Why | None) -> None:
        if why is not None:
            self._stays[number] = why

    def _against(self, number: int, later: Later) -> Why | None:
        """Return what speaks against putting back a block that was known before."""
        if self._before.status(number) != ACTIVE:
            return self._later(number, later)
        if later is None and number in self._stretch.unvectored:
            return "no-vector", None
        return None if later is None else ("touched", later)

    def _later(self, number: int, later: Later) -> Why | None:
        """Return what speaks against putting a block away."""
        since = [each for each in (later, self._stretch.spoken.get(number)) if each is not None]
        return ("touched", min(since)) if since else None

    def _on_both_sides(
        self, left: Mapping[int, Why], changed: Mapping[int, Later]
    ) -> dict[int, Why]:
        """Return what is left, with the other sides of supersessions that cannot be taken back.

        They are left for the earliest of the reasons for which one of them is.
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
        """Return the blocks of which one thing is put back."""
        left: dict[int, Why] = {}
        for number, later in changed.items():
            if number in self._stays:
                left[number] = self._stays[number]
            elif later is not None:
                left[number] = "touched", later
        if what != "strength":  # which is the block's own; the others move to a successor
            left = self._on_both_sides(left, changed)
        for number in sorted(left, key=self._reading.id):
            self._object(what, (self._reading.id(number),), left[number])
        return [number for number in changed if number not in left]

    def _stands(self, ends: Ends) -> bool:
        """Whether both blocks will stand, be it in the inbox."""
        return all(self._status(end) != ARCHIVED for end in ends)

    def _status(self, number: int) -> int:
        if number in self._gone:
            return ARCHIVED
        there = self._before if number in self._lives else self._reading
        return there.status(number)

    # --- edges ------------------------------------------------------------------------------

    def _edges(self) -> None:
        """Decide which edges go, which get back what they had, and which come back."""
        wishes: list[EdgeFacts] = []
        for ends, later in self._in_order(self._stretch.edges):
            before, now = self._before.edge(*ends), self._reading.edge(*ends)
            if later is not None and before is None and not self._stands(ends):
                continue  # it goes with its block, whoever has used it
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
        """Leave an edge with the successor if it cannot go back to whom it was taken from."""
        for old, new in self._stretch.successions:
            if old not in self._stays:
                continue
            for edge in self._before.edges_of(old):
                ends = ends_of(new, edge.other(old))
                if ends in self._unlinked:
                    self._unlinked.remove(ends)
                    self._object("edge", self._pair(ends), self._stays[old])

    def _admit(self, wishes: list[EdgeFacts]) -> None:
        """Let edges come back while there is room: the higher class first, then the heavier."""
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

    # --- what waits, and what is barred -----------------------------------------------------

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
    """Return where a reason stands among others; one that is due to no event comes first."""
    return -1 if why[1] is None else why[1], why[0]


def _joined(successions: Iterable[tuple[int, int]]) -> list[set[int]]:
    """Return the blocks that supersessions tie together, in sets that have none in common."""
    chains: list[set[int]] = []
    for two in successions:
        joined = set(two).union(*(chain for chain in chains if not chain.isdisjoint(two)))
        chains = [*(chain for chain in chains if chain.isdisjoint(two)), joined]
    return chains
