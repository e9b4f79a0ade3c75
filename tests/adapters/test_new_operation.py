"""An operation is written once: new methods of a memory appear on every interface.

The methods are declared here and taken away again. One writes and needs the scope admin; the
others are queries, which views of the past have too.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Generator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, cast

import anyio
import httpx
import pytest
from mcp import Client

from mnemic.adapters import client, inprocess
from mnemic.adapters.cli import main
from mnemic.adapters.cli.application import app
from mnemic.adapters.cli.commands.time_travel import as_of
from mnemic.adapters.cli.invocation.failures import Exit
from mnemic.adapters.http.description.openapi import document
from mnemic.adapters.inprocess.argument_limits import checks_arguments
from mnemic.adapters.inprocess.operations.guide import guide
from mnemic.adapters.inprocess.queries import Queries
from mnemic.adapters.inprocess.registry import operation
from mnemic.kernel.errors import FieldRefused
from mnemic.kernel.results import Block, ForgetResult
from tests.adapters.client.serving import Served, Servers
from tests.adapters.mcp import clients

TEXT = "The gate sticks in wet weather."
PAST = 2
"""The version at which the text is learned, after the space and its policy."""
INTERFACES = ("http", "remote", "mcp", "client", "inprocess.operations.guide")
"""Where what is derived from the registry is cached."""


@checks_arguments
class Stowing(inprocess.SyncMemory):
    """A memory with a new command."""

    @operation(
        "POST ./blocks/{block_id}/stow", "Blocks", "admin", destructive=True, same_twice=True
    )
    def stow(
        self, block_id: str, drawer: str, *, dusty: bool = False, command_id: str | None = None
    ) -> ForgetResult:
        """Put a block in a drawer.

        It is forgotten there.

        Args:
            block_id: The block.
            drawer: Name of the drawer.
            dusty: Whether the drawer is dusty.
            command_id: See the class.

        Raises:
            BlockNotFound: It was never learned.
        """
        words = f"in the {'dusty ' * dusty}drawer {drawer}"
        return self.forget(block_id, words, command_id=command_id)


class Covering(Queries):
    """Queries with a new one."""

    @operation("GET ./blocks/{block_id}/cover", "Blocks")
    def cover(self, block_id: str) -> Block:
        """Return the cover of a block."""
        return self.block(block_id)

    @operation("POST ./covers", "Blocks")
    def covers(
        self, block_ids: Sequence[str], *, labels: Mapping[str, str] | None = None
    ) -> tuple[Block, ...]:
        """Return the covers of several blocks.

        Args:
            block_ids: The blocks.
            labels: Labels that their texts have to bear, by name; None: any.
        """
        words = (labels or {}).values()
        found = (self.block(each) for each in block_ids)
        return tuple(each for each in found if all(word in str(each.content) for word in words))


@pytest.fixture(scope="module", autouse=True)
def new_operations() -> Generator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(inprocess.SyncMemory, "stow", Stowing.stow, raising=False)
        for name in ("cover", "covers"):
            patch.setattr(Queries, name, getattr(Covering, name), raising=False)
        forget_derived()
        yield
    forget_derived()
    for commands in (app, as_of):
        for name in ("stow", "cover", "covers"):
            if name in commands:
                del commands[name]


def forget_derived() -> None:
    """Empty every cache of what is derived from the registry."""
    places = tuple(f"mnemic.adapters.{each}" for each in INTERFACES)
    for name, module in [*sys.modules.items()]:
        if name.startswith(places):
            for each in vars(module).values():
                if hasattr(each, "cache_clear"):
                    each.cache_clear()


@pytest.fixture(scope="module")
def servers() -> Generator[Servers]:
    with ExitStack() as stack:
        yield Servers(stack)


@pytest.fixture
def server(servers: Servers, tmp_path: Path) -> Generator[Served]:
    with servers.serving(tmp_path) as served:
        served.make()
        yield served


def test_in_the_process() -> None:
    with inprocess.SyncMemory.open(":memory:") as memory:
        block = memory.learn(TEXT).block_id
        assert cast("Any", memory).stow(block, "top").action == "archived"
        assert cast("Any", memory.as_of(version=PAST)).cover(block).status == "inbox"
        with pytest.raises(FieldRefused, match="drawer"):
            cast("Any", memory).stow(block, "x" * 10_000_000)


def test_in_the_process_of_an_async_host() -> None:
    class Memory(inprocess.Memory, of=inprocess.SyncMemory):
        pass

    async def stowing() -> None:
        async with Memory.open(":memory:") as memory:
            block = (await memory.learn(TEXT)).block_id
            assert (await cast("Any", memory).stow(block, "top")).action == "archived"
            assert (await cast("Any", memory).cover(block)).status == "archived"

    anyio.run(stowing)


def test_over_http(server: Served) -> None:
    with httpx.Client(
        base_url=f"{server.address}/v1/spaces/default",
        headers={"authorization": f"Bearer {server.token()}"},
    ) as http:
        block = http.post("/blocks", json={"content": TEXT}).json()["block_id"]
        stowed = http.post(f"/blocks/{block}/stow", json={"drawer": "top", "dusty": True})
        assert stowed.json() == {"block_id": block, "action": "archived"}
        assert http.get(f"/blocks/{block}/cover").json()["status"] == "archived"
        assert http.get(f"/blocks/{block}/cover?as_of=version:{PAST}").json()["status"] == "inbox"
        assert http.post(f"/blocks/{block}/stow", json={}).json()["field"] == "drawer"
        writer = {"authorization": f"Bearer {server.token('writer', {'default': 'write'})}"}
        assert http.post(f"/blocks/{block}/stow", headers=writer).status_code == 403


def test_in_the_description_of_http() -> None:
    page = document()
    found = page["paths"]["/v1/spaces/{space}/blocks/{block_id}/stow"]["post"]
    assert (found["summary"], found["tags"]) == ("Put a block in a drawer.", ["Blocks"])
    assert found["description"].startswith("It is forgotten there.")
    assert page["components"]["schemas"]["StowArguments"] == {
        "type": "object",
        "properties": {
            "drawer": {"type": "string", "description": "Name of the drawer."},
            "dusty": {
                "type": "boolean",
                "description": "Whether the drawer is dusty.",
                "default": False,
            },
        },
        "additionalProperties": False,
        "required": ["drawer"],
        "title": "StowArguments",
        "description": "Arguments of `stow`.",
    }
    (body,) = found["requestBody"]["content"].values()
    assert body["examples"]["usual"]["value"] == {"drawer": "…"}
    assert {"404", "409"} <= found["responses"].keys()


def test_with_the_client(server: Served) -> None:
    class Memory(client.SyncMemory, of=inprocess.SyncMemory):
        pass

    class AsyncMemory(client.Memory, of=inprocess.SyncMemory):
        pass

    token = server.token()
    with Memory.open(server.address, token=token) as memory:
        block = memory.learn(TEXT).block_id
        assert cast("Any", memory).stow(block, "top") == ForgetResult(
            block_id=block, action="archived"
        )

    async def covering() -> None:
        async with AsyncMemory.open(server.address, token=token) as memory:
            assert (await cast("Any", memory).cover(block)).status == "archived"

    anyio.run(covering)


def test_over_mcp() -> None:
    async def conversation() -> None:
        async with clients.client(tool_set="all", scope="admin") as agent:
            tools = {each.name: each for each in (await agent.list_tools()).tools}
            stow, look = tools["mnemic_stow"], tools["mnemic_look"]
            assert (stow.title, stow.description) == ("Stow", "Put a block in a drawer.")
            assert stow.input_schema["required"] == ["block_id", "drawer"]
            assert stow.annotations is not None
            assert stow.annotations.destructive_hint
            assert "cover(block_id): return the cover of a block" in str(look.description)
            block = await clients.learned(agent, TEXT)
            await answer(agent, "mnemic_stow", block_id=block, drawer="top")
            covered = await answer(agent, "mnemic_look", operation="cover", block_id=block)
            assert covered["status"] == "archived"

    clients.run(conversation)


async def answer(agent: Client, tool: str, **arguments: Any) -> Any:
    found = await agent.call_tool(tool, arguments)
    assert not found.is_error
    return found.structured_content


def test_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def ran(*words: str) -> str:
        assert main(["--db", str(tmp_path / "memory.db"), *words]) == 0
        return capsys.readouterr().out

    block = json.loads(ran("learn", TEXT, "--json"))["block_id"]
    page = ran("stow", "--help")
    assert "Put a block in a drawer." in page
    assert "Name of the drawer." in page
    assert "--dusty" in page
    assert ran("stow", block[:8], "top", "--dusty", "--command-id", "mine") == (
        f"Block {block[:8]} archived.\n"
    )
    assert json.loads(ran("cover", block[:8], "--json"))["status"] == "archived"
    past = ("as-of", "--version", str(PAST), "cover", block[:8], "--json")
    assert json.loads(ran(*past))["status"] == "inbox"
    other = json.loads(ran("learn", "Oil helps.", "--json"))["block_id"]
    summaries = ran("covers", block[:8], other[:8]).splitlines()
    assert [each.split()[0] for each in summaries] == [f"[{block[:8]},", f"[{other[:8]},"]
    chosen = ran("covers", block, other, "--labels", '{"of": "Oil"}', "--json")
    assert [each["id"] for each in json.loads(chosen)["items"]] == [other]
    reused = ("stow", block[:8], "top", "--command-id", "mine", "--json")
    assert main(["--db", str(tmp_path / "memory.db"), *reused]) == Exit.CONFLICT
    assert "command-id-reused" in capsys.readouterr().err


def test_in_the_guide() -> None:
    card = guide("stow")
    assert (card.call, card.what) == (
        "stow(block_id, drawer, *, dusty)",
        "Put a block in a drawer.",
    )
    assert card.returns == "ForgetResult."
    assert "BlockNotFound: It was never learned." in card.notes
