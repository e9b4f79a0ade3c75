"""connect_by_query: two descriptions matched to two blocks and connected, or refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import pytest

from mnemic.adapters.codec import Codec
from mnemic.adapters.embedders.bundled import BundledEmbedder
from mnemic.adapters.embedders.hashing import HashEmbedder
from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.stores.memory import MemoryStore
from mnemic.adapters.system.clocks import ManualClock
from mnemic.adapters.system.entropy import SeededEntropy
from mnemic.kernel.errors import MnemicError
from mnemic.kernel.events import EdgeConnected, EdgeDeferred, Matched
from mnemic.kernel.policy import Policy
from mnemic.kernel.results import ConnectByQueryResult, ConnectResult, Origin

OURS = Origin(zone="trusted", source="api", actor="agent")

Open: TypeAlias = Callable[..., SyncMemory]

NOTES = (
    "Use the SELF frame when constitutional principles conflict with task goals",
    "Constitutional blocks define the identity of the agent and never fade",
    "Session-aware decay solves the holiday problem: time stops while the agent is away",
    "Always cache embeddings: it saves calls",
    "Do not cache embeddings: vectors go stale when the content changes",
    "Epistemic humility: list your assumptions before a significant action",
)
FRAME, IDENTITY, DECAY, CACHE, STALE, HUMILITY = NOTES


def refused(call: Callable[[], object]) -> str:
    with pytest.raises(MnemicError) as caught:
        call()
    assert caught.value.recovery
    return caught.value.code


@pytest.fixture(scope="module")
def bundled() -> BundledEmbedder:
    return BundledEmbedder()


@pytest.fixture
def memory(opened: Open, bundled: BundledEmbedder) -> SyncMemory:
    memory = opened(embedder=bundled, policy=Policy(edge_candidates=0))
    memory.learn_many(NOTES)
    return memory


def content_ids(memory: SyncMemory) -> dict[str | None, str]:
    return {block.content: block.id for block in memory.blocks().items}


# --- connected ----------------------------------------------------------------------------------


def test_two_descriptions_connect_the_matching_blocks(memory: SyncMemory) -> None:
    result = memory.connect_by_query(
        "constitutional principles conflict", "identity of the agent", "supports", note="so"
    )
    ids = content_ids(memory)
    assert result == ConnectByQueryResult(
        source_query="constitutional principles conflict",
        target_query="identity of the agent",
        source_id=ids[FRAME],  # type: ignore[arg-type]
        target_id=ids[IDENTITY],  # type: ignore[arg-type]
        source_content=FRAME,
        target_content=IDENTITY,
        source_origin=OURS,
        target_origin=OURS,
        source_confidence=result.source_confidence,
        target_confidence=result.target_confidence,
        min_confidence=0.70,
        connect_result=ConnectResult(
            source_id=ids[FRAME],  # type: ignore[arg-type]
            target_id=ids[IDENTITY],  # type: ignore[arg-type]
            relation="supports",
            weight=0.75,
            action="created",
            note="so",
        ),
        action="connected",
    )
    assert min(result.source_confidence, result.target_confidence) >= 0.9
    (edge,) = (edge for edge in memory.edges(ids[FRAME]) if edge.origin == "agent")
    assert (edge.source_id, edge.target_id, edge.relation) == (
        ids[FRAME],
        ids[IDENTITY],
        "supports",
    )


def test_the_summary_shows_what_was_matched(memory: SyncMemory) -> None:
    result = memory.connect_by_query("holiday problem", "epistemic humility", "elaborates")
    assert str(result) == result.summary
    assert str(result.connect_result) in result.summary
    assert "Session-aware decay" in result.summary
    assert result.to_dict()["connect_result"]["relation"] == "elaborates"


@pytest.mark.parametrize("content", NOTES)
def test_a_verbatim_query_matches_with_high_confidence(memory: SyncMemory, content: str) -> None:
    other = next(note for note in NOTES if note != content)
    result = memory.connect_by_query(content, other, dry_run=True)
    assert (result.source_content, result.target_content) == (content, other)
    assert min(result.source_confidence, result.target_confidence) >= 0.9


@pytest.mark.parametrize(
    "unrelated", ["best recipe for apple pie", "quarterly revenue of the shop", "x y z", "the"]
)
def test_an_unrelated_query_matches_with_low_confidence(memory: SyncMemory, unrelated: str) -> None:
    result = memory.connect_by_query(unrelated, IDENTITY)
    assert result.action == "insufficient_confidence"
    assert result.source_confidence < 0.3


def test_a_description_that_fits_two_blocks_alike_is_not_sure_enough(memory: SyncMemory) -> None:
    result = memory.connect_by_query("cache embeddings", "holiday problem")
    assert result.action == "insufficient_confidence"
    assert result.source_content in {CACHE, STALE}
    assert result.source_confidence < 0.6
    assert result.target_confidence > 0.9
    assert result.reason is not None
    assert result.reason.startswith("source_confidence")
    sharper = memory.connect_by_query("stale vectors", "holiday problem")
    assert (sharper.action, sharper.source_content) == ("connected", STALE)


def test_a_block_just_learned_can_be_matched(memory: SyncMemory) -> None:
    memory.learn("Frame selection follows a few heuristics")
    result = memory.connect_by_query("frame selection heuristics", "constitutional blocks identity")
    assert (result.action, result.target_content) == ("connected", IDENTITY)
    assert result.source_content == "Frame selection follows a few heuristics"


def test_an_edge_that_exists_is_treated_as_connect_treats_it(memory: SyncMemory) -> None:
    asked = ("holiday problem", "epistemic humility")
    memory.connect_by_query(*asked, "supports")
    again = memory.connect_by_query(*asked)
    assert again.connect_result is not None
    assert (again.connect_result.action, again.connect_result.weight) == ("reinforced", 0.85)
    skipped = memory.connect_by_query(*asked, if_exists="skip")
    assert skipped.connect_result is not None
    assert (skipped.action, skipped.connect_result.action) == ("connected", "skipped")
    assert refused(lambda: memory.connect_by_query(*asked, if_exists="error")) == "edge-exists"
    updated = memory.connect_by_query(*asked, "elaborates", weight=0.2, if_exists="update")
    assert updated.connect_result is not None
    assert updated.connect_result.warnings


# --- not connected ------------------------------------------------------------------------------


def test_a_dry_run_shows_the_matches_and_writes_no_edge(memory: SyncMemory) -> None:
    memory.consolidate()
    before = memory.status()
    preview = memory.connect_by_query("holiday problem", "epistemic humility", dry_run=True)
    assert (preview.action, preview.connect_result, preview.reason) == (
        "dry_run_preview",
        None,
        None,
    )
    assert (preview.source_content, preview.target_content) == (DECAY, HUMILITY)
    assert "Nothing was written" in str(preview)
    assert memory.status() == before


def test_matching_does_not_count_as_a_retrieval(memory: SyncMemory) -> None:
    result = memory.connect_by_query("holiday problem", "epistemic humility")
    assert result.source_id is not None
    assert memory.block(result.source_id).retrievals == 0
    assert memory.status().decisions == 0
    assert memory.last_recall_block_ids == ()


def test_two_descriptions_of_one_block_connect_nothing(memory: SyncMemory) -> None:
    result = memory.connect_by_query("constitutional blocks identity", "blocks never fade")
    assert (result.action, result.connect_result) == ("insufficient_confidence", None)
    assert result.source_id == result.target_id is not None
    assert result.reason is not None
    assert "same block" in result.reason
    assert "same block" in result.summary


def test_an_empty_memory_has_nothing_to_match(opened: Open) -> None:
    assert opened().connect_by_query("one", "two") == ConnectByQueryResult(
        source_query="one",
        target_query="two",
        source_id=None,
        target_id=None,
        source_content=None,
        target_content=None,
        source_confidence=0.0,
        target_confidence=0.0,
        min_confidence=0.70,
        connect_result=None,
        action="insufficient_confidence",
        reason="there is no active block to match",
    )


def test_a_frame_restricts_the_matches(memory: SyncMemory) -> None:
    memory.learn("Be honest about the holiday problem", tags=["self/value"])
    everywhere = memory.connect_by_query("holiday problem", "epistemic humility", dry_run=True)
    world = memory.connect_by_query(
        "holiday problem", "epistemic humility", frame="world", dry_run=True
    )
    assert everywhere.source_confidence < world.source_confidence
    assert world.source_content == DECAY


def test_min_confidence_decides_and_both_ends_must_reach_it(memory: SyncMemory) -> None:
    asked = ("cache embeddings", "holiday problem")
    assert memory.connect_by_query(*asked, min_confidence=0.2, dry_run=True).reason is None
    assert memory.connect_by_query(*asked, min_confidence=0, dry_run=True).reason is None
    strict = memory.connect_by_query(*asked, min_confidence=1)
    assert strict.action == "insufficient_confidence"
    assert strict.reason is not None
    assert "source_confidence" in strict.reason
    assert "target_confidence" in strict.reason


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({"min_confidence": -0.1}, "field-refused"),
        ({"min_confidence": 1.1}, "field-refused"),
        ({"min_confidence": float("nan")}, "field-refused"),
        ({"min_confidence": True}, "field-refused"),
        ({"min_confidence": "high"}, "field-refused"),
        ({"source_query": " "}, "field-refused"),
        ({"source_query": None}, "field-refused"),
        ({"target_query": "x" * 40_000}, "field-refused"),
        ({"target_query": "\ud800"}, "field-refused"),
        ({"weight": 1.5}, "weight-out-of-range"),
        ({"note": "x" * 501}, "note-too-long"),
        ({"if_exists": "perhaps"}, "unknown-if-exists"),
        ({"relation": 3}, "field-refused"),
        ({"frame": "dream"}, "frame-unknown"),
        ({"frame": ""}, "frame-unknown"),
    ],
)
@pytest.mark.parametrize("dry_run", [False, True])
def test_an_invalid_request_is_refused_whatever_it_would_match(
    memory: SyncMemory, given: dict[str, Any], code: str, *, dry_run: bool
) -> None:
    asked: dict[str, Any] = {"source_query": "a", "target_query": "b", "dry_run": dry_run, **given}
    before = memory.status()
    assert refused(lambda: memory.connect_by_query(**asked)) == code
    assert memory.status() == before


def test_a_read_only_memory_can_match_but_not_connect(
    memory: SyncMemory, opened: Open, bundled: BundledEmbedder
) -> None:
    memory.consolidate()
    reader = opened(embedder=bundled, read_only=True)
    asked = ("holiday problem", "epistemic humility")
    assert reader.connect_by_query(*asked, dry_run=True).action == "dry_run_preview"
    assert refused(lambda: reader.connect_by_query(*asked)) == "view-read-only"


# --- the event ----------------------------------------------------------------------------------


def test_the_event_holds_the_matches_and_their_confidences(
    memory: SyncMemory, store: MemoryStore
) -> None:
    result = memory.connect_by_query("holiday problem", "epistemic humility")
    (stored,) = store.log("default").read(memory.status().version - 1, None)
    event = Codec(SeededEntropy()).decode(*stored).event
    assert isinstance(event, EdgeConnected)
    assert event.matched == Matched(
        recipe="match-1",
        source=result.source_id,  # type: ignore[arg-type]
        target=result.target_id,  # type: ignore[arg-type]
        source_confidence=round(result.source_confidence * 10**9),
        target_confidence=round(result.target_confidence * 10**9),
    )


def test_a_deferred_connection_is_reported(opened: Open, store: MemoryStore) -> None:
    memory = opened(policy=Policy(degree_cap=1, edge_candidates=0))
    words = ("red apple", "green pear", "blue plum")
    apple, pear, _ = (memory.learn(text).block_id for text in words)
    memory.connect(apple, pear)
    result = memory.connect_by_query("red apple", "blue plum", command_id="wait")
    assert result.connect_result is not None
    assert result.connect_result.action == "deferred"
    (stored,) = store.log("default").read(memory.status().version - 1, None)
    event = Codec(SeededEntropy()).decode(*stored).event
    assert isinstance(event, EdgeDeferred)
    assert event.matched is not None
    assert memory.connect_by_query("red apple", "blue plum", command_id="wait") == result


def test_a_repeated_command_is_answered_from_the_log_without_the_model(
    opened: Open, clock: ManualClock
) -> None:
    memory = opened()
    red, blue = (memory.learn(text).block_id for text in ("red apple", "blue plum"))
    first = memory.connect_by_query("red apple", "blue plum", "supports", command_id="once")
    memory.learn("red apple tart")
    clock.advance(days=2)
    memory.reembed(HashEmbedder(32))
    version = memory.status().version
    assert memory.connect_by_query("red apple", "blue plum", "supports", command_id="once") == first
    assert memory.status().version == version
    assert (first.source_id, first.target_id) == (red, blue)
    assert (
        refused(lambda: memory.connect_by_query("red apple", "blue plum", command_id="once"))
        == "command-id-reused"
    )


def test_a_repeated_answer_omits_text_erased_since(opened: Open) -> None:
    memory = opened()
    red, _ = (memory.learn(text).block_id for text in ("red apple", "blue plum"))
    first = memory.connect_by_query("red apple", "blue plum", command_id="once")
    memory.erase(red)
    again = memory.connect_by_query("red apple", "blue plum", command_id="once")
    assert (first.source_content, again.source_content) == ("red apple", None)
    assert (again.target_content, again.connect_result) == ("blue plum", first.connect_result)
