"""Lineage: what descends from a selection of writes, followed along the log.

Rules of this module:

1. A block descends if a selected write learned it, or if it took over the tags and evidence of a
   block that descends, by superseding it.
2. A block that a selected write said again, and one that a descending block superseded, is listed
   as well; its text is not the writer's, so nothing descends from it for that reason.
3. A decision descends if a selected actor asked, or if it returned a block that descends. An
   outcome does if a selected actor reported it, if it scores a descending decision or composition,
   or if it names a block that descends. Blocks that were returned or scored together with one that
   descends do not descend for that reason.
4. An edge descends if one of its ends does, or if a selected actor connected it, directly or by an
   outcome. A composition does if a selected actor composed it or a member descends; a label if a
   selected actor set it or its composition descends; a policy if a selected actor adopted it.
5. A fact descends if an extractor found it in a message that descends, even if a writer who is not
   selected has the same in its own words.
6. Everything is listed once, with the first reason.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from attrs import define, frozen

from mnemic.kernel import events as happened
from mnemic.kernel.events import Link, Recorded, Supersession
from mnemic.kernel.model.identity import (
    BlockId,
    composition_id,
    decision_id,
    label_id,
    pair,
    short,
)
from mnemic.kernel.values import Value
from mnemic.projections.descent.selection import Selection

Key = tuple[str, str]
"""Kind and id of something."""


@frozen(kw_only=True)
class Step(Value):
    """Something that descends, and why: the last step of its path."""

    version: int
    why: str
    of: Key | None = None
    """What it descends from directly; None: it is a selected write."""
    follows: bool = True
    """Whether other things descend from it."""


@frozen(kw_only=True)
class _Write(Value):
    """The envelope of the event that is followed."""

    version: int
    actor: str
    picked: bool
    """Whether the event is a selected write."""


@define
class Lineage:
    """What descends from a selection, after the events taken so far. Take them in log order.

    Args:
        selection: The selected writes.
        ids: Ids of blocks, by number.
    """

    selection: Selection
    ids: Sequence[BlockId]
    found: dict[Key, Step]

    @classmethod
    def of(cls, selection: Selection, ids: Sequence[BlockId]) -> Lineage:
        """Return the lineage of a selection before the first event."""
        return cls(selection, ids, {})

    def take(self, recorded: Recorded) -> None:  # noqa: C901, PLR0912 - a case per kind
        """Follow the next event."""
        at = _Write(
            version=recorded.version, actor=recorded.actor, picked=self.selection.picks(recorded)
        )
        match recorded.event:
            case happened.BlockLearned() as event:
                self._learned(event, at)
            case happened.BlockRestated() as event:
                self._restated(event, at)
            case happened.BlocksPromoted() as event:
                self._promoted(event, at)
            case happened.BlocksRelinked() as event:
                self._links(event.links, at, "linked by similarity")
            case happened.BlockSuperseded() as event:
                self._supersession(event.supersession, at)
            case happened.EdgeConnected() | happened.EdgeDeferred() as event:
                self._connected(event, at)
            case happened.RecallRecorded() as event:
                self._recalled(event, at)
            case happened.OutcomeRecorded() as event:
                self._scored(event, at)
            case happened.BlocksComposed() as event:
                self._composed(event, at)
            case happened.CompositionLabelled() as event:
                self._labelled(event, at)
            case happened.FactsExtracted() as event:
                self._extracted(event, at)
            case happened.PolicyAdopted() as event:
                self._adopted(event, at)
            case _:
                pass

    def path(self, key: Key) -> tuple[str, ...]:
        """Return why something descends, step by step from the selected write."""
        steps: list[str] = []
        at: Key | None = key
        while at is not None:
            step = self.found[at]
            steps.append(f"{step.why} (v{step.version})")
            at = step.of
        return tuple(reversed(steps))

    # --- what descends --------------------------------------------------------------------------

    def _note(self, kind: str, name: str, step: Step) -> None:
        known = self.found.get((kind, name))
        if known is None or (step.follows and not known.follows):
            self.found[kind, name] = step

    def _first(self, blocks: Iterable[str]) -> Key | None:
        """Return the first of some blocks that descends, if one does."""
        keys = (("block", each) for each in blocks)
        return next((key for key in keys if key in self.found and self.found[key].follows), None)

    def _written(self, kind: str, name: str, at: _Write, did: str) -> None:
        self._note(kind, name, Step(version=at.version, why=f"{did} by {at.actor}"))

    def _learned(self, event: happened.BlockLearned, at: _Write) -> None:
        if at.picked:
            self._written("block", event.block_id, at, f"learned from {event.source}")

    def _restated(self, event: happened.BlockRestated, at: _Write) -> None:
        if at.picked:
            why = f"said again from {event.source} by {at.actor}"
            step = Step(version=at.version, why=why, follows=False)
            self._note("block", event.block_id, step)

    def _promoted(self, event: happened.BlocksPromoted, at: _Write) -> None:
        for promotion in event.promotions:
            if promotion.supersession is not None:
                self._supersession(promotion.supersession, at)
        self._links(event.links, at, "linked by similarity")

    def _supersession(self, event: Supersession, at: _Write) -> None:
        old, new = self._first([event.old]), self._first([event.new])
        if old is not None:
            why = f"superseded {short(event.old)} and took over its tags and evidence"
            self._note("block", event.new, Step(version=at.version, why=why, of=old))
        elif new is not None:
            why = f"superseded by {short(event.new)}"
            step = Step(version=at.version, why=why, of=new, follows=False)
            self._note("block", event.old, step)
        heir = self._first([event.new])
        for other in event.moved:
            ends = [event.new, other]
            self._edge(ends, at, f"moved to {short(event.new)}", heir or self._first(ends))

    def _edge(self, ends: Sequence[str], at: _Write, why: str, of: Key | None) -> None:
        if of is not None:
            name = "--".join(pair(BlockId(ends[0]), BlockId(ends[1])))
            self._note("edge", name, Step(version=at.version, why=why, of=of))

    def _links(self, links: Iterable[Link], at: _Write, why: str, of: Key | None = None) -> None:
        for link in links:
            ends = [link.source, link.target]
            self._edge(ends, at, why, self._first(ends) or of)

    def _connected(self, event: happened.EdgeConnected | happened.EdgeDeferred, at: _Write) -> None:
        ends = [event.source, event.target]
        if at.picked:
            self._written("edge", "--".join(pair(event.source, event.target)), at, "connected")
        else:
            self._edge(ends, at, f"connected by {at.actor}", self._first(ends))

    def _recalled(self, event: happened.RecallRecorded, at: _Write) -> None:
        name = decision_id(at.version)
        if at.picked:
            self._written("decision", name, at, "asked")
        else:
            returned = self._first(self.ids[row.block] for row in event.answer.rows)
            if returned is not None:
                why = f"returned in {name}"
                self._note("decision", name, Step(version=at.version, why=why, of=returned))
        asked = ("decision", name) if at.picked else None
        for a, b in event.linked:
            ends = [self.ids[a], self.ids[b]]
            self._edge(ends, at, f"recalled together in {name}", self._first(ends) or asked)

    def _scored(self, event: happened.OutcomeRecorded, at: _Write) -> None:
        name = f"o{at.version}"
        about: tuple[Key, ...] = (
            ("decision", str(event.decision_id)),
            ("composition", str(event.composition_id)),
        )
        known = next((key for key in about if key in self.found), None)
        named = self._first(event.block_ids)
        if at.picked:
            self._written("outcome", name, at, "reported")
        elif known is not None:
            why = f"outcome of {known[1]}"
            self._note("outcome", name, Step(version=at.version, why=why, of=known))
        elif named is not None:
            step = Step(version=at.version, why=f"scored {short(named[1])}", of=named)
            self._note("outcome", name, step)
        own = ("outcome", name) if at.picked else None
        self._links(event.links, at, f"linked by outcome {name}", own)

    def _composed(self, event: happened.BlocksComposed, at: _Write) -> None:
        name = event.composition_id or composition_id(at.version)
        member = self._first(each.block_id for each in event.members)
        if at.picked:
            self._written("composition", name, at, "composed")
        elif member is not None:
            step = Step(version=at.version, why=f"composed of {short(member[1])}", of=member)
            self._note("composition", name, step)

    def _labelled(self, event: happened.CompositionLabelled, at: _Write) -> None:
        of: Key = ("composition", event.composition_id)
        if at.picked:
            self._written("label", label_id(at.version), at, f"set on {event.composition_id}")
        elif of in self.found:
            step = Step(version=at.version, why=f"label of {event.composition_id}", of=of)
            self._note("label", label_id(at.version), step)

    def _extracted(self, event: happened.FactsExtracted, at: _Write) -> None:
        for fact in event.facts:
            of = self._first(each.message for each in fact.quotes)
            if of is not None:
                step = Step(version=at.version, why=f"extracted from {short(of[1])}", of=of)
                self._note("block", fact.block_id, step)

    def _adopted(self, event: happened.PolicyAdopted, at: _Write) -> None:
        if at.picked:
            self._written("policy", event.policy_id, at, "adopted")


FOLLOWED_KINDS: Final = (
    happened.BlockLearned,
    happened.BlockRestated,
    happened.BlocksPromoted,
    happened.BlocksRelinked,
    happened.BlockSuperseded,
    happened.EdgeConnected,
    happened.EdgeDeferred,
    happened.RecallRecorded,
    happened.OutcomeRecorded,
    happened.BlocksComposed,
    happened.CompositionLabelled,
    happened.FactsExtracted,
    happened.PolicyAdopted,
)
"""Kinds of events from or by which something may descend."""
