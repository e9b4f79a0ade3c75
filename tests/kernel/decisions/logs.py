"""The smallest space that decisions can be told on: a few events, folded."""

from __future__ import annotations

from mnemic.kernel.events import BlockLearned, Event, PolicyAdopted, Promotion, Recorded
from mnemic.kernel.identity import BlockId, CommandId
from mnemic.kernel.policy import Policy
from mnemic.kernel.texts import BlockText, Embedding
from mnemic.kernel.vectors import Vector, pack
from mnemic.projections.state import State
from mnemic.projections.views import View, live


def folded(*events: Event, hour_us: int = 0, now_us: int | None = None) -> View:
    """Return the live view of a log.

    Args:
        events: From version 0.
        hour_us: Active time at which all of them happened.
        now_us: Active time at which the view is taken; None: at once.
    """
    state = State()
    for version, event in enumerate(events):
        state.apply(
            Recorded(
                version=version,
                active_us=hour_us,
                recorded_us=0,
                command_id=CommandId("c"),
                event=event,
            )
        )
    return live(state, active_us=hour_us if now_us is None else now_us, instant_us=0)


def adopted(policy: Policy) -> PolicyAdopted:
    return PolicyAdopted(policy_id=policy.id, body=policy.body)


def learned(block: BlockId) -> BlockLearned:
    return BlockLearned(block_id=block, text=BlockText(of=(block,), content=block))


def promotion(block: BlockId, vector: Vector) -> Promotion:
    return Promotion(block_id=block, vector=Embedding(of=(block,), packed=pack(vector)))
