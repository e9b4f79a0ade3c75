"""Checkpoints: a whole state as arrays, and a state rebuilt from them.

This module is pure: from a state to its parts and back. Files, digests and the question whether
a checkpoint belongs to a log are matters of ``mnemic.adapters.checkpoints``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from numpy.typing import NDArray

from mnemic.kernel.events import EmbedderIdentity
from mnemic.projections.blocks.catalogue import Catalogue
from mnemic.projections.blocks.extractions import Extractions
from mnemic.projections.blocks.keys import Keys
from mnemic.projections.blocks.passages import Passages
from mnemic.projections.blocks.threads import Threads
from mnemic.projections.graph.graph import Graph
from mnemic.projections.ledger.ledger import Ledger
from mnemic.projections.lexical.lexicon import Lexicon
from mnemic.projections.lexical.statements import Statements
from mnemic.projections.state.state import State
from mnemic.projections.storage.array_bundle import (
    ArrayBundle,
    nested,
    packed,
    unpacked,
    within,
)
from mnemic.projections.timeline.timeline import Timeline
from mnemic.projections.vectors.index import VectorIndex


def freeze(state: State) -> ArrayBundle:
    """Return a state at its head as arrays that no later event changes."""
    identities = list(state.indexes)
    staged = [
        [identities.index(identity), list(rows.items())]
        for identity, rows in state.staged_vectors.items()
    ]
    return nested(
        timeline=state.timeline.frozen(),
        catalogue=state.catalogue.frozen(),
        graph=state.graph.frozen(),
        ledger=state.ledger.frozen(),
        extractions=state.extractions.frozen(),
        lexicon=state.lexicon.frozen(),
        statements=state.statements.frozen(),
        sequence=state.sequence.frozen(),
        passages=state.passages.frozen(),
        indexes={
            "embedders": packed([[each.name, each.dimension, each.weights] for each in identities]),
            "staged": packed(staged),
            **nested(
                **{str(at): index.frozen() for at, index in enumerate(state.indexes.values())}
            ),
        },
    )


def copied(parts: Mapping[str, NDArray[Any]]) -> State:
    """Return the state that was passed to ``freeze``, without an array of *parts*."""
    return thaw({name: array.copy() for name, array in parts.items()})


def thaw(parts: Mapping[str, NDArray[Any]]) -> State:
    """Return the state that was passed to ``freeze``.

    Args:
        parts: Parts of a state.

    Raises:
        KeyError, ValueError, TypeError, IndexError: They are not the parts of a state of this
            ``FOLD_VERSION``. The caller has to make sure of that, and of every byte.
    """
    state = State()
    state.timeline = Timeline.thawed(within(parts, "timeline"))
    state.catalogue = Catalogue.thawed(within(parts, "catalogue"))
    state.graph = Graph.thawed(within(parts, "graph"))
    state.ledger = Ledger.thawed(within(parts, "ledger"))
    state.extractions = Extractions.thawed(within(parts, "extractions"))
    state.lexicon = Lexicon.thawed(within(parts, "lexicon"), state.catalogue.texts)
    state.statements = Statements.thawed(within(parts, "statements"), state.catalogue.texts)
    state.keys = Keys(state.catalogue.texts)
    state.sequence = Threads.thawed(within(parts, "sequence"), state.catalogue)
    state.passages = Passages.thawed(
        within(parts, "passages"), state.catalogue.texts, state.lexicon, state.sequence
    )
    indexes = within(parts, "indexes")
    identities = [
        EmbedderIdentity(name=name, dimension=dimension, weights=weights)
        for name, dimension, weights in unpacked(indexes["embedders"])
    ]
    state.indexes = {
        identity: VectorIndex.thawed(within(indexes, str(at)))
        for at, identity in enumerate(identities)
    }
    state.staged_vectors = {identities[at]: dict(rows) for at, rows in unpacked(indexes["staged"])}
    return state
