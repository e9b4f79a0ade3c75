"""Decisions of connect and disconnect for a single pair."""

from __future__ import annotations

from attrs import frozen

from mnemic.kernel.decision import Decision
from mnemic.kernel.decisions.authorization import check_reach
from mnemic.kernel.decisions.degree_cap import DegreeCap, id_pairs
from mnemic.kernel.errors import (
    BlockNotActive,
    BlockNotFound,
    EdgeExists,
    FieldRefused,
    NoteTooLong,
    SelfLoop,
    UnknownIfExists,
    WeightOutOfRange,
)
from mnemic.kernel.events import EdgeConnected, EdgeDeferred, EdgeDisconnected
from mnemic.kernel.model.blocks import ARCHIVED, QUARANTINED, BlockFacts
from mnemic.kernel.model.edges import EdgeFacts, PendingFacts
from mnemic.kernel.model.texts import Remark
from mnemic.kernel.numeric.arithmetic import NANO, nano
from mnemic.kernel.policy import Policy
from mnemic.kernel.reading import EdgeReading, Reading
from mnemic.kernel.timestamps import Instant
from mnemic.kernel.validation import check_visible
from mnemic.kernel.values import Value

IF_EXISTS = ("reinforce", "update", "skip", "error")
RELATION_LENGTH_MAX = 100


@frozen(kw_only=True)
class Assertion(Value):
    """A connection, as given by the caller."""

    source: str
    target: str
    relation: str | None = None
    weight: float | None = None
    note: str | None = None
    if_exists: str = "reinforce"


@frozen(kw_only=True)
class Connected(Value):
    """What one assertion did."""

    action: str
    """``created``, ``reinforced``, ``updated``, ``deferred``, or ``skipped`` without an event."""
    relation: str
    weight: int
    note: str | None
    displaced: tuple[EdgeFacts, ...] = ()
    warnings: tuple[str, ...] = ()


def known(reading: EdgeReading, block_id: str) -> BlockFacts:
    """Return the facts of a block in any status.

    Raises:
        BlockNotFound: The block was never learned.
    """
    number = reading.number(block_id)
    if number is None:
        raise BlockNotFound(f"no block has the id {block_id!r}", block_id=block_id)
    return reading.facts(number)


def find(reading: EdgeReading, block_id: str) -> BlockFacts:
    """Return the facts of a block that may be connected: in the inbox or active.

    Raises:
        BlockNotFound: The block was never learned.
        BlockNotActive: The block is archived or in quarantine.
    """
    facts = known(reading, block_id)
    if facts.status == QUARANTINED:
        raise BlockNotActive(
            f"block {block_id} is in quarantine",
            recovery="Release it first, or leave it alone.",
            block_id=block_id,
        )
    if facts.status == ARCHIVED:
        raise BlockNotActive(f"block {block_id} is archived", block_id=block_id)
    return facts


@frozen(kw_only=True)
class Terms(Value):
    """The validated parts of an assertion, without its ends."""

    relation: str | None
    weight: int | None
    """Nano-units."""
    note: str | None


def terms(assertion: Assertion, policy: Policy) -> Terms:
    """Validate *assertion* and return everything but its ends.

    Raises:
        WeightOutOfRange, NoteTooLong, UnknownIfExists, FieldRefused: See each.
    """
    if assertion.if_exists not in IF_EXISTS:
        raise UnknownIfExists(f"if_exists {assertion.if_exists!r:.100} is unknown")
    return Terms(
        relation=_relation(assertion.relation),
        weight=_weight(assertion.weight),
        note=remark_text("note", assertion.note, policy),
    )


def decide_connect(reading: EdgeReading, assertion: Assertion, at: Instant) -> Decision[Connected]:
    """Decide a single connection.

    Raises:
        SelfLoop, BlockNotFound, BlockNotActive, WeightOutOfRange, NoteTooLong, UnknownIfExists,
        EdgeExists, FieldRefused, Forbidden: See each.

    Source: DOMAIN section 5.
    """
    wanted = terms(assertion, reading.policy)
    if assertion.source == assertion.target:
        raise SelfLoop(f"block {assertion.source!r} cannot be connected with itself")
    source, target = find(reading, assertion.source), find(reading, assertion.target)
    check_reach(reading, source, target)
    existing = reading.edge(source.number, target.number)
    request = _Request(
        source=source,
        target=target,
        relation=wanted.relation,
        weight=wanted.weight,
        note=wanted.note,
        at=at,
    )
    if existing is None:
        return _create(reading, request)
    match assertion.if_exists:
        case "error":
            raise EdgeExists(
                f"{source.id} and {target.id} are connected as {existing.relation}",
                relation=existing.relation,
            )
        case "skip":
            relation, weight = existing.relation, existing.weight
            skipped = Connected(action="skipped", relation=relation, weight=weight, note=None)
            return Decision((), skipped)
        case "update":
            return _update(reading, request, existing)
        case _:
            return _reinforce(reading, request, existing)


@frozen(kw_only=True)
class _Request(Value):
    """A validated assertion with the facts of its ends."""

    source: BlockFacts
    target: BlockFacts
    relation: str | None
    weight: int | None
    note: str | None
    at: Instant

    def remark(self) -> Remark | None:
        if self.note is None:
            return None
        return Remark(of=tuple(sorted((self.source.id, self.target.id))), text=self.note)

    def surprise(self, relation: str, policy: Policy) -> tuple[str, ...]:
        """Return a warning if the weight is far from the relation's default."""
        default = policy.relation_weight(relation)
        if self.weight is None or abs(self.weight - default) <= nano(policy.weight_surprise):
            return ()
        given, usual = self.weight / NANO, default / NANO
        return (f"weight {given:.2f} is far from the usual {usual:.2f} of {relation!r}",)


def _create(reading: EdgeReading, request: _Request) -> Decision[Connected]:
    relation = request.relation or "similar"
    weight = reading.policy.relation_weight(relation) if request.weight is None else request.weight
    ends = request.source.number, request.target.number
    displaced = DegreeCap(reading, request.at.active_us).admit(*ends, relation)
    warnings = request.surprise(relation, reading.policy)
    if displaced is None:
        event: EdgeConnected | EdgeDeferred = EdgeDeferred(
            source=request.source.id,
            target=request.target.id,
            relation=relation,
            weight=weight,
            note=request.remark(),
        )
    else:
        event = EdgeConnected(
            source=request.source.id,
            target=request.target.id,
            relation=relation,
            weight=weight,
            action="created",
            note=request.remark(),
            displaced=id_pairs(reading, displaced),
        )
    connected = Connected(
        action="deferred" if displaced is None else "created",
        relation=relation,
        weight=weight,
        note=request.note,
        displaced=displaced or (),
        warnings=warnings,
    )
    return Decision((event,), connected)


def _reinforce(reading: EdgeReading, request: _Request, existing: EdgeFacts) -> Decision[Connected]:
    weight = min(NANO, existing.weight + nano(reading.policy.reinforce_delta))
    ignored = [
        name
        for name, given in (
            ("relation", request.relation not in {None, existing.relation}),
            ("weight", request.weight is not None),
            ("note", request.note is not None),
        )
        if given
    ]
    warnings = tuple(
        f"the edge exists and was reinforced; {name} was ignored: use if_exists='update'"
        for name in ignored
    )
    event = EdgeConnected(
        source=reading.id(existing.source),
        target=reading.id(existing.target),
        relation=existing.relation,
        weight=weight,
        action="reinforced",
        origin=existing.origin,
        count=existing.count + 1,
    )
    connected = Connected(
        action="reinforced",
        relation=existing.relation,
        weight=weight,
        note=None,
        warnings=warnings,
    )
    return Decision((event,), connected)


def _update(reading: EdgeReading, request: _Request, existing: EdgeFacts) -> Decision[Connected]:
    relation = request.relation or existing.relation
    weight = existing.weight if request.weight is None else request.weight
    event = EdgeConnected(
        source=request.source.id,
        target=request.target.id,
        relation=relation,
        weight=weight,
        action="updated",
        count=existing.count,
        note=request.remark(),
    )
    connected = Connected(
        action="updated",
        relation=relation,
        weight=weight,
        note=request.note,
        warnings=request.surprise(relation, reading.policy),
    )
    return Decision((event,), connected)


def decide_disconnect(
    reading: Reading,
    source: str,
    target: str,
    *,
    guard_relation: str | None,
    reason: str | None,
) -> Decision[str]:
    """Decide a disconnection.

    Returns:
        As the result: ``removed``; without an event ``not_found`` or ``guarded``, if the edge has
        another relation than *guard_relation*.

    Raises:
        SelfLoop, BlockNotFound, NoteTooLong, FieldRefused, Forbidden: See each.

    Source: DOMAIN section 5.
    """
    if source == target:
        raise SelfLoop(f"block {source!r} has no edge with itself")
    a, b = known(reading, source), known(reading, target)
    check_reach(reading, a, b)
    guard = _relation(guard_relation)
    words = remark_text("reason", reason, reading.policy)
    remark = None if words is None else Remark(of=tuple(sorted((a.id, b.id))), text=words)
    existing: EdgeFacts | PendingFacts | None = reading.edge(a.number, b.number)
    if existing is None and not reading.is_pending(a.number, b.number):
        return Decision((), "not_found")
    if existing is None:
        ends = {a.number, b.number}
        existing = next(each for each in reading.pending() if {each.source, each.target} == ends)
    if guard is not None and existing.relation != guard:
        return Decision((), "guarded")
    gone = isinstance(existing, EdgeFacts)
    event = EdgeDisconnected(
        source=a.id,
        target=b.id,
        relation=existing.relation if gone else None,
        weight=existing.weight if gone else None,
        reason=remark,
    )
    return Decision((event,), "removed")


def _relation(relation: str | None) -> str | None:
    """Return a relation trimmed and lower-cased; an empty one counts as not given."""
    if relation is None:
        return None
    if not isinstance(relation, str):
        raise FieldRefused(f"relation must be text, got {relation!r}", field="relation")
    word = relation.strip().lower()
    if len(word) > RELATION_LENGTH_MAX:
        raise FieldRefused(
            f"relation is longer than {RELATION_LENGTH_MAX} characters", field="relation"
        )
    check_visible("relation", word)
    return word or None


def _weight(weight: float | None) -> int | None:
    if weight is None:
        return None
    if isinstance(weight, bool) or not isinstance(weight, int | float) or not 0.0 <= weight <= 1.0:
        raise WeightOutOfRange(f"weight must be from 0 to 1, got {weight!r}", weight=repr(weight))
    return nano(float(weight))


def remark_text(name: str, words: str | None, policy: Policy) -> str | None:
    """Return a note or reason, stripped; an empty one counts as not given.

    Raises:
        NoteTooLong, FieldRefused: It is too long, not text, or not visible.
    """
    if words is None:
        return None
    if not isinstance(words, str):
        raise FieldRefused(f"{name} must be text, got {words!r}", field=name)
    if len(words) > policy.note_length_max:
        raise NoteTooLong(
            f"{name} has {len(words)} characters, the limit is {policy.note_length_max}",
            length=len(words),
        )
    check_visible(name, words.strip())
    return words.strip() or None
