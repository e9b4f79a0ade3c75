"""``composed_graph``: the ledger in the form of one tool, as clients of seed 003 call it.

Arguments, fields, orders, limits and error texts are exactly those that these clients expect. For
all other clients ``compose``, ``label``, ``ledger`` and ``frontier`` are simpler.

Source: DOMAIN section 8, reference composed-graph section 1; specs/ledger.toml.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import islice
from typing import Any, Final

from attrs import frozen

from mnemic.adapters.inprocess.ledger import composed_records as records
from mnemic.adapters.inprocess.operations.ledger import LedgerOperations
from mnemic.adapters.inprocess.registry import operation
from mnemic.kernel.errors import ComposedGraphRefused, Refused, ViewReadOnly
from mnemic.kernel.model import identity
from mnemic.kernel.results import Composition
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
class Call:
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


class ComposedGraph(LedgerOperations):
    """The ledger as one tool with seven actions."""

    @operation("POST ./composed-graph", "Compositions", "write")
    def composed_graph(
        self,
        /,
        action: str | None = None,
        *,
        event_id: str | None = None,
        memory_id: str | None = None,
        limit: int | None = None,
        tags: Sequence[str] | None = None,
        mode: str | None = None,
        outcome_type: str | None = None,
        notes: str | None = None,
        label_source: str | None = None,
        confidence_delta: float | None = None,
        command_id: str | None = None,
        **ignored: object,
    ) -> Answer:
        """Read or label the ledger, under the names that clients of the tool expect.

        Before pairs that were never composed are listed, pending blocks are consolidated, as for a
        recall.

        Args:
            action: ``recent``, ``get``, ``memory``, ``neighbors``, ``never_composed``,
                ``bounty_mode`` or ``label``.
            event_id: A composition; for ``get`` and ``label``.
            memory_id: A block; for ``memory`` and ``neighbors``.
            limit: Maximum number of entries, clamped to 1 to 100. None: 10.
            tags: For ``never_composed`` and ``bounty_mode``: these, and all in their namespaces
                (``project:x`` for ``project``); one of the blocks must have one.
            mode: How pairs are scored: None or ``classic`` as clients of the tool know it, or
                ``default`` as ``frontier`` does.
            outcome_type: For ``label``: one of the fifteen labels.
            notes: For ``label``: notes of at most 2000 characters.
            label_source: For ``label``: the origin of the label; None: ``user``.
            confidence_delta: For ``label``: change of the confidence, from -1 to 1.
            command_id: See the class; only ``label`` writes.
            ignored: Other arguments of a client.

        Returns:
            Plain values, ready for JSON; fields in camel case, absent ones None.

        Raises:
            ComposedGraphRefused: With the tool's own message.
        """
        given = {
            "action": action,
            "event_id": event_id,
            "memory_id": memory_id,
            "limit": limit,
            "tags": tags,
            "mode": mode,
            "outcome_type": outcome_type,
            "notes": notes,
            "label_source": label_source,
            "confidence_delta": confidence_delta,
        }
        if not ignored and all(value is None for value in given.values()):
            raise ComposedGraphRefused("Missing arguments")
        call = _checked(given)
        if call.action == "label":
            return self._labelled(call, command_id)
        if call.action not in READS:
            raise ComposedGraphRefused(f"Unknown composed_graph action: {call.action}")
        if call.action in {"never_composed", "bounty_mode"}:
            self._auto_consolidate()
        return {"action": call.action, **_read(self._view(), call)}

    def _labelled(self, call: Call, command_id: str | None) -> Answer:
        event_id, outcome_type = call.needed("event_id"), call.needed("outcome_type")
        try:
            label = self.label(
                event_id,
                outcome_type,
                notes=call.notes,
                source="user" if call.label_source is None else call.label_source,
                confidence_delta=call.confidence_delta,
                command_id=command_id,
            )
        except ViewReadOnly:
            raise  # not an error in the arguments
        except Refused as refused:
            known = refused.code in {"label-unsupported", "composition-not-found"}
            message = refused.message if known else f"Invalid arguments: {refused.message}"
            raise ComposedGraphRefused(message) from refused
        view, version = self._view(), identity.label_version(label.label_id)
        found = None if version is None else view.state.ledger.label_at(version, version)
        assert found is not None  # noqa: S101 - it was just set
        outcome = records.outcome(compositions.label_result(found))
        return {"action": call.action, "eventId": event_id, "outcome": outcome}


# --- arguments ------------------------------------------------------------------------------


def _checked(given: dict[str, Any]) -> Call:
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


def _read(view: View, call: Call) -> Answer:
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
