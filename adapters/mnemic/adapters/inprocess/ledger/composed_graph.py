"""``composed_graph``: the ledger in the form of one tool, as clients of seed 003 call it.

Arguments, fields, orders, limits and error texts are exactly those that these clients expect. For
all other clients ``compose``, ``label``, ``ledger`` and ``frontier`` are simpler.

Source: DOMAIN section 8, reference composed-graph section 1; specs/ledger.toml.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from mnemic.adapters.inprocess.operations.ledger import LedgerOperations
from mnemic.adapters.inprocess.registry import operation
from mnemic.kernel.errors import ComposedGraphRefused, Refused, ViewReadOnly
from mnemic.kernel.model import identity

if TYPE_CHECKING:
    from mnemic.adapters.inprocess.ledger.composed_calls import Call


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
    ) -> dict[str, Any]:
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
        from mnemic.adapters.inprocess.ledger import composed_calls

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
        call = composed_calls.checked_call(given)
        if call.action == "label":
            return self._labelled(call, command_id)
        if call.action not in composed_calls.READS:
            raise ComposedGraphRefused(f"Unknown composed_graph action: {call.action}")
        if call.action in {"never_composed", "bounty_mode"}:
            self._auto_consolidate()
        return {"action": call.action, **composed_calls.read(self._view(), call)}

    def _labelled(self, call: Call, command_id: str | None) -> dict[str, Any]:
        from mnemic.adapters.inprocess.ledger import composed_records
        from mnemic.projections.listing import compositions

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
        outcome = composed_records.outcome(compositions.label_result(found))
        return {"action": call.action, "eventId": event_id, "outcome": outcome}
