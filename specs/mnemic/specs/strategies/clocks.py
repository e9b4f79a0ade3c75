"""Strategies of wall clocks that step back, stop and jump, and of sessions under them."""

from __future__ import annotations

from itertools import accumulate

from attrs import frozen
from hypothesis import strategies as st

START_US = 1_767_225_600_000_000
"""2026-01-01, the start of the clocks of these strategies."""
SECOND_US = 1_000_000
HOUR_US = 3600 * SECOND_US
DAY_US = 24 * HOUR_US


def steps() -> st.SearchStrategy[int]:
    """Steps of the wall clock between two readings, in microseconds; they may be negative.

    Mostly minutes. Occasionally nothing, one microsecond, exactly a gap and its neighbours, weeks,
    a century; back by seconds, by exactly the gap, by a day.
    """
    return st.one_of(
        st.integers(min_value=0, max_value=2 * HOUR_US),
        st.sampled_from((0, 1, HOUR_US - 1, HOUR_US, HOUR_US + 1, 14 * DAY_US, 36_500 * DAY_US)),
        st.sampled_from((-1, -30 * SECOND_US, -HOUR_US, -HOUR_US - 1, -DAY_US)),
    )


def readings(*, min_size: int = 1, max_size: int = 40) -> st.SearchStrategy[list[int]]:
    """Successive readings of a hostile clock, in microseconds since the epoch."""
    moves = st.lists(steps(), min_size=min_size, max_size=max_size)
    return moves.map(lambda taken: [START_US + moved for moved in accumulate(taken)])


@frozen
class Tick:
    """One event: when, in which session, and whether it starts or ends that session."""

    now_us: int
    """Wall clock."""
    session: str | None
    what: str
    """``start``, ``event`` or ``end``."""


@st.composite
def sessions(draw: st.DrawFn, *, max_size: int = 40) -> list[Tick]:
    """Overlapping sessions under a hostile clock.

    Sessions may end, be left open by a dead process, or have events again after a long time; events
    outside of any session occur in between.
    """
    open_ones: list[str] = []
    ticks: list[Tick] = []
    for place, now_us in enumerate(draw(readings(max_size=max_size))):
        what = draw(st.sampled_from(("start", "event", "event", "event", "end", "outside")))
        if what == "outside":
            ticks.append(Tick(now_us, None, "event"))
        elif what == "start" or not open_ones:
            open_ones.append(f"s{place}")
            ticks.append(Tick(now_us, f"s{place}", "start"))
        else:
            session = draw(st.sampled_from(open_ones))
            ticks.append(Tick(now_us, session, what))
            if what == "end":
                open_ones.remove(session)
    return ticks
