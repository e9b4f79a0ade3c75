"""The tools: which verb is reached by which, what they take, and what is said of them."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from mnemic.adapters.mcp.tools import UNREACHED, Tool, least_scope, tools
from mnemic.adapters.wire.calls import Call
from mnemic.adapters.wire.verbs import verbs
from mnemic.kernel.errors import FieldRefused

ENVELOPED = Call(
    verb="connect", arguments={"source": "a", "target": "b"}, command_id="mine", as_of=None
)


def test_every_verb_is_reached_by_exactly_one_tool() -> None:
    reached = Counter(verb for tool in tools().values() for verb in tool.verbs)
    assert reached == Counter(verbs().keys() - UNREACHED)


@pytest.mark.parametrize("tool", tools().values(), ids=tools())
def test_arguments_stand_for_a_call_and_a_call_for_arguments(tool: Tool) -> None:
    for verb in tool.verbs:
        call = Call(verb=verb, arguments={"limit": 3, "note": "x"}, as_of="version:3", now="later")
        assert tool.call(tool.arguments(call)) == call


def test_a_command_id_is_for_the_door() -> None:
    tool = tools()["mnemic_connect"]
    arguments = {"source": "a", "target": "b", "command_id": "mine"}
    assert tool.call(arguments) == ENVELOPED
    assert tool.arguments(ENVELOPED) == arguments


def test_what_is_null_is_not_given() -> None:
    call = tools()["mnemic_look"].call({"verb": "blocks", "as_of": None, "tag": None, "limit": 3})
    assert call == Call(verb="blocks", arguments={"limit": 3})


@pytest.mark.parametrize(
    ("tool", "arguments", "field", "recovery"),
    [
        ("mnemic_session", {}, "verb", "Give verb, one of: start_session, end_session."),
        ("mnemic_session", {"verb": 3}, "verb", "Give verb, one of: start_session, end_session."),
        (
            "mnemic_session",
            {"verb": "recall"},
            "verb",
            "Give verb, one of: start_session, end_session. recall is called by mnemic_recall.",
        ),
        (
            "mnemic_upkeep",
            {"verb": "erase", "block_id": "x"},
            "arguments",
            "Give the arguments of the verb as an object in arguments.",
        ),
        (
            "mnemic_upkeep",
            {"verb": "erase", "arguments": "x"},
            "arguments",
            "Give the arguments of the verb as an object in arguments.",
        ),
        ("mnemic_recall", {"as_of": 3}, "as_of", "Give a text."),
        ("mnemic_look", {"verb": "status", "command_id": "x"}, "command_id", "Leave it out."),
    ],
)
def test_a_call_that_cannot_be_read_is_refused_with_a_way_out(
    tool: str, arguments: dict[str, Any], field: str, recovery: str
) -> None:
    with pytest.raises(FieldRefused) as refused:
        tools()[tool].call(arguments)
    assert (refused.value.facts["field"], refused.value.recovery) == (field, recovery)


def test_what_leaves_no_trace_only_takes_the_scope_of_reading() -> None:
    mild = {verb for verb, spec in verbs().items() if least_scope(verb) != spec.scope}
    assert mild == {"recall", "deep_reference", "composed_graph"}
    assert {least_scope(verb) for verb in mild} == {"read"}
