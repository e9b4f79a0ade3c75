"""Truncated logs, and all answers of an interface about a point of the past."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.inprocess.view import SyncView
from mnemic.adapters.stores.memory import MemoryStore
from mnemic.kernel.ports import Embedder, Log

QUESTIONS = (
    ("angle 318: one two", "attention"),
    ("alpha béta", "task"),
    (None, "self"),
    (None, "short_term"),
    ("one", "world"),
)


def cut(log: Log, version: int) -> MemoryStore:
    """Return a new store that holds *log* up to *version*."""
    store = MemoryStore()
    short = store.log(log.name)
    for record, payloads in log.read(-1, version):
        short.append([record], payloads, after=short.head())
    return store


def reader(store: MemoryStore, *, embedder: Embedder | None) -> SyncMemory:
    """Return a handle that only reads."""
    return SyncMemory.open(store, embedder=embedder, read_only=True)


def agree(whole: dict[str, Any], truncated: dict[str, Any]) -> bool:
    """Return whether a log and the same log truncated give the same answers about the past.

    The truncated one shows as lost what is erased after its end, in fewer tokens.
    """
    if whole == truncated:
        return True
    shown = repr(truncated)
    is_lost = "lost=True" in shown or "[lost]" in shown or ", lost]" in shown
    return is_lost and _as_erased(repr(whole)) == _as_erased(shown)


def _as_erased(text: str) -> str:
    text = text.replace("[lost]", "[erased]").replace(", lost]", ", erased]")
    return re.sub(r"\btokens=[0-9]+", "tokens=", text.replace("lost=True", "lost=False"))


def answers_by_interface(view: SyncView, ids: Iterable[str], *, wordless: bool) -> dict[str, Any]:
    """Return the answer to every query and to some questions.

    Args:
        view: A point of the past.
        ids: Every block learned by then.
        wordless: Whether to leave out the questions that need an embedder.
    """
    ids = list(ids)
    questions = [each for each in QUESTIONS if each[0] is None or not wordless]
    return {
        "status": view.status(),
        "blocks": view.blocks(limit=1000),
        "page": view.blocks(limit=2, after=4),
        "active": view.blocks(status="active", limit=1000),
        "tagged": view.blocks(tag="self/", limit=1000),
        "each": [view.block(block) for block in ids],
        "edges": [view.edges(block) for block in ids],
        "near": view.near_duplicates(),
        "pending": view.pending_connections(),
        "ledger": view.ledger(),
        "composed with": [view.composed_with(block) for block in ids],
        "history": view.history(),
        "behind": [view.history(of=block) for block in ids],
        "log": view.log(limit=1000),
        "recalls": [view.recall(query, frame=frame) for query, frame in questions],
    }
