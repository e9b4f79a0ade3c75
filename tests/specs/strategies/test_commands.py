from __future__ import annotations

import pytest
from hypothesis import find, given
from hypothesis import strategies as st

from mnemic.kernel.model import vectors
from mnemic.kernel.numeric.arithmetic import nano
from mnemic.specs.strategies import clocks, commands, texts
from mnemic.specs.strategies.vectors import PlaneEmbedder


@given(block=st.integers(min_value=0, max_value=99))
def test_a_command_names_a_block_by_its_place_and_wraps_round(block: int) -> None:
    assert commands.resolved(block, ["a", "b", "c"]) == "abc"[block % 3]
    assert commands.resolved(block, []) == commands.UNKNOWN_ID
    assert commands.resolved(commands.UNKNOWN, ["a"]) == commands.UNKNOWN_ID


@given(content=texts.contents())
def test_lessons_always_have_text(content: str) -> None:
    assert content.strip()


@given(history=commands.crowds())
def test_a_crowd_is_larger_than_the_cap(history: list[commands.Command]) -> None:
    crowd = history[1]
    assert isinstance(crowd, commands.LearnMany)
    assert len({lesson.content for lesson in crowd.lessons}) == 15


@pytest.mark.extended
def test_difficult_cases_are_generated() -> None:
    """Hypothesis must be able to find each of these, or a bias of the strategies was lost."""
    none = st.just(None)
    for wanted in (
        lambda command: isinstance(command, commands.Connect) and command.source == command.target,
        lambda command: isinstance(command, commands.Outcome) and command.signal == 0.5,
        lambda command: isinstance(command, commands.MoveClock) and command.by_us < 0,
        lambda command: isinstance(command, commands.Erase) and command.block == commands.UNKNOWN,
        lambda command: isinstance(command, commands.Recall) and not command.record,
    ):
        assert find(st.one_of(none, commands.commands()), wanted) is not None


@given(ticks=clocks.sessions())
def test_sessions_start_before_their_events_and_end_once(ticks: list[clocks.Tick]) -> None:
    open_ones: set[str] = set()
    for tick in ticks:
        if tick.session is None:
            assert tick.what == "event"
        elif tick.what == "start":
            assert tick.session not in open_ones
            open_ones.add(tick.session)
        else:
            assert tick.session in open_ones
            if tick.what == "end":
                open_ones.remove(tick.session)


def test_plane_embedder_texts_have_cosines_at_the_bands() -> None:
    embedder = PlaneEmbedder()
    rows = embedder.embed([f"angle {turn}: x" for turn in (0, 317, 319, 450, 452, 1265, 1267)])
    placed = [vectors.quantise(row, dimension=embedder.DIMENSION) for row in rows]
    cosines = [vectors.cosine(placed[0], other) for other in placed[1:]]
    bands = [nano(0.95), nano(0.95), nano(0.90), nano(0.90), nano(0.30), nano(0.30)]
    sides = [cosine >= band for cosine, band in zip(cosines, bands, strict=True)]
    assert sides == [True, False, True, False, True, False]


def test_the_same_text_has_the_same_plane_vector() -> None:
    first, second = (PlaneEmbedder().embed(["déjà vu", "angle 7: x"]) for _ in range(2))
    assert first.tolist() == second.tolist()
