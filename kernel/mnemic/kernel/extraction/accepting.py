"""Acceptance of a fact that its quotations bear out: what it inherits, and the events it causes.

Rules of this module:

1. A fact gets its author, scope, date and expiry from the messages that it quotes, the lowest of
   their zones, and nothing from the answer but its text, whom it is about, and its confidence.
2. Nothing is overwritten. A fact that updates a block supersedes it, with both in the history, only
   if the same author said it, in the same scope, later, and in a zone that is not lower, and if the
   two share a word or the quotation says that something changed. What may not update contradicts:
   an edge, and both stay.
3. A fact that says the same as a block restates it, if everything in it is in that block; otherwise
   it is learned beside it.
4. A fact that was found in the same message before, and archived since, is neither revived nor
   connected.
"""

from __future__ import annotations

import json
from typing import Final

from attrs import define, evolve, field, frozen

from mnemic.kernel.decisions.authorization import inbox_room, reaches, within
from mnemic.kernel.decisions.connecting import Assertion, decide_connect
from mnemic.kernel.decisions.learning import (
    MESSAGE,
    UNDATED,
    Earlier,
    Learned,
    Lesson,
    Saying,
    decide_learn,
    drafted,
    said_again,
)
from mnemic.kernel.decisions.supersession import Heir, succeed
from mnemic.kernel.errors import Refused
from mnemic.kernel.events import (
    BlockLearned,
    BlockSuperseded,
    EdgeConnected,
    EdgeDeferred,
    Event,
    ExtractedFact,
    Quote,
)
from mnemic.kernel.extraction.grounding import Evidence, Spot, Ungrounded, may_replace
from mnemic.kernel.model.blocks import ACTIVE, ARCHIVED, INBOX, BlockFacts
from mnemic.kernel.model.identity import SCOPE_KEYS, BlockId
from mnemic.kernel.model.texts import BlockText, Erased
from mnemic.kernel.numeric.arithmetic import NANO
from mnemic.kernel.ports.extractors import Fact, Message, Span
from mnemic.kernel.reading import Reading
from mnemic.kernel.roles import ROLE_KEY, role_of
from mnemic.kernel.timestamps import Instant, iso
from mnemic.kernel.values import Value

FACT: Final = "fact"
"""The category of blocks that hold an extracted fact."""
ABOUT: Final = "about"
"""Key of metadata: whom or what a fact is about."""
_GONE: Final = "message-gone"


@frozen(kw_only=True)
class Call(Value):
    """One call of an extractor."""

    extractor: str
    model: str = ""
    prompt: str = ""
    messages: tuple[BlockId, ...]
    """Those that it was shown, by place."""
    known: tuple[BlockId, ...] = ()
    """Existing blocks that it was shown, by place."""


def message_of(reading: Reading, number: int) -> Message:
    """Return a message as an extractor sees it; an erased one has no text."""
    text, said_us = reading.text(number), reading.facts(number).said_us
    said_at = None if said_us is None else iso(said_us)
    if isinstance(text, Erased):
        return Message(content="", said_at=said_at)
    return Message(
        content=text.content,
        author=text.author,
        role=role_of(text.author, text.metadata),
        said_at=said_at,
    )


@frozen(kw_only=True)
class _Basis(Value):
    """The messages that a fact quotes, and what it inherits from them."""

    spots: tuple[Spot, ...]
    numbers: tuple[int, ...]
    """The messages, in the order of first quotation."""
    scope: dict[str, str]
    speaker: BlockText
    """The message that it quotes last."""
    said_us: int | None


@define(kw_only=True)
class Acceptance:
    """The facts decided so far, and the events that they cause."""

    reading: Reading
    call: Call
    at: Instant
    events: list[Event] = field(factory=list)
    facts: list[ExtractedFact] = field(factory=list)
    refused: list[tuple[str, Fact]] = field(factory=list)
    said: dict[BlockId, Saying] = field(factory=dict)
    created: int = 0
    room: int | None = None
    retired: set[int] = field(factory=set)
    """Blocks that a fact of this extraction has superseded."""
    degrees: dict[int, int] = field(factory=dict)
    """Edges that this extraction adds to existing blocks."""
    numbers: list[int] = field(factory=list)
    """The messages, by place."""
    gone: bool = False
    """Whether a message is erased."""

    def __attrs_post_init__(self) -> None:
        reading = self.reading
        self.numbers = [number_of(reading, each) for each in self.call.messages]
        self.gone = any(isinstance(reading.text(each), Erased) for each in self.numbers)
        self.room = inbox_room(reading)

    def take(self, fact: Fact, spots: tuple[Spot, ...], *, is_restated: bool = False) -> None:
        """Accept a fact that its quotations bear out, or record why it is refused."""
        try:
            self.facts.append(self._accepted(fact, spots, is_restated=is_restated))
        except Ungrounded as ungrounded:
            self.refused.append((ungrounded.reason, fact))
        except Refused as refusal:
            self.refused.append((refusal.code, fact))

    def _accepted(self, fact: Fact, spots: tuple[Spot, ...], *, is_restated: bool) -> ExtractedFact:
        """Return a fact that is accepted, after adding the events that it causes.

        Raises:
            Ungrounded, Refused: It is not accepted, and causes none.
        """
        basis = self._basis(spots)
        other = self._other(fact)
        if is_restated and other is None:
            raise Ungrounded("no-such-block")
        lesson = self._lesson(fact, basis)
        fresh = drafted(self.reading, lesson, earlier=self._earlier())
        if other is not None and (
            is_restated or (fact.relation == "same" and self._adds_nothing(fact, other))
        ):
            return self._restated(fact, basis, fresh, other)
        learned = self._learned(lesson, fresh, basis)
        effect = "none"
        if other is not None and other.id != learned.block_id and fact.relation != "same":
            is_update = fact.relation == "updates" and learned.enters_inbox
            if is_update and self._may_revise(fact, basis, fresh, other):
                effect = self._revised(learned.block_id, fresh, other)
            else:
                effect = self._contradicted(learned.block_id, other)
        return self._fact(
            fact, basis, block=learned.block_id, action=learned.action, effect=effect, other=other
        )

    def _fact(
        self,
        fact: Fact,
        basis: _Basis,
        *,
        block: BlockId,
        action: str,
        effect: str,
        other: BlockFacts | None,
    ) -> ExtractedFact:
        return ExtractedFact(
            block_id=block,
            action=action,
            quotes=tuple(
                Quote(message=self.call.messages[each.message], start=each.start, end=each.end)
                for each in basis.spots
            ),
            relation=fact.relation,
            other=None if other is None else other.id,
            effect=effect,
        )

    def _basis(self, spots: tuple[Spot, ...]) -> _Basis:
        numbers = tuple(dict.fromkeys(self.numbers[each.message] for each in spots))
        texts: list[BlockText] = []
        for number in numbers:
            text = self.reading.text(number)
            if isinstance(text, Erased) or self.reading.status(number) not in (INBOX, ACTIVE):
                raise Ungrounded(_GONE)
            texts.append(text)
        scopes = [_scope(text) for text in texts]
        if any(each != scopes[0] for each in scopes):
            raise Ungrounded("mixed-scopes")
        dates = [self.reading.facts(number).said_us for number in numbers]
        known = [each for each in dates if each is not None]
        return _Basis(
            spots=spots,
            numbers=numbers,
            scope=scopes[0],
            speaker=texts[numbers.index(self.numbers[spots[-1].message])],
            said_us=max(known) if len(known) == len(dates) else None,
        )

    def _other(self, fact: Fact) -> BlockFacts | None:
        """Return the block that a fact relates to; None: it is unrelated, or that block is gone."""
        if fact.other is None or fact.relation == "unrelated":
            return None
        if not 0 <= fact.other < len(self.call.known):
            raise Ungrounded("no-such-block")
        facts = self.reading.facts(number_of(self.reading, self.call.known[fact.other]))
        is_alive = facts.status in (INBOX, ACTIVE) and facts.number not in self.retired
        return facts if is_alive else None

    def _lesson(self, fact: Fact, basis: _Basis) -> Lesson:
        each = [self.reading.facts(number) for number in basis.numbers]
        lowest = min(each, key=lambda facts: self.reading.policy.ceiling(facts.zone))
        own, policy = self.reading.highest, self.reading.policy
        zone = lowest.zone if own is None or within(policy, lowest.zone, own) else own
        expiries = [facts.expires_us for facts in each if facts.expires_us is not None]
        metadata = dict(basis.scope)
        if (role := role_of(None, basis.speaker.metadata)) is not None:
            metadata[ROLE_KEY] = role
        if fact.about is not None and fact.about.strip():
            metadata[ABOUT] = fact.about.strip()
        confidence = min(fact.confidence, *(facts.confidence / NANO for facts in each))
        return Lesson(
            content=fact.text,
            category=FACT,
            source=lowest.source,
            zone=zone,
            author=basis.speaker.author,
            confidence=confidence,
            created_at=UNDATED if basis.said_us is None else iso(basis.said_us),
            metadata=metadata or None,
            expires_at=iso(min(expiries)) if expiries else None,
            valid_from=fact.since,
            valid_until=fact.until,
        )

    def _earlier(self) -> Earlier:
        return Earlier(created=self.created, said=self.said, room=self.room)

    def _learned(self, lesson: Lesson, fresh: BlockLearned, basis: _Basis) -> Learned:
        """Learn a fact, unless the same message said it before and it was archived since."""
        number = self.reading.number(fresh.block_id)
        if number is not None and fresh.block_id not in self.said:
            facts = self.reading.facts(number)
            if facts.status == ARCHIVED and self.reading.sources_of(number) & {*basis.numbers}:
                saying = Saying.last_of(facts)
                return Learned(block_id=facts.id, action="duplicate", saying=saying)
        decided = decide_learn(self.reading, lesson, earlier=self._earlier())
        learned = decided.result
        self.events += decided.events
        self.said[learned.block_id] = learned.saying
        self.created += learned.action == "created"
        if self.room is not None:
            self.room -= learned.enters_inbox
        return learned

    # --- relations ------------------------------------------------------------------------------

    def _adds_nothing(self, fact: Fact, other: BlockFacts) -> bool:
        """Whether everything in a fact is in an existing block, so that nothing of it is lost."""
        known = message_of(self.reading, other.number)
        held = Evidence(messages=[known])
        whole = evolve(fact, quotes=(Span(message=0, text=known.content),), since=None, until=None)
        try:
            held.check(whole)
        except Ungrounded:
            return False
        return held.has_all(fact.text)

    def _restated(
        self, fact: Fact, basis: _Basis, fresh: BlockLearned, other: BlockFacts
    ) -> ExtractedFact:
        text = self.reading.text(other.number)
        if isinstance(text, Erased) or _scope(text) != basis.scope:
            raise Ungrounded("mixed-scopes")
        last = self.said.get(other.id, Saying.last_of(other))
        decided = said_again(self.reading, last, fresh, other.id)
        self.events += decided.events
        self.said[other.id] = decided.result.saying
        action = decided.result.action
        return self._fact(
            fact, basis, block=other.id, action=action, effect="restated", other=other
        )

    def _revised(self, block: BlockId, fresh: BlockLearned, other: BlockFacts) -> str:
        """Let a fact supersede a block."""
        heir = Heir(
            id=block,
            number=self.reading.number(block),
            category=fresh.category,
            tags=(),
            zone=fresh.zone,
        )
        change = succeed(self.reading, other.number, heir)
        self.events.append(BlockSuperseded(supersession=change))
        self.retired.add(other.number)
        return "revised"

    def _may_revise(
        self, fact: Fact, basis: _Basis, fresh: BlockLearned, other: BlockFacts
    ) -> bool:
        """Whether the speaker of a fact may replace a block with it."""
        text = self.reading.text(other.number)
        if isinstance(text, Erased) or other.category == MESSAGE:
            return False
        is_own = text.author == basis.speaker.author and _scope(text) == basis.scope
        is_later = (
            other.said_us is not None
            and basis.said_us is not None
            and other.said_us <= basis.said_us
        )
        policy = self.reading.policy
        is_guarded = any(tag.startswith("self/") for tag in other.tags)
        is_trusted = within(policy, other.zone, fresh.zone) and reaches(self.reading, other)
        if not (is_own and is_later and is_trusted) or is_guarded:
            return False
        spans = (each.text for each in fact.quotes)
        return may_replace(text.content, fact.text, spans, basis.speaker.author)

    def _contradicted(self, block: BlockId, other: BlockFacts) -> str:
        """Connect a fact with a block that it contradicts, if the two are not barred."""
        number, relation = self.reading.number(block), "contradicts"
        if number is not None:
            is_gone = block not in self.said and self.reading.status(number) == ARCHIVED
            if is_gone or number in self.retired:
                return "none"
            ends = (number, other.number)
            if self.reading.is_barred(*ends) or self.reading.edge(*ends) is not None:
                return "none"
            if self.reading.status(number) in (INBOX, ACTIVE):
                wish = Assertion(source=block, target=other.id, relation=relation)
                self.events += decide_connect(self.reading, wish, self.at).events
                return relation
        weight = self.reading.policy.relation_weight(relation)
        added = self.degrees.get(other.number, 0)
        is_full = self.reading.degree(other.number) + added >= self.reading.policy.degree_cap
        self.events.append(
            EdgeDeferred(source=block, target=other.id, relation=relation, weight=weight)
            if is_full
            else EdgeConnected(
                source=block, target=other.id, relation=relation, weight=weight, action="created"
            )
        )
        self.degrees[other.number] = added + (not is_full)
        return relation


def number_of(reading: Reading, block: BlockId) -> int:
    """Return the number of a known block."""
    number = reading.number(block)
    assert number is not None  # noqa: S101 - the host has looked it up
    return number


def _scope(text: BlockText) -> dict[str, str]:
    """Return the user, agent and run of a text."""
    given = {} if text.metadata is None else json.loads(text.metadata)
    return {key: given[key] for key in SCOPE_KEYS if key in given}
