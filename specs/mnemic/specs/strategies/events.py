"""Any event that the types allow, one at a time.

These strategies know the shapes, not the story: an edge may name blocks that nobody learned. They
are for whatever must hold for every event by itself, such as a round trip through the codec.
Histories that make sense come from running commands.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hypothesis import strategies as st

from mnemic.kernel import events as e
from mnemic.kernel import texts
from mnemic.kernel.arithmetic import NANO
from mnemic.kernel.composition import CONSUMES, LABELS, ROLES
from mnemic.kernel.identity import (
    BlockId,
    CommandId,
    CompositionId,
    DecisionId,
    PolicyId,
    SessionId,
)

Strategy = st.SearchStrategy

# --- numbers and names ------------------------------------------------------------------------

fractions = st.integers(0, NANO)
"""Nano-units in [0, 1]."""
signals = st.just(-1) | fractions
numbers = st.integers(0, 200_000)
"""Numbers of blocks."""
counts = st.integers(0, 10_000)
versions = st.integers(0, 2**40)
active_times = st.integers(0, 2**53)
wall_clocks = st.integers(-(2**53), 2**53)
"""A hostile clock may stand before 1970."""

_hex16 = st.text("0123456789abcdef", min_size=16, max_size=16)
block_ids: Strategy[BlockId] = _hex16.map(BlockId)
policy_ids: Strategy[PolicyId] = _hex16.map(PolicyId)
decision_ids: Strategy[DecisionId] = versions.map(lambda version: DecisionId(f"d{version}"))
composition_ids: Strategy[CompositionId] = versions.map(
    lambda version: CompositionId(f"c{version}")
)
labels = st.text(st.characters(codec="utf-8", exclude_characters="«»"), max_size=20)
"""Any text in the clear."""
words = st.text(max_size=40).map(lambda text: f"«{text}»")
"""A caller's words, of any kind. The marks are theirs alone, so that a test can see them leak."""
session_ids: Strategy[SessionId] = labels.map(SessionId)
command_ids: Strategy[CommandId] = labels.map(CommandId)
names = st.text("abcdefghijklmnopqrstuvwxyz_-/", min_size=1, max_size=12)
pairs = st.tuples(block_ids, block_ids)


def tuples(members: Strategy[Any], *, at_least: int = 0, at_most: int = 4) -> Strategy[Any]:
    """Return tuples of *members*, any number from *at_least* to *at_most*."""
    return st.lists(members, min_size=at_least, max_size=at_most).map(tuple)


def built(kind: type, required: Mapping[str, Any], **optional: Strategy[Any]) -> Strategy[Any]:
    """Return values of *kind* with all *required* fields, and any of the *optional* ones."""
    return st.fixed_dictionaries(dict(required), optional=optional).map(lambda by: kind(**by))


# --- payloads -----------------------------------------------------------------------------------

owners = tuples(block_ids, at_most=2)
"""None: the event itself."""

secrets = st.binary(max_size=64).map(lambda data: b"secret" + data)
"""Bytes of vectors and salts, marked as ``words`` are."""
salts = st.builds(texts.Salt, value=secrets)
block_texts = built(
    texts.BlockText,
    {"content": words},
    of=owners,
    tags=st.lists(words, unique=True, max_size=4).map(sorted).map(tuple),
    author=st.none() | words,
    thread=st.none() | words,
    metadata=st.none() | words,
)
embeddings = built(texts.Embedding, {"packed": secrets}, of=owners)
analysis_texts = built(
    texts.AnalysisText, {}, of=owners, tags=tuples(words), summary=st.none() | words
)
remarks = built(texts.Remark, {"text": words}, of=owners)
questions = built(texts.Question, {}, query=st.none() | words, where=st.none() | words)

member_texts = built(
    texts.MemberText, {}, of=owners, preview=st.none() | words, metadata=st.none() | words
)
composition_texts = built(
    texts.CompositionText,
    {},
    query=st.none() | words,
    query_hash=st.none() | words,
    output_preview=st.none() | words,
    metadata=st.none() | words,
)
label_texts = built(texts.LabelText, {}, notes=st.none() | words, metadata=st.none() | words)

payloads = (
    member_texts
    | composition_texts
    | label_texts
    | salts
    | block_texts
    | embeddings
    | analysis_texts
    | remarks
    | questions
)

# --- parts of events ----------------------------------------------------------------------------

identities = built(
    e.EmbedderIdentity, {"name": names, "dimension": st.integers(1, 4096)}, weights=_hex16
)
supersessions = built(
    e.Supersession,
    {"old": block_ids, "new": block_ids},
    cosine=st.none() | fractions,
    moved=tuples(block_ids),
    lost=tuples(block_ids),
    alpha=counts,
    beta=counts,
    retrievals=counts,
)
near_duplicates = st.builds(e.NearDuplicate, block_id=block_ids, other=block_ids, cosine=fractions)
links = built(
    e.Link,
    {"source": block_ids, "target": block_ids, "weight": fractions},
    displaced=tuples(pairs),
)
PARTS = 5
"""Parts of relevance behind the signals of a row; any number would do for the wire."""
members = built(
    e.Member,
    {"block_id": block_ids, "role": st.sampled_from(ROLES)},
    rank=counts,
    trust=st.none() | fractions,
    score=st.none() | fractions,
    text=st.none() | member_texts,
)
promotions = built(
    e.Promotion,
    {"block_id": block_ids, "vector": embeddings},
    rate=fractions,
    analysis=st.none() | analysis_texts,
    analysed=st.sampled_from(["none", "done", "failed"]),
    alignment=st.none() | fractions,
    supersession=st.none() | supersessions,
)
matches = st.builds(
    e.Matched,
    recipe=names,
    source=block_ids,
    target=block_ids,
    source_confidence=fractions,
    target_confidence=fractions,
)
staged_vectors = st.builds(e.StagedVector, block_id=block_ids, vector=embeddings)
answer_rows = st.builds(
    e.AnswerRow,
    block=numbers,
    score=fractions,
    signals=st.tuples(*[signals] * (len(e.SIGNALS) + PARTS)),
    via=st.just(-1) | numbers,
)
runners_up = st.builds(e.RunnerUp, block=numbers, score=fractions)


@st.composite
def answers(draw: st.DrawFn) -> e.Answer:
    """Return answers, often sorted by score and with signals that are the same in all rows."""
    rows = draw(tuples(answer_rows, at_most=6))
    width = len(e.SIGNALS) + PARTS
    shared = draw(st.lists(st.none() | signals, min_size=width, max_size=width))
    runners = draw(tuples(runners_up, at_most=25))
    if draw(st.booleans()):
        rows = tuple(sorted(rows, key=lambda row: -row.score))
        runners = tuple(sorted(runners, key=lambda runner: -runner.score))
    rows = tuple(
        e.AnswerRow(
            row.block,
            row.score,
            tuple(
                own if one is None else one for own, one in zip(row.signals, shared, strict=True)
            ),
            row.via,
        )
        for row in rows
    )
    return e.Answer(rows=rows, runners_up=runners)


explorations = st.integers(1, 21).flatmap(
    lambda pool: st.builds(
        e.Exploration,
        rate=st.integers(1, NANO),
        pool=st.just(pool),
        drawn=st.integers(0, pool - 1),
    )
)


NEAR = st.sets(st.integers(0, 2**31), max_size=20).map(lambda blocks: tuple(sorted(blocks)))


@st.composite
def recalls(draw: st.DrawFn) -> e.RecallRecorded:
    """Return recalls whose pairs are mostly pairs of returned blocks."""
    answer = draw(answers())
    returned = [row.block for row in answer.rows]
    ends = st.sampled_from(returned) | numbers if returned else numbers
    touched = tuples(st.tuples(ends, ends))
    fields = {
        "asked": questions,
        "vector": st.none() | embeddings,
        "answer": st.just(answer),
        "digest": _hex16,
        "policy_id": policy_ids,
        "recipe": names,
        "read_version": versions,
        "read_us": active_times,
        "asked_us": wall_clocks,
    }
    recall: e.RecallRecorded = draw(
        built(
            e.RecallRecorded,
            fields,
            frame=names,
            top_k=st.none() | counts,
            token_budget=st.none() | counts,
            retriever=st.sampled_from(["exact", "ann"]),
            propensity=fractions,
            explored=st.none() | explorations,
            embedder_id=st.just("") | _hex16,
            staged=touched,
            linked=touched,
            refreshed=touched,
            evicted=touched,
            near=st.just(()) | NEAR,
        )
    )
    return recall


# --- events -------------------------------------------------------------------------------------

EVENTS: Mapping[type, Strategy[Any]] = {
    e.SpaceOpened: st.builds(e.SpaceOpened, nonce=_hex16, salt=salts),
    e.PolicyAdopted: st.builds(e.PolicyAdopted, policy_id=policy_ids, body=labels),
    e.EmbedderAdopted: st.builds(e.EmbedderAdopted, embedder=identities),
    e.SpaceErased: st.builds(e.SpaceErased),
    e.SessionStarted: st.builds(e.SessionStarted, session_id=session_ids),
    e.SessionEnded: st.builds(e.SessionEnded, session_id=session_ids),
    e.BlockLearned: built(
        e.BlockLearned,
        {"block_id": block_ids, "text": block_texts},
        category=names,
        source=names,
        zone=names,
        confidence=fractions,
        created_at_us=st.none() | wall_clocks,
        expires_at_us=st.none() | wall_clocks,
    ),
    e.BlocksPromoted: built(
        e.BlocksPromoted,
        {"promotions": tuples(promotions)},
        near=tuples(near_duplicates),
        links=tuples(links),
    ),
    e.BlocksRelinked: st.builds(e.BlocksRelinked, links=tuples(links)),
    e.BlockSuperseded: built(
        e.BlockSuperseded, {"supersession": supersessions}, reason=st.none() | remarks
    ),
    e.BlockForgotten: built(e.BlockForgotten, {"block_id": block_ids}, reason=st.none() | remarks),
    e.BlockErased: st.builds(e.BlockErased, block_id=block_ids),
    e.BlockRezoned: built(
        e.BlockRezoned,
        {"block_id": block_ids, "zone": names},
        reason=st.none() | remarks,
        rate=st.none() | fractions,
    ),
    e.VectorsStaged: st.builds(
        e.VectorsStaged, embedder=identities, vectors=tuples(staged_vectors)
    ),
    e.EdgeConnected: built(
        e.EdgeConnected,
        {
            "source": block_ids,
            "target": block_ids,
            "relation": labels,
            "weight": fractions,
            "action": st.sampled_from(["created", "reinforced", "updated"]),
        },
        origin=names,
        count=counts,
        note=st.none() | remarks,
        displaced=tuples(pairs),
        matched=st.none() | matches,
    ),
    e.EdgeDeferred: built(
        e.EdgeDeferred,
        {"source": block_ids, "target": block_ids, "relation": labels, "weight": fractions},
        note=st.none() | remarks,
        matched=st.none() | matches,
    ),
    e.EdgeDisconnected: built(
        e.EdgeDisconnected,
        {"source": block_ids, "target": block_ids},
        relation=st.none() | labels,
        weight=st.none() | fractions,
        reason=st.none() | remarks,
    ),
    e.RecallRecorded: recalls(),
    e.OutcomeRecorded: built(
        e.OutcomeRecorded,
        {"block_ids": tuples(block_ids), "signal": fractions},
        weight=fractions,
        source=names,
        decision_id=st.none() | decision_ids,
        composition_id=st.none() | composition_ids,
        refused=tuples(st.builds(e.RefusedBlock, block_id=labels, code=names)),
        reinforced=st.booleans(),
        links=tuples(links),
        confirmed=tuples(pairs),
        unlinked=tuples(pairs),
        penalties=tuples(st.builds(e.Penalty, block_id=block_ids, rate=fractions)),
    ),
    e.BlocksComposed: built(
        e.BlocksComposed,
        {"members": tuples(members)},
        composition_id=st.none() | composition_ids,
        text=st.none() | composition_texts,
        tool=names,
        mode=names,
        status=st.none() | names,
        confidence=st.none() | fractions,
        consume=st.sampled_from(CONSUMES),
    ),
    e.CompositionLabelled: built(
        e.CompositionLabelled,
        {"composition_id": composition_ids, "label": st.sampled_from(LABELS)},
        source=names,
        confidence_delta=st.none() | st.integers(-NANO, NANO),
        text=st.none() | label_texts,
    ),
    e.LabelRetracted: built(
        e.LabelRetracted,
        {"composition_id": composition_ids, "label_version": versions},
        reason=st.none() | remarks,
    ),
    e.Curated: built(
        e.Curated,
        {},
        archived=tuples(
            st.builds(
                e.Archival, block_id=block_ids, reason=st.sampled_from(["decayed", "expired"])
            )
        ),
        pruned=tuples(pairs),
        decayed=tuples(pairs),
        admitted=tuples(st.builds(e.Admission, source=block_ids, target=block_ids)),
        constitutional=tuples(block_ids),
        reinforced=tuples(block_ids),
        edges_after=counts,
    ),
    e.Reverted: built(
        e.Reverted,
        {"first": versions, "last": versions},
        reason=st.none() | remarks,
        policy_id=st.none() | policy_ids,
        policy=st.none() | labels,
        unlinked=tuples(pairs),
        cancelled=tuples(pairs),
        unbarred=tuples(pairs),
        forgotten=tuples(block_ids),
        lives=tuples(block_ids),
        strength=tuples(block_ids),
        evidence=tuples(block_ids),
        uses=tuples(block_ids),
        linked=tuples(pairs),
        deferred=tuples(pairs),
        barred=tuples(pairs),
        retracted=tuples(versions),
        recounted=tuples(versions),
        left=tuples(
            built(
                e.Objection,
                {"what": names, "of": tuples(labels), "why": names},
                version=st.none() | versions,
            )
        ),
    ),
}
"""A strategy for every member of ``Event``."""


def events() -> Strategy[e.Event]:
    """Return any event. No payload in it is erased: those are read, never written."""
    return st.one_of(*EVENTS.values())


def recordeds(of: Strategy[e.Event] | None = None) -> Strategy[e.Recorded]:
    """Return any event, or any *of* these, with any envelope."""
    return built(
        e.Recorded,
        {
            "version": versions,
            "active_us": active_times,
            "recorded_us": wall_clocks,
            "command_id": command_ids,
            "event": events() if of is None else of,
        },
        actor=labels,
        session_id=st.none() | session_ids,
    )
