from __future__ import annotations

import pytest

from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.system.clocks import ManualClock
from mnemic.kernel.errors import BlockNotFound, FieldRefused

BOAT, TIDE, TEA = "The boat leaves at nine.", "The tide turns at ten.", "Tea is in the blue tin."


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def memory(clock: ManualClock) -> SyncMemory:
    memory = SyncMemory.open(":memory:", clock=clock)
    for text in (BOAT, TIDE, TEA):
        memory.learn(text)
    return memory


def asked(memory: SyncMemory, query: str) -> tuple[str, str]:
    """Ask for one block, and return the ids of the decision and of the block."""
    answer = memory.recall(query, top_k=1)
    assert answer.decision_id is not None
    return answer.decision_id, answer.block_ids[0]


def listed(memory: SyncMemory, **arguments: object) -> list[tuple[str, float | None]]:
    page = memory.decisions(**arguments)  # type: ignore[arg-type]
    return [(each.decision_id, each.outcome) for each in page.items]


def test_the_worst_decision_comes_first_and_what_was_not_scored_last(memory: SyncMemory) -> None:
    (boat, _), (tide, _), (tea, _) = (
        asked(memory, each) for each in ("the boat?", "the tide?", "the tea?")
    )
    memory.outcome(decision_id=boat, signal=0.9)
    memory.outcome(decision_id=tide, signal=0.1)
    assert listed(memory, order="worst") == [(tide, 0.1), (boat, 0.9), (tea, None)]
    assert listed(memory) == [(tea, None), (tide, 0.1), (boat, 0.9)]
    assert listed(memory, outcome="bad") == [(tide, 0.1)]
    assert listed(memory, outcome="good") == [(boat, 0.9)]
    assert listed(memory, outcome="none") == [(tea, None)]


def test_outcomes_that_name_the_decision_take_precedence(memory: SyncMemory) -> None:
    first, boat = asked(memory, "the boat?")
    memory.outcome([boat], signal=0.2)
    (found,) = memory.decisions().items
    assert (found.outcome, found.judged, found.named) == (0.2, 1, False)
    memory.outcome(decision_id=first, signal=1.0)
    memory.outcome(decision_id=first, signal=0.5, weight=3.0)
    (found,) = memory.decisions().items
    assert (found.outcome, found.judged, found.named) == (0.625, 2, True)
    second, _ = asked(memory, "when does the boat leave?")  # about another question: not judged
    assert listed(memory) == [(second, None), (first, 0.625)]


def test_what_came_before_the_decision_or_long_after_it_does_not_count(
    memory: SyncMemory, clock: ManualClock
) -> None:
    with memory.session():
        _, boat = asked(memory, "the boat?")
        memory.outcome([boat], signal=0.2)
        late, _ = asked(memory, "the boat?")
        for _ in range(30):
            clock.advance(hours=1)
            memory.learn(f"It is {clock.now_us()}.")
        memory.outcome([boat], signal=1.0)
    assert listed(memory)[0] == (late, None)


def test_an_outcome_that_was_reverted_does_not_count(memory: SyncMemory) -> None:
    decision, _ = asked(memory, "the boat?")
    memory.outcome(decision_id=decision, signal=0.1)
    head = memory.status().version
    memory.revert(head, head)
    assert listed(memory) == [(decision, None)]
    assert listed(memory, outcome="bad") == []


def test_the_past_lists_what_it_knew(memory: SyncMemory) -> None:
    decision, _ = asked(memory, "the boat?")
    head = memory.status().version
    memory.outcome(decision_id=decision, signal=0.1)
    asked(memory, "the tide?")
    assert [each.outcome for each in memory.as_of(version=head).decisions().items] == [None]


def test_pages_follow_each_other_in_either_order(memory: SyncMemory) -> None:
    for place in range(7):
        decision, _ = asked(memory, f"the boat {place}?")
        if place % 2:
            memory.outcome(decision_id=decision, signal=place / 7)
    for order in ("latest", "worst"):
        whole = [each.decision_id for each in memory.decisions(order=order).items]
        found, after = [], None
        while True:
            page = memory.decisions(order=order, after=after, limit=3)
            assert page.total == 7
            found += [each.decision_id for each in page.items]
            after = page.next_after
            if after is None:
                break
        assert found == whole


def test_decisions_are_found_by_block_and_by_words(memory: SyncMemory) -> None:
    boat, block = asked(memory, "When does the BOAT leave?")
    tea, _ = asked(memory, "where is the tea?")
    assert [each for each, _ in listed(memory, of=block)] == [boat]
    assert [each for each, _ in listed(memory, text="boat")] == [boat]
    assert [each for each, _ in listed(memory, text="where")] == [tea]
    with pytest.raises(BlockNotFound):
        memory.decisions(of="0" * 16)


def test_an_erased_question_is_listed_without_its_words(memory: SyncMemory) -> None:
    _, block = asked(memory, "the boat?")
    memory.erase(block)
    (found,) = memory.decisions().items
    explained = memory.explain(found.decision_id)
    assert explained.sealed
    assert all(each.content != BOAT for each in explained.missed)


@pytest.mark.parametrize(
    "arguments", [{"order": "best"}, {"outcome": "fine"}, {"limit": 0}, {"limit": 201}]
)
def test_invalid_arguments_are_refused(memory: SyncMemory, arguments: dict[str, object]) -> None:
    with pytest.raises(FieldRefused):
        memory.decisions(**arguments)  # type: ignore[arg-type]


def test_near_misses_have_their_margins(memory: SyncMemory) -> None:
    decision, block = asked(memory, "the boat?")
    explained = memory.explain(decision, events=0)
    assert explained.blocks[0].history == ()
    assert block not in {each.block_id for each in explained.missed}
    for each in explained.missed:
        why = memory.why_not(decision, each.block_id)
        assert (each.reason, each.rank, each.score) == (why.stage, why.rank, why.score)
        assert each.margin == pytest.approx(explained.blocks[0].score - each.score)
    assert len(memory.explain(decision, block).missed) == 0


def test_a_trajectory_ends_where_the_block_is(memory: SyncMemory, clock: ManualClock) -> None:
    with memory.session():
        decision, block = asked(memory, "the boat?")
        clock.advance(hours=1)
        memory.outcome(decision_id=decision, signal=0.9)
        clock.advance(hours=1)
        memory.learn("The quay is wet.")
        points = memory.trajectory(block, points=5).points
        now = memory.block(block)
    last = points[-1]
    assert (last.usefulness, last.retrievals, last.status) == (now.usefulness, 1, "active")
    assert [each.hour for each in points] == sorted(each.hour for each in points)
    for each in points:
        then = memory.as_of(version=each.version).block(block)
        assert (each.usefulness, each.status) == (then.usefulness, then.status)


def test_a_subgraph_keeps_the_strongest_way_and_says_what_it_left_out(memory: SyncMemory) -> None:
    memory.consolidate()
    hub, *rest = [memory.learn(f"Fact number {place}.").block_id for place in range(6)]
    memory.consolidate()
    for place, other in enumerate(rest):
        memory.connect(hub, other, "supports", weight=0.9 - place / 10)
    found = memory.subgraph([hub], hops=1, limit=3)
    assert [each.block_id for each in found.blocks] == [hub, *rest[:2]]
    assert found.blocks_left_out == len(memory.edges(hub)) - 2
    ends = {each.block_id for each in found.blocks}
    assert all({each.source_id, each.target_id} <= ends for each in found.edges)


def test_asked_again_as_of_what_it_read_a_decision_gives_its_answer(memory: SyncMemory) -> None:
    decision, _ = asked(memory, "the boat?")
    memory.revise(memory.decisions().items[0].answer[0].block_id, "The boat leaves at ten.", "ice")
    memory.consolidate()
    recorded = memory.explain(decision)
    again = memory.as_of(version=recorded.version).ask_again(decision)
    assert again.block_ids == tuple(each.block_id for each in recorded.blocks)
    assert [each.composite_score for each in again.blocks] == [
        each.score for each in recorded.blocks
    ]
    assert memory.ask_again(decision).blocks[0].content == "The boat leaves at ten."
    assert memory.ask_again(decision).decision_id is None
