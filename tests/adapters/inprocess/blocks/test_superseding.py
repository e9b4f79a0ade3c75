"""Supersession by the same statement, contradictions, near-duplicates, and inherited facts."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any, TypeAlias

import pytest

from mnemic.adapters.embedders.hashing import ScriptedEmbedder
from mnemic.adapters.inprocess import SyncMemory
from mnemic.kernel.model.identity import BlockId
from mnemic.kernel.policy import Policy
from mnemic.kernel.results import ConsolidateResult, ContradictedPair, Replacement

Open: TypeAlias = Callable[..., SyncMemory]

# Stored vectors whose cosine is what the key says, to the nano-unit.
EXACTLY: Mapping[str, tuple[Sequence[float], Sequence[float]]] = {
    "1.000000000": ((3749, 661, 1148, 842), (3749, 661, 1148, 842)),
    "0.950000000": ((3749, 661, 1148, 842), (3414, -97, 2109, 638)),
    "0.900000000": ((3923, 502, 231, 905), (3640, 1484, 942, -419)),
    "0.899999999": ((3799, 815, 1052, 559), (3166, 2430, 761, 101)),
}
OLD, NEW = "The gate opens at six.", "the gate opens at 6"
"""The same statement."""
MORE = "The gate opens at six. It closes at nine."
"""Extends it."""


def at(degrees: float) -> tuple[float, ...]:
    """Return a direction in a plane; the cosine of two is that of the angle between them."""
    return (math.cos(math.radians(degrees)), math.sin(math.radians(degrees)), 0.0)


def script(angles: Mapping[str, float] | None = None, /, **more: float) -> ScriptedEmbedder:
    each = {**(angles or {}), **more}
    return ScriptedEmbedder({text: at(angle) for text, angle in each.items()}, 3)


def learn(memory: SyncMemory, *texts: str, **own: Any) -> list[BlockId]:
    return [memory.learn(text, **own).block_id for text in texts]


def standing(memory: SyncMemory, blocks: Sequence[str]) -> list[tuple[str, str | None]]:
    found = [memory.block(block) for block in blocks]
    return [(block.status, block.superseded_by) for block in found]


def noted(memory: SyncMemory) -> list[tuple[str, str, float]]:
    return [(new.id, old.id, cosine) for new, old, cosine in memory.near_duplicates()]


# --- similar vectors ----------------------------------------------------------------------------


@pytest.mark.parametrize("cosine", EXACTLY)
def test_near_duplicates_are_noted_from_their_lower_bound_on_and_none_is_superseded(
    opened: Open, cosine: str
) -> None:
    first, second = EXACTLY[cosine]
    memory = opened(embedder=ScriptedEmbedder({"old": first, "new": second}, 4))
    old, new = learn(memory, "old", "new")
    done = memory.consolidate()
    is_pair = cosine != "0.899999999"
    assert (done.promoted, done.superseded, done.near_duplicates) == (2, (), is_pair)
    assert noted(memory) == ([(new, old, float(cosine))] if is_pair else [])
    assert memory.status().near_duplicates == is_pair
    assert standing(memory, [old, new]) == [("active", None), ("active", None)]


@pytest.mark.parametrize(("first", "second"), [("message", "message"), ("message", "fact")])
@pytest.mark.parametrize("turned", [False, True])
def test_messages_are_exempt_whichever_comes_first(
    opened: Open, first: str, second: str, *, turned: bool
) -> None:
    texts = (OLD, NEW, "the gate is open", "the gate is shut")
    memory = opened(embedder=script(dict.fromkeys(texts, 0)))
    categories = (second, first) if turned else (first, second)
    for text, category in zip(texts, categories * 2, strict=True):
        memory.learn(text, category=category)
    done = memory.consolidate()
    facts = 1 if "fact" in categories else 0  # the two facts are different statements
    assert (done.superseded, done.contradictions, done.near_duplicates) == ((), (), facts)
    assert memory.status().active == 4


def test_a_pair_is_recorded_once_and_listed_while_both_are_active(opened: Open) -> None:
    memory = opened(embedder=script(one=0, two=20, far=90))
    one, two = learn(memory, "one", "two")
    memory.consolidate()
    assert [pair[:2] for pair in noted(memory)] == [(two, one)]
    memory.forget(one)
    assert (noted(memory), memory.status().near_duplicates) == ([], 0)
    memory.learn("one")
    memory.consolidate()
    assert len(noted(memory)) == 1


# --- the same statement -------------------------------------------------------------------------


@pytest.mark.parametrize("degrees", [0, 90, 180])
@pytest.mark.parametrize(("text", "why"), [(NEW, "same"), (MORE, "extends")])
@pytest.mark.parametrize("together", [True, False], ids=["in one chunk", "later"])
def test_a_text_that_says_the_same_or_more_supersedes_whatever_the_cosine(
    opened: Open, degrees: float, text: str, why: str, *, together: bool
) -> None:
    memory = opened(embedder=script({OLD: 0, text: degrees}))
    (old,) = learn(memory, OLD)
    if not together:
        memory.consolidate()
    (new,) = learn(memory, text)
    done = memory.consolidate()
    assert done.superseded == (Replacement(old=old, new=new, why=why),)
    assert standing(memory, [old, new]) == [("archived", new), ("active", None)]
    assert memory.block(old).archive_reason == "superseded"


@pytest.mark.parametrize("degrees", [0, 90])
def test_a_text_that_says_less_supersedes_nothing(opened: Open, degrees: float) -> None:
    memory = opened(embedder=script({MORE: 0, OLD: degrees}))
    blocks = learn(memory, MORE, OLD)
    assert memory.consolidate().superseded == ()
    assert standing(memory, blocks) == [("active", None)] * 2


OTHER_SCOPES: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({"author": "Ann"}, {"author": "Bob"}),
    ({"author": "Ann"}, {}),
    ({}, {"author": "Ann"}),
    ({"metadata": {"user": "ann"}}, {"metadata": {"user": "bob"}}),
    ({"scope": {"run": "1"}}, {}),
    ({}, {"metadata": {"page": 1}}),
    ({"source": "web"}, {}),
    ({}, {"source": "web"}),
    ({"zone": "vetted"}, {"zone": "trusted"}),
    ({"category": "fact"}, {}),
]


@pytest.mark.parametrize(("one", "two"), OTHER_SCOPES, ids=str)
@pytest.mark.parametrize("text", [NEW, MORE])
@pytest.mark.parametrize("together", [True, False], ids=["in one chunk", "later"])
def test_nothing_is_superseded_in_another_scope(
    opened: Open, one: dict[str, Any], two: dict[str, Any], text: str, *, together: bool
) -> None:
    memory = opened(embedder=script({OLD: 0, text: 0}))
    old = memory.learn(OLD, **one).block_id
    if not together:
        memory.consolidate()
    new = memory.learn(text, **two).block_id
    done = memory.consolidate()
    assert (done.superseded, done.near_duplicates) == ((), 1)
    assert standing(memory, [old, new]) == [("active", None)] * 2


@pytest.mark.parametrize(
    ("one", "two"), [({"tags": ["a"]}, {"tags": ["b"]}), ({"thread": "s"}, {"thread": "t"})]
)
def test_tags_and_thread_are_no_scope(
    opened: Open, one: dict[str, Any], two: dict[str, Any]
) -> None:
    memory = opened(embedder=script({OLD: 0, NEW: 0}))
    old, new = memory.learn(OLD, **one).block_id, memory.learn(NEW, **two).block_id
    memory.consolidate()
    assert memory.block(old).superseded_by == new


def test_a_constitutional_block_is_never_superseded_automatically(opened: Open) -> None:
    memory = opened(embedder=script({OLD: 0, NEW: 0}))
    law = memory.learn(OLD, tags=["self/constitutional"]).block_id
    (same,) = learn(memory, NEW)
    done = memory.consolidate()
    assert (done.superseded, done.near_duplicates) == ((), 1)
    assert noted(memory) == [(same, law, 1.0)]
    assert standing(memory, [law, same]) == [("active", None), ("active", None)]


def test_nothing_is_superseded_if_the_first_that_says_the_same_is_constitutional(
    opened: Open,
) -> None:
    third = "- The gate opens at six"
    memory = opened(embedder=script({OLD: 0, NEW: 0, third: 0}))
    law = memory.learn(OLD, tags=["self/constitutional"]).block_id
    same, last = learn(memory, NEW, third)
    assert memory.consolidate().superseded == ()
    assert [pair[:2] for pair in noted(memory)] == [
        (same, law),
        *((last, other) for other in sorted([law, same])),
    ]


def test_what_says_the_same_goes_before_what_is_extended(opened: Open) -> None:
    again = "the gate opens at six. it closes at nine"
    memory = opened(embedder=script({OLD: 0, MORE: 40, again: 80}))
    (part,) = learn(memory, OLD, tags=["self/constitutional"])
    (whole,) = learn(memory, MORE)
    memory.consolidate()
    assert standing(memory, [part, whole]) == [("active", None)] * 2
    (new,) = learn(memory, again)
    done = memory.consolidate()
    assert done.superseded == (Replacement(old=whole, new=new, why="same"),)


def test_of_two_that_are_extended_the_first_is_superseded(opened: Open) -> None:
    second = "The shop closes at nine."
    whole = f"{OLD} {second}"
    for first in ([second, OLD], [OLD, second]):
        memory = opened(space=first[0], embedder=script({OLD: 90, second: 180, whole: 0}))
        one, two = learn(memory, *first)
        (new,) = learn(memory, whole)
        done = memory.consolidate()
        assert done.superseded == (Replacement(old=one, new=new, why="extends"),)
        assert memory.block(two).status == "active"


def test_of_many_that_say_the_same_only_the_last_stays(opened: Open) -> None:
    texts = ["a", "A", "a.", "A!"]
    memory = opened(embedder=script(dict.fromkeys(texts, 0)))
    blocks = learn(memory, *texts)
    done = memory.consolidate()
    assert (done.promoted, done.inbox_remaining) == (4, 0)
    assert done.superseded == tuple(
        Replacement(old=old, new=new, why="same") for old, new in pairwise(blocks)
    )
    assert standing(memory, blocks) == [
        *(("archived", successor) for successor in blocks[1:]),
        ("active", None),
    ]
    assert memory.recall("A!", record=False).block_ids == (blocks[-1],)


def test_a_superseded_text_comes_back_when_it_is_said_again(opened: Open) -> None:
    memory = opened(embedder=script({OLD: 0, NEW: 0}))
    old, new = learn(memory, OLD, NEW)
    memory.consolidate()
    assert memory.learn(OLD).action == "reactivated"
    assert memory.consolidate().superseded == (Replacement(old=new, new=old, why="same"),)
    assert standing(memory, [old, new]) == [("active", None), ("archived", old)]


# --- what is named ------------------------------------------------------------------------------


def test_results_and_the_log_name_superseded_and_contradicting_pairs(opened: Open) -> None:
    texts = ("The lamp is on.", "The lamp is off.", OLD, NEW)
    memory = opened(embedder=script({texts[0]: 0, texts[1]: 10, OLD: 90, NEW: 90}))
    memory.start_session()
    on, off, old, new = learn(memory, *texts)
    done = memory.consolidate(command_id="once")
    assert done.superseded == (Replacement(old=old, new=new, why="same"),)
    assert done.contradictions == (ContradictedPair(older=on, newer=off),)
    assert [each.summary for each in (*done.superseded, *done.contradictions)] == [
        f"{old[:8]} superseded by {new[:8]}, which says the same",
        f"{off[:8]} contradicts {on[:8]}",
    ]
    for each in (*done.superseded, *done.contradictions):
        assert each.summary in done.summary
    details = [entry.detail or "" for entry in memory.log() if entry.kind == "blocks-promoted"]
    for each in (*done.superseded, *done.contradictions):
        assert any(each.summary in detail for detail in details)
    for block in (on, off, old, new):
        assert any(entry.kind == "blocks-promoted" for entry in memory.history(of=block))
    assert memory.consolidate(command_id="once") == done
    ended = memory.end_session(command_id="end")
    assert (ended.superseded, ended.contradictions) == (done.superseded, done.contradictions)
    assert memory.end_session(command_id="end") == ended


def test_a_session_names_only_what_happened_in_it(opened: Open) -> None:
    memory = opened(embedder=script({OLD: 0, NEW: 90, MORE: 45}))
    old, new = learn(memory, OLD, NEW)
    memory.consolidate()
    memory.start_session()
    learn(memory, "waits")
    memory.forget(memory.last_learned_block_id or "")
    first = memory.end_session()
    assert (first.superseded, first.contradictions) == ((), ())
    memory.start_session()
    (more,) = learn(memory, MORE)
    ended = memory.end_session()
    assert ended.superseded == (Replacement(old=new, new=more, why="extends"),)
    memory.start_session()
    revised = memory.revise(more, OLD).block_id
    assert revised == old
    assert memory.end_session().superseded == (Replacement(old=more, new=old, why="revised"),)


def test_a_long_list_of_pairs_is_cut_in_texts_and_not_in_results(opened: Open) -> None:
    texts = [f"Lamp {n} is lit." for n in range(7)]
    again = [text.lower().rstrip(".") for text in texts]
    angles = {text: n * 50.0 for n, text in enumerate(texts)}
    memory = opened(embedder=script({**angles, **dict(zip(again, angles.values(), strict=True))}))
    learn(memory, *texts, *again)
    done = memory.consolidate()
    assert len(done.superseded) == 7
    assert done.summary.endswith(". and 2 more.")


# --- contradictions -----------------------------------------------------------------------------


@pytest.mark.parametrize("together", [True, False], ids=["in one chunk", "later"])
def test_a_contradiction_is_linked_from_the_newer_to_the_older(
    opened: Open, *, together: bool
) -> None:
    memory = opened(embedder=script({"the limit is 30": 0, "the limit is 60": 20}))
    (old,) = learn(memory, "the limit is 30")
    if not together:
        memory.consolidate()
    (new,) = learn(memory, "the limit is 60")
    done = memory.consolidate()
    assert (done.superseded, done.edges_created) == ((), 1)
    assert done.contradictions == (ContradictedPair(older=old, newer=new),)
    (edge,) = memory.edges(old)
    assert (edge.source_id, edge.target_id, edge.weight) == (new, old, 0.6)
    assert (edge.relation, edge.origin) == ("contradicts", "similarity")
    assert standing(memory, [old, new]) == [("active", None)] * 2
    found = memory.recall("the limit is 60", top_k=1, record=False)
    assert [block.id for block in found.counterpoints] == [
        {old: new, new: old}[each] for each in found.block_ids
    ]


@pytest.mark.parametrize(
    ("one", "two"),
    [each for each in OTHER_SCOPES if "category" not in each[0]],
    ids=str,
)
def test_nothing_is_contradicted_in_another_scope(
    opened: Open, one: dict[str, Any], two: dict[str, Any]
) -> None:
    memory = opened(embedder=script({"the limit is 30": 0, "the limit is 60": 20}))
    memory.learn("the limit is 30", **one)
    memory.learn("the limit is 60", **two)
    assert memory.consolidate().contradictions == ()
    assert {edge.relation for edge in memory.edges(memory.last_learned_block_id or "")} == {
        "similar"
    }


def test_far_texts_are_not_compared_for_contradictions(opened: Open) -> None:
    for space, degrees, expected in (("near", 63, 1), ("far", 64, 0)):
        memory = opened(
            space=space, embedder=script({"the limit is 30": 0, "the limit is 60": degrees})
        )
        learn(memory, "the limit is 30", "the limit is 60")
        assert len(memory.consolidate().contradictions) == expected


def test_only_the_nearest_are_compared_for_contradictions(opened: Open) -> None:
    angles = {"the limit is 30": 40.0, "one": 10.0, "two": 20.0, "the limit is 60": 0.0}
    for most, expected in ((2, 0), (3, 1)):
        memory = opened(
            space=f"{most} nearest",
            embedder=script(angles),
            policy=Policy(contradiction_candidates=most),
        )
        learn(memory, *angles)
        assert len(memory.consolidate().contradictions) == expected


# --- what is inherited --------------------------------------------------------------------------


def test_the_successor_inherits_evidence_retrievals_and_tags(opened: Open) -> None:
    memory = opened(embedder=script({OLD: 0, NEW: 1}))
    old = memory.learn(OLD, tags=["self/goal", "ops"]).block_id
    memory.recall(OLD)
    memory.recall(OLD)
    memory.outcome([old], 1.0, weight=2.0)
    memory.outcome([old], 0.0)
    new = memory.learn(NEW, tags=["fresh"], confidence=0.4).block_id
    memory.consolidate()
    block = memory.block(new)
    assert (block.evidence, block.usefulness, block.retrievals) == (3.0, 0.625, 2)
    assert block.tags == ("fresh", "ops", "self/goal")
    assert (block.confidence, block.reinforcements) == (0.4, 1)
    assert block.decay_rate == 0.001  # the inherited tag slows its decay


def test_agent_and_outcome_edges_move_and_found_ones_are_dropped(opened: Open) -> None:
    memory = opened(embedder=script({OLD: 0, NEW: 2}, near=45, told=90, proven=180))
    old, near, told, proven = learn(memory, OLD, "near", "told", "proven")
    memory.consolidate()
    memory.connect(told, old, "supports", weight=0.9, note="he said so")
    memory.outcome([old, proven], 1.0)
    assert sorted(edge.origin for edge in memory.edges(old)) == ["agent", "outcome", "similarity"]
    (new,) = learn(memory, NEW)
    done = memory.consolidate()
    assert (len(done.superseded), done.edges_created) == (1, 1)  # "new" finds "near" automatically
    assert memory.edges(old) == ()
    moved = {edge.origin: edge for edge in memory.edges(new)}
    agent, outcome = moved["agent"], moved["outcome"]
    assert (agent.source_id, agent.target_id, agent.note) == (told, new, "he said so")
    assert (agent.relation, agent.weight) == ("supports", 0.9)
    assert {outcome.source_id, outcome.target_id} == {new, proven}
    assert {moved["similarity"].source_id, moved["similarity"].target_id} == {new, near}
    assert memory.status().edges == len(memory.edges(near)) + 2


def test_an_edge_to_the_successor_is_dropped_and_its_other_edges_stay(opened: Open) -> None:
    memory = opened(embedder=script({OLD: 0, NEW: 2}, other=90))
    old, other = learn(memory, OLD, "other")
    memory.consolidate()
    (new,) = learn(memory, NEW)
    memory.connect(new, old, "elaborates")  # while it is in the inbox
    memory.connect(new, other, "supports")
    memory.connect(old, other, "contradicts")
    memory.consolidate()
    assert memory.block(old).superseded_by == new
    assert [(edge.relation, edge.source_id, edge.target_id) for edge in memory.edges(new)] == [
        ("supports", new, other)
    ]
    assert memory.status().edges == 1


def test_edges_that_find_no_room_on_the_successor_are_dropped_and_the_cap_holds(
    opened: Open,
) -> None:
    angles = {OLD: 0.0, NEW: 1.0, "a": 90.0, "b": 180.0, "c": 270.0}
    memory = opened(embedder=script(angles), policy=Policy(degree_cap=2))
    old, a, b, c = learn(memory, OLD, "a", "b", "c")
    memory.consolidate()
    memory.connect(old, a)
    memory.connect(old, b)
    (new,) = learn(memory, NEW)
    memory.connect(new, c)
    memory.consolidate()
    assert {edge.target_id for edge in memory.edges(new)} == {c, a}
    assert (memory.edges(b), memory.status().edges) == ((), 2)


def test_pending_connections_of_a_superseded_block_are_dropped(opened: Open) -> None:
    memory = opened(embedder=script({OLD: 0, NEW: 1}, a=90, b=180), policy=Policy(degree_cap=1))
    old, a, b = learn(memory, OLD, "a", "b")
    memory.consolidate()
    memory.connect(old, a)
    assert memory.connect(old, b).action == "deferred"
    learn(memory, NEW)
    memory.consolidate()
    assert (memory.pending_connections(), memory.status().pending_connections) == ((), 0)


def test_the_past_still_shows_the_superseded_block(opened: Open) -> None:
    memory = opened(embedder=script({OLD: 0, NEW: 1}))
    (old,) = learn(memory, OLD)
    memory.consolidate()
    before = memory.status().version
    (new,) = learn(memory, NEW)
    replaced = Replacement(old=old, new=new, why="same")
    assert memory.consolidate() == ConsolidateResult(promoted=1, superseded=(replaced,), chunks=1)
    view = memory.as_of(version=before)
    assert standing_at(view.block(old).status, view.block(old).superseded_by)
    assert view.recall(OLD).block_ids == (old,)


def standing_at(status: str, successor: str | None) -> bool:
    return (status, successor) == ("active", None)
