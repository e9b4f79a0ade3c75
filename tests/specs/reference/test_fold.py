from __future__ import annotations

from collections.abc import Sequence

import attrs
import pytest

from mnemic.kernel import events as happened
from mnemic.kernel.events import Answer, AnswerRow, Event, Recorded
from mnemic.kernel.model.identity import BlockId, CommandId, SessionId
from mnemic.kernel.model.texts import (
    AnalysisText,
    BlockText,
    Embedding,
    Question,
    Remark,
)
from mnemic.kernel.numeric.arithmetic import NANO, nano
from mnemic.kernel.policy import DEFAULT, Policy
from mnemic.specs.reference.fold import PlainState, erased, fold
from mnemic.specs.reference.records import PlainEdge

A, B, C, D = (BlockId(letter * 16) for letter in "abcd")
HALF = NANO // 2


class Story:
    """A log of events, one active microsecond apart."""

    def __init__(self, policy: Policy = DEFAULT) -> None:
        self.state = PlainState()
        self.session: SessionId | None = None
        self.then(happened.PolicyAdopted(policy_id=policy.id, body=policy.body))

    def then(self, *events: Event) -> Story:
        for event in events:
            self.state.apply(
                Recorded(
                    version=self.state.version + 1,
                    active_us=self.state.version + 1,
                    recorded_us=1_000_000 * (self.state.version + 1),
                    command_id=CommandId("c"),
                    event=event,
                    session_id=self.session,
                )
            )
        return self

    def active(self, *blocks: BlockId) -> Story:
        for block in blocks:
            self.then(learned(block), promoted(block))
        return self


def learned(block: BlockId, *tags: str) -> happened.BlockLearned:
    text = BlockText(of=(block,), content=f"content of {block}", tags=tuple(sorted(tags)))
    return happened.BlockLearned(block_id=block, text=text)


def promoted(
    block: BlockId,
    *inferred: str,
    supersession: happened.Supersession | None = None,
    links: Sequence[happened.Link] = (),
) -> happened.BlocksPromoted:
    promotion = happened.Promotion(
        block_id=block,
        vector=Embedding(of=(block,), packed=b"\1\0"),
        analysis=AnalysisText(of=(block,), tags=inferred) if inferred else None,
        supersession=supersession,
    )
    return happened.BlocksPromoted(promotions=(promotion,), links=tuple(links))


def connected(
    source: BlockId, target: BlockId, *, note: str | None = None, count: int = 0
) -> happened.EdgeConnected:
    remark = None if note is None else Remark(of=(source, target), text=note)
    return happened.EdgeConnected(
        source=source,
        target=target,
        relation="supports",
        weight=HALF,
        action="created",
        count=count,
        note=remark,
    )


Numbers = tuple[tuple[int, int], ...]


def recalled(
    *,
    staged: Numbers = (),
    linked: Numbers = (),
    refreshed: Numbers = (),
    evicted: Numbers = (),
) -> happened.RecallRecorded:
    numbers = sorted({number for pair in (*staged, *linked, *refreshed) for number in pair})
    return happened.RecallRecorded(
        asked=Question(query="what"),
        vector=None,
        answer=Answer(rows=tuple(AnswerRow(number, 0, (0,) * 9) for number in numbers)),
        digest="",
        policy_id=DEFAULT.id,
        recipe="none",
        read_version=0,
        read_us=0,
        asked_us=0,
        staged=staged,
        linked=linked,
        refreshed=refreshed,
        evicted=evicted,
    )


def test_a_promotion_counts_as_one_reinforcement() -> None:
    block = Story().active(A).state.blocks[A]
    assert (block.status, block.reinforcements, block.reinforced_us, block.rate) == (
        "active",
        1,
        2,
        10_000_000,
    )


def test_a_block_learned_again_starts_over_but_keeps_what_it_earned() -> None:
    story = Story().active(A, B)
    story.then(
        happened.OutcomeRecorded(block_ids=(A,), signal=NANO),
        recalled(staged=((0, 1),)),
        happened.BlockSuperseded(supersession=happened.Supersession(old=A, new=B)),
    )
    before = attrs.evolve(story.state.blocks[A])
    story.then(learned(A, "new"))
    assert (before.status, before.reason, before.successor) == ("archived", "superseded", B)
    assert story.state.blocks[A] == attrs.evolve(
        before,
        base="inbox",
        reason=None,
        successor=None,
        tags=("new",),
        vector=None,
        tier_rate=0,
        learned_version=8,
        said_version=8,
        learned_us=8,
        created_at_us=8_000_000,
    )
    assert (before.alpha, before.retrievals, before.number) == (nano(1.5), 1, 0)


def test_a_block_without_a_date_dates_from_learning_unless_unknown() -> None:
    undated = attrs.evolve(learned(B), undated=True)
    dated = attrs.evolve(learned(C), created_at_us=5)
    blocks = Story().then(learned(A), undated, dated).state.blocks
    assert [blocks[block].created_at_us for block in (A, B, C)] == [1_000_000, None, 5]


def test_a_successor_takes_over_evidence_tags_and_edges_as_listed() -> None:
    policy = attrs.evolve(DEFAULT, tags_max=3)
    story = Story(policy).then(learned(A, "p", "q", "r"), promoted(A)).active(C, D)
    story.then(connected(C, A, note="why", count=4), connected(A, D))
    handover = happened.Supersession(
        old=A, new=B, moved=(C,), lost=(D,), alpha=7, beta=8, retrievals=9, rate=1_000_000
    )
    story.then(learned(B, "x"), promoted(B, "q", supersession=handover))
    old, new = story.state.blocks[A], story.state.blocks[B]
    assert (old.status, old.reason, old.successor) == ("archived", "superseded", B)
    # Its own tags first, then the old one's in order, as many as fit.
    assert new.tags == ("p", "q", "x")
    assert (new.alpha, new.beta, new.retrievals) == (HALF + 7, HALF + 8, 9)
    assert (new.rate, new.tier_rate) == (1_000_000, 1_000_000)
    assert story.state.edges == {
        (B, C): PlainEdge(
            source=C,
            target=B,
            relation="supports",
            weight=HALF,
            origin="agent",
            anchor_us=7,
            count=4,
            note="why",
        )
    }


@pytest.mark.parametrize(
    "event",
    [
        happened.BlockForgotten(block_id=A),
        happened.BlockErased(block_id=A),
        happened.BlockSuperseded(supersession=happened.Supersession(old=A, new=D)),
        happened.Curated(archived=(happened.Archival(block_id=A, reason="decayed"),)),
    ],
    ids=lambda event: type(event).__name__,
)
def test_an_archived_block_loses_edges_pending_connections_and_staged_pairs(
    event: Event,
) -> None:
    story = (
        Story()
        .active(A, B, C, D)
        .then(
            connected(A, B),
            connected(C, D),
            happened.EdgeDeferred(source=C, target=A, relation="supports", weight=HALF),
            recalled(staged=((0, 3), (1, 3))),
            event,
        )
    )
    state = story.state
    assert (list(state.edges), list(state.pending), list(state.staged)) == ([(C, D)], [], [(B, D)])


def test_a_note_stays_unless_another_is_given() -> None:
    story = Story().active(A, B).then(connected(A, B, note="why"), connected(B, A))
    assert story.state.edges[A, B].note == "why"
    story.then(connected(A, B, note="because"))
    assert story.state.edges[A, B].note == "because"


def test_a_disconnected_pair_is_barred_until_connected_again() -> None:
    story = (
        Story().active(A, B).then(connected(A, B), happened.EdgeDisconnected(source=B, target=A))
    )
    assert (story.state.edges, story.state.barred) == ({}, {(A, B)})
    story.then(happened.EdgeDeferred(source=B, target=A, relation="supports", weight=HALF))
    assert (list(story.state.pending), story.state.barred) == ([(A, B)], set())


def test_deferring_again_goes_to_the_end_of_the_queue() -> None:
    waits = [
        happened.EdgeDeferred(source=source, target=target, relation="supports", weight=HALF)
        for source, target in ((A, B), (C, D), (B, A))
    ]
    assert list(Story().active(A, B, C, D).then(*waits).state.pending) == [(C, D), (A, B)]


def test_a_displaced_edge_is_removed_before_the_new_one_is_added() -> None:
    link = happened.Link(source=A, target=C, weight=HALF, displaced=((A, B),))
    story = (
        Story()
        .active(A, B, C)
        .then(
            happened.BlocksRelinked(links=(happened.Link(source=A, target=B, weight=1),)),
            happened.OutcomeRecorded(block_ids=(A, C), signal=NANO, links=(link,)),
        )
    )
    assert {ends: edge.origin for ends, edge in story.state.edges.items()} == {(A, C): "outcome"}


def test_an_outcome_splits_its_weight_between_for_and_against() -> None:
    third = 333_333_333
    story = (
        Story()
        .active(A)
        .then(
            happened.OutcomeRecorded(
                block_ids=(A,), signal=third, weight=3 * third, reinforced=True
            )
        )
    )
    block = story.state.blocks[A]
    # 0.333333333 · 0.999999999, rounded half up, and the same with the rest of one.
    assert (block.alpha, block.beta) == (HALF + 333_333_333, HALF + 666_666_666)
    assert (block.reinforcements, block.reinforced_us) == (2, 3)


def test_pairs_are_staged_by_session_and_unstaged_by_an_edge() -> None:
    story = Story().active(A, B)
    for name in ("s1", "s2"):
        story.session = SessionId(name)
        story.then(recalled(staged=((0, 1),)))
    assert story.state.staged == {(A, B): ["s1", "s2"]}
    story.then(recalled(linked=((0, 1),)), recalled(refreshed=((0, 1),)))
    assert story.state.staged == {}
    assert story.state.edges == {
        (A, B): PlainEdge(
            source=A,
            target=B,
            relation="co_occurs",
            weight=nano(0.55),
            origin="co_retrieval",
            anchor_us=8,
            count=1,
        )
    }


def test_pairs_are_evicted_by_fewest_sessions_then_age_then_id() -> None:
    story = Story().active(A, B, C)
    story.then(recalled(staged=((0, 1),)), recalled(staged=((1, 2), (0, 2), (0, 1))))
    assert story.state.staging_order() == [(A, C), (B, C), (A, B)]
    story.then(recalled(staged=((0, 2),)), recalled(staged=((1, 2),)))
    assert story.state.staging_order() == [(A, B), (A, C), (B, C)]


def test_an_evicted_pair_is_not_staged_any_more() -> None:
    story = Story().active(A, B, C)
    story.then(recalled(staged=((0, 1), (0, 2))), recalled(evicted=((0, 1),)))
    assert story.state.staged == {(A, C): [""]}


def test_a_near_duplicate_is_noted_once() -> None:
    story = Story().active(A)
    for cosine in (920_000_000, 930_000_000):
        near = happened.NearDuplicate(block_id=B, other=A, cosine=cosine)
        story.then(happened.BlocksPromoted(promotions=(), near=(near,)))
    assert story.state.near == {(A, B): 920_000_000}


def test_a_sweep_does_its_parts_in_order() -> None:
    story = Story().active(A, B, C, D).then(connected(A, B), connected(B, C))
    story.then(
        happened.EdgeDeferred(
            source=D,
            target=C,
            relation="elaborates",
            weight=HALF,
            note=Remark(of=(C, D), text="later"),
        ),
        happened.Curated(
            archived=(happened.Archival(block_id=A, reason="expired"),),
            decayed=((B, C),),
            admitted=(happened.Admission(source=D, target=C),),
            reinforced=(D,),
            edges_after=1,
        ),
    )
    state = story.state
    assert state.blocks[A].reason == "expired"
    assert (state.blocks[D].reinforcements, state.blocks[D].reinforced_us) == (2, 12)
    assert state.edges == {
        (C, D): PlainEdge(
            source=D,
            target=C,
            relation="elaborates",
            weight=HALF,
            origin="agent",
            anchor_us=12,
            note="later",
        )
    }
    assert state.curated_us == 12


def test_vectors_change_when_the_embedder_is_adopted_and_not_before() -> None:
    other = happened.EmbedderIdentity(name="other", dimension=1)
    staged = happened.StagedVector(block_id=A, vector=Embedding(of=(A,), packed=b"\2\0"))
    story = Story().active(A).then(happened.VectorsStaged(embedder=other, vectors=(staged,)))
    assert story.state.blocks[A].vector == b"\1\0"
    story.then(happened.EmbedderAdopted(embedder=other))
    assert (story.state.blocks[A].vector, story.state.embedder) == (b"\2\0", other)


# --- erasure ----------------------------------------------------------------------------------


def handed_on() -> Story:
    """A's tags were moved to B, and from B to C; an edge has a note of A."""
    story = Story().then(learned(A, "secret"), promoted(A)).active(D)
    for old, new in ((A, B), (B, C)):
        handover = happened.Supersession(old=old, new=new)
        story.then(learned(new, f"of-{new[0]}"), promoted(new, supersession=handover))
    return story


def test_erased_texts_leave_nothing_in_successors() -> None:
    story = handed_on()
    assert story.state.blocks[C].tags == ("of-b", "of-c", "secret")
    story.then(happened.BlockErased(block_id=A))
    assert [story.state.blocks[block].tags for block in (A, B, C)] == [
        (),
        ("of-b",),
        ("of-b", "of-c"),
    ]
    erasee = story.state.blocks[A]
    assert (erasee.content, erasee.vector, erasee.successor) == (None, None, B)


def test_the_state_after_an_erasure_equals_that_of_the_erased_log() -> None:
    story = handed_on().then(happened.BlockErased(block_id=A), learned(A, "again"))
    assert fold(story.state.log).snapshot() == story.state.snapshot()
    assert story.state.blocks[A].content is not None


def test_erasing_a_space_removes_all_text_and_keeps_all_facts() -> None:
    story = handed_on()
    before = story.state.snapshot()
    story.then(happened.SpaceErased())
    after = story.state.snapshot()
    assert {block["content"] for block in after["blocks"].values()} == {None}
    assert after["order"] == before["order"]
    assert [block["base"] for block in after["blocks"].values()] == [
        block["base"] for block in before["blocks"].values()
    ]


def test_only_payloads_of_the_owner_are_removed_from_a_log() -> None:
    log = handed_on().state.log
    struck = erased(log, owner=A)
    changed = [new.event for old, new in zip(log, struck, strict=True) if old != new]
    assert [type(event).__name__ for event in changed] == ["BlockLearned", "BlocksPromoted"]


def test_a_copy_is_independent() -> None:
    story = Story().active(A)
    before = story.state.snapshot()
    story.state.copy().archive(A, "forgotten")
    assert story.state.snapshot() == before
