"""receipt: proof of a decision, checked on the space, on copies and from a file alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.inprocess.receipt_replay import verify
from mnemic.adapters.stores.memory import MemoryStore
from mnemic.kernel.errors import DecisionNotFound, ExportCorrupt, FieldRefused
from mnemic.kernel.results import Receipt, ReceiptCheck, ReceiptDifference
from tests.adapters.transfer.conftest import Open
from tests.adapters.transfer.damage import damage

FORGERIES: dict[str, Any] = {
    "space": "another",
    "decision_id": "d9",
    "chain": "0" * 64,
    "read_version": 3,
    "read_chain": "0" * 64,
    "policy_id": "0" * 16,
    "embedder_id": "",
    "recipe": "recall-1",
    "answer_digest": "0" * 16,
    "answer": [],
}


@pytest.fixture
def document(memory: SyncMemory, decisions: list[str]) -> dict[str, Any]:
    """The receipt of the last decision, as it is kept in a file."""
    return memory.receipt(decisions[-1]).to_dict()


def test_a_receipt_names_chain_recipe_and_answer_without_text(
    memory: SyncMemory, decisions: list[str]
) -> None:
    receipt = memory.receipt(decisions[-1])
    replayed = memory.replay(decisions[-1]).recall
    assert replayed is not None
    assert receipt.answer_digest == replayed.digest
    assert [row.block_id for row in receipt.answer] == list(replayed.block_ids)
    scores = [block.composite_score for block in replayed.blocks]
    assert [row.score / 10**9 for row in receipt.answer] == scores
    assert receipt.policy_id == memory.policy.id
    assert receipt.version == int(receipt.decision_id[1:])
    assert receipt.read_version == memory.as_of(decision=receipt.decision_id).version
    assert "harbour" not in json.dumps(receipt.to_dict())
    assert str(receipt).startswith(f"Receipt for {receipt.decision_id} of default: ")


def test_a_receipt_round_trips_through_a_file(memory: SyncMemory, decisions: list[str]) -> None:
    receipt = memory.receipt(decisions[0])
    assert Receipt.from_dict(json.loads(json.dumps(receipt.to_dict()))) == receipt


def test_only_decisions_have_receipts(memory: SyncMemory) -> None:
    for nothing in ("d0", "d999", "x", ""):
        with pytest.raises(DecisionNotFound):
            memory.receipt(nothing)


def test_a_valid_receipt_is_confirmed_everywhere(
    memory: SyncMemory, exported: Path, decisions: list[str]
) -> None:
    memory.export(exported.with_name("bare.ndjson"), words=False)
    for decision in decisions:
        receipt = memory.receipt(decision)
        wanted = ReceiptCheck(decision_id=receipt.decision_id, verdict="confirmed", space="default")
        assert memory.verify_receipt(receipt) == wanted
        assert memory.verify_receipt(receipt.to_dict()) == wanted
        assert verify(receipt, exported) == wanted
        assert verify(receipt, exported.with_name("bare.ndjson")) == wanted
        assert wanted.holds


def test_a_later_erasure_does_not_invalidate_a_receipt(
    memory: SyncMemory, decisions: list[str], tmp_path: Path
) -> None:
    receipt = memory.receipt(decisions[-1])
    memory.erase_space("default")
    memory.export(tmp_path / "empty.ndjson")
    assert memory.verify_receipt(receipt, replay=True).replayed == "sealed"
    offline = verify(receipt, tmp_path / "empty.ndjson", replay=True)
    assert (offline.verdict, offline.replayed) == ("confirmed", "sealed")


def test_verification_can_replay_the_decision(
    memory: SyncMemory, exported: Path, decisions: list[str]
) -> None:
    outcomes = ["reproduced", "sealed", "reproduced"]
    result = [memory.receipt(decision) for decision in decisions]
    assert [memory.verify_receipt(each, replay=True).replayed for each in result] == outcomes
    assert [verify(each, exported, replay=True).replayed for each in result] == outcomes
    memory.export(exported.with_name("bare.ndjson"), words=False)
    bare = verify(result[0], exported.with_name("bare.ndjson"), replay=True)
    assert (bare.verdict, bare.replayed) == ("confirmed", "no-words")


@pytest.mark.parametrize("field", FORGERIES)
def test_a_forged_field_is_named(
    memory: SyncMemory, exported: Path, document: dict[str, Any], field: str
) -> None:
    true = document[field]
    forged = Receipt.from_dict({**document, field: FORGERIES[field]})
    live, offline = memory.verify_receipt(forged), verify(forged, exported)
    assert live == offline
    assert live.verdict == ("renamed" if field == "space" else "differs")
    (difference,) = live.differences
    assert difference.field == field
    assert field == "answer" or difference == ReceiptDifference(
        field=field, claimed=FORGERIES[field], found=true
    )
    assert str(difference) in str(live)


def test_a_forged_score_is_named(memory: SyncMemory, document: dict[str, Any]) -> None:
    document["answer"][0]["score"] += 1_000_000
    check = memory.verify_receipt(document)
    assert ([each.field for each in check.differences], check.holds) == (["answer"], False)


@pytest.mark.parametrize("version", [-1, 0, 4])
def test_a_receipt_for_a_version_without_a_decision_is_unknown(
    memory: SyncMemory, exported: Path, document: dict[str, Any], version: int
) -> None:
    forged = Receipt.from_dict({**document, "version": version})
    for check in (memory.verify_receipt(forged), verify(forged, exported)):
        assert (check.verdict, check.holds) == ("unknown", False)
        assert check.problem == f"there is no decision at version {version}"


def test_a_log_that_ends_before_the_decision_is_named(
    memory: SyncMemory, opened: Open, document: dict[str, Any], tmp_path: Path
) -> None:
    before = document["version"] - 1
    memory.export(tmp_path / "older.ndjson", upto=before)
    target = MemoryStore()
    SyncMemory.import_space(tmp_path / "older.ndjson", target)
    older = opened(target)
    receipt = Receipt.from_dict(document)
    for check in (older.verify_receipt(receipt), verify(receipt, tmp_path / "older.ndjson")):
        assert (check.verdict, check.holds) == ("log-behind-receipt", False)
        assert str(check.problem).startswith(f"the log ends at version {before}, before")


def test_a_receipt_of_another_memory_is_unknown(
    memory: SyncMemory, exported: Path, opened: Open, document: dict[str, Any]
) -> None:
    other = opened(MemoryStore())
    assert other.verify_receipt(document).verdict == "unknown"
    foreign = Receipt.from_dict({**document, "genesis": "1" * 64})
    for check in (memory.verify_receipt(foreign), verify(foreign, exported)):
        assert check.problem == f"it is of another memory, which began with {'1' * 16}"


def test_a_copy_confirms_a_receipt_and_reports_its_other_name(
    exported: Path, opened: Open, document: dict[str, Any]
) -> None:
    target = MemoryStore()
    SyncMemory.import_space(exported, target, space="copy")
    check = opened(target, space="copy").verify_receipt(document)
    assert (check.verdict, check.holds) == ("renamed", True)
    assert [(each.claimed, each.found) for each in check.differences] == [("default", "copy")]


def test_a_log_damaged_before_the_decision_confirms_no_receipt(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with SyncMemory.open(path) as memory:
        memory.learn("one")
        receipt = memory.receipt(str(memory.recall("one").decision_id))
    damage(path, 2)
    with SyncMemory.open(path, read_only=True) as memory:
        check = memory.verify_receipt(receipt)
    assert (check.verdict, "version 2" in str(check.problem)) == ("damaged", True)


def test_an_export_damaged_before_the_decision_confirms_no_receipt(
    exported: Path, document: dict[str, Any]
) -> None:
    lines = exported.read_bytes().splitlines(keepends=True)
    exported.write_bytes(b"".join([*lines[:5], *lines[6:]]))
    check = verify(Receipt.from_dict(document), exported)
    assert (check.verdict, "line 6" in str(check.problem)) == ("damaged", True)
    exported.write_bytes(b"nothing\n")
    with pytest.raises(ExportCorrupt):
        verify(Receipt.from_dict(document), exported)


def test_a_rewritten_history_with_a_sound_chain_confirms_no_receipt(
    memory: SyncMemory, opened: Open, document: dict[str, Any]
) -> None:
    """The chain alone cannot show it: everything from some version on was made up."""
    memory.fork("rewritten", version=10)
    rewritten = opened(space="rewritten")
    while rewritten.status().version < document["version"] - 1:
        rewritten.learn(f"made up {rewritten.status().version}")
    rewritten.recall("harbour gate", frame="world")
    check = rewritten.verify_receipt(document)
    assert (rewritten.verify().sound, check.verdict, check.holds) == (True, "unknown", False)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("kind", "mnemic.receipt.2"),
        ("kind", None),
        ("version", "7"),
        ("version", True),
        ("version", -2),
        ("chain", "0" * 63),
        ("chain", 5),
        ("genesis", "G" * 64),
        ("decision_id", "45"),
        ("answer_digest", ""),
        ("answer", {}),
        ("answer", [{"block_id": "x"}]),
        ("answer", [{"block_id": "x", "score": 0.5}]),
        ("recipe", None),
        ("extra", 1),
    ],
)
def test_an_invalid_field_of_a_receipt_is_named(
    memory: SyncMemory, document: dict[str, Any], field: str, value: Any
) -> None:
    with pytest.raises(FieldRefused) as caught:
        memory.verify_receipt({**document, field: value})
    assert caught.value.facts == {"field": field}


@pytest.mark.parametrize("given", [None, 3, "d9", [], {}])
def test_a_document_of_another_kind_is_refused(memory: SyncMemory, given: Any) -> None:
    with pytest.raises(FieldRefused):
        memory.verify_receipt(given)


def test_a_receipt_without_a_field_is_refused(document: dict[str, Any]) -> None:
    for field in list(document):
        rest = {name: value for name, value in document.items() if name != field}
        with pytest.raises(FieldRefused) as caught:
            Receipt.from_dict(rest)
        assert caught.value.facts == {"field": field}
