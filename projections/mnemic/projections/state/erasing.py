"""Erasing in place: a state without the texts of some blocks, without replaying the log.

Rules of this module:

1. The result is the state that a replay of the log gives once these texts are gone from it, array
   by array; a property test compares the two. What cannot be derived from the state is not guessed:
   then there is no result, and the log has to be replayed.
2. It shares everything that holds no text with the state it is made from, and writes to none of
   its arrays: readers may still hold them. It keeps no byte of an erased text.
3. What takes long, because it is computed from all texts or vectors, can be derived before
   (``Capture``, ``Derived``), while the writer learns further texts. Without that, or if the state
   has changed otherwise, it is derived at once.
4. The events that record the erasure are applied before or afterwards, like any others.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from copy import copy

import numpy as np
from attrs import frozen

from mnemic.kernel.events import (
    BlockErased,
    BlockLearned,
    EmbedderIdentity,
    Event,
    LossAccepted,
    SpaceErased,
)
from mnemic.kernel.model.identity import BlockId
from mnemic.kernel.model.texts import BlockText
from mnemic.kernel.numeric.arithmetic import Integers
from mnemic.kernel.policy import DEFAULT
from mnemic.projections.blocks import erasing as blocks
from mnemic.projections.blocks.catalogue import Catalogue
from mnemic.projections.blocks.keys import Keys
from mnemic.projections.blocks.passages import Passages
from mnemic.projections.blocks.threads import Threads
from mnemic.projections.lexical import erasing as lexicons
from mnemic.projections.lexical.content_terms import Terms
from mnemic.projections.lexical.lexicon import Lexicon
from mnemic.projections.state.snapshots import SnapshotCache
from mnemic.projections.state.state import State
from mnemic.projections.storage.array_bundle import ArrayBundle
from mnemic.projections.storage.columns import VersionedTable
from mnemic.projections.storage.payloads import Payloads
from mnemic.projections.vectors.index import VectorIndex


@frozen(kw_only=True, eq=False)
class Capture:
    """What is needed of a state to derive everything that is computed from its texts.

    Nothing that the writer does later changes it.
    """

    state: State
    documents: list[int]
    """Documents of the erased blocks, ascending."""
    numbers: Collection[int]
    """Numbers of the erased blocks."""
    texts: Payloads[BlockText]
    """All texts but the erased ones."""
    lives: int
    """Number of rows of the life table."""
    promoted: tuple[int, ...]
    """How many rarities were recorded, and the rows of each index."""
    analysed: Mapping[str, ArrayBundle] | None
    """Parts of lexicon, threads and passages; None: nothing was searched yet."""

    @classmethod
    def of(cls, state: State, ids: Collection[BlockId]) -> Capture | None:
        """Return what is needed to erase some blocks; called by the holder of the state.

        Returns:
            None if the erasure cannot be derived, because payloads are lost.
        """
        if state.timeline.losses:
            return None
        catalogue, numbers = state.catalogue, _numbers(state, ids)
        documents = _documents(catalogue.life, numbers)
        parts = None
        if state.lexicon.analysed:
            parts = {
                name: getattr(state, name).frozen() for name in ("lexicon", "sequence", "passages")
            }
        return cls(
            state=state,
            documents=documents,
            numbers=numbers,
            texts=catalogue.texts.erased(documents),
            lives=catalogue.life.count,
            promoted=_promoted(state),
            analysed=parts,
        )

    def derived(self) -> Derived:
        """Derive everything that takes long; the writer may go on meanwhile."""
        state, documents = self.state, self.documents
        indexes = {name: index.erased(self.numbers) for name, index in state.indexes.items()}
        texts, old = self.texts, state.catalogue.texts
        if self.analysed is None:
            return Derived(capture=self, indexes=indexes)

        def text_of(document: int) -> str | None:
            text = old[document]
            return text.content if isinstance(text, BlockText) else None

        with_text = [each for each in documents if text_of(each) is not None]
        parts = lexicons.erased(self.analysed["lexicon"], with_text, text_of)
        lexicon = Lexicon.thawed(parts, texts)
        created_us = _created_us(state.catalogue.life, len(texts), rows=self.lives)
        parts = threads = blocks.threads(self.analysed["sequence"], documents, created_us)
        sequence = Threads.thawed(parts, state.catalogue, rows=self.lives)
        parts = blocks.cut(self.analysed["passages"], with_text, text_of, threads["links"])
        passages = Passages.thawed(parts, texts, lexicon, sequence)
        return Derived(
            capture=self, indexes=indexes, lexicon=lexicon, sequence=sequence, passages=passages
        )


@frozen(kw_only=True, eq=False)
class Derived:
    """Everything of an erased state that is computed from texts or vectors, to be used once."""

    capture: Capture
    indexes: dict[EmbedderIdentity, VectorIndex]
    lexicon: Lexicon | None = None
    """None, as the others: nothing was searched yet."""
    sequence: Threads | None = None
    passages: Passages | None = None

    def fits(self, state: State, ids: Collection[BlockId]) -> bool:
        """Whether it is of this state and these blocks still.

        Texts that were learned since are added; a promotion is not, and neither is another text of
        an erased block.
        """
        capture = self.capture
        return (
            capture.state is state
            and capture.numbers == _numbers(state, ids)
            and capture.promoted == _promoted(state)
            and not state.timeline.losses
            and capture.documents == _documents(state.catalogue.life, capture.numbers)
        )

    def complete(self, other: State, catalogue: Catalogue) -> None:
        """Put everything into *other*, whose catalogue has all texts."""
        other.catalogue, other.indexes = catalogue, self.indexes
        texts = catalogue.texts
        if self.lexicon is None or self.sequence is None or self.passages is None:
            other.lexicon = self.capture.state.lexicon.over(texts)
            other.sequence = Threads(catalogue)
            other.passages = Passages(texts, other.lexicon, other.sequence)
            return
        for _ in range(len(self.lexicon), len(texts)):
            self.lexicon.add(None)  # the text is among the others
        self.sequence.catalogue = catalogue
        other.lexicon, other.sequence, other.passages = self.lexicon, self.sequence, self.passages


def erased(state: State, ids: Collection[BlockId], derived: Derived | None = None) -> State | None:
    """Return *state* as if the payloads of some blocks had never been there.

    Args:
        state: The state at the head, with or without the events that record the erasure.
        ids: The blocks; those that the state does not know are ignored.
        derived: What was derived of the state before, if that was done.

    Returns:
        None if it cannot be derived: payloads are lost, or a revert restored tags of these blocks.
    """
    if derived is None or not derived.fits(state, ids):
        capture = Capture.of(state, ids)
        if capture is None:
            return None
        derived = capture.derived()
    capture = derived.capture
    catalogue = _catalogue(state, capture)
    if catalogue is None:
        return None
    other = copy(state)
    other.past, other.terms = SnapshotCache(), Terms()
    derived.complete(other, catalogue)
    other.keys = Keys(catalogue.texts)
    other.statements = state.statements.erased(capture.documents, catalogue.texts)
    for block in sorted({each for each in ids if each in state.catalogue.numbers}):
        places = state.graph.notes.of_owner(block)
        if places:
            other.graph = copy(other.graph)
            other.graph.notes = other.graph.notes.erased(places)
        other.ledger = other.ledger.erased(block)
    return other


def erased_alone(events: Iterable[Event]) -> frozenset[BlockId] | None:
    """Return the blocks that *events* erase.

    Returns:
        None if texts are erased or lost in another way, or one is learned again after its erasure:
        then the log has to be replayed.
    """
    found: set[BlockId] = set()
    for event in events:
        if isinstance(event, BlockErased):
            found.add(event.block_id)
        is_again = isinstance(event, BlockLearned) and event.block_id in found
        if is_again or isinstance(event, SpaceErased | LossAccepted):
            return None
    return frozenset(found)


def _numbers(state: State, ids: Collection[BlockId]) -> frozenset[int]:
    """Return the numbers of those of *ids* that the state knows."""
    known = state.catalogue.numbers
    return frozenset(known[each] for each in ids if each in known)


def _promoted(state: State) -> tuple[int, ...]:
    """Return how many rarities were recorded, and the rows of each index."""
    return (state.lexicon.recorded, *(index.rows for index in state.indexes.values()))


def _catalogue(state: State, capture: Capture) -> Catalogue | None:
    """Return the catalogue without the texts, tags and summaries of the erased blocks.

    The texts that were learned since the capture are added to those of the capture.
    """
    old, timeline = state.catalogue, state.timeline
    kinds, revert = timeline.kind.values, timeline.kinds.known("Reverted")
    tags = blocks.tags(
        old,
        capture.numbers,
        policy_at=lambda version: timeline.policies.at(version).get("policy", DEFAULT),
        reverted=lambda version: int(kinds[version]) == revert,
    )
    if tags is None:
        return None
    texts = capture.texts
    for text in old.texts.since(len(texts)):
        texts.append(text)
    return old.without(
        capture.documents,
        texts=texts,
        life=old.life.replaced("tags", tags.column),
        tag_sets=tags.sets,
    )


def _documents(life: VersionedTable, numbers: Collection[int]) -> list[int]:
    """Return the documents of some blocks, ascending."""
    keys = life.keys(0)
    rows = np.isin(keys, list(numbers))
    found: list[int] = np.unique(life.column("text")[: len(keys)][rows]).tolist()
    return found


def _created_us(life: VersionedTable, documents: int, *, rows: int) -> Integers:
    """Return when each document was created, as its first row in the life table says.

    Args:
        life: The table.
        documents: How many there are.
        rows: Number of rows of the table that are looked at.
    """
    texts = life.column("text")[:rows]
    first = np.zeros(documents, dtype=np.int64)
    first[texts[::-1]] = np.arange(len(texts) - 1, -1, -1)
    created_us: Integers = life.column("created_us")[first]
    return created_us
