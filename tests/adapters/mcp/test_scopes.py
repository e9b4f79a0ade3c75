"""What an agent may do and sees: the scope and the list of tools with which it is served."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client
from mcp.types import TextContent

from mnemic.adapters.access import Keyring
from mnemic.adapters.http.middleware.security import Caller
from mnemic.adapters.mcp.client_sessions import ClientVisit
from mnemic.adapters.mcp.stdio import REMEDY
from mnemic.adapters.mcp.tools import called, reaching, tools
from tests.adapters.mcp.clients import GATE, client, kinds, learned, run, text
from tests.adapters.mcp.servers import served, visiting

DESTRUCTIVE: dict[str, dict[str, Any]] = {
    "mnemic_erase": {"block_ids": ""},
    "mnemic_erase_space": {"confirm": "default"},
    "mnemic_rezone": {"block_id": "", "zone": "untrusted"},
    "mnemic_revert": {"from_version": 2, "to_version": 2},
    "mnemic_adopt_policy": {"policy": {"name": "mine"}},
    "mnemic_reembed": {"embedder": "bundled"},
}


async def names(agent: Client) -> list[str]:
    """Return the names of the listed tools."""
    return [tool.name for tool in (await agent.list_tools()).tools]


def document(answer: Any) -> dict[str, Any]:
    """Return the document of an answer."""
    found: dict[str, Any] = answer.structured_content or {}
    return found


# --- scopes ---------------------------------------------------------------------------------------


def test_no_call_of_an_agent_destroys_anything_by_default() -> None:
    async def conversation() -> None:
        async with client() as agent:
            block = await learned(agent, GATE)
            before = await kinds(agent)
            for tool, arguments in DESTRUCTIVE.items():
                given = {name: block if each == "" else each for name, each in arguments.items()}
                answer = document(await agent.call_tool(tool, given))
                assert (answer["code"], answer["scope"]) == ("forbidden", "admin")
                assert answer["recovery"] == REMEDY
            assert await kinds(agent) == before
            assert not {*DESTRUCTIVE} & {*await names(agent)}

    run(conversation)


def test_the_scope_admin_adds_tools_of_their_own() -> None:
    async def conversation() -> None:
        async with client(scope="admin") as agent:
            assert {*DESTRUCTIVE} <= {*await names(agent)}
            block = await learned(agent, GATE)
            erased = await agent.call_tool("mnemic_erase", {"block_ids": block})
            assert document(erased)["block_ids"] == [block]
            other = await agent.call_tool("mnemic_erase_space", {"confirm": "notes"})
            assert (document(other)["code"], document(other)["field"]) == (
                "field-refused",
                "confirm",
            )
            missing = await agent.call_tool("mnemic_erase_space", {})
            assert document(missing)["field"] == "confirm"
            gone = await agent.call_tool("mnemic_erase_space", {"confirm": "default"})
            assert document(gone)["block_ids"] == []

    run(conversation)


def test_the_scope_read_offers_what_writes_nothing() -> None:
    async def conversation() -> None:
        async with client(scope="read") as agent:
            assert await names(agent) == ["mnemic_recall", "mnemic_compose", "mnemic_look"]
            answer = await agent.call_tool("mnemic_learn", {"content": GATE})
            assert document(answer)["code"] == "forbidden"

    run(conversation)


def test_an_agent_without_a_token_over_http_has_no_admin_rights(tmp_path: Path) -> None:
    local = ClientVisit(caller=Caller(name="local"), space="default")
    token, _ = Keyring.open(tmp_path / "tokens").create("ines", {"default": "admin"})
    ours = ClientVisit(caller=Caller(name="ines", token=token), space="default")
    assert [local.allows(scope) for scope in ("read", "write", "admin")] == [True, True, False]
    assert [ours.allows(scope) for scope in ("read", "write", "admin")] == [True, True, True]


@pytest.mark.parametrize(("tool_set", "count"), [("core", 7), ("all", 17)])
def test_a_server_lists_the_tools_that_it_is_told_to(
    tmp_path: Path, tool_set: str, count: int
) -> None:
    async def conversation() -> None:
        async with (
            served(tmp_path, tool_set=tool_set) as server,
            visiting(server.url, server.token("ines", default="write")) as agent,
        ):
            assert len(await names(agent)) == count

    anyio.run(conversation)


# --- names ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "arguments", "operation"),
    [
        ("deep_reference", {"query": "x"}, "deep_reference"),
        ("mnemic_composed_graph", {"action": "recent"}, "composed_graph"),
        ("mnemic_frontier", {"operation": "frontier"}, "frontier"),
        ("mnemic_frontier", {"operation": "ledger"}, "ledger"),
        ("mnemic_frontier", {"operation": "compare"}, "compare"),
    ],
)
def test_former_names_are_accepted(name: str, arguments: dict[str, Any], operation: str) -> None:
    tool = called(name, arguments)
    assert tool is not None
    assert tool is reaching()[operation]
    assert tool.call(arguments).operation == operation
    assert name not in tools()


def test_a_former_name_without_an_operation_is_refused_by_its_tool() -> None:
    assert called("mnemic_frontier", {}) is tools()["mnemic_ledger"]
    assert called("mnemic_frontier", {"operation": 3}) is tools()["mnemic_ledger"]
    assert called("mnemic_nothing", {}) is None


def test_tools_that_are_not_listed_may_be_called() -> None:
    async def conversation() -> None:
        async with client() as agent:
            await learned(agent, GATE)
            for name in ("mnemic_deep_reference", "deep_reference"):
                answer = await agent.call_tool(name, {"query": "When does the gate open?"})
                assert not answer.is_error, text(answer)

    run(conversation)


# --- refusals -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tool", "arguments", "words"),
    [
        (
            "mnemic_look",
            {"operation": "block", "block_id": "0" * 16},
            "Use an id from mnemic_recall, mnemic_learn or mnemic_look with operation blocks",
        ),
        ("mnemic_look", {"operation": "explain"}, "explain is called by mnemic_decision (not in"),
        ("mnemic_learn", {"text": "x"}, "mnemic_learn knows no argument 'text'"),
        ("mnemic_learn", {}, "mnemic_learn needs content"),
        ("mnemic_learn", {"content": {"a": 1}}, "got an object"),
        ("mnemic_learn", {"content": [1]}, "got a list"),
        (
            "mnemic_compose",
            {"operation": "label", "composition_id": "c9", "label": "helpful"},
            "or list them with mnemic_ledger with operation ledger (not in your list of tools).",
        ),
        (
            "mnemic_compose",
            {"operation": "label", "composition_id": "c9", "label": "good"},
            "mnemic_guide with name label (not in your list of tools)",
        ),
    ],
)
def test_refusals_name_tools_and_arguments(
    tool: str, arguments: dict[str, Any], words: str
) -> None:
    async def conversation() -> None:
        async with client() as agent:
            answer = await agent.call_tool(tool, arguments)
            assert answer.is_error
            assert words in text(answer)
            assert words in f"{document(answer)['detail']} {document(answer)['recovery']}"
            assert "()" not in text(answer)

    run(conversation)


def test_a_tool_in_the_list_is_not_marked() -> None:
    async def conversation() -> None:
        async with client(tool_set="all") as agent:
            answer = await agent.call_tool("mnemic_look", {"operation": "explain"})
            assert "explain is called by mnemic_decision." in text(answer)

    run(conversation)


def test_a_prompt_asks_for_no_tool_without_which_it_cannot_be_followed() -> None:
    async def conversation() -> None:
        async with client() as agent:
            listed = {*await names(agent)}
            for prompt in ("end_of_session_reflection", "review_frontier"):
                content = (await agent.get_prompt(prompt)).messages[0].content
                assert isinstance(content, TextContent)
                for line in content.text.splitlines():
                    named = set(re.findall(r"mnemic_[a-z_]+", line))
                    assert named <= listed or "in your list" in line

    run(conversation)
