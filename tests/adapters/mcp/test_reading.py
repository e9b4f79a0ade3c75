"""Resources, completion and prompts, filled from the contents of the memory."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from mcp import Client, MCPError
from mcp.types import PromptReference, ResourceTemplateReference, TextContent, TextResourceContents

from tests.adapters.mcp.clients import GATE, OIL, TEA, client, learned, run


async def read(agent: Client, uri: str) -> Any:
    (contents,) = (await agent.read_resource(uri)).contents
    assert isinstance(contents, TextResourceContents)
    return json.loads(contents.text) if contents.mime_type == "application/json" else contents.text


async def prompted(agent: Client, name: str, **arguments: str) -> str:
    (message,) = (await agent.get_prompt(name, arguments)).messages
    assert isinstance(message.content, TextContent)
    return message.content.text


async def completed(agent: Client, template: str, name: str, begun: str) -> list[str]:
    reference = ResourceTemplateReference(type="ref/resource", uri=template)
    answer = await agent.complete(reference, {"name": name, "value": begun})
    return answer.completion.values


def test_resources_say_what_their_operations_say() -> None:
    async def conversation() -> None:
        async with client() as agent:
            gate, oil = await learned(agent, GATE), await learned(agent, OIL)
            await agent.call_tool("mnemic_connect", {"source": gate, "target": oil})
            found = await agent.call_tool("mnemic_recall", {"query": "gate"})
            decision = (found.structured_content or {})["decision_id"]
            status = await agent.call_tool("mnemic_look", {"operation": "status"})
            assert (await read(agent, "mnemic://status"))["version"] == (
                status.structured_content or {}
            )["version"]
            block = await read(agent, f"mnemic://blocks/{gate[:8]}")
            assert (block["block"]["content"], len(block["edges"])) == (GATE, 1)
            result = await read(agent, f"mnemic://decisions/{decision}")
            assert (
                result["explanation"]["decision_id"] == result["receipt"]["decision_id"] == decision
            )
            then = await read(agent, "mnemic://views/version:3")
            assert (then["status"]["inbox"], then["status"]["edges"]) == (1, 0)
            assert (await read(agent, f"mnemic://views/version:3/blocks/{gate}"))["edges"] == []
            assert (await read(agent, "mnemic://frames/self"))["name"] == "self"
            assert (await read(agent, "mnemic://guide/recall")).startswith("recall(")
            schemas = await read(agent, "mnemic://schemas/learn")
            assert schemas["arguments"]["required"] == ["content"]

    run(conversation)


@pytest.mark.parametrize(
    ("uri", "code"),
    [
        ("mnemic://nothing", "field-refused"),
        ("mnemic://blocks/0000000000000000", "block-not-found"),
        ("mnemic://decisions/d1", "decision-not-found"),
        ("mnemic://views/yesterday", "field-refused"),
        ("mnemic://frames/none", "field-refused"),
        ("mnemic://guide/sing", "guide-unknown"),
        ("mnemic://schemas/sing", "guide-unknown"),
    ],
)
def test_a_missing_resource_is_refused_with_its_uri(uri: str, code: str) -> None:
    async def conversation() -> None:
        async with client() as agent:
            with pytest.raises(MCPError) as refused:
                await agent.read_resource(uri)
            data = refused.value.error.data
            assert (data["uri"], data["code"], bool(data["recovery"])) == (uri, code, True)

    run(conversation)


def test_the_resource_list_has_the_blocks_that_this_client_touched_last() -> None:
    async def conversation() -> None:
        async with client() as agent:
            ids = [await learned(agent, f"lesson {number}") for number in range(30)]
            listed = [str(each.uri) for each in (await agent.list_resources()).resources]
            assert listed[:2] == ["mnemic://status", "mnemic://guide"]
            assert listed[2:] == [f"mnemic://blocks/{each}" for each in reversed(ids[-20:])]
            templates = (await agent.list_resource_templates()).resource_templates
            assert {each.uri_template for each in templates} >= {
                "mnemic://blocks/{block_id}",
                "mnemic://decisions/{decision_id}",
                "mnemic://views/{point}",
            }

    run(conversation)


def test_template_variables_are_completed_from_the_memory() -> None:
    async def conversation() -> None:
        async with client() as agent:
            gate = await learned(agent, GATE, tags=["gate"])
            found = await agent.call_tool("mnemic_recall", {"query": "gate"})
            decision = (found.structured_content or {})["decision_id"]
            blocks, decisions = "mnemic://blocks/{block_id}", "mnemic://decisions/{decision_id}"
            assert await completed(agent, blocks, "block_id", gate[:3]) == [gate]
            assert await completed(agent, blocks, "block_id", "no") == []
            assert await completed(agent, decisions, "decision_id", "d") == [decision]
            points = await completed(agent, "mnemic://views/{point}", "point", "decision:")
            assert points == ["decision:", f"decision:{decision}"]
            frames = await completed(agent, "mnemic://frames/{frame}", "frame", "s")
            assert frames == ["self", "short_term"]
            for name, begun, expected in (
                ("relation", "sup", ["supports"]),
                ("label", "dup", ["duplicate_risk"]),
                ("tags", "g", ["gate"]),
                ("mode", "c", ["classic"]),
                ("colour", "", []),
            ):
                reference = PromptReference(type="ref/prompt", name="review_frontier")
                answer = await agent.complete(reference, {"name": name, "value": begun})
                assert answer.completion.values == expected

    run(conversation)


def test_a_reflection_shows_the_blocks_of_the_session_and_their_edges() -> None:
    async def conversation() -> None:
        async with client() as agent:
            empty = await prompted(agent, "end_of_session_reflection")
            assert "(0 of 0)" in empty
            gate, oil = await learned(agent, GATE), await learned(agent, OIL)
            await agent.call_tool("mnemic_connect", {"source": gate, "target": oil})
            result = await prompted(agent, "end_of_session_reflection", relation="supports")
            assert re.search(rf"^- \[{gate}, inbox, [0-9-]+\] {GATE}$", result, re.MULTILINE)
            assert f"- {gate[:8]} -similar-> {oil[:8]}" in result
            assert "above all for `supports`" in result

    run(conversation)


def test_a_review_shows_uncomposed_blocks_and_labelled_compositions() -> None:
    async def conversation() -> None:
        async with client() as agent:
            gate = await learned(agent, GATE, tags=["gate"])
            oil = await learned(agent, OIL, tags=["gate"])
            await learned(agent, TEA)
            await agent.call_tool("mnemic_upkeep", {"operation": "consolidate"})
            for mode in ("default", "classic"):
                result = await prompted(agent, "review_frontier", mode=mode, tags="gate", limit="3")
                for block, said in ((gate, GATE), (oil, OIL)):
                    line = rf"^   - \[{block}, [0-9-]+\] {said}$"
                    assert re.search(line, result, re.MULTILINE)
            made = await agent.call_tool(
                "mnemic_compose", {"operation": "compose", "members": [gate, oil]}
            )
            composition = (made.structured_content or {})["composition_id"]
            label = {"composition_id": composition, "label": "needs_poc"}
            await agent.call_tool("mnemic_compose", {"operation": "label", **label})
            result = await prompted(agent, "review_frontier", label="needs_poc")
            assert f"- {composition} compose" in result

    run(conversation)


@pytest.mark.parametrize(
    ("name", "arguments", "field"),
    [
        ("review_frontier", {"limit": "many"}, "limit"),
        ("review_frontier", {"limit": "51"}, "limit"),
        ("review_frontier", {"label": "bad"}, "label"),
        ("review_frontier", {"colour": "red"}, "colour"),
    ],
)
def test_an_invalid_prompt_argument_is_refused(
    name: str, arguments: dict[str, str], field: str
) -> None:
    async def conversation() -> None:
        async with client() as agent:
            with pytest.raises(MCPError) as refused:
                await agent.get_prompt(name, arguments)
            assert refused.value.error.data["field"] == field

    run(conversation)


def test_an_unknown_prompt_is_refused() -> None:
    async def conversation() -> None:
        async with client() as agent:
            with pytest.raises(MCPError, match="Unknown prompt: sing"):
                await agent.get_prompt("sing")

    run(conversation)


def test_a_frame_with_few_settings_is_shown_whole() -> None:
    async def conversation() -> None:
        async with client(scope="admin") as agent:
            whole = await read(agent, "mnemic://frames/self")
            little = {"policy": {"name": "little"}}
            assert not (await agent.call_tool("mnemic_adopt_policy", little)).is_error
            assert await read(agent, "mnemic://frames/self") == whole

    run(conversation)
