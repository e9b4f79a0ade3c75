"""Erasing in place: a state without the texts of some blocks, without replaying the log.

Rules of this module:

1. The result is the state that a replay of the log gives once these texts are gone from it, array
   by array; a property test compares the two. What cannot be derived from the state is not guessed:
   then there is no result, and the log has to be replayed.
2. It shares everything that holds no text with the state it is made from, and writes to none of
   its arrays: readers may still hold them. It keeps no byte of an erased text.
3. The events that record the erasure are applied before or afterwards, like any others.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from copy import copy

import numpy as np

from mnemic.kernel.events import BlockErased, BlockLearned, Event, LossAccepted, SpaceErased
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
from mnemic.projections.storage.columns import VersionedTable


def erased(state: State, ids: Collection[BlockId]) -> State | None:
    """Return *state* as if the payloads of some blocks had never been there.

    Args:
        state: The state at the head, with or without the events that record the erasure.
        ids: The blocks; those that the state does not know are ignored.

    Returns:
        None if it cannot be derived: payloads are lost, or a revert restored tags of these blocks.
    """
    known = {each: state.catalogue.numbers[each] for each in ids if each in state.catalogue.numbers}
    if state.timeline.losses:
        return None
    numbers = frozenset(known.values())
    documents = _documents(state.catalogue.life, numbers)
    catalogue = _catalogue(state, numbers, documents)
    if catalogue is None:
        return None
    other = copy(state)
    other.catalogue, other.past, other.terms = catalogue, SnapshotCache(), Terms()
    _erase_texts(other, state, documents)
    for block in sorted(known):
        places = state.graph.notes.of_owner(block)
        if places:
            other.graph = copy(other.graph)
            other.graph.notes = other.graph.notes.erased(places)
        other.ledger = other.ledger.erased(block)
    other.indexes = {identity: index.erased(numbers) for identity, index in state.indexes.items()}
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


def _catalogue(
    state: State, numbers: Collection[int], documents: Sequence[int]
) -> Catalogue | None:
    """Return the catalogue without the texts, tags and summaries of some blocks.

    Args:
        state: The state that it is of.
        numbers: Numbers of the blocks.
        documents: Their documents, ascending.
    """
    old, timeline = state.catalogue, state.timeline
    kinds, revert = timeline.kind.values, timeline.kinds.known("Reverted")
    tags = blocks.tags(
        old,
        numbers,
        policy_at=lambda version: timeline.policies.at(version).get("policy", DEFAULT),
        reverted=lambda version: int(kinds[version]) == revert,
    )
    if tags is None:
        return None
    return old.without(documents, life=old.life.replaced("tags", tags.column), tag_sets=tags.sets)


def _documents(life: VersionedTable, numbers: Collection[int]) -> list[int]:
    """Return the documents of some blocks, ascending."""
    rows = np.isin(life.keys(0), list(numbers))
    found: list[int] = np.unique(life.column("text")[: life.count][rows]).tolist()
    return found


def _erase_texts(other: State, state: State, documents: Sequence[int]) -> None:
    """Derive everything that is computed from texts.

    Args:
        other: The state that is made; its catalogue is complete.
        state: The state that it is made from.
        documents: Documents of the erased blocks, ascending.
    """
    texts, catalogue = state.catalogue.texts, other.catalogue

    def text_of(document: int) -> str | None:
        text = texts[document]
        return text.content if isinstance(text, BlockText) else None

    other.keys = Keys(catalogue.texts)
    other.statements = state.statements.erased(documents, catalogue.texts)
    if not state.lexicon.analysed:  # then nothing was searched yet, and nothing is derived
        other.lexicon = state.lexicon.over(catalogue.texts)
        other.sequence = Threads(catalogue)
        other.passages = Passages(catalogue.texts, other.lexicon, other.sequence)
        return
    with_text = [each for each in documents if text_of(each) is not None]
    lexicon = lexicons.erased(state.lexicon.frozen(), with_text, text_of)
    other.lexicon = Lexicon.thawed(lexicon, catalogue.texts)
    created_us = _created_us(catalogue.life, len(catalogue.texts))
    threads = blocks.threads(state.sequence.frozen(), documents, created_us)
    other.sequence = Threads.thawed(threads, catalogue)
    passages = blocks.cut(state.passages.frozen(), with_text, text_of, threads["links"])
    other.passages = Passages.thawed(passages, catalogue.texts, other.lexicon, other.sequence)


def _created_us(life: VersionedTable, documents: int) -> Integers:
    """Return when each document was created, as its first row in the life table says."""
    texts = life.column("text")[: life.count]
    first = np.zeros(documents, dtype=np.int64)
    first[texts[::-1]] = np.arange(len(texts) - 1, -1, -1)
    created_us: Integers = life.column("created_us")[first]
    return created_us
