"""Verbs on edges: connect and disconnect."""

from __future__ import annotations

from attrs import asdict

from mnemic.adapters.inprocess.answers import connect_result, displaced_results
from mnemic.adapters.inprocess.host import Host
from mnemic.adapters.inprocess.space import Command, Written
from mnemic.kernel.decisions.connecting import Assertion, decide_connect, decide_disconnect
from mnemic.kernel.identity import BlockId
from mnemic.kernel.reading import Moment
from mnemic.kernel.results import ConnectResult, DisconnectResult, unit
from mnemic.projections.views import View


class EdgeVerbs(Host):
    """What a host does with edges."""

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
            source: Id of the block that supports, elaborates, contradicts.
            target: Id of the other block.
            relation: None: ``similar`` for a new edge, unchanged for an existing one.
            weight: None: the default of the relation. Range: [0, 1].
            note: Why, in at most 500 characters.
            if_exists: ``reinforce``, ``update``, ``skip`` or ``error``.
            command_id: See the class.

        Raises:
            SelfLoop, BlockNotFound, BlockNotActive, WeightOutOfRange, EdgeExists, NoteTooLong,
            UnknownIfExists: See each.
        """
        assertion = Assertion(
            source=source,
            target=target,
            relation=relation,
            weight=weight,
            note=note,
            if_exists=if_exists,
        )

        def decide(view: View, at: Moment) -> Written:
            connected = decide_connect(view, assertion, at)
            events = () if connected.event is None else (connected.event,)
            return Written(events, extra=(connected, displaced_results(view, connected.displaced)))

        outcome = self._open().execute(Command("connect", asdict(assertion), command_id), decide)
        return connect_result(assertion, *outcome.extra)

    def disconnect(
        self,
        source: str,
        target: str,
        *,
        guard_relation: str | None = None,
        reason: str | None = None,
        command_id: str | None = None,
    ) -> DisconnectResult:
        """Remove the edge between two blocks, and let no automatic one take its place.

        Raises:
            SelfLoop, BlockNotFound, NoteTooLong: See each.
        """

        def decide(view: View, _: Moment) -> Written:
            event, action = decide_disconnect(
                view, source, target, guard_relation=guard_relation, reason=reason
            )
            return Written(() if event is None else (event,), extra=(event, action))

        arguments = {"ends": (source, target), "guard": guard_relation, "reason": reason}
        outcome = self._open().execute(Command("disconnect", arguments, command_id), decide)
        event, action = outcome.extra
        return DisconnectResult(
            source_id=BlockId(source),
            target_id=BlockId(target),
            action=action,
            removed_relation=None if event is None else event.relation,
            removed_weight=None if event is None or event.weight is None else unit(event.weight),
        )
