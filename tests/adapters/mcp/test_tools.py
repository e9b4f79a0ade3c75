"""The tools: which operation each reaches, which arguments it takes, and how it refuses."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from mnemic.adapters.mcp.tools import Tool, least_scope, tools
from mnemic.adapters.remote.calls import Call
from mnemic.adapters.remote.operations import operations
from mnemic.kernel.errors import FieldRefused

ENVELOPED = Call(
    operation="connect", arguments={"source": "a", "target": "b"}, command_id="mine", as_of=None
)


def test_every_operation_is_reached_by_exactly_one_tool() -> None:
    reached = Counter(operation for tool in tools().values() for operation in tool.operations)
    assert reached == Counter(name for name, each in operations().items() if not each.needs_files)


@pytest.mark.parametrize("tool", tools().values(), ids=tools())
def test_arguments_and_calls_convert_both_ways(tool: Tool) -> None:
    for operation in tool.operations:
        call = Call(
            operation=operation, arguments={"limit": 3, "note": "x"}, as_of="version:3", now="later"
        )
        assert tool.call(tool.arguments(call)) == call


def test_a_command_id_is_for_the_interface() -> None:
    tool = tools()["mnemic_connect"]
    arguments = {"source": "a", "target": "b", "command_id": "mine"}
    assert tool.call(arguments) == ENVELOPED
    assert tool.arguments(ENVELOPED) == arguments


def test_null_arguments_are_omitted() -> None:
    call = tools()["mnemic_look"].call(
        {"operation": "blocks", "as_of": None, "tag": None, "limit": 3}
    )
    assert call == Call(operation="blocks", arguments={"limit": 3})


@pytest.mark.parametrize(
    ("tool", "arguments", "field", "recovery"),
    [
        ("mnemic_session", {}, "operation", "Give operation, one of: start_session, end_session."),
        (
            "mnemic_session",
            {"operation": 3},
            "operation",
            "Give operation, one of: start_session, end_session.",
        ),
        (
            "mnemic_session",
            {"operation": "recall"},
            "operation",
            (
                "Give operation, one of: start_session, end_session. "
                "recall is called by mnemic_recall."
            ),
        ),
        (
            "mnemic_upkeep",
            {"operation": "curate", "block_id": "x"},
            "arguments",
            "Give the arguments of the operation as an object in arguments.",
        ),
        (
            "mnemic_upkeep",
            {"operation": "curate", "arguments": "x"},
            "arguments",
            "Give the arguments of the operation as an object in arguments.",
        ),
        ("mnemic_recall", {"as_of": 3}, "as_of", "Give a text."),
        ("mnemic_look", {"operation": "status", "command_id": "x"}, "command_id", "Leave it out."),
    ],
)
def test_an_unreadable_call_is_refused_with_a_recovery(
    tool: str, arguments: dict[str, Any], field: str, recovery: str
) -> None:
    with pytest.raises(FieldRefused) as refused:
        tools()[tool].call(arguments)
    assert (refused.value.facts["field"], refused.value.recovery) == (field, recovery)


def test_unrecorded_operations_need_only_the_read_scope() -> None:
    mild = {
        operation
        for operation, spec in operations().items()
        if least_scope(operation) != spec.scope
    }
    assert mild == {"recall", "deep_reference", "composed_graph"}
    assert {least_scope(operation) for operation in mild} == {"read"}
