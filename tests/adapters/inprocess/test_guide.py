"""guide: a card for every verb, and no card for anything else."""

from __future__ import annotations

import inspect
import re

import pytest

from mnemic.adapters.inprocess import Memory, SyncMemory, guide
from mnemic.kernel.errors import GuideUnknown
from mnemic.kernel.results import GuideCard

VERBS = sorted(
    name for name, _ in inspect.getmembers(SyncMemory, callable) if not name.startswith("_")
)


def arguments(verb: str) -> list[str]:
    """Return the names that a caller may give, without the command id that all writers share."""
    names = inspect.signature(getattr(SyncMemory, verb)).parameters
    return [name for name in names if name not in {"self", "command_id"}]


def test_every_verb_has_a_card_and_every_card_a_verb() -> None:
    assert sorted(guide().names) == VERBS


@pytest.mark.parametrize("card", guide().cards, ids=lambda card: card.name)
def test_a_card_is_complete_and_leads_on_to_verbs_that_exist(card: GuideCard) -> None:
    assert all((card.what, card.when, card.when_not, card.cost, card.returns, card.next))
    assert set(card.next) <= set(VERBS) - {card.name}


@pytest.mark.parametrize("verb", VERBS)
def test_a_card_names_the_arguments_of_its_verb(verb: str) -> None:
    call = guide(verb).call
    assert call.startswith((f"{verb}(", f"SyncMemory.{verb}("))
    named = re.findall(r"\w+", call[call.index("(") :])
    assert named == arguments(verb)


def test_a_card_reads_as_a_page_and_sums_itself_up_in_a_line() -> None:
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
    ("verb", "words"),
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
def test_cards_say_what_one_has_to_know(verb: str, words: tuple[str, ...]) -> None:
    page = " ".join(str(guide(verb)).split())
    assert [word for word in words if word not in page] == []


def test_without_a_name_every_verb_is_listed_in_a_line() -> None:
    index = guide()
    lines = str(index).splitlines()
    assert [line.split()[0] for line in lines] == list(index.names)
    assert index.summary.startswith("Guides: open, ")
    assert len(index.to_dict()["cards"]) == len(VERBS)


@pytest.mark.parametrize("name", ["conect", "", "__init__", 3, ["connect"]])
def test_an_unknown_name_is_refused_with_the_names_there_are(name: str) -> None:
    with pytest.raises(GuideUnknown) as caught:
        guide(name)
    assert caught.value.code == "guide-unknown"
    assert "connect_by_query" in caught.value.recovery
    assert caught.value.facts["names"] == list(guide().names)


def test_it_needs_no_session_and_no_open_file(memory: SyncMemory) -> None:
    memory.close()
    assert memory.guide("recall") == SyncMemory.guide(" Recall ") == Memory.guide("recall")
    assert memory.guide() == guide()
