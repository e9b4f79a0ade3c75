from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mnemic.kernel.events import Recorded
from mnemic.kernel.model.identity import BlockId, CommandId
from mnemic.kernel.numeric.arithmetic import MICROS_PER_HOUR, nano
from mnemic.specs.reference.fold import PlainState
from mnemic.specs.reference.records import PlainBlock
from mnemic.specs.reference.upkeep import expected_curate

NOW_US = 100 * MICROS_PER_HOUR
EVIDENCE = st.sampled_from((nano(0.5), nano(1.5), nano(7.25)))


@st.composite
def states(draw: st.DrawFn) -> PlainState:
    """Active blocks of every strength, some of them reinforced at the current hour."""
    state = PlainState()
    for number in range(draw(st.integers(min_value=1, max_value=9))):
        block = BlockId(f"{number:016d}")
        idle_hours = draw(st.sampled_from((0, 0, 1, 7, 50)))
        state.order.append(block)
        state.blocks[block] = PlainBlock(
            number=number,
            base="active",
            tags=draw(st.sampled_from(((), (), ("self/constitutional",)))),
            rate=nano(0.01),
            tier_rate=nano(0.01),
            alpha=draw(EVIDENCE),
            beta=draw(EVIDENCE),
            reinforcements=draw(st.integers(min_value=1, max_value=12)),
            reinforced_us=NOW_US - idle_hours * MICROS_PER_HOUR,
        )
    return state


@given(state=states())
def test_a_sweep_twice_at_one_hour_is_a_sweep_once(state: PlainState) -> None:
    """The first sweep changes the scale of reinforcement, and so the ranking of blocks."""
    swept = expected_curate(state, NOW_US, 0)
    if swept is not None:
        state.apply(
            Recorded(
                version=0, active_us=NOW_US, recorded_us=0, command_id=CommandId("c"), event=swept
            )
        )
    assert expected_curate(state, NOW_US, 0) is None
