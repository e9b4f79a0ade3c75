"""The rows of deep_reference."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mnemic.adapters.embedders.hashing import HashEmbedder
from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.system.clocks import ManualClock
from mnemic.kernel.errors import Refused
from mnemic.kernel.model.identity import BlockId
from mnemic.kernel.numeric.arithmetic import NANO, nano
from mnemic.projections.references.claims import statement
from mnemic.projections.references.contradiction import clash
from mnemic.projections.references.disputes import supersedes
from mnemic.projections.references.evidence import Evidence, depth_of
from mnemic.projections.references.intent import claim_of, intent
from mnemic.projections.references.scoring import confidence
from mnemic.projections.references.trust import trust
from mnemic.specs.rules import Row, rows


def opened(memories: list[str], **lesson: Any) -> SyncMemory:
    """Return a memory that has learned some texts, a minute apart."""
    clock = ManualClock()
    memory = SyncMemory.open(":memory:", embedder=HashEmbedder(), clock=clock)
    for content in memories:
        memory.learn(content, **lesson)
        clock.advance(minutes=1)
    return memory


def evidence(content: str, *, age: int, trusted: float) -> Evidence:
    """Return a memory as evidence, learned at version *age*."""
    return Evidence(
        number=age,
        id=BlockId(f"{age:016x}"),
        content=content,
        said=statement(content),
        relevance=NANO,
        trust=nano(trusted),
        topic=NANO,
        weight=NANO,
        since_us=age,
        since_version=age,
        created_us=None,
        brought=False,
    )


@pytest.mark.parametrize("row", rows("deliberation.intent"), ids=str)
def test_the_first_sign_determines_the_intent_of_a_question(row: Row) -> None:
    assert intent(row.given["query"]) == row.then["intent"]


@pytest.mark.parametrize("row", rows("deliberation.claim"), ids=str)
def test_a_claim_in_a_question_is_recognised(row: Row) -> None:
    assert (claim_of(row.given["query"]) or "") == row.then["claim"]


@pytest.mark.parametrize("row", rows("deliberation.trust"), ids=str)
def test_trust_follows_the_record_of_reviews(row: Row) -> None:
    given = row.given
    found = trust(nano(given["retention"]), given["stability"], given["reps"], given["lapses"])
    assert row.tells("trust", found)


@pytest.mark.parametrize("row", rows("deliberation.trust-ceiling"), ids=str)
def test_a_zone_limits_trust(row: Row) -> None:
    with opened(["Gauge 17 resends after 60 seconds."], zone=row.given["zone"]) as memory:
        found = [each.trust for each in memory.deep_reference("What does gauge 17 do?").evidence]
    assert row.tells("trust", nano((found or [-1.0])[0]))


@pytest.mark.parametrize("row", rows("deliberation.confidence"), ids=str)
def test_confidence_rises_with_support_and_falls_with_contradictions(row: Row) -> None:
    given = row.given
    counts = given["shown"], given["disputes"], given["conflicts"]
    assert row.tells("confidence", confidence(nano(given["weight"]), *counts))


@pytest.mark.parametrize("row", rows("deliberation.contradiction"), ids=str)
def test_contradictions_do_not_depend_on_the_order_of_texts(row: Row) -> None:
    first, second = row.given["first"], row.given["second"]
    found = [clash(first, second), clash(second, first)]
    assert [each.kind if each else "" for each in found] == [row.then["kind"]] * 2


@pytest.mark.parametrize("row", rows("deliberation.supersession"), ids=str)
def test_a_newer_memory_may_replace_an_older_one(row: Row) -> None:
    given = row.given
    older = evidence(given["older"], age=1, trusted=given["older_trust"])
    newer = evidence(given["newer"], age=2, trusted=given["newer_trust"])
    between = clash(newer.content, older.content)
    assert supersedes(newer, older, between) is row.then["superseded"]


@pytest.mark.parametrize("row", rows("deliberation.depth"), ids=str)
def test_a_depth_is_kept_within_its_limits(row: Row) -> None:
    assert depth_of(row.given["depth"]) == row.then["depth"]


@pytest.mark.parametrize("row", rows("deliberation.deep-reference"), ids=str)
def test_evidence_is_weighed_and_recorded_once(row: Row) -> None:
    with opened(row.given["memories"]) as memory:
        found = memory.deep_reference(row.given["query"])
        recorded = memory.ledger()
    answer = {"status": found.status, "write": found.composition_write_status}
    roles = [member.role for each in recorded for member in each.members]
    assert answer | {"roles": roles} == row.then
    assert [each.id for each in recorded] == [found.composition_id] * bool(roles)
    assert {each.consume for each in recorded} <= {"none"}


@pytest.mark.parametrize("row", rows("deliberation.reliance"), ids=str)
def test_an_answer_relies_on_its_lead_no_more_than_it_is_trusted(row: Row) -> None:
    with opened([]) as memory:
        for content, zone in zip(row.given["memories"], row.given["zones"], strict=True):
            memory.learn(content, zone=zone)
        found = memory.deep_reference(row.given["query"])
    lead = found.recommended
    assert lead is not None
    assert {"status": found.status, "zone": lead.zone} == row.then
    assert found.confidence <= lead.trust


@pytest.mark.parametrize("row", rows("deliberation.deep-reference-refusal"), ids=str)
def test_an_empty_question_is_refused(row: Row) -> None:
    with opened([]) as memory, pytest.raises(Refused) as caught:
        memory.deep_reference(**row.given)
    assert caught.value.code == row.then["code"]


def test_confidence_is_higher_for_relevant_evidence() -> None:
    """Source: composed-graph case 36."""
    with opened(["Gauge 17 resends after 60 seconds.", "Gauges are painted grey."]) as memory:
        asked = ("After how many seconds does gauge 17 resend?", "Which dentist do gauges need?")
        sure = [memory.deep_reference(query).confidence for query in asked]
    assert np.diff(sure)[0] < 0
