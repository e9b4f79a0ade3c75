"""Every query that a past view answers, with each of its arguments."""

from __future__ import annotations

from mnemic.specs.contracts.interface.sample_requests import LESSONS, Ask

VIEW_QUERIES: dict[str, tuple[str, Ask]] = {
    "a block": ("block", lambda v, its: v.block(its["gate"])),
    "a page of blocks": ("blocks", lambda v, _: v.blocks(status="active", after=2, limit=1)),
    "blocks by their fields": (
        "blocks",
        lambda v, _: v.blocks(tag="lamp", category="observation", author="Ines", thread="rota"),
    ),
    "the edges of a block": ("edges", lambda v, its: v.edges(its["gate"])),
    "analogies": ("analogies", lambda v, its: v.analogies(its["gate"], limit=2)),
    "two blocks compared": ("compare", lambda v, its: v.compare(its["gate"], its["tea"])),
    "near-duplicates": ("near_duplicates", lambda v, _: v.near_duplicates()),
    "pending connections": ("pending_connections", lambda v, _: v.pending_connections()),
    "a composition": ("composition", lambda v, its: v.composition(its["composition"])),
    "the ledger": ("ledger", lambda v, its: v.ledger(of=its["tea"], limit=2)),
    "company": ("composed_with", lambda v, its: v.composed_with(its["tea"], limit=2)),
    "the frontier": ("frontier", lambda v, _: v.frontier(tags=["lamp"], size="any", limit=2)),
    "the classic frontier": ("frontier", lambda v, _: v.frontier(mode="classic")),
    "what changed": ("diff", lambda v, its: v.diff(2, its["decision"], limit=3)),
    "what descends from a block": (
        "descent",
        lambda v, its: v.descent({"block": its["tea"]}, after=1, limit=5),
    ),
    "what changed since": ("diff", lambda v, _: v.diff("2")),
    "the last events": ("history", lambda v, _: v.history(limit=4)),
    "the events behind a block": ("history", lambda v, its: v.history(of=its["gate"], limit=9)),
    "a range of the log": ("log", lambda v, _: v.log(after=2, limit=3)),
    "the timeline": ("timeline", lambda v, _: v.timeline(bins=2, after=-1, limit=2)),
    "decisions, the worst first": (
        "decisions",
        lambda v, _: v.decisions(order="worst", outcome="none", limit=2),
    ),
    "the decisions that returned a block": (
        "decisions",
        lambda v, its: v.decisions(of=its["gate"], text="GATE", after=999),
    ),
    "a decision asked again": ("ask_again", lambda v, its: v.ask_again(its["decision"])),
    "a block over time": ("trajectory", lambda v, its: v.trajectory(its["gate"], points=3)),
    "what surrounds a block": (
        "subgraph",
        lambda v, its: v.subgraph([its["gate"], its["tea"]], hops=1, limit=3),
    ),
    "the counts": ("status", lambda v, _: v.status()),
    "an answer": (
        "recall",
        lambda v, _: v.recall(LESSONS["gate"], frame="attention", top_k=2, token_budget=90),
    ),
    "an answer kept to some blocks": (
        "recall",
        lambda v, _: v.recall(where={"category": "knowledge"}),
    ),
    "the frontier of a decision": (
        "frontier frontier.decision",
        lambda v, its: v.frontier(decision=its["decision"]),
    ),
    "an answer with ideas": (
        "recall recall.suggest",
        lambda v, _: v.recall(LESSONS["gate"], suggest=True),
    ),
    "a probable answer": (
        "recall recall.min_probability",
        lambda v, _: v.recall(LESSONS["gate"], min_probability=0.9),
    ),
    "what was told by a user": (
        "recall recall.asked_by",
        lambda v, _: v.recall("what did I say of the gate?", asked_by="user"),
    ),
    "what is known": ("deep_reference", lambda v, _: v.deep_reference(LESSONS["gate"], depth=9)),
}
"""Queries by name: the features a view needs, and the call, given the ids of `TimeTravel.story`."""

ONLY_PAST = frozenset(
    {
        "an answer",
        "a decision asked again",
        "an answer kept to some blocks",
        "an answer with ideas",
        "a probable answer",
        "what was told by a user",
        "what is known",
        "the counts",
    }
)
"""Queries that the live memory records, or answers with more than a past view has."""
