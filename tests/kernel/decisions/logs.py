"""Minimal logs for tests of decisions: a few events, replayed."""

from __future__ import annotations

from mnemic.kernel.events import BlockLearned, Event, PolicyAdopted, Promotion, Recorded
from mnemic.kernel.model.identity import BlockId, CommandId
from mnemic.kernel.model.texts import BlockText, Embedding
from mnemic.kernel.model.vectors import Vector, pack
from mnemic.kernel.policy import Policy
from mnemic.projections.state.apply import apply
from mnemic.projections.state.state import State
from mnemic.projections.view import View, live


def folded(*events: Event, hour_us: int = 0, now_us: int | None = None) -> View:
    """Return the live view of a log.

    Args:
        events: Events from version 0.
        hour_us: Active time of all events.
        now_us: Active time of the view; None: that of the events.
    """
    state = State()
    for each in recorded(*events, hour_us=hour_us):
        apply(state, each)
    return live(state, active_us=hour_us if now_us is None else now_us, instant_us=0)


def recorded(*events: Event, hour_us: int = 0) -> list[Recorded]:
    """Return the log of some events from version 0, all at one active time."""
    return [
        Recorded(
            version=version,
            active_us=hour_us,
            recorded_us=0,
            command_id=CommandId("c"),
            event=event,
        )
        for version, event in enumerate(events)
    ]


def adopted(policy: Policy) -> PolicyAdopted:
    return PolicyAdopted(policy_id=policy.id, body=policy.body)


def learned(block: BlockId) -> BlockLearned:
    return BlockLearned(block_id=block, text=BlockText(of=(block,), content=block))


def promotion(block: BlockId, vector: Vector) -> Promotion:
    return Promotion(block_id=block, vector=Embedding(of=(block,), packed=pack(vector)))
