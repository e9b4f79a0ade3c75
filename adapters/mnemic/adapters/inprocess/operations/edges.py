"""Operations on edges: connect, one by one, many at once or by query, and disconnect."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any

from attrs import asdict

from mnemic.adapters.inprocess.engine.commands import Command
from mnemic.adapters.inprocess.operations.host import Host
from mnemic.adapters.inprocess.registry import operation
from mnemic.kernel.decision import Decision, first_of
from mnemic.kernel.errors import FieldRefused, Refused
from mnemic.kernel.events import EdgeDisconnected
from mnemic.kernel.model.identity import BlockId
from mnemic.kernel.results import unit
from mnemic.kernel.timestamps import Instant
from mnemic.projections.view import View

if TYPE_CHECKING:
    from mnemic.kernel.decisions.connecting import Assertion
    from mnemic.kernel.results import (
        ConnectByQueryResult,
        ConnectResult,
        ConnectsResult,
        DisconnectResult,
    )

BATCH_MAX = 1000
"""Edges of one ``connects``."""


class EdgeOperations(Host):
    """Operations on edges."""

    @operation("POST ./edges", "Edges", "write", destructive=True)
    def connect(
        self,
        source: str,
        target: str,
        relation: str | None = None,
        *,
        weight: float | None = None,
        note: str | None = None,
        if_exists: str = "reinforce",
        command_id: str | None = None,
    ) -> ConnectResult:
        """Assert an edge between two blocks.

        Args:
            source: Id of the block that supports, elaborates or contradicts.
            target: Id of the other block.
            relation: None: ``similar`` for a new edge, unchanged for an existing one.
            weight: None: the default of the relation. Range: [0, 1].
            note: Why, in as many characters as the policy allows (``note_length_max``, 500 at
                first).
            if_exists: ``reinforce``, ``update``, ``skip`` or ``error``.
            command_id: See the class.

        Raises:
            SelfLoop, BlockNotFound, BlockNotActive, WeightOutOfRange, EdgeExists, NoteTooLong,
            UnknownIfExists: See each.
        """
        from mnemic.adapters.inprocess import results
        from mnemic.kernel.decisions import connecting

        assertion = connecting.Assertion(
            source=source,
            target=target,
            relation=relation,
            weight=weight,
            note=note,
            if_exists=if_exists,
        )

        def decide(view: View, at: Instant) -> Decision[ConnectResult]:
            decided = connecting.decide_connect(view, assertion, at)
            return Decision(decided.events, results.connect_result(view, assertion, decided.result))

        arguments = {} if command_id is None else asdict(assertion)
        command = Command("connect", arguments, command_id)
        result: ConnectResult = self._open().execute(command, decide).result
        return result

    @operation("POST ./edges/batch", "Edges", "write", destructive=True)
    def connects(
        self, edges: Iterable[Mapping[str, Any] | Assertion], *, command_id: str | None = None
    ) -> ConnectsResult:
        """Assert many edges in one transaction; invalid ones are refused individually.

        Each edge is decided on the state that results from the earlier ones.

        Args:
            edges: ``ConnectSpec`` values, or mappings with the same fields: the arguments of
                ``connect``; at most 1000.
            command_id: See the class.

        Raises:
            BatchRefused: Every edge was refused; the message has the first reasons.
            FieldRefused: Too many at once, or one edge instead of a list.
        """
        from mnemic.adapters.inprocess.results import connects_result
        from mnemic.kernel.decisions.batch_connect import decide_connects

        assertions = _assertions(edges)

        def decide(view: View, at: Instant) -> Decision[ConnectsResult]:
            decided = decide_connects(view, assertions, at)
            return Decision(decided.events, connects_result(view, assertions, decided.result))

        arguments = (
            {} if command_id is None else {"edges": [_identifying(each) for each in assertions]}
        )
        command = Command("connects", arguments, command_id)
        result: ConnectsResult = self._open().execute(command, decide).result
        return result

    @operation("POST ./edges/by-query", "Edges", "write", destructive=True)
    def connect_by_query(
        self,
        source_query: str,
        target_query: str,
        relation: str | None = None,
        *,
        weight: float | None = None,
        note: str | None = None,
        if_exists: str = "reinforce",
        frame: str | None = None,
        min_confidence: float = 0.70,
        dry_run: bool = False,
        command_id: str | None = None,
    ) -> ConnectByQueryResult:
        """Find two blocks by their content, and connect them if both matches are sure enough.

        Always read ``source_content`` and ``target_content`` of the answer: they are what was
        matched. The search does not count as a retrieval.

        Args:
            source_query: Describes the block that supports, elaborates, contradicts.
            target_query: Describes the other block.
            relation: The relation, as for ``connect``; None: ``similar`` for a new edge, unchanged
                for an existing one.
            weight: Its strength, as for ``connect``; None: the default of the relation.
            note: Why, as for ``connect``.
            if_exists: What to do if the two are connected already, as for ``connect``.
            frame: Look among the blocks of this frame only; None: among all active ones.
            min_confidence: How likely each match has to be the block that is meant. Of matches
                with confidence .7, about seven in ten are. Range: [0, 1].
            dry_run: Only show what would be connected.
            command_id: See the class.

        Raises:
            FieldRefused, FrameUnknown, WeightOutOfRange, EdgeExists, NoteTooLong,
            UnknownIfExists, EmbedderMismatch, VectorRefused: See each.
        """
        space = self._open()
        from mnemic.adapters.inprocess.recall import match_by_query

        request = match_by_query.Request(
            source_query=source_query,
            target_query=target_query,
            relation=relation,
            weight=weight,
            note=note,
            if_exists=if_exists,
            frame=frame,
            min_confidence=min_confidence,
            dry_run=dry_run,
            scope=self._scoped(None),
        ).checked()
        if not dry_run:
            space.check_writable()
        before = match_by_query.answered(space, request, command_id)
        if before is not None:
            return before
        self._auto_consolidate()
        return self._with_models(
            lambda models: match_by_query.connect(space, models, request, command_id)
        )

    @operation("POST ./edges/disconnect", "Edges", "write", destructive=True, same_twice=True)
    def disconnect(
        self,
        source: str,
        target: str,
        *,
        guard_relation: str | None = None,
        reason: str | None = None,
        command_id: str | None = None,
    ) -> DisconnectResult:
        """Remove the edge between two blocks, and bar automatic edges between them.

        Raises:
            SelfLoop, BlockNotFound, NoteTooLong: See each.
        """
        from mnemic.kernel.decisions.connecting import decide_disconnect
        from mnemic.kernel.results import DisconnectResult

        arguments = {"ends": (source, target), "guard": guard_relation, "reason": reason}
        outcome = self._open().execute(
            Command("disconnect", arguments, command_id),
            lambda view, _: decide_disconnect(
                view, source, target, guard_relation=guard_relation, reason=reason
            ),
        )
        event = first_of(outcome.events, EdgeDisconnected)
        return DisconnectResult(
            source_id=BlockId(source),
            target_id=BlockId(target),
            action=outcome.result,
            removed_relation=None if event is None else event.relation,
            removed_weight=None if event is None or event.weight is None else unit(event.weight),
        )


def _assertions(edges: object) -> list[Assertion | Refused]:
    """Return a batch as assertions, with a refusal in place of each invalid item.

    Raises:
        FieldRefused: It is not a list, or too long.
    """
    from mnemic.adapters.inprocess.results import asserted
    from mnemic.kernel.decisions.connecting import Assertion

    if isinstance(edges, str | bytes | Mapping | Assertion) or not isinstance(edges, Iterable):
        raise FieldRefused(
            f"connects takes a list of edges, got {edges!r:.100}",
            recovery="Use connect for one.",
            field="edges",
        )
    given = list(islice(edges, BATCH_MAX + 1))
    if len(given) > BATCH_MAX:
        raise FieldRefused(
            f"more than {BATCH_MAX} edges at once",
            recovery="Connect them in several batches.",
            field="edges",
        )
    return [asserted(each) for each in given]


def _identifying(assertion: Assertion | Refused) -> dict[str, Any]:
    """Return the arguments that identify one edge of a batch."""
    from mnemic.kernel.decisions.connecting import Assertion

    if isinstance(assertion, Assertion):
        return asdict(assertion, recurse=False)
    return assertion.to_dict()
