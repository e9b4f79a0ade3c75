"""Arguments and answers of ``composed_graph``.

Source: DOMAIN section 8, reference composed-graph section 1; specs/ledger.toml.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import islice
from typing import Any, Final

from attrs import frozen

from mnemic.adapters.inprocess.ledger import composed_records as records
from mnemic.kernel.errors import ComposedGraphRefused
from mnemic.kernel.results import Composition
from mnemic.kernel.values import Value
from mnemic.projections.frontier.queue import MODES, PAIR, TAGS_MAX, frontier
from mnemic.projections.listing import compositions, lanes
from mnemic.projections.view import View

Answer = dict[str, Any]

LIMIT_DEFAULT: Final = 10
LIMIT_MAX: Final = 100
WEIRD: Final = 3
"""Pairs that ``bounty_mode`` highlights."""
MODE_DEFAULT: Final = "classic"
TEXTS: Final = (
    "action",
    "event_id",
    "memory_id",
    "mode",
    "outcome_type",
    "notes",
    "label_source",
)
READS: Final = ("recent", "get", "memory", "neighbors", "never_composed", "bounty_mode")
GUARDRAILS: Final = (
    "A lane that was never composed is a question worth asking, not a finding.",
    "The score of a composition puts the queue in order; it does not measure severity.",
    "To be reported a lane still needs references to sources, a place in scope, a working proof.",
)


@frozen(kw_only=True)
class Call(Value):
    """The arguments of one call, checked for their types only."""

    action: str
    event_id: str | None
    memory_id: str | None
    limit: int
    """Clamped, never refused. Range: [1, 100]."""
    tags: tuple[str, ...]
    mode: str
    outcome_type: str | None
    notes: str | None
    label_source: str | None
    confidence_delta: float | None

    def needed(self, name: str) -> str:
        """Return an argument that the action requires."""
        value: str | None = getattr(self, name)
        if value is None:
            raise ComposedGraphRefused(f"{name} is required for {self.action}", field=name)
        return value


# --- arguments ------------------------------------------------------------------------------


def checked_call(given: dict[str, Any]) -> Call:
    """Return the arguments of a call.

    Raises:
        ComposedGraphRefused: One is of the wrong type, or the action is missing.
    """
    for name in TEXTS:
        if given[name] is not None and not isinstance(given[name], str):
            raise _invalid(name, "must be text", given[name])
    if given["action"] is None:
        raise ComposedGraphRefused("Invalid arguments: missing field `action`", field="action")
    limit, delta, tags = given["limit"], given["confidence_delta"], given["tags"]
    if limit is not None and type(limit) is not int:
        raise _invalid("limit", "must be a whole number", limit)
    if delta is not None and not _is_number(delta):
        raise _invalid("confidence_delta", "must be a number", delta)
    if tags is not None and not (
        isinstance(tags, list | tuple) and all(isinstance(tag, str) for tag in tags)
    ):
        raise _invalid("tags", "must be a list of texts", tags)
    mode = given["mode"] or MODE_DEFAULT
    if mode not in MODES:
        raise _invalid("mode", f"must be one of {', '.join(MODES)}", mode)
    limit = LIMIT_DEFAULT if limit is None else min(max(limit, 1), LIMIT_MAX)
    checked: dict[str, Any] = {
        **given,
        "limit": limit,
        "tags": tuple(filter(None, tags or ())),
        "mode": mode,
    }
    return Call(**checked)


def _is_number(value: object) -> bool:
    ok = isinstance(value, int | float) and not isinstance(value, bool)
    return ok and math.isfinite(value)  # type: ignore[arg-type]


def _invalid(name: str, rule: str, value: object) -> ComposedGraphRefused:
    return ComposedGraphRefused(f"Invalid arguments: {name} {rule}, got {value!r:.80}", field=name)


# --- answers --------------------------------------------------------------------------------


def read(view: View, call: Call) -> Answer:
    """Return the answer of a read-only action."""
    match call.action:
        case "recent":
            latest = islice(view.compositions(), call.limit)
            return {"events": [records.event(compositions.shown(view, each)) for each in latest]}
        case "get":
            return _one(view, call.needed("event_id"))
        case "memory":
            return _of_block(view, call.needed("memory_id"), call.limit)
        case "neighbors":
            return _neighbours(view, call.needed("memory_id"), call.limit)
        case "never_composed":
            return {"candidates": _candidates(view, call)}
        case _:
            return _bounty(view, call)


def _one(view: View, event_id: str) -> Answer:
    found = view.composition(event_id)
    if found is None:
        raise ComposedGraphRefused(
            f"composition event not found: {event_id}", composition_id=event_id
        )
    return records.lane(compositions.shown(view, found))


def _of_block(view: View, memory_id: str, limit: int) -> Answer:
    number = view.number(memory_id)
    found = [] if number is None else view.composed_with(number)[:limit]
    events = [records.event(compositions.shown(view, each)) for each in found]
    return {"memoryId": memory_id, "events": events}


def _neighbours(view: View, memory_id: str, limit: int) -> Answer:
    known = view.number(memory_id) is not None
    found = compositions.neighbours(view, memory_id, limit=limit) if known else ()
    return {"memoryId": memory_id, "neighbors": [records.neighbour(each) for each in found]}


def _candidates(view: View, call: Call) -> list[Answer]:
    found = frontier(view, mode=call.mode, tags=call.tags[:TAGS_MAX], limit=call.limit, size=PAIR)
    return [records.candidate(pair) for pair in found.candidates]


def _bounty(view: View, call: Call) -> Answer:
    found, never = lanes.lanes(view, tags=call.tags, limit=call.limit), _candidates(view, call)

    def shown(lane: Sequence[Any]) -> list[Answer]:
        answer: list[Composition] = [compositions.shown(view, each) for each in lane]
        return [records.lane(composition) for composition in answer]

    return {
        "alreadyComposedLanes": shown(found.composed),
        "neverComposedLanes": never,
        "closedDoors": shown(found.closed),
        "duplicateRiskLanes": shown(found.duplicate),
        "needsPocLanes": shown(found.needs_poc),
        "topWeirdCombinations": never[:WEIRD],
        "guardrails": list(GUARDRAILS),
    }
