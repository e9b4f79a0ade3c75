"""The tool list: its length, and its agreement with the operations' schemas and annotations."""

from __future__ import annotations

import json
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from mnemic.adapters.mcp.session_handles import everything, reading, up_to
from mnemic.adapters.mcp.tool_listing import listed
from mnemic.adapters.mcp.tools import Allows, ToolSet, tools
from mnemic.adapters.remote.operations import operations
from mnemic.adapters.tokens import counter_named

TOKENS_MAX: dict[tuple[str, str], int] = {
    ("core", "write"): 3000,
    ("core", "admin"): 5700,
    ("all", "write"): 7800,
    ("all", "admin"): 11300,
}
"""Maximum length of a whole list in tokens, answer schemas included."""


def offers(allows: Allows, tool_set: ToolSet = "all") -> dict[str, Any]:
    """Return the tools listed for a client with these scopes, by name."""
    found = (listed(tool, allows, tool_set) for tool in tools().values())
    plain = (
        each.model_dump(mode="json", by_alias=True, exclude_none=True) for each in found if each
    )
    return {each["name"]: each for each in plain}


OFFERS = offers(everything)
CORE = offers(up_to("write"), "core")
EVERYDAY = "recall learn correct outcome connect compose look"
ADMIN = """
    erase erase_many forget_many erase_space revert quarantine revert_source adopt_policy
    adopt_extraction calibrate checkpoint drop_checkpoints fork re_extract reembed rezone
"""


@pytest.mark.parametrize(("tool_set", "scope"), TOKENS_MAX)
@pytest.mark.parametrize("counter", ["estimate", "o200k_base"])
def test_the_list_is_short_enough_for_the_context_of_an_agent(
    counter: Any, tool_set: Any, scope: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    offered = offers(up_to(scope), tool_set)
    words = json.dumps({"tools": [*offered.values()]}, separators=(",", ":"), ensure_ascii=False)
    tokens = counter_named(counter).count(words)
    with capsys.disabled():
        print(  # noqa: T201
            f" [{tool_set}, {scope}: {len(offered)} tools, {tokens} tokens by {counter}]", end=""
        )
    assert tokens <= TOKENS_MAX[tool_set, scope]


def test_the_core_list_is_of_everyday_work() -> None:
    assert [*CORE] == [f"mnemic_{name}" for name in EVERYDAY.split()]


def test_the_whole_list_begins_with_the_core_and_adds_the_rest() -> None:
    whole = [*offers(up_to("write"))]
    assert whole[: len(CORE)] == [*CORE]
    assert whole[len(CORE) :] == [
        "mnemic_batch",
        "mnemic_connect_by_query",
        "mnemic_disconnect",
        "mnemic_deep_reference",
        "mnemic_ledger",
        "composed_graph",
        "mnemic_decision",
        "mnemic_session",
        "mnemic_upkeep",
        "mnemic_guide",
    ]


@pytest.mark.parametrize("tool_set", ["core", "all"])
def test_what_the_scope_admin_allows_is_a_tool_of_its_own_each(tool_set: Any) -> None:
    added = [*offers(everything, tool_set)][len(offers(up_to("write"), tool_set)) :]
    assert added == [f"mnemic_{name}" for name in ADMIN.split()]
    needing = {
        name
        for name, each in operations().items()
        if each.scope == "admin" and not each.needs_files
    }
    assert {*ADMIN.split()} == needing
    mild = {"calibrate", "fork", "checkpoint", "re_extract"}
    for name in {*ADMIN.split()} - mild:
        assert OFFERS[f"mnemic_{name}"]["annotations"]["destructiveHint"] is True
    assert OFFERS["mnemic_erase_space"]["inputSchema"]["required"] == ["confirm"]


def test_every_tool_has_the_prefix_except_one_that_clients_know_by_another_name() -> None:
    assert [name for name in OFFERS if not name.startswith("mnemic_")] == ["composed_graph"]


def test_the_core_list_shows_a_narrow_form_of_compositions() -> None:
    shape = CORE["mnemic_compose"]["inputSchema"]["properties"]
    assert shape["operation"]["enum"] == ["compose", "label", "frontier"]
    assert shape.keys() - {"as_of", "now", "command_id"} == {
        "operation",
        *"members query confidence composition_id label notes tags limit".split(),
    }
    bounty = {"submitted", "accepted", "rejected", "needs_poc", "bad_severity", "duplicate_risk"}
    whole = OFFERS["mnemic_compose"]["inputSchema"]["properties"]
    assert bounty <= {*whole["label"]["enum"]}
    assert not bounty & {*shape["label"]["enum"]}
    assert {*shape["label"]["enum"]} < {*whole["label"]["enum"]}
    assert "query_hash" not in CORE["mnemic_compose"]["description"]


@pytest.mark.parametrize("name", CORE)
def test_what_fits_the_core_list_fits_the_whole_one(name: str) -> None:
    core, whole = (each[name]["inputSchema"] for each in (CORE, OFFERS))
    for argument, shape in core["properties"].items():
        known = whole["properties"][argument]
        assert {*shape.get("enum", ())} <= {*known.get("enum", ())}
        assert {**known, "enum": None}.items() <= {**shape, "enum": None}.items()
    assert core.get("required") == whole.get("required")


@pytest.mark.parametrize(
    ("tool", "argument", "least", "most"),
    [
        ("mnemic_learn", "confidence", 0, 1),
        ("mnemic_compose", "confidence", 0, 1),
        ("mnemic_outcome", "signal", 0, 1),
        ("mnemic_recall", "min_probability", 0, 1),
        ("mnemic_recall", "explore", 0, 1),
        ("mnemic_connect", "weight", 0, 1),
        ("mnemic_compose", "limit", 1, 1000),
        ("mnemic_decision", "top_k", 1, 1000),
    ],
)
def test_numbers_have_their_ranges(tool: str, argument: str, least: int, most: int) -> None:
    for offered in (CORE, OFFERS):
        if tool in offered:
            shape = offered[tool]["inputSchema"]["properties"][argument]
            assert (shape["minimum"], shape["maximum"]) == (least, most)


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
        "destructiveHint": any(operation.declaration.destructive for operation in found),
        "idempotentHint": all(each.reads_only or each.declaration.same_twice for each in found),
        "openWorldHint": False,
    }


def test_few_tools_mix_reading_with_writing() -> None:
    mixed = [
        name
        for name, tool in tools().items()
        if len({operations()[operation].reads_only for operation in tool.operations}) > 1
    ]
    assert mixed == ["mnemic_compose", "mnemic_upkeep"]


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
        "mnemic_compose",
        "mnemic_look",
        "mnemic_deep_reference",
        "mnemic_ledger",
        "composed_graph",
        "mnemic_decision",
        "mnemic_upkeep",
        "mnemic_guide",
    ]
    assert all(each["annotations"]["readOnlyHint"] for each in offered.values())
    assert offered["mnemic_upkeep"]["inputSchema"]["properties"]["operation"]["enum"] == [
        "verify",
        "replay_all",
        "backtest",
        "tune",
        "policy",
        "checkpoints",
    ]
