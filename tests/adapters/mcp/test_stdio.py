"""``mnemic mcp``: the process, from its start by a client to its end."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client, StdioServerParameters, stdio_client

from mnemic.adapters.inprocess import SyncMemory
from tests.adapters.mcp.clients import GATE, learned, text

pytestmark = pytest.mark.extended

PATIENCE_S = 60.0
"""How long a test waits for a process to end, before it fails."""
RUN = (sys.executable, "-c", "import sys; from mnemic.adapters.cli import main; sys.exit(main())")
HELLO: Mapping[str, Any] = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "a client of Ines's", "version": "1"},
    },
}
LEARN: Mapping[str, Any] = {
    "jsonrpc": "2.0",
    "id": 2,
    "method": "tools/call",
    "params": {"name": "mnemic_learn", "arguments": {"content": GATE}},
}


def begun(path: Path, *options: str, **variables: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*RUN, "--db", str(path), "mcp", *options],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **variables},
    )


def asked(process: subprocess.Popen[str], question: Mapping[str, Any]) -> dict[str, Any]:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(json.dumps(question) + "\n")
    process.stdin.flush()
    answer: dict[str, Any] = json.loads(process.stdout.readline())
    return answer


def log(path: Path) -> list[tuple[str, str]]:
    with SyncMemory.open(path) as memory:
        return [(event.kind, event.actor) for event in memory.log()][2:]


def test_a_client_of_the_sdk_starts_it_and_speaks_with_it(tmp_path: Path) -> None:
    started = StdioServerParameters(
        command=RUN[0],
        args=[*RUN[1:], "--db", str(tmp_path / "agent.db"), "--actor", "ines", "mcp"],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )

    async def conversation() -> None:
        with (tmp_path / "errors").open("w") as errors:
            async with Client(stdio_client(started, errlog=errors)) as agent:
                await learned(agent, GATE)
                found = await agent.call_tool("mnemic_recall", {"query": "When opens the gate?"})
                assert GATE in text(found)

    anyio.run(conversation)
    result = (tmp_path / "errors").read_text().splitlines()
    assert result[1] == f"store {(tmp_path / 'agent.db').resolve()}"
    assert result[2].startswith("space default: ")
    kinds = log(tmp_path / "agent.db")
    assert (kinds[0], kinds[-1]) == (("session-started", "ines"), ("session-ended", "ines"))


@pytest.mark.parametrize("end", ["the client goes", "SIGTERM", "SIGINT"])
def test_it_shuts_down_cleanly_and_ends_its_session(tmp_path: Path, end: str) -> None:
    with begun(tmp_path / "agent.db") as process:
        asked(process, HELLO)
        assert not asked(process, LEARN)["result"]["isError"]
        if end == "the client goes":
            assert process.stdin is not None
            process.stdin.close()
        else:
            process.send_signal(signal.Signals[end])
        assert process.wait(PATIENCE_S) == 0
    kinds = log(tmp_path / "agent.db")
    assert (kinds[0], kinds[-1]) == (
        ("session-started", "aclientofInes's"),
        ("session-ended", "aclientofInes's"),
    )


def test_a_client_that_is_killed_leaves_a_session_that_is_ended(tmp_path: Path) -> None:
    with begun(tmp_path / "agent.db") as process:
        asked(process, HELLO)
        assert not asked(process, LEARN)["result"]["isError"]
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        process.stdin.write(json.dumps({**LEARN, "id": 3}) + "\n")
        process.stdin.close()
        assert process.wait(PATIENCE_S) == 0
        assert "error" not in process.stderr.read()
    assert log(tmp_path / "agent.db")[-1][0] == "session-ended"


def test_it_continues_the_session_of_the_shell_that_started_it(tmp_path: Path) -> None:
    with SyncMemory.open(tmp_path / "agent.db", actor="cli") as memory:
        session = memory.start_session().session_id
    with begun(tmp_path / "agent.db", MNEMIC_SESSION=session) as process:
        asked(process, HELLO)
        assert not asked(process, LEARN)["result"]["isError"]
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait(PATIENCE_S) == 0
    assert log(tmp_path / "agent.db") == [("session-started", "cli"), ("block-learned", "cli")]


@pytest.mark.parametrize(
    ("line", "identifier", "code"),
    [
        ("no json", None, -32700),
        ("{}", None, -32600),
        (json.dumps({**LEARN, "params": {"content": "cut in an emoji \ud83d"}}), 2, -32700),
        (json.dumps(LEARN).replace(json.dumps(GATE), "[" * 300 + "]" * 300), 2, -32700),
    ],
    ids=["no JSON", "no message", "half a surrogate pair", "too deep"],
)
def test_an_invalid_message_is_answered_with_an_error(
    tmp_path: Path, line: str, identifier: int | None, code: int
) -> None:
    with begun(tmp_path / "agent.db") as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(f"{line}\n\n")
        process.stdin.flush()
        answer = json.loads(process.stdout.readline())
        assert (answer["id"], answer["error"]["code"]) == (identifier, code)
        assert asked(process, HELLO)["id"] == 1
        process.stdin.close()
        assert process.wait(PATIENCE_S) == 0


@pytest.mark.parametrize(
    ("options", "code", "remedy"),
    [
        (("--db", "other.db", "mcp"), "store-failed", "agent.db"),
        (("--db", "agent.db", "--space", "other", "mcp"), "space-not-found", "--make"),
        (("--db", "none.db", "mcp", "--read-only"), "store-failed", "--db"),
    ],
)
def test_a_store_probably_named_by_mistake_is_refused_with_a_remedy(
    tmp_path: Path, options: tuple[str, ...], code: str, remedy: str
) -> None:
    SyncMemory.open(tmp_path / "agent.db").close()
    done = subprocess.run(
        [*RUN, "--json", *options],
        check=False,
        cwd=tmp_path,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join(str(Path(each).resolve()) for each in sys.path),
        },
    )
    failure = json.loads(done.stderr.splitlines()[-1])
    assert (failure["code"], done.stdout) == (code, "")
    assert remedy in failure["detail"] + failure["recovery"]
    assert [each.name for each in tmp_path.glob("*.db")] == ["agent.db"]


def test_a_new_store_next_to_another_is_made_on_request(tmp_path: Path) -> None:
    SyncMemory.open(tmp_path / "agent.db").close()
    with begun(tmp_path / "other.db", "--make") as process:
        assert asked(process, HELLO)["result"]["serverInfo"]["name"] == "mnemic"
    assert (tmp_path / "other.db").exists()


@pytest.mark.parametrize(
    ("options", "count", "destroys"),
    [
        ((), 7, False),
        (("--tools", "all"), 17, False),
        (("--scope", "admin"), 23, True),
        (("--scope", "admin", "--read-only"), 3, False),
    ],
)
def test_options_decide_what_is_listed(
    tmp_path: Path, options: tuple[str, ...], *, count: int, destroys: bool
) -> None:
    SyncMemory.open(tmp_path / "agent.db").close()
    lists = {"jsonrpc": "2.0", "id": 2, "method": "tools/list", "params": {}}
    with begun(tmp_path / "agent.db", *options) as process:
        asked(process, HELLO)
        names = [tool["name"] for tool in asked(process, lists)["result"]["tools"]]
    assert len(names) == count
    assert ("mnemic_erase_space" in names) is destroys
