"""The frequency of difficult cases in generated histories."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from typing import TypeVar

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from mnemic.kernel import events as happened
from mnemic.kernel.numeric.arithmetic import NANO, nano
from mnemic.kernel.policy import DEFAULT
from mnemic.specs.strategies import clocks, commands, episodes, texts, vectors
from tests.specs.test_kernel_against_reference import TIGHT, Shell

pytestmark = pytest.mark.extended

DRAWS = 200
drawn = settings(
    max_examples=DRAWS,
    derandomize=True,
    database=None,
    phases=[Phase.generate],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
WEAK, BAD, GOOD = (
    nano(value)
    for value in (
        DEFAULT.edge_prune_below,
        DEFAULT.outcome_penalises_below,
        DEFAULT.outcome_reinforces_above,
    )
)


E = TypeVar("E")


def events(shell: Shell, kind: type[E]) -> list[E]:
    return [recorded.event for recorded in shell.log if isinstance(recorded.event, kind)]


def weights(shell: Shell) -> set[int]:
    return {event.weight for event in events(shell, happened.EdgeConnected)}


def signals(shell: Shell) -> set[int]:
    return {event.signal for event in events(shell, happened.OutcomeRecorded)}


def came_back(shell: Shell) -> bool:
    learned = Counter(event.block_id for event in events(shell, happened.BlockLearned))
    return any(count > 1 for count in learned.values())


def chain_of(shell: Shell, length: int) -> bool:
    """Whether there is a chain of supersessions of a given length."""
    blocks = shell.plain.blocks
    ends = set(blocks)
    for _ in range(length):
        ends = {next_ for end in ends if (next_ := blocks[end].successor) is not None}
    return bool(ends)


def equal_links(shell: Shell) -> bool:
    """Whether a block got two edges of equal score, which only ids can order."""
    promoted = events(shell, happened.BlocksPromoted)
    for event in promoted:
        scores = Counter((link.source, link.weight) for link in event.links)
        if any(count > 1 for count in scores.values()):
            return True
    return False


def archived(shell: Shell, reason: str) -> bool:
    swept = events(shell, happened.Curated)
    return any(each.reason == reason for event in swept for each in event.archived)


SEEN: dict[str, Callable[[Shell], bool]] = {
    "a text comes back after it was put away": came_back,
    "a correction is corrected": lambda shell: chain_of(shell, 2),
    "and that one, too": lambda shell: chain_of(shell, 3),
    "an end is full": lambda shell: any(
        len(shell.plain.edges_of(block)) >= TIGHT.degree_cap for block in shell.plain.order
    ),
    "an edge makes way": lambda shell: any(
        event.displaced for event in events(shell, happened.EdgeConnected)
    ),
    "a connection has to wait": lambda shell: bool(events(shell, happened.EdgeDeferred)),
    "candidates are equally good": equal_links,
    "an edge is one nano-unit too weak": lambda shell: WEAK - 1 in weights(shell),
    "an edge is just strong enough": lambda shell: WEAK in weights(shell),
    "an outcome is one nano-unit above the middle": lambda shell: GOOD + 1 in signals(shell),
    "an outcome is exactly in the middle": lambda shell: GOOD in signals(shell),
    "an outcome is one nano-unit short of tolerable": lambda shell: BAD - 1 in signals(shell),
    "an edge is confirmed": lambda shell: any(
        event.confirmed for event in events(shell, happened.OutcomeRecorded)
    ),
    "a block expires": lambda shell: archived(shell, "expired"),
    "a pair is kept apart": lambda shell: bool(shell.plain.barred),
    "a block is erased": lambda shell: bool(events(shell, happened.BlockErased)),
    "near-duplicates are noted": lambda shell: bool(shell.plain.near),
}


@pytest.fixture(scope="module")
def occurred() -> Counter[str]:
    """Return in how many of the histories each case occurred."""
    found: Counter[str] = Counter()

    @drawn
    @given(history=episodes.eventful_histories())
    def play(history: list[commands.Command]) -> None:
        shell = Shell(TIGHT)
        for command in history:
            shell.play(command)
        found.update(name for name, seen in SEEN.items() if seen(shell))

    play()
    return found


@pytest.mark.parametrize("case", SEEN)
def test_a_difficult_case_occurs_in_one_of_twenty_histories(
    case: str, occurred: Counter[str]
) -> None:
    assert occurred[case] >= DRAWS / 20


def test_clocks_step_back_stand_still_and_jump() -> None:
    seen: Counter[str] = Counter()

    @drawn
    @given(readings=clocks.readings(min_size=10))
    def look(readings: list[int]) -> None:
        steps = [after - before for before, after in pairwise(readings)]
        seen["back"] += min(steps) < 0
        seen["further back than the gap"] += min(steps) < -clocks.HOUR_US
        seen["still"] += 0 in steps
        seen["beside the gap"] += any(abs(step - clocks.HOUR_US) == 1 for step in steps)
        seen["a holiday or more"] += max(steps) >= 14 * clocks.DAY_US

    look()
    assert min(seen.values()) >= DRAWS / 20


def test_sessions_fork_and_are_left_open() -> None:
    seen: Counter[str] = Counter()

    @drawn
    @given(ticks=clocks.sessions())
    def look(ticks: list[clocks.Tick]) -> None:
        open_ones: set[str] = set()
        most = 0
        for tick in ticks:
            if tick.session is not None and tick.what != "event":
                (open_ones.add if tick.what == "start" else open_ones.remove)(tick.session)
            most = max(most, len(open_ones))
        seen["two at a time"] += most > 1
        seen["one left open"] += bool(open_ones)

    look()
    assert min(seen.values()) >= DRAWS / 20


def test_cosines_include_thresholds_and_their_neighbours() -> None:
    seen: Counter[int] = Counter()

    @drawn
    @given(cosine=vectors.cosines())
    def look(cosine: float) -> None:
        seen[nano(cosine)] += 1

    look()
    bands = [nano(value) for value in (0.30, 0.90, 0.95)]
    assert all(seen[band + beside] for band in bands for beside in (-1, 0, 1))


def test_texts_repeat_in_other_letters_and_tags_are_meaningful() -> None:
    contents: Counter[str] = Counter()
    tags: Counter[str] = Counter()

    @drawn
    @given(content=texts.contents(), tagged=texts.tags())
    def look(content: str, tagged: tuple[str, ...]) -> None:
        contents[content] += 1
        tags.update(tagged)

    look()
    assert any(count > 1 for count in contents.values())
    assert len({content.casefold() for content in contents}) < len(contents)
    assert set(tags) == set(texts.TAGS)


@given(threshold=st.integers(1, NANO - 1), data=st.data())
def test_near_a_threshold_means_one_nano_unit(threshold: int, data: st.DataObject) -> None:
    assert abs(nano(data.draw(episodes.near(threshold / NANO))) - threshold) <= 1
