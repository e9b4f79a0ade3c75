"""The whole state of a view and of the plain reference, as dicts of the same form.

Two states are the same when these dicts are equal. A view has no clock of its own (only the head of
a fold has), so the clock is in a separate dict. Vectors count while their block is active.
"""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np

from mnemic.kernel.model.blocks import ACTIVE, STATUSES
from mnemic.kernel.model.edges import EdgeFacts
from mnemic.kernel.model.texts import BlockText, Remark
from mnemic.kernel.model.vectors import pack
from mnemic.kernel.numeric.arithmetic import nano
from mnemic.kernel.scoring import typicality
from mnemic.kernel.scoring.signals import UNKNOWN
from mnemic.projections.blocks.catalogue import REASONS
from mnemic.projections.ledger.ledger import Composed
from mnemic.projections.state.state import State
from mnemic.projections.view import View
from mnemic.projections.view.block_results import block_result
from mnemic.specs.reference.fold import PlainState
from mnemic.specs.reference.records import Pair, pair

StateDict = dict[str, Any]


# --- columns ----------------------------------------------------------------------------------


def state_of_view(view: View) -> StateDict:
    """Return the whole state that *view* shows."""
    graph, known = view.state.graph, view.known().tolist()
    return {
        "version": view.point.version,
        "policy": view.policy.id,
        "embedder": None if view.embedder is None else attrs.asdict(view.embedder),
        "sessions": dict(view.open_sessions()),
        "order": [view.id(number) for number in known],
        "inbox": [view.id(number) for number in view.inbox()],
        "blocks": {view.id(number): _block(view, number) for number in known},
        "degrees": {view.id(number): view.degree(number) for number in known},
        "edges": _edges(view, known),
        "pending": [_pending(view, waiting) for waiting in view.waiting_connections()],
        "barred": sorted(_ids(view, ends) for ends in _standing(view, graph.barred)),
        "near": {
            _ids(view, ends): seen.cosine for ends, seen in _standing(view, graph.sightings).items()
        },
        "staged": {
            _ids(view, ends): list(existing.sessions) for ends, existing in view.staged().items()
        },
        "staging_order": [_ids(view, ends) for ends, _ in view.staging_order()],
        "used": {
            _ids(view, ends): sorted(sessions)
            for ends, sessions in graph.refreshed.at(view.point.version).items()
        },
        "extractions": {each.version: each.event for each in view.extractions()},
        "extracted_from": {
            view.id(number): [each.version for each in view.extractions_of(number)]
            for number in known
        },
        "compositions": [_composition(view, each) for each in view.compositions()],
        "composed_with": {
            view.id(number): [each.id for each in view.composed_with(number)] for number in known
        },
    }


def clock_of_columns(state: State) -> StateDict:
    """Return the clock of a fold at its head."""
    clock = state.timeline.clock
    return {
        "active_us": clock.active_us,
        "counted": clock.counted_us,
        "last": dict(clock.last_us),
    }


def envelopes_of_columns(state: State) -> list[tuple[int, int, str]]:
    """Return active time, wall clock and kind of every event of a fold."""
    timeline = state.timeline
    return [
        (int(active_us), int(recorded_us), timeline.kinds.words[kind])
        for active_us, recorded_us, kind in zip(
            timeline.active_us.values,
            timeline.recorded_us.values,
            timeline.kind.values,
            strict=True,
        )
    ]


def _block(view: View, number: int) -> StateDict:
    facts, life, catalogue = view.facts(number), view.life, view.state.catalogue
    text = view.text(number)
    words = text if isinstance(text, BlockText) else None
    learned, successor = life.get("learned", number), life.get("successor", number)
    return {
        "number": number,
        "base": STATUSES[life.get("status", number)],
        "quarantined": number in _standing(view, catalogue.quarantine),
        "reason": REASONS[life.get("reason", number)] or None,
        "successor": None if successor < 0 else view.id(successor),
        "content": words.content if words else None,
        "tags": facts.tags,
        "author": words.author if words else None,
        "thread": words.thread if words else None,
        "metadata": words.metadata if words else None,
        "summary": block_result(view, number).summary_text,
        "category": facts.category,
        "source": catalogue.sources.words[life.get("source", number)],
        "zone": facts.zone,
        "confidence": facts.confidence,
        "created_at_us": _known(life.get("created_us", number)),
        "expires_at_us": _known(life.get("expires_us", number)),
        "valid_from_us": facts.period.from_us,
        "valid_until_us": facts.period.until_us,
        "learned_version": learned,
        "said_version": life.get("said", number),
        "learned_us": int(view.state.timeline.active_us.values[learned]),
        "actor": view.actor(number),
        "session": catalogue.sessions.words[life.get("session", number)] or None,
        "reinforced_us": facts.reinforced_us,
        "reinforcements": view.strength.get("reinforcements", number),
        "rate": facts.rate,
        "tier_rate": facts.tier_rate,
        "alpha": facts.alpha,
        "beta": facts.beta,
        "retrievals": facts.retrievals,
        "reviews": [tuple(each) for each in catalogue.reviews.of(number, view.point.version)],
        "frames": view.returned_by(number),
        "vector": _vector(view, number) if life.get("status", number) == ACTIVE else None,
        "typicality": _typicality(view, number) if life.get("status", number) == ACTIVE else None,
    }


def _known(us: int) -> int | None:
    return None if us == UNKNOWN else us


def _vector(view: View, number: int) -> bytes | None:
    return _somewhere(pack(view.index.vector(view.life.get("vector", number))))


def _typicality(view: View, number: int) -> int:
    return int(view.index.typicalities(np.array([view.life.get("vector", number)]))[0])


def _edges(view: View, numbers: list[int]) -> dict[Pair, StateDict]:
    found = {edge for number in numbers for edge in view.edges_of(number)}
    return {_ids(view, (edge.source, edge.target)): _edge(view, edge) for edge in found}


def _edge(view: View, edge: EdgeFacts) -> StateDict:
    return {
        "source": view.id(edge.source),
        "target": view.id(edge.target),
        "relation": edge.relation,
        "weight": edge.weight,
        "origin": edge.origin,
        "anchor_us": edge.anchor_us,
        "count": edge.count,
        "note": view.note(edge.source, edge.target),
    }


def _pending(view: View, waiting: Any) -> StateDict:
    note = view.state.graph.notes[waiting.note] if waiting.note >= 0 else None
    return {
        "source": view.id(waiting.source),
        "target": view.id(waiting.target),
        "relation": waiting.relation,
        "weight": waiting.weight,
        "note": note.text if isinstance(note, Remark) else None,
    }


def _composition(view: View, composed: Composed) -> StateDict:
    return {
        "id": composed.id,
        "version": composed.version,
        "event": composed.event,
        "members": [view.id(number) for number in composed.members],
        "labels": {each.version: (each.event, each.active_us) for each in view.labels_of(composed)},
    }


def _ids(view: View, ends: tuple[int, int]) -> Pair:
    return pair(view.id(ends[0]), view.id(ends[1]))


def _standing(view: View, ledgered: Any) -> dict[Any, Any]:
    return view.mapping(ledgered)


# --- the reference ----------------------------------------------------------------------------


def state_of_reference(state: PlainState) -> StateDict:
    """Return the whole state of the reference, as far as columns keep it."""
    told = state.snapshot()
    sessions = {name: each["started"] for name, each in told["sessions"].items() if each["open"]}
    taking_part = {
        name: {member.block_id for member in each.event.members}
        for name, each in state.compositions.items()
    }
    return {
        "version": state.version,
        "policy": told["policy"],
        "embedder": told["embedder"],
        "sessions": sessions,
        "order": told["order"],
        "inbox": state.inbox(),
        "blocks": {block: _plain_block(facts) for block, facts in told["blocks"].items()},
        "degrees": {block: len(state.edges_of(block)) for block in state.order},
        "edges": told["edges"],
        "pending": told["pending"],
        "barred": told["barred"],
        "near": told["near"],
        "staged": told["staged"],
        "staging_order": told["staging_order"],
        "used": told["used"],
        "extractions": dict(state.extractions),
        "extracted_from": {
            block: [at for at, each in state.extractions.items() if block in each.messages]
            for block in state.order
        },
        "compositions": _plain_compositions(state),
        "composed_with": {
            block: [name for name in reversed(state.compositions) if block in taking_part[name]]
            for block in state.order
        },
    }


def clock_of_reference(state: PlainState) -> StateDict:
    """Return the clock of the reference."""
    told: StateDict = state.snapshot()["clock"]
    return told


def _plain_compositions(state: PlainState) -> list[StateDict]:
    return [
        {
            "id": name,
            "version": each.version,
            "event": each.event,
            "members": [member.block_id for member in each.event.members],
            "labels": {
                version: (label.event, label.active_us)
                for version, label in each.labels.items()
                if label.retracted is None
            },
        }
        for name, each in reversed(state.compositions.items())
    ]


def _plain_block(facts: StateDict) -> StateDict:
    if facts["base"] != "active":
        return {**facts, "vector": None, "typicality": None}
    vector, recorded = facts["vector"], facts["typicality"]
    return {
        **facts,
        "vector": None if vector is None else _somewhere(vector),
        "typicality": nano(typicality.USUAL) if recorded == typicality.UNKNOWN else recorded,
    }


def _somewhere(packed: bytes) -> bytes | None:
    """Return a vector, or None for zeros, which also represent an erased vector in columns."""
    return packed if any(packed) else None
