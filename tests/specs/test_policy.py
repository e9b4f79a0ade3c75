from __future__ import annotations

import pytest

from mnemic.kernel.errors import PolicyRefused
from mnemic.kernel.policy import DEFAULT, ELFMEM
from mnemic.specs.rules import Row, rows


@pytest.mark.parametrize("row", rows("policy.number"), ids=str)
def test_a_policy_has_the_numbers_of_its_source(row: Row) -> None:
    field = row.given["field"]
    assert getattr(DEFAULT, field) == row.then["ours"]
    assert getattr(ELFMEM, field) == row.then.get("peer", row.then["ours"])


@pytest.mark.parametrize("row", rows("policy.relation-weight"), ids=str)
def test_a_relation_has_a_default_weight(row: Row) -> None:
    assert row.tells("weight", DEFAULT.relation_weight(row.given["relation"]))


@pytest.mark.parametrize("row", rows("policy.zone"), ids=str)
def test_a_source_has_a_zone(row: Row) -> None:
    assert DEFAULT.zone(row.given["source"]) == row.then["zone"]


@pytest.mark.parametrize("row", rows("policy.refusal"), ids=str)
def test_a_policy_that_makes_no_sense_is_refused(row: Row) -> None:
    with pytest.raises(PolicyRefused) as refused:
        _ = row.policy
    assert refused.value.code == row.then["code"]
