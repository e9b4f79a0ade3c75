"""One or two fixed events for every topic ever written: ``EXAMPLES[topic][name]``.

``full`` sets every field to something else than its default, ``bare`` only what has none. An
example that was recorded stays as it is; a new version of a topic gets examples of its own, and
those of the old one then say what it is read as today.
"""

from __future__ import annotations

from mnemic.kernel.events import (
    Admission,
    Answer,
    AnswerRow,
    Archival,
    BlockErased,
    BlockForgotten,
    BlockLearned,
    BlockRestated,
    BlockRezoned,
    BlocksComposed,
    BlocksPromoted,
    BlocksQuarantined,
    BlocksRelinked,
    BlockSuperseded,
    CompositionLabelled,
    Curated,
    EdgeConnected,
    EdgeDeferred,
    EdgeDisconnected,
    EmbedderAdopted,
    EmbedderIdentity,
    Event,
    Exploration,
    ExtractedFact,
    FactsExtracted,
    LabelRetracted,
    Link,
    LossAccepted,
    LostPayload,
    Matched,
    Member,
    NearDuplicate,
    Objection,
    OutcomeRecorded,
    Penalty,
    PolicyAdopted,
    Promotion,
    Quote,
    RecallRecorded,
    Recorded,
    RefusedBlock,
    RefusedFact,
    Reverted,
    RunnerUp,
    SessionEnded,
    SessionStarted,
    SpaceErased,
    SpaceOpened,
    StagedVector,
    Supersession,
    VectorsStaged,
    Withdrawal,
)
from mnemic.kernel.model.identity import (
    BlockId,
    CommandId,
    CompositionId,
    DecisionId,
    PolicyId,
    SessionId,
)
from mnemic.kernel.model.texts import (
    AnalysisText,
    AnswerText,
    BlockText,
    CompositionText,
    Embedding,
    LabelText,
    MemberText,
    Question,
    Remark,
    Salt,
)
from mnemic.kernel.numeric.arithmetic import NANO

A = BlockId("0a1b2c3d4e5f6071")
B = BlockId("18f7e6d5c4b3a291")
C = BlockId("2c2c2c2c2c2c2c2c")
D = BlockId("fedcba9876543210")
POLICY = PolicyId("5ca1ab1e0ddba11f")
SESSION = SessionId("s-lighthouse")
VECTOR = bytes(range(32))
EMBEDDER = EmbedderIdentity(name="wordllama", dimension=256, weights="aa55aa55aa55aa55")
LINK = Link(source=A, target=B, weight=564_000_000, displaced=((A, C), (B, D)))
MATCHED = Matched(
    recipe="match-1",
    source=A,
    target=C,
    source_confidence=912_345_678,
    target_confidence=700_000_000,
)
SAME = (500_000_000, 800_000_000, 0, -1, -1)
"""Signals of a young space: from usefulness to reinforcement, alike for all blocks."""
SUPERSESSION = Supersession(
    old=A,
    new=B,
    cosine=971_500_000,
    moved=(C,),
    lost=(D,),
    alpha=1_500_000_000,
    beta=250_000_000,
    retrievals=12,
    rate=1_000_000,
)


def full(event: Event) -> Recorded:
    """Return *event* by another actor, in a session."""
    return Recorded(
        version=41,
        active_us=144_000_000_001,
        recorded_us=1_767_225_600_123_456,
        command_id=CommandId("fulfilled-1"),
        event=event,
        actor="gardener",
        session_id=SESSION,
    )


def bare(event: Event) -> Recorded:
    """Return *event* by the agent, outside of every session, at the very beginning."""
    return Recorded(version=0, active_us=0, recorded_us=-1, command_id=CommandId("c"), event=event)


EXAMPLES: dict[str, dict[str, Recorded]] = {
    "space-opened.1": {
        "bare": bare(SpaceOpened(nonce="00112233445566778899aabbccddeeff", salt=Salt(value=VECTOR)))
    },
    "policy-adopted.1": {
        "full": full(PolicyAdopted(policy_id=POLICY, body='{"name":"“quoted”","gap_hours":1}'))
    },
    "embedder-adopted.1": {
        "full": full(EmbedderAdopted(embedder=EMBEDDER)),
        "bare": bare(EmbedderAdopted(embedder=EmbedderIdentity(name="hashing", dimension=64))),
    },
    "space-erased.1": {"full": full(SpaceErased()), "bare": bare(SpaceErased())},
    "loss-accepted.1": {
        "full": full(
            LossAccepted(payloads=(LostPayload(version=4, slot=0), LostPayload(version=9, slot=12)))
        ),
        "bare": bare(LossAccepted(payloads=(LostPayload(version=0, slot=0),))),
    },
    "session-started.1": {"full": full(SessionStarted(session_id=SESSION))},
    "session-ended.1": {"full": full(SessionEnded(session_id=SESSION))},
    "block-learned.1": {
        "full": full(
            BlockLearned(
                block_id=A,
                text=BlockText(
                    content="The lamp needs oil on Thursdays. Ölwechsel: 木曜日.",
                    tags=("lamp", "self/goal"),
                    author="keeper",
                    thread="logbook",
                    metadata='{"page":12}',
                    of=(A,),
                ),
                category="observation",
                source="import",
                zone="untrusted",
                confidence=950_000_000,
                created_at_us=1_767_139_200_000_000,
                expires_at_us=1_798_675_200_000_000,
            )
        ),
        "undated": bare(
            BlockLearned(block_id=A, text=BlockText(content="Old rope.", of=(A,)), undated=True)
        ),
        "bare": bare(BlockLearned(block_id=B, text=BlockText(content="Fog.", of=(B,)))),
    },
    "block-restated.1": {
        "full": full(
            BlockRestated(block_id=A, source="import", said_us=1_767_139_200_000_000, undated=False)
        ),
        "undated": bare(BlockRestated(block_id=A, undated=True)),
        "bare": bare(BlockRestated(block_id=B)),
    },
    "blocks-promoted.1": {
        "full": full(
            BlocksPromoted(
                promotions=(
                    Promotion(
                        block_id=B,
                        vector=Embedding(packed=VECTOR, of=(B,)),
                        rate=1_000_000,
                        analysis=AnalysisText(tags=("fog",), summary="Weather.", of=(B,)),
                        analysed="done",
                        alignment=125_000_000,
                        supersession=SUPERSESSION,
                    ),
                    Promotion(
                        block_id=C,
                        vector=Embedding(packed=VECTOR[::-1], of=(C,)),
                        analysis=AnalysisText(of=(C,)),
                        analysed="failed",
                    ),
                ),
                near=(NearDuplicate(block_id=C, other=D, cosine=912_000_000),),
                links=(LINK, Link(source=C, target=D, weight=400_000_000)),
            )
        ),
        "bare": bare(
            BlocksPromoted(promotions=(Promotion(block_id=A, vector=Embedding(packed=VECTOR)),))
        ),
    },
    "blocks-relinked.1": {"full": full(BlocksRelinked(links=(LINK,)))},
    "block-superseded.1": {
        "full": full(
            BlockSuperseded(
                supersession=SUPERSESSION, reason=Remark(text="Thursdays it is.", of=(A, B))
            )
        ),
        "bare": bare(BlockSuperseded(supersession=Supersession(old=A, new=B))),
    },
    "block-forgotten.1": {
        "full": full(BlockForgotten(block_id=A, reason=Remark(text="Out of date.", of=(A,)))),
        "bare": bare(BlockForgotten(block_id=A)),
    },
    "block-erased.1": {
        "full": full(BlockErased(block_id=A)),
        "in-context": full(BlockErased(block_id=A, context=(B,))),
    },
    "block-rezoned.1": {
        "full": full(
            BlockRezoned(
                block_id=A, zone="trusted", reason=Remark(text="Checked by hand.", of=(A,))
            )
        ),
        "bare": bare(BlockRezoned(block_id=A, zone="quarantined")),
    },
    "blocks-quarantined.1": {
        "full": full(
            BlocksQuarantined(block_ids=(A, B), reason=Remark(text="The mailbox was poisoned."))
        ),
        "released": bare(BlocksQuarantined(block_ids=(A,), released=True)),
        "bare": bare(BlocksQuarantined(block_ids=(B,))),
    },
    "vectors-staged.1": {
        "full": full(
            VectorsStaged(
                embedder=EMBEDDER,
                vectors=(
                    StagedVector(block_id=A, vector=Embedding(packed=VECTOR, of=(A,))),
                    StagedVector(block_id=B, vector=Embedding(packed=b"", of=(B,))),
                ),
            )
        )
    },
    "edge-connected.1": {
        "full": full(
            EdgeConnected(
                source=B,
                target=A,
                relation="supports",
                weight=850_000_000,
                action="updated",
                origin="outcome",
                count=3,
                note=Remark(text="Fog is why the lamp burns.", of=(A, B)),
                displaced=((A, C),),
            )
        ),
        "bare": bare(
            EdgeConnected(
                source=A, target=B, relation="similar", weight=650_000_000, action="created"
            )
        ),
        "by query": full(
            EdgeConnected(
                source=A,
                target=C,
                relation="supports",
                weight=750_000_000,
                action="created",
                matched=MATCHED,
            )
        ),
    },
    "edge-deferred.1": {
        "full": full(
            EdgeDeferred(
                source=A,
                target=D,
                relation="seen from",
                weight=NANO,
                note=Remark(text="Both are full.", of=(A, D)),
            )
        ),
        "bare": bare(EdgeDeferred(source=A, target=D, relation="similar", weight=0)),
        "by query": full(
            EdgeDeferred(source=A, target=C, relation="similar", weight=NANO, matched=MATCHED)
        ),
    },
    "edge-disconnected.1": {
        "full": full(
            EdgeDisconnected(
                source=A,
                target=B,
                relation="elaborates",
                weight=700_000_000,
                reason=Remark(text="Mixed up two lamps.", of=(A, B)),
            )
        ),
        "bare": bare(EdgeDisconnected(source=A, target=B)),
    },
    "recall-recorded.1": {
        "evicting": full(
            RecallRecorded(
                asked=Question(query="Which lamp?"),
                vector=None,
                answer=Answer(rows=()),
                digest="0123456789abcdef",
                policy_id=POLICY,
                recipe="recall-2",
                read_version=40,
                read_us=0,
                asked_us=0,
                staged=((2, 7),),
                evicted=((1, 3), (4, 9)),
            )
        ),
        "full": full(
            RecallRecorded(
                asked=Question(query="When does the lamp need oil?", where='{"tags":["lamp"]}'),
                vector=Embedding(packed=VECTOR),
                answer=Answer(
                    rows=(
                        AnswerRow(7, 781_250_000, (901_234_567, 951_229_425, *SAME, -1, 845)),
                        AnswerRow(31_415, 640_000_001, (1, 904_837_418, *SAME, 733, 512), via=7),
                        AnswerRow(2, 640_000_001, (377_777_777, 999_999_999, *SAME, NANO, 300)),
                    ),
                    runners_up=(RunnerUp(4, 600_000_000), RunnerUp(8, 1), RunnerUp(15, 0)),
                ),
                digest="0123456789abcdef",
                policy_id=POLICY,
                recipe="lexical-1",
                read_version=40,
                read_us=143_999_999_999,
                asked_us=1_767_225_600_000_000,
                frame="task",
                top_k=3,
                token_budget=800,
                retriever="ann",
                propensity=250_000_000,
                staged=((2, 7), (2, 31_415)),
                linked=((7, 31_415),),
                refreshed=((2, 99),),
            )
        ),
        "approximate": full(
            RecallRecorded(
                asked=Question(query="Where is the spare wick?"),
                vector=Embedding(packed=VECTOR),
                answer=Answer(
                    rows=(AnswerRow(7, 781_250_000, (901_234_567, 951_229_425, *SAME, -1, 845)),),
                    runners_up=(RunnerUp(31_415, 600_000_000),),
                ),
                digest="00112233aabbccdd",
                policy_id=POLICY,
                recipe="recall-2",
                read_version=41,
                read_us=144_000_000_000,
                asked_us=1_767_225_600_000_001,
                retriever="ann",
                near=(0, 7, 8, 31_415),
                embedder_id="0011223344556677",
            )
        ),
        "judged": full(
            RecallRecorded(
                asked=Question(query="Who trimmed the wick?"),
                vector=None,
                answer=Answer(
                    rows=(AnswerRow(7, 781_250_000, (901_234_567, 951_229_425, *SAME, -1, 845)),),
                ),
                digest="0f1e2d3c4b5a6978",
                policy_id=POLICY,
                recipe="recall-3",
                read_version=41,
                read_us=144_000_000_000,
                asked_us=1_767_225_600_000_001,
                frame="answer",
                min_probability=250_000_000,
                answerable=437_812_345,
                verdict="weak",
            )
        ),
        "explored": full(
            RecallRecorded(
                asked=Question(query="Who polished the lens?"),
                vector=None,
                answer=Answer(
                    rows=(AnswerRow(7, 781_250_000, (901_234_567, 951_229_425, *SAME, -1, 845)),),
                    runners_up=(RunnerUp(4, 600_000_000),),
                ),
                digest="fedcba9876543210",
                policy_id=POLICY,
                recipe="recall-2",
                read_version=41,
                read_us=144_000_000_000,
                asked_us=1_767_225_600_000_001,
                top_k=1,
                propensity=25_000_000,
                explored=Exploration(rate=100_000_000, pool=4, drawn=2),
                embedder_id="0011223344556677",
            )
        ),
        "bare": bare(
            RecallRecorded(
                asked=Question(),
                vector=None,
                answer=Answer(rows=()),
                digest="0123456789abcdef",
                policy_id=POLICY,
                recipe="lexical-1",
                read_version=0,
                read_us=0,
                asked_us=-1,
            )
        ),
    },
    "outcome-recorded.1": {
        "of a composition": full(
            OutcomeRecorded(block_ids=(A,), signal=NANO, composition_id=CompositionId("lane-7"))
        ),
        "full": full(
            OutcomeRecorded(
                block_ids=(A, B),
                signal=900_000_000,
                weight=2 * NANO,
                source="harbour",
                decision_id=DecisionId("d40"),
                refused=(RefusedBlock(block_id="nobody", code="block-not-found"),),
                reinforced=True,
                links=(LINK,),
                confirmed=((A, C),),
                unlinked=((B, D),),
                penalties=(Penalty(block_id=C, rate=20_000_000),),
            )
        ),
        "bare": bare(OutcomeRecorded(block_ids=(), signal=0)),
    },
    "blocks-composed.1": {
        "full": full(
            BlocksComposed(
                members=(
                    Member(
                        block_id=A,
                        role="primary",
                        rank=0,
                        trust=980_000_000,
                        score=1_250_000_000,
                        text=MemberText(
                            preview="The lamp burns whale oil.",
                            metadata='{"tags":["lamp"]}',
                            of=(A,),
                        ),
                    ),
                    Member(
                        block_id=B, role="contradicting", rank=1, score=-5, text=MemberText(of=(B,))
                    ),
                ),
                composition_id=CompositionId("lane-7"),
                text=CompositionText(
                    query="Which oil?",
                    query_hash="fnv1a64:00000000000000ff",
                    output_preview="Whale oil, for now.",
                    metadata='{"workflow":"test"}',
                ),
                tool="deep_reference",
                mode="bounty",
                status="resolved",
                confidence=730_000_000,
                consume="primary_only",
            )
        ),
        "bare": bare(BlocksComposed(members=(Member(block_id=A, role="related"),))),
    },
    "composition-labelled.1": {
        "full": full(
            CompositionLabelled(
                composition_id=CompositionId("lane-7"),
                label="closed_by_scope",
                source="tool",
                confidence_delta=-250_000_000,
                text=LabelText(notes="Not our lamp.", metadata='{"page":3}'),
            )
        ),
        "bare": bare(CompositionLabelled(composition_id=CompositionId("c7"), label="helpful")),
    },
    "label-retracted.1": {
        "full": full(
            LabelRetracted(
                composition_id=CompositionId("lane-7"),
                label_version=40,
                reason=Remark(text="It was our lamp."),
            )
        ),
        "bare": bare(LabelRetracted(composition_id=CompositionId("c7"), label_version=8)),
    },
    "facts-extracted.1": {
        "full": full(
            FactsExtracted(
                extractor="chat",
                model="lamp-7b",
                prompt="77aa77aa77aa77aa",
                messages=(A, B),
                known=(C, D),
                status="partial",
                problem="too-many-facts",
                facts=(
                    ExtractedFact(
                        block_id=D,
                        action="created",
                        quotes=(
                            Quote(message=A, start=0, end=24),
                            Quote(message=B, start=3, end=9),
                        ),
                        relation="updates",
                        other=C,
                        effect="revised",
                    ),
                ),
                refused=(
                    RefusedFact(
                        reason="number-not-in-quote",
                        messages=(A,),
                        text=Remark(text="The lamp has 12 wicks.", of=(A,)),
                    ),
                ),
                refused_count=3,
                answer=AnswerText(text='{"facts": [', length=4000, of=(A, B)),
                preceding=2,
            )
        ),
        "bare": bare(FactsExtracted(extractor="rules-1", messages=(A,))),
    },
    "curated.1": {
        "full": full(
            Curated(
                archived=(Archival(block_id=A, reason="decayed"),),
                pruned=((A, B),),
                decayed=((B, C), (C, D)),
                admitted=(Admission(source=D, target=A),),
                constitutional=(B,),
                reinforced=(C, D),
                edges_after=17,
            )
        ),
        "bare": bare(Curated()),
    },
    "reverted.1": {
        "full": full(
            Reverted(
                first=7,
                last=31,
                reason=Remark(text="The wrong lamp."),
                policy_id=POLICY,
                policy='{"name":"lamp"}',
                unlinked=((A, B),),
                cancelled=((A, C),),
                unbarred=((A, D),),
                forgotten=(A,),
                lives=(B, C),
                strength=(B,),
                evidence=(C, D),
                uses=(D,),
                linked=((B, C),),
                deferred=((C, D), (B, D)),
                barred=((B, D),),
                retracted=(30,),
                recounted=(4, 9),
                left=(
                    Objection(what="life", of=(D,), why="touched", version=40),
                    Objection(what="edge", of=(C, D), why="no-room"),
                ),
            )
        ),
        "selection": bare(
            Reverted(
                first=5,
                last=40,
                selected=True,
                forgotten=(A,),
                withdrawn=(
                    Withdrawal(
                        block_id=B, alpha=900_000_000, beta=-1, retrievals=2, outcomes=(17, 19)
                    ),
                    Withdrawal(block_id=C),
                ),
                left=(Objection(what="reviews", of=(B,), why="touched", version=41),),
            )
        ),
        "bare": bare(Reverted(first=1, last=2)),
    },
}
