"""Bodies of recalls: what a caller acts on by default, and everything on request."""

from __future__ import annotations

from typing import Any

import pytest

from tests.adapters.http.interfaces import NOTES, Interface

LESSONS = [
    {
        "content": f"{person} said that the {thing} of dock {dock} was checked on a dry morning, "
        f"that nothing leaked, and that this {thing} has to be checked before the boats return.",
        "author": person,
        "tags": ["harbour"],
        "created_at": f"2026-03-{day:02}T08:00:00Z",
    }
    for day, (person, thing, dock) in enumerate(
        (
            (person, thing, dock)
            for person in ("Ines", "Tomasz")
            for thing in ("pump", "gate", "winch")
            for dock in (4, 7)
        ),
        start=1,
    )
]
QUESTION = "Which pump has to be checked?"
CORE_MAX_BYTES = 7_000


@pytest.fixture
def harbour(opened: Interface) -> Interface:
    """An interface to a memory of twelve reports, each of about 150 characters."""
    batch = opened.ask("POST", f"{NOTES}/blocks/batch", json={"lessons": LESSONS})
    assert batch.status_code < 300, batch.text
    return opened


def asked(interface: Interface, **given: Any) -> Any:
    """Return the response to a recall of ten blocks that is not recorded."""
    arguments = {"query": QUESTION, "top_k": 10, "min_probability": 0.0, "record": False, **given}
    answer = interface.ask("POST", f"{NOTES}/recall", json=arguments)
    assert answer.status_code == 200, answer.text
    return answer


def test_an_answer_of_ten_blocks_takes_seven_kilobytes(harbour: Interface) -> None:
    core, full = asked(harbour), asked(harbour, detail="full")
    assert len(core.json()["blocks"]) == len(full.json()["blocks"]) == 10
    assert len(core.content) <= CORE_MAX_BYTES < len(full.content) / 2


def test_an_answer_holds_no_details_unless_requested(harbour: Interface) -> None:
    core = asked(harbour).json()
    assert core == asked(harbour, detail="core").json() == asked(harbour, detail=None).json()
    assert {*core["blocks"][0]} == {
        *("id", "content", "tags", "author", "created_at", "zone", "source", "actor"),
        *("composite_score", "validity", "valid_from", "valid_until"),
    }
    assert {*core} == {
        *("blocks", "block_ids", "counterpoints", "contradictions", "text", "answerable"),
        *("verdict", "decision_id", "version", "retriever", "waiting", "warnings"),
        "suggested_connections",
    }


def test_a_recall_of_the_past_has_the_same_default(harbour: Interface) -> None:
    arguments = {"query": QUESTION, "top_k": 10, "min_probability": 0.0}
    version = asked(harbour).headers["mnemic-version"]
    path = f"{NOTES}/recall?as_of=version:{version}"
    core = harbour.ask("POST", path, json=arguments).json()
    assert core == asked(harbour).json()
    full = harbour.ask("POST", path, json={**arguments, "detail": "full"}).json()
    assert full == asked(harbour, detail="full").json()


def test_an_unknown_detail_is_refused(harbour: Interface) -> None:
    answer = harbour.ask("POST", f"{NOTES}/recall", json={"query": QUESTION, "detail": "most"})
    assert (answer.status_code, answer.json()["field"]) == (422, "detail")


def test_what_is_asked_about_a_decision_is_answered_in_full(harbour: Interface) -> None:
    decision = asked(harbour, record=True).json()["decision_id"]
    replayed = harbour.ask("GET", f"{NOTES}/decisions/{decision}/replay")
    assert replayed.status_code == 200, replayed.text
    assert replayed.json()["recall"]["blocks"][0]["contributions"]
