from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from importlib import import_module
from itertools import chain
from pkgutil import walk_packages
from typing import Any

import attrs
import pytest

from mnemic import kernel
from mnemic.kernel.errors import PolicyRefused
from mnemic.kernel.policy import DEFAULT, ELFMEM, POLICIES, Policy
from mnemic.specs.rules import Row, rows

IN_RULES_OF_THEIR_OWN = {
    "name",
    "relation_weights",
    "zones",
    "zone_ceilings",
    "zone_places",
    "frames",
}


def fixed_numbers() -> Iterator[tuple[str, str]]:
    """Yield module and name of every public number that a module of the kernel defines itself."""
    for found in walk_packages(kernel.__path__, "mnemic.kernel."):
        module = import_module(found.name)
        for statement in ast.parse(inspect.getsource(module)).body:
            if isinstance(statement, ast.Assign | ast.AnnAssign):
                for name in assigned(statement):
                    if name.isupper() and type(getattr(module, name)) in {int, float}:
                        yield found.name, name


def assigned(statement: ast.Assign | ast.AnnAssign) -> Iterator[str]:
    """Yield the public names to the left of an assignment."""
    targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
    for node in chain.from_iterable(map(ast.walk, targets)):
        if isinstance(node, ast.Name) and not node.id.startswith("_"):
            yield node.id


def plain(value: Any) -> Any:
    """Return a value of a policy as TOML would have it."""
    return list(value) if isinstance(value, tuple) else value


def given(rule: str, name: str) -> list[Any]:
    """Return what the rows of a rule have for *name*, sorted."""
    return sorted(row.given[name] for row in rows(rule))


def test_every_field_of_a_policy_has_a_row() -> None:
    fields = {field.name for field in attrs.fields(Policy)}
    assert given("policy.number", "field") == sorted(fields - IN_RULES_OF_THEIR_OWN)


def test_every_number_of_the_kernel_that_is_not_of_a_policy_has_a_row() -> None:
    said = [(row.given["module"], row.given["name"]) for row in rows("policy.fixed")]
    assert sorted(said) == sorted(fixed_numbers())


def test_every_frame_relation_and_source_of_a_policy_has_a_row() -> None:
    frames = [(policy.name, frame.name) for policy in POLICIES.values() for frame in policy.frames]
    described = [(row.policy.name, row.given["frame"]) for row in rows("policy.frame")]
    assert sorted(described) == sorted(frames)
    relations = [relation for relation, _ in DEFAULT.relation_weights]
    assert given("policy.relation-weight", "relation") == sorted([*relations, "reminds-me-of"])
    sources = [source for source, _ in DEFAULT.zones]
    assert given("policy.zone", "source") == sorted([*sources, "somewhere"])
    zones = [zone for zone, _ in DEFAULT.zone_ceilings]
    assert given("policy.zone-ceiling", "zone") == sorted([*zones, "somewhere-else"])
    assert [zone for zone, _ in DEFAULT.zone_places] == zones
    assert given("policy.zone-places", "zone") == sorted([*zones, "somewhere-else"])


@pytest.mark.parametrize("row", rows("policy.number"), ids=str)
def test_a_policy_has_the_numbers_of_its_source(row: Row) -> None:
    field = row.given["field"]
    assert plain(getattr(DEFAULT, field)) == row.then["ours"]
    assert plain(getattr(ELFMEM, field)) == row.then.get("peer", row.then["ours"])


@pytest.mark.parametrize("row", rows("policy.frame"), ids=str)
def test_a_frame_has_the_weights_and_limits_of_its_source(row: Row) -> None:
    frame = attrs.asdict(row.policy.frame(row.given["frame"]))
    assert frame.pop("name") == row.given["frame"]
    assert {name: plain(value) for name, value in frame.items() if value} == row.then


@pytest.mark.parametrize("row", rows("policy.default-frame"), ids=str)
def test_a_recall_without_a_frame_has_that_of_the_policy(row: Row) -> None:
    policy = Policy.parse(row.given["adopted"])
    assert policy.frame(None).name == policy.default_frame == row.then["frame"]


@pytest.mark.parametrize("row", rows("policy.fixed"), ids=str)
def test_constants_outside_policies_have_their_documented_values(row: Row) -> None:
    assert getattr(import_module(row.given["module"]), row.given["name"]) == row.then["value"]


@pytest.mark.parametrize("row", rows("policy.relation-weight"), ids=str)
def test_a_relation_has_a_default_weight(row: Row) -> None:
    assert row.tells("weight", DEFAULT.relation_weight(row.given["relation"]))


@pytest.mark.parametrize("row", rows("policy.zone"), ids=str)
def test_a_source_has_a_zone(row: Row) -> None:
    assert DEFAULT.zone(row.given["source"]) == row.then["zone"]


@pytest.mark.parametrize("row", rows("policy.zone-ceiling"), ids=str)
def test_a_zone_has_a_ceiling(row: Row) -> None:
    assert row.tells("ceiling", DEFAULT.ceiling(row.given["zone"]))


@pytest.mark.parametrize("row", rows("policy.zone-places"), ids=str)
def test_a_zone_has_a_share_of_an_answer_and_privileges(row: Row) -> None:
    zone = row.given["zone"]
    assert row.tells("share", DEFAULT.places(zone))
    assert DEFAULT.privileges(zone) is row.then["privileged"]


@pytest.mark.parametrize("row", rows("policy.refusal"), ids=str)
def test_an_invalid_policy_is_refused(row: Row) -> None:
    with pytest.raises(PolicyRefused) as refused:
        _ = row.policy
    assert refused.value.code == row.then["code"]
