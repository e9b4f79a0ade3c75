"""guide: one card per operation, and no other cards."""

from __future__ import annotations

import inspect
import re

import pytest

from mnemic.adapters.inprocess import Memory, SyncMemory, guide
from mnemic.adapters.inprocess.registry import declarations, implementation
from mnemic.kernel.errors import GuideUnknown
from mnemic.kernel.results import GuideCard

HOST_ONLY = {"as_of", "close", "dream", "open", "session_handle", "session"}
OPERATIONS = sorted({*declarations()} | HOST_ONLY)


def arguments(operation: str) -> list[str]:
    """Return the arguments of an operation, without the command id that all writers share."""
    names = inspect.signature(implementation(SyncMemory, operation)).parameters
    return [name for name in names if name not in {"self", "cls", "command_id"}]


def test_every_operation_has_a_card_and_every_card_an_operation() -> None:
    assert sorted(guide().names) == OPERATIONS


@pytest.mark.parametrize("card", guide().cards, ids=lambda card: card.name)
def test_a_card_is_complete_and_leads_on_to_operations_that_exist(card: GuideCard) -> None:
    assert all((card.what, card.when, card.when_not, card.cost, card.returns, card.next))
    assert set(card.next) <= set(OPERATIONS) - {card.name}


@pytest.mark.parametrize("operation", OPERATIONS)
def test_a_card_names_the_arguments_of_its_operation(operation: str) -> None:
    call = guide(operation).call
    assert call.startswith((f"{operation}(", f"SyncMemory.{operation}("))
    named = re.findall(r"\w+", call[call.index("(") :])
    assert named == arguments(operation)


def test_a_card_has_a_full_text_and_a_one_line_summary() -> None:
    card = guide("connect")
    assert card.summary == f"connect: {card.what}"
    assert "\n" not in card.summary
    headings = re.findall(r"^([A-Z_ ]+?)(?: \(|:)", str(card), flags=re.MULTILINE)
    assert headings == [
        "USE WHEN",
        "NOT WHEN",
        "COST",
        "RETURNS",
        "RELATIONS",
        "IF_EXISTS",
        "IDS COME FROM",
        "FULL",
        "NEXT",
    ]
    assert card.to_dict()["next"] == list(card.next)


@pytest.mark.parametrize(
    ("operation", "words"),
    [
        ("connect", ("similar", "co_occurs", "elaborates", "supports", "contradicts", "outcome")),
        ("connect", ("reinforce", "update", "skip", "error")),
        ("connect", ("last_learned_block_id", "last_recall_block_ids", "session_block_ids")),
        ("connect", ("connect_by_query", "disconnect", "deferred", "curate()")),
        ("connect_by_query", ("source_content", "target_content", "dry_run")),
        ("dream", ("shared tags let edges form at lower cosine",)),
        ("consolidate", ("Shared tags therefore let edges form at lower cosine",)),
    ],
)
def test_cards_contain_the_essential_facts(operation: str, words: tuple[str, ...]) -> None:
    page = " ".join(str(guide(operation)).split())
    assert [word for word in words if word not in page] == []


def test_without_a_name_every_operation_is_listed_in_a_line() -> None:
    index = guide()
    lines = str(index).splitlines()
    assert [line.split()[0] for line in lines] == list(index.names)
    assert index.summary.startswith("Guides: open, ")
    assert len(index.to_dict()["cards"]) == len(OPERATIONS)


@pytest.mark.parametrize("name", ["conect", "", "__init__", 3, ["connect"]])
def test_an_unknown_name_is_refused_with_the_known_names(name: str) -> None:
    with pytest.raises(GuideUnknown) as caught:
        guide(name)
    assert caught.value.code == "guide-unknown"
    assert "connect_by_query" in caught.value.recovery
    assert caught.value.facts["names"] == list(guide().names)


def test_the_guide_needs_no_session_and_no_open_file(memory: SyncMemory) -> None:
    memory.close()
    assert memory.guide("recall") == SyncMemory.guide(" Recall ") == Memory.guide("recall")
    assert memory.guide() == guide()
