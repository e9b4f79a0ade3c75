"""Commands on the similarity of blocks: now, and at any point in the past."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.inprocess.queries import Queries
from mnemic.adapters.remote.documents import document_of
from tests.adapters.cli.conftest import Shell

SAME = "Gauge 17 resends every sixty seconds at the north gate."
AGAIN = "Gauge 17 resends every sixty seconds at the south gate."


@pytest.fixture
def ids(store: Path) -> list[str]:
    """Four blocks: two that say almost the same, and two pairs of which one supports the other."""
    words = (SAME, AGAIN, "The pump failed on Monday.", "Its seal was worn.")
    with SyncMemory.open(store) as memory:
        found: list[str] = [memory.learn(each).block_id for each in words]
        memory.consolidate()
        memory.connect(found[0], found[1], "supports", if_exists="update")
        memory.connect(found[2], found[3], "supports")
    return found


QUERIES: dict[str, Callable[[Queries, list[str]], Any]] = {
    "edges": lambda known, ids: known.edges(ids[0]),
    "analogies": lambda known, ids: known.analogies(ids[0]),
    "compare": lambda known, ids: known.compare(ids[0], ids[2]),
    "composed-with": lambda known, ids: known.composed_with(ids[0]),
    "near-duplicates": lambda known, _: known.near_duplicates(),
    "pending-connections": lambda known, _: known.pending_connections(),
    "blocks": lambda known, _: known.blocks(limit=50),
}
ABOUT = {"edges": (0,), "analogies": (0,), "compare": (0, 2), "composed-with": (0,)}
"""Which blocks stand behind the command."""


@pytest.mark.parametrize("command", QUERIES)
def test_a_command_answers_what_the_memory_does(
    shell: Shell, store: Path, ids: list[str], command: str
) -> None:
    named = [ids[place][:8] for place in ABOUT.get(command, ())]
    noted = shell(command, *named, "--json")
    with SyncMemory.open(store, read_only=True) as memory:
        assert (noted.exit, noted.document) == (0, document_of(QUERIES[command](memory, ids)))


@pytest.mark.parametrize("command", QUERIES)
def test_the_past_answers_what_a_view_does(
    shell: Shell, store: Path, ids: list[str], command: str
) -> None:
    named = [ids[place][:8] for place in ABOUT.get(command, ())]
    noted = shell("as-of", "--version", "8", command, *named, "--json")
    with SyncMemory.open(store, read_only=True) as memory:
        view = memory.as_of(version=8)
        assert (noted.exit, noted.document) == (0, document_of(QUERIES[command](view, ids)))


def test_similarities_are_drawn_for_people(shell: Shell, ids: list[str]) -> None:
    first, second, third, _ = (block[:8] for block in ids)
    assert second in shell("edges", first).out
    assert "supports>" in shell("analogies", first).out
    assert shell("compare", first, third).out.startswith("analogy: similar in structure, not in ")
    assert SAME[:40] in shell("near-duplicates").out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("near-duplicates",), "No near-duplicates.\n"),
        (("pending-connections",), "Nothing waits.\n"),
    ],
)
def test_empty_lists_are_reported_in_words(noted: Shell, words: tuple[str, ...], said: str) -> None:
    assert noted(*words).out == said


def test_a_pending_connection_is_listed(shell: Shell, store: Path) -> None:
    with SyncMemory.open(store) as memory:
        ids = [memory.learn(f"Gauge {number} stands alone.").block_id for number in range(12)]
        for other in ids[1:]:
            memory.connect(ids[0], other, "supports", note="Of one row.")
    (waiting,) = shell("pending-connections", "--json").document["items"]
    assert (waiting["source_id"], waiting["target_id"]) == (ids[0], ids[11])
    assert "Of one row." in shell("pending-connections").out


def test_two_points_in_the_past_can_be_compared(noted: Shell) -> None:
    then = noted("as-of", "--version", "4", "diff", "2", "--json").document
    assert (then["before"]["version"], then["after"]["version"]) == (2, 4)
    assert noted("as-of", "--version", "4", "diff", "2", "6", "--json").error["code"] == (
        "point-out-of-range"
    )


def test_ages_of_the_past_can_be_counted_from_another_day(noted: Shell) -> None:
    shown = noted("as-of", "--version", "4", "--now", "2999-01-01", "status", "--json")
    assert shown.document["version"] == 4


def test_a_misspelt_query_gets_a_suggestion(noted: Shell) -> None:
    failed = noted("as-of", "--version", "4", "statu", "--json")
    assert 'Did you mean "status"?' in failed.error["detail"]
