"""Recorded decisions, looked up by their ids."""

from __future__ import annotations

from mnemic.adapters.inprocess.engine.session_handle import SessionHandle
from mnemic.kernel.errors import DecisionNotFound
from mnemic.kernel.events import RecallRecorded, Recorded
from mnemic.kernel.model.identity import DecisionId, decision_id, decision_version
from mnemic.projections.retrieval.recorded_recalls import view_of
from mnemic.projections.view import View


def decision(space: SessionHandle, identifier: str) -> tuple[Recorded, RecallRecorded]:
    """Return the record of a decision.

    Raises:
        DecisionNotFound: No recorded recall has this id.
    """
    if not isinstance(identifier, str):
        raise DecisionNotFound(
            f"a {type(identifier).__name__} is not the id of a decision",
            recovery='Pass an id like "d45": the decision_id of a recall.',
            decision_id=repr(identifier)[:80],
        )
    version = decision_version(identifier)
    recorded = None
    if version is not None and version <= space.snapshot().version:
        recorded = space.event_at(version)
    if recorded is None or not isinstance(recorded.event, RecallRecorded):
        raise DecisionNotFound(f"no decision has the id {identifier!r}", decision_id=identifier)
    return recorded, recorded.event


def view_before(space: SessionHandle, now: View, identifier: str) -> View:
    """Return the state that a decision read, if it was recorded by *now*.

    Raises:
        DecisionNotFound: No recall recorded by then has this id.
    """
    recorded, event = decision(space, identifier)
    if recorded.version > now.point.version:
        raise DecisionNotFound(f"no decision has the id {identifier!r}", decision_id=identifier)
    return view_of(now.state, event)


def decision_name(recorded: Recorded) -> DecisionId:
    """Return the id of a recorded decision."""
    return decision_id(recorded.version)
