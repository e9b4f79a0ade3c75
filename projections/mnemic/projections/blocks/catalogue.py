"""The catalogue: every block that was ever learned, and its state at every version.

Blocks are numbered in the order of their first learning. The texts of blocks are in ``texts``,
one entry per time a block was learned; everything that is counted or compared is in columns.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from functools import cached_property
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from mnemic.kernel.decisions.supersession import inherited
from mnemic.kernel.events import (
    BlockLearned,
    BlockRestated,
    BlocksQuarantined,
    Recorded,
    Supersession,
)
from mnemic.kernel.model.blocks import ARCHIVED, INBOX
from mnemic.kernel.model.identity import BlockId
from mnemic.kernel.model.texts import BlockText
from mnemic.kernel.policy import Policy
from mnemic.kernel.scoring.signals import UNKNOWN
from mnemic.projections.blocks.outcomes import Outcomes
from mnemic.projections.blocks.periods import Periods
from mnemic.projections.blocks.retrieval_counts import RetrievalCounts
from mnemic.projections.blocks.review_history import ReviewHistory
from mnemic.projections.storage.array_bundle import (
    ArrayBundle,
    Lazy,
    nested,
    numbered,
    packed,
    unpacked,
    unpacked_ids,
    within,
)
from mnemic.projections.storage.columns import Interner, VersionedTable
from mnemic.projections.storage.payloads import Payloads
from mnemic.projections.storage.versioned_maps import VersionedMap

REASONS = ("", "decayed", "superseded", "expired", "forgotten", "erased")

NO_TAGS: tuple[str, ...] = ()
_NAMES = ("categories", "sources", "zones", "sessions")
QUESTIONS_MAX = 64
"""Number of tag queries whose results are cached."""
NO_SETS: Final = np.zeros(0, dtype=np.bool_)


_LIFE: Mapping[str, type[np.generic]] = {
    "status": np.int8,
    "reason": np.int8,
    "successor": np.int32,
    "text": np.int32,
    "tags": np.int32,
    "vector": np.int32,
    "category": np.int32,
    "source": np.int32,
    "zone": np.int32,
    "session": np.int32,
    "learned": np.int32,
    "said": np.int32,
    "confidence": np.int64,
    "created_us": np.int64,
    "expires_us": np.int64,
    "period": np.int32,
    "tier_rate": np.int64,
}
_STRENGTH: Mapping[str, type[np.generic]] = {
    "reinforced_us": np.int64,
    "reinforcements": np.int32,
    "rate": np.int64,
}
_EVIDENCE: Mapping[str, type[np.generic]] = {"alpha": np.int64, "beta": np.int64}
_USES: Mapping[str, type[np.generic]] = {"retrievals": np.int32}


class Catalogue:
    """Blocks as numbered keys of four tables of row versions."""

    def __init__(self) -> None:
        self.ids: list[BlockId] = []
        self.numbers: dict[BlockId, int] = {}
        self.texts: Payloads[BlockText] = Payloads(BlockText)
        """One per learning; its position is the document number of the lexicon too."""
        self.categories = Interner()
        self.sources = Interner()
        self.zones = Interner()
        self._sets_with: dict[tuple[str, ...], NDArray[np.bool_]] = {}
        self.sessions = Interner("")
        self.periods = Periods()
        self.waiting: dict[int, None] = {}
        """The inbox at the head, oldest first."""
        self.life = VersionedTable(**_LIFE)
        self.strength = VersionedTable(**_STRENGTH)
        self.evidence = VersionedTable(**_EVIDENCE)
        """Outcomes alone: the prior belongs to the policy in force at the view."""
        self.uses = VersionedTable(**_USES)
        self.returns = RetrievalCounts()
        self.outcomes = Outcomes()
        self.reviews = ReviewHistory()
        self.quarantine: VersionedMap[int] = VersionedMap()
        """The blocks in quarantine, by number, and the version that put each there."""
        self._tag_sets = Lazy[list[tuple[str, ...]]](lambda: [NO_TAGS])
        self._summaries = Lazy[dict[int, list[tuple[int, str | None]]]](dict)

    def frozen(self) -> ArrayBundle:
        """Return all blocks and their states."""
        return {
            "ids": packed(self.ids),
            "tag_sets": packed(self.tag_sets),
            "summaries": packed(list(self.summaries.items())),
            "periods": self.periods.frozen(),
            "waiting": np.fromiter(self.waiting, dtype=np.int32, count=len(self.waiting)),
            **{name: packed(getattr(self, name).words) for name in _NAMES},
            **nested(
                texts=self.texts.frozen(),
                life=self.life.frozen(),
                strength=self.strength.frozen(),
                evidence=self.evidence.frozen(),
                uses=self.uses.frozen(),
                returns=self.returns.frozen(),
                outcomes=self.outcomes.frozen(),
                reviews=self.reviews.frozen(),
                quarantine=self.quarantine.frozen(),
            ),
        }

    @classmethod
    def thawed(cls, parts: Mapping[str, NDArray[Any]]) -> Catalogue:
        """Return the catalogue that was frozen."""
        catalogue = cls()
        catalogue.ids = unpacked_ids(parts["ids"])
        catalogue.numbers = numbered(catalogue.ids)
        catalogue.texts = Payloads.thawed(within(parts, "texts"), BlockText)
        catalogue.periods = Periods.thawed(parts["periods"])
        catalogue.waiting = dict.fromkeys(parts["waiting"].tolist())
        tag_sets, summaries = parts["tag_sets"], parts["summaries"]
        catalogue._tag_sets = Lazy(lambda: list(map(tuple, unpacked(tag_sets))))
        catalogue._summaries = Lazy(lambda: _summaries(summaries))
        for name in _NAMES:
            setattr(catalogue, name, Interner.thawed(unpacked(parts[name])))
        catalogue.life = VersionedTable.thawed(within(parts, "life"), _LIFE)
        catalogue.strength = VersionedTable.thawed(within(parts, "strength"), _STRENGTH)
        catalogue.evidence = VersionedTable.thawed(within(parts, "evidence"), _EVIDENCE)
        catalogue.uses = VersionedTable.thawed(within(parts, "uses"), _USES)
        catalogue.returns = RetrievalCounts.thawed(within(parts, "returns"))
        catalogue.outcomes = Outcomes.thawed(within(parts, "outcomes"))
        catalogue.reviews = ReviewHistory.thawed(within(parts, "reviews"))
        catalogue.quarantine = VersionedMap.thawed(within(parts, "quarantine"))
        return catalogue

    def over(self, **tables: Any) -> Catalogue:
        """Return a catalogue that shares everything with this one except some of its tables."""
        _ = self._tag_set_numbers  # otherwise each of the two would compute its own
        other = copy(self)
        vars(other).update(tables)
        return other

    def without(
        self,
        documents: Sequence[int],
        *,
        texts: Payloads[BlockText],
        life: VersionedTable,
        tag_sets: list[tuple[str, ...]],
    ) -> Catalogue:
        """Return a catalogue without some texts and their summaries; it keeps no byte of them.

        Args:
            documents: Places of the texts.
            texts: All texts, without those.
            life: The life table with the remaining tags.
            tag_sets: The remaining sets of tags.
        """
        gone = frozenset(documents)
        summaries = {text: each for text, each in self.summaries.items() if text not in gone}
        return self.over(
            texts=texts,
            life=life,
            _tag_sets=Lazy(lambda: tag_sets),
            _tag_set_numbers={tags: number for number, tags in enumerate(tag_sets)},
            _summaries=Lazy(lambda: summaries),
            _sets_with={},
        )

    @property
    def tag_sets(self) -> list[tuple[str, ...]]:
        """Sets of tags by number, each sorted."""
        return self._tag_sets.value

    @cached_property
    def _tag_set_numbers(self) -> dict[tuple[str, ...], int]:
        return {tags: number for number, tags in enumerate(self.tag_sets)}

    @property
    def summaries(self) -> dict[int, list[tuple[int, str | None]]]:
        """By text: versions, and the analyst's summary from each on; None for none."""
        return self._summaries.value

    def tag_set(self, tags: tuple[str, ...]) -> int:
        """Return the number of a sorted set of tags."""
        number = self._tag_set_numbers.get(tags)
        if number is None:
            number = self._tag_set_numbers[tags] = len(self.tag_sets)
            self.tag_sets.append(tags)
        return number

    def sets_with(self, wanted: tuple[str, ...]) -> NDArray[np.bool_]:
        """Return, by tag set number, whether a set has a wanted tag or one below a ``prefix/``.

        Cached per query and extended as sets are added: sets never change.
        """
        known, tag_sets = self._sets_with.get(wanted, NO_SETS), self.tag_sets
        if len(known) < len(tag_sets):
            fresh = [any(_wants(wanted, tag) for tag in tags) for tags in tag_sets[len(known) :]]
            known = np.concatenate((known, np.array(fresh, dtype=np.bool_)))
            if len(self._sets_with) >= QUESTIONS_MAX:
                self._sets_with = {}
            self._sets_with[wanted] = known
        return known

    def tags(self, number: int) -> tuple[str, ...]:
        """Return the tags of a block at the head, sorted."""
        return self.tag_sets[self.life.value("tags", number)]

    def summary(self, text: int, version: int) -> str | None:
        """Return the summary of a text at *version*."""
        for since, words in reversed(self.summaries.get(text, ())):
            if since <= version:
                return words
        return None

    # --- what events do ---------------------------------------------------------------------

    def summarise(self, text: int, version: int, words: str | None) -> None:
        """Set the summary of a text from *version* on."""
        self.summaries.setdefault(text, []).append((version, words))

    def restate(self, event: BlockRestated, at: Recorded) -> None:
        """Set when a block was last said, and when its fact holds if the event says that."""
        values = {"said": at.version}
        if not event.undated:
            values["created_us"] = at.recorded_us if event.said_us is None else event.said_us
        if event.valid_from_us is not None or event.valid_until_us is not None:
            values["period"] = self.periods.number(event.valid_from_us, event.valid_until_us)
        self.life.change(self.numbers[event.block_id], at.version, **values)

    def supersede(self, event: Supersession, version: int, policy: Policy) -> None:
        """Archive the old block; its tags, evidence and retrievals are transferred to the new one.

        Evidence moves and is not copied: if the old text is learned again and supersedes the new
        one later, the evidence must not be counted twice.
        """
        old, new = self.numbers[event.old], self.numbers[event.new]
        values = {"tags": self.tag_set(inherited(self.tags(new), self.tags(old), policy))}
        if event.rate is not None:
            values["tier_rate"] = event.rate
            self.strength.change(new, version, rate=event.rate)
        self.life.change(new, version, **values)
        self.archive(old, version, "superseded", successor=new)
        for block, sign in ((old, -1), (new, 1)):
            self.score(block, version, sign * event.alpha, sign * event.beta)
            if event.retrievals:
                self.retrieve(block, version, sign * event.retrievals)

    def archive(
        self, number: int, version: int, reason: str, *, successor: int | None = None
    ) -> None:
        """Archive a block; without *successor* it keeps the one it may have."""
        values = {} if successor is None else {"successor": successor}
        self.life.change(number, version, status=ARCHIVED, reason=REASONS.index(reason), **values)
        self.waiting.pop(number, None)

    def queue_again(self) -> None:
        """Rebuild the inbox in the order of learning, after blocks were restored."""
        head = self.life.head
        waiting = np.flatnonzero(self.life.column("status")[head] == INBOX)
        learned = self.life.column("learned")[head[waiting]]
        self.waiting = dict.fromkeys(waiting[np.argsort(learned, kind="stable")].tolist())

    def rezone(self, number: int, version: int, zone: str, rate: int | None) -> None:
        """Move a block to a zone, where it decays at *rate*; None: as before."""
        values = {"zone": self.zones.number(zone)}
        if rate is not None:
            values["tier_rate"] = rate
            self.strength.change(number, version, rate=rate)
        self.life.change(number, version, **values)

    def set_apart(self, event: BlocksQuarantined, version: int) -> None:
        """Put blocks into quarantine, or release them."""
        for block in event.block_ids:
            number = self.numbers[block]
            if event.released:
                self.quarantine.drop(number, version)
            else:
                self.quarantine.put(number, version, version)

    def revector(self, number: int, version: int, vector: int) -> None:
        """Set the vector of a block for a newly adopted embedder."""
        self.life.change(number, version, vector=vector)

    def score(self, number: int, version: int, alpha: int, beta: int) -> None:
        """Add outcome evidence, nano-units."""
        if alpha or beta:
            self.evidence.add(number, version, (alpha, beta))

    def retrieve(self, number: int, version: int, times: int = 1) -> None:
        self.uses.add(number, version, (times,))


def _summaries(part: NDArray[Any]) -> dict[int, list[tuple[int, str | None]]]:
    return {text: [(since, words) for since, words in steps] for text, steps in unpacked(part)}


def _wants(wanted: tuple[str, ...], tag: str) -> bool:
    return any(tag == want or (want.endswith("/") and tag.startswith(want)) for want in wanted)


def created_us(event: BlockLearned, at: Recorded) -> int:
    """Return when a block was created, or ``UNKNOWN``."""
    if event.undated:
        return UNKNOWN
    return at.recorded_us if event.created_at_us is None else event.created_at_us
