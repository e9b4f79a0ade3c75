"""What a client lists: short enough, true, and fit for what the verbs take and answer."""

from __future__ import annotations

import json
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from mnemic.adapters.mcp.offers import listed
from mnemic.adapters.mcp.seats import everything, reading
from mnemic.adapters.mcp.tools import Allows, tools
from mnemic.adapters.tokens import counter_named
from mnemic.adapters.wire.verbs import verbs

TOKENS_MAX = 7000
"""Of the whole list, schemas of answers included."""


def offers(allows: Allows) -> dict[str, Any]:
    """Return what a client with these scopes lists, by name."""
    found = (listed(tool, allows) for tool in tools().values())
    plain = (
        each.model_dump(mode="json", by_alias=True, exclude_none=True) for each in found if each
    )
    return {each["name"]: each for each in plain}


OFFERS = offers(everything)


@pytest.mark.parametrize("counter", ["estimate", "o200k_base"])
def test_the_list_is_short_enough_for_the_context_of_an_agent(
    counter: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    words = json.dumps({"tools": [*OFFERS.values()]}, separators=(",", ":"), ensure_ascii=False)
    tokens = counter_named(counter).count(words)
    with capsys.disabled():
        print(f" [{len(OFFERS)} tools, {tokens} tokens by {counter}]", end="")  # noqa: T201
    assert len(OFFERS) <= 17
    assert tokens <= TOKENS_MAX


@pytest.mark.parametrize("name", OFFERS)
def test_schemas_are_schemas_and_of_objects(name: str) -> None:
    for key in ("inputSchema", "outputSchema"):
        Draft202012Validator.check_schema(OFFERS[name][key])
        assert OFFERS[name][key]["type"] == "object"


@pytest.mark.parametrize("name", OFFERS)
def test_arguments_have_one_form_for_models_of_every_make(name: str) -> None:
    shape = OFFERS[name]["inputSchema"]
    assert shape.keys() & {"anyOf", "oneOf", "allOf"} == set()


@pytest.mark.parametrize("name", OFFERS)
def test_every_argument_of_every_verb_is_offered(name: str) -> None:
    tool = tools()[name]
    if tool.nested:
        return
    offered = OFFERS[name]["inputSchema"]["properties"].keys()
    for verb in tool.verbs:
        assert verbs()[verb].parameters.keys() <= offered


@pytest.mark.parametrize("name", OFFERS)
def test_hints_are_those_of_the_verbs(name: str) -> None:
    found = [verbs()[verb] for verb in tools()[name].verbs]
    assert OFFERS[name]["annotations"] == {
        "readOnlyHint": all(verb.reads_only for verb in found),
        "destructiveHint": any(verb.destructive for verb in found),
        "idempotentHint": all(verb.same_twice for verb in found),
        "openWorldHint": False,
    }


def test_only_the_drawer_of_rare_verbs_mixes_looking_with_writing() -> None:
    mixed = [
        name
        for name, tool in tools().items()
        if len({verbs()[verb].reads_only for verb in tool.verbs}) > 1
    ]
    assert mixed == ["mnemic_upkeep"]


def test_connect_and_disconnect_take_what_clients_of_the_seed_give() -> None:
    connect, disconnect = (
        OFFERS[name]["inputSchema"] for name in ("mnemic_connect", "mnemic_disconnect")
    )
    assert connect["required"] == disconnect["required"] == ["source", "target"]
    assert {"source", "target", "relation", "note", "if_exists"} <= connect["properties"].keys()
    assert {"source", "target", "guard_relation", "reason"} <= disconnect["properties"].keys()


def test_composed_graph_leaves_alone_what_it_does_not_know() -> None:
    shape = OFFERS["composed_graph"]["inputSchema"]
    assert shape["additionalProperties"] is True
    assert "required" not in shape


def test_whoever_only_reads_is_offered_what_leaves_no_trace() -> None:
    offered = offers(reading)
    assert [*offered] == [
        "mnemic_recall",
        "deep_reference",
        "composed_graph",
        "mnemic_frontier",
        "mnemic_look",
        "mnemic_decision",
        "mnemic_upkeep",
        "mnemic_guide",
    ]
    assert all(each["annotations"]["readOnlyHint"] for each in offered.values())
    assert offered["mnemic_upkeep"]["inputSchema"]["properties"]["verb"]["enum"] == [
        "verify",
        "replay_all",
        "backtest",
        "policy",
        "checkpoints",
    ]
