"""The tool list: its length, and its agreement with the operations' schemas and annotations."""

from __future__ import annotations

import json
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from mnemic.adapters.mcp.session_handles import everything, reading
from mnemic.adapters.mcp.tool_listing import listed
from mnemic.adapters.mcp.tools import Allows, tools
from mnemic.adapters.remote.operations import operations
from mnemic.adapters.tokens import counter_named

TOKENS_MAX = 7150
"""Maximum length of the whole list in tokens, answer schemas included."""


def offers(allows: Allows) -> dict[str, Any]:
    """Return the tools listed for a client with these scopes, by name."""
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
def test_input_schemas_have_no_alternatives_at_the_top_level(name: str) -> None:
    shape = OFFERS[name]["inputSchema"]
    assert shape.keys() & {"anyOf", "oneOf", "allOf"} == set()


@pytest.mark.parametrize("name", OFFERS)
def test_every_argument_of_every_operation_is_offered(name: str) -> None:
    tool = tools()[name]
    if tool.nested:
        return
    offered = OFFERS[name]["inputSchema"]["properties"].keys()
    for operation in tool.operations:
        assert operations()[operation].parameters.keys() <= offered


@pytest.mark.parametrize("name", OFFERS)
def test_hints_are_those_of_the_operations(name: str) -> None:
    found = [operations()[operation] for operation in tools()[name].operations]
    assert OFFERS[name]["annotations"] == {
        "readOnlyHint": all(operation.reads_only for operation in found),
        "destructiveHint": any(operation.destructive for operation in found),
        "idempotentHint": all(operation.same_twice for operation in found),
        "openWorldHint": False,
    }


def test_only_the_upkeep_tool_mixes_reading_with_writing() -> None:
    mixed = [
        name
        for name, tool in tools().items()
        if len({operations()[operation].reads_only for operation in tool.operations}) > 1
    ]
    assert mixed == ["mnemic_upkeep"]


def test_connect_and_disconnect_take_the_arguments_of_seed_clients() -> None:
    connect, disconnect = (
        OFFERS[name]["inputSchema"] for name in ("mnemic_connect", "mnemic_disconnect")
    )
    assert connect["required"] == disconnect["required"] == ["source", "target"]
    assert {"source", "target", "relation", "note", "if_exists"} <= connect["properties"].keys()
    assert {"source", "target", "guard_relation", "reason"} <= disconnect["properties"].keys()


def test_composed_graph_accepts_unknown_arguments() -> None:
    shape = OFFERS["composed_graph"]["inputSchema"]
    assert shape["additionalProperties"] is True
    assert "required" not in shape


def test_a_reader_is_offered_only_unrecorded_operations() -> None:
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
    assert offered["mnemic_upkeep"]["inputSchema"]["properties"]["operation"]["enum"] == [
        "verify",
        "replay_all",
        "backtest",
        "policy",
        "checkpoints",
    ]
