"""Tool results: the text for models, the document for programs, and errors in both forms."""

from __future__ import annotations

from typing import Any

import anyio
import pytest
from mcp import MCPError

from mnemic.adapters.mcp.answers import TEXT_MAX, refused
from mnemic.kernel.errors import FieldRefused
from tests.adapters.mcp.clients import GATE, OIL, TEA, client, learned, run, text


def test_a_recall_reads_as_a_prompt_and_names_its_decision() -> None:
    async def conversation() -> None:
        async with client() as agent:
            await learned(agent, GATE)
            found = await agent.call_tool("mnemic_recall", {"query": "When does the gate open?"})
            document = found.structured_content or {}
            assert text(found) == f"{document['text']}\n\nDecision {document['decision_id']}."
            assert GATE in text(found)
            nothing = await agent.call_tool("mnemic_recall", {"query": "x", "where": {"tags": "y"}})
            assert text(nothing).startswith("Nothing in memory bears on this.")

    run(conversation)


def test_the_document_of_a_recall_has_no_details_unless_requested() -> None:
    async def conversation() -> None:
        async with client() as agent:
            await learned(agent, GATE)
            asked: dict[str, Any] = {"query": GATE, "record": False}
            core = await agent.call_tool("mnemic_recall", asked)
            full = await agent.call_tool("mnemic_recall", {**asked, "detail": "full"})
            assert text(core) == text(full)
            (brief,), (whole,) = (
                (answer.structured_content or {})["blocks"] for answer in (core, full)
            )
            assert brief == {name: whole[name] for name in brief}
            assert {*whole} - {*brief} >= {"contributions", "relevance_parts", "tokens"}

    run(conversation)


def test_a_list_reads_as_lines_and_an_empty_one_says_so() -> None:
    async def conversation() -> None:
        async with client() as agent:
            edges: dict[str, Any] = {"operation": "edges", "block_id": await learned(agent, GATE)}
            assert text(await agent.call_tool("mnemic_look", edges)) == "None."
            other = await learned(agent, OIL)
            ends = {"source": edges["block_id"], "target": other}
            await agent.call_tool("mnemic_connect", {**ends, "relation": "supports"})
            found = await agent.call_tool("mnemic_look", edges)
            assert text(found).startswith(f"{edges['block_id'][:8]} -supports-> {other[:8]} ")
            page = await agent.call_tool("mnemic_look", {"operation": "blocks", "limit": 1})
            assert text(page).endswith(
                f"\nMore: after={(page.structured_content or {})['next_after']}"
            )

    run(conversation)


def test_short_ids_are_accepted_as_they_are_shown() -> None:
    async def conversation() -> None:
        async with client() as agent:
            first, second = await learned(agent, GATE), await learned(agent, OIL)
            ends = {"source": f"[{first[:8]}]", "target": second[:10]}
            made = await agent.call_tool("mnemic_connect", ends)
            document = made.structured_content or {}
            assert (document["source_id"], document["target_id"]) == (first, second)
            batch = {"operation": "connects", "edges": [{**ends, "if_exists": "skip"}]}
            again = await agent.call_tool("mnemic_batch", batch)
            assert (again.structured_content or {})["skipped"] == 1
            composed = await agent.call_tool(
                "mnemic_compose",
                {"operation": "compose", "members": [first[:8], {"block_id": second}]},
            )
            assert (composed.structured_content or {})["member_ids"] == [first, second]
            selector = {"block": f"[{first[:8]}]"}
            found = await agent.call_tool(
                "mnemic_look", {"operation": "descent", "selector": selector}
            )
            assert (found.structured_content or {})["selector"] == {"block": [first]}
            both = {"block": [first[:8]], "source": first[:8]}  # a source is no id
            found = await agent.call_tool("mnemic_look", {"operation": "descent", "selector": both})
            selector = (found.structured_content or {})["selector"]
            assert selector == {"block": [first], "source": [first[:8]]}

    run(conversation)


def test_a_refusal_is_an_error_that_says_what_to_do_next() -> None:
    async def conversation() -> None:
        async with client() as agent:
            block = await learned(agent, GATE)
            answer = await agent.call_tool("mnemic_connect", {"source": block, "target": block})
            document = answer.structured_content or {}
            assert answer.is_error
            assert document["code"] == "self-loop"
            result = f"self-loop: {document['detail']}\nNext: {document['recovery']}"
            assert text(answer) == result
            strange = await agent.call_tool("mnemic_learn", {"content": "x", "colour": "red"})
            assert (strange.structured_content or {})["field"] == "colour"

    run(conversation)


def test_an_unknown_tool_is_a_protocol_error() -> None:
    async def conversation() -> None:
        async with client() as agent:
            with pytest.raises(MCPError, match="Unknown tool: mnemic_sing"):
                await agent.call_tool("mnemic_sing", {})

    run(conversation)


def test_an_internal_error_reveals_no_content() -> None:
    answer = refused(RuntimeError("secret words"), ())
    assert (answer.structured_content or {})["code"] == "internal"
    assert "secret" not in answer.model_dump_json()
    assert refused(FieldRefused("x", recovery="y", field="z"), ()).is_error


def test_a_text_is_cut_where_a_document_is_not() -> None:
    async def conversation() -> None:
        async with client() as agent:
            block = await learned(agent, "word " * 6000)
            found = await agent.call_tool("mnemic_look", {"operation": "block", "block_id": block})
            assert len(text(found)) < TEXT_MAX + 100
            assert "cut" in text(found)[-80:]
            assert len((found.structured_content or {})["content"]) > TEXT_MAX

    run(conversation)


def test_long_work_reports_progress_on_request() -> None:
    steps: list[tuple[float, float | None]] = []

    async def on_progress(progress: float, total: float | None, message: str | None) -> None:
        assert message is None
        steps.append((progress, total))

    async def conversation() -> None:
        async with client() as agent:
            for content in (GATE, OIL, TEA):
                await learned(agent, content)
            work = {"operation": "consolidate", "arguments": {}}
            await agent.call_tool("mnemic_upkeep", work, progress_callback=on_progress)

    run(conversation)
    assert steps[-1] == (3, 3)
    assert steps == sorted(steps)


def test_an_abandoned_call_is_done_entirely_or_not_at_all() -> None:
    async def conversation() -> None:
        async with client() as agent:
            lessons = [f"lesson {number}" for number in range(50)]
            with anyio.move_on_after(0):
                await agent.call_tool(
                    "mnemic_batch", {"operation": "learn_many", "lessons": lessons}
                )
            status = await agent.call_tool("mnemic_look", {"operation": "status"})
            assert (status.structured_content or {})["inbox"] in {0, 50}
            sound = await agent.call_tool("mnemic_upkeep", {"operation": "verify"})
            assert (sound.structured_content or {})["sound"]

    run(conversation)
