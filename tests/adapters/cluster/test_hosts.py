"""Real hosts over one database: who answers, who is sent on, and what a killed one leaves."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections.abc import Generator
from pathlib import Path
from typing import Any

import anyio
import httpx
import orjson
import pytest

from mnemic.adapters.client import SyncMemory
from mnemic.kernel.errors import Unauthenticated
from tests.adapters.cluster.cluster_hosts import LEASE_S, HostProcess, hosts, until
from tests.adapters.mcp.servers import visiting
from tests.adapters.stores.postgres import server as servers

pytestmark = pytest.mark.extended

SPACE = "/v1/spaces/default"
BLOCKS = f"{SPACE}/blocks"
DASHBOARD = Path(__file__).parents[3] / "docs" / "how-to" / "grafana.json"


@pytest.fixture(scope="module")
def address() -> Generator[str]:
    with servers.SHARED.served() as server, servers.schema(server) as made:
        yield made


@pytest.fixture(scope="module")
def pair(
    tmp_path_factory: pytest.TempPathFactory, address: str
) -> Generator[tuple[HostProcess, HostProcess]]:
    """Run two hosts, the first of which leads the space to begin with."""
    with hosts(tmp_path_factory.mktemp("hosts"), address, 2) as (one, two):
        one.client.put(SPACE).raise_for_status()
        learn(one, "The demo is on Thursday.")
        yield one, two


def learn(host: HostProcess, text: str, **headers: str) -> httpx.Response:
    answer = host.client.post(BLOCKS, json={"content": text}, headers=headers)
    answer.raise_for_status()
    return answer


def command(address: str, *words: str) -> Any:
    """Return the document that a command prints."""
    program = str(Path(sys.executable).with_name("mnemic"))
    done = subprocess.run(
        [program, "--json", "--db", address, *words], capture_output=True, check=True
    )
    return orjson.loads(done.stdout)


def leading_first(
    pair: tuple[HostProcess, HostProcess], address: str
) -> tuple[HostProcess, HostProcess]:
    """Return the host that leads the space, and the other one.

    One that was stopped may have lost its lease before it is asked again.
    """
    learn(pair[0], "There is a leader.")
    (space,) = (
        each for each in command(address, "cluster")["spaces"] if each["space"] == "default"
    )
    leader, other = sorted(pair, key=lambda host: not space["leader"].startswith(f"{host.url}#"))
    assert space["leader"].startswith(f"{leader.url}#")
    assert space["epoch"] >= 1
    return leader, other


def texts(host: HostProcess, **headers: str) -> set[str]:
    found = host.client.get(BLOCKS, headers=headers)
    found.raise_for_status()
    return {each["content"] for each in found.json()["items"]}


def test_a_write_to_any_host_is_done_by_the_leader(pair: tuple[HostProcess, HostProcess]) -> None:
    one, two = pair
    answer = learn(two, "Ines leads it.", **{"Idempotency-Key": "ines"})
    again = learn(one, "Ines leads it.", **{"Idempotency-Key": "ines"})
    assert answer.json() == again.json()
    assert answer.headers["mnemic-version"] == answer.headers["etag"].strip('"').partition(".")[0]
    assert "Ines leads it." in texts(two, **{"Mnemic-Min-Version": str(answer.json()["version"])})


def test_agents_at_any_host_are_answered_by_the_leader(
    pair: tuple[HostProcess, HostProcess],
) -> None:
    async def conversation() -> None:
        for number, host in enumerate(pair):
            async with visiting(f"{host.url}/mcp/default", host.secret) as agent:
                said = f"Agents asked host {number}."
                learned = await agent.call_tool("mnemic_learn", {"content": said})
                assert learned.structured_content is not None
                block = await agent.read_resource(
                    f"mnemic://blocks/{learned.structured_content['block_id']}"
                )
                assert said in str(block.contents[0])
                assert len((await agent.list_tools()).tools) > 1
                refused = await agent.call_tool("mnemic_learn", {"content": ""})
                assert refused.is_error
        assert {"Agents asked host 0.", "Agents asked host 1."} <= texts(pair[0])

    anyio.run(conversation)


def test_an_agent_is_told_that_the_leader_has_stopped(
    pair: tuple[HostProcess, HostProcess], address: str
) -> None:
    call = {
        "jsonrpc": "2.0",
        "id": 7,
        "method": "tools/call",
        "params": {"name": "mnemic_learn", "arguments": {"content": "Said to an agent."}},
    }
    accept = {"accept": "application/json, text/event-stream"}
    leader, other = leading_first(pair, address)
    leader.freeze()
    try:
        answer = other.client.post("/mcp/default", json=call, headers=accept)
    finally:
        leader.thaw()
    assert (answer.status_code, answer.json()["id"]) == (503, 7)
    assert answer.json()["error"]["data"]["code"] == "overdue"
    assert int(answer.headers["retry-after"]) >= 1


def test_an_error_of_the_leader_reaches_the_client(pair: tuple[HostProcess, HostProcess]) -> None:
    answer = pair[1].client.post(BLOCKS, json={"content": ""})
    assert (answer.status_code, answer.json()["code"]) == (422, "content-empty")


def test_reads_are_answered_anywhere_and_recalls_that_are_recorded_by_the_leader(
    pair: tuple[HostProcess, HostProcess],
) -> None:
    one, two = pair
    question = {"query": "When is the demo?"}
    recorded = two.client.post(f"{SPACE}/recall", json=question).json()
    assert recorded["decision_id"]
    free = two.client.post(f"{SPACE}/recall", json={**question, "record": False})
    assert [block["id"] for block in free.json()["blocks"]] == [
        block["id"] for block in recorded["blocks"]
    ]
    assert (
        one.client.get(f"{SPACE}/decisions").json()["items"][0]["decision_id"]
        == recorded["decision_id"]
    )


def test_a_version_that_was_never_written_is_refused(pair: tuple[HostProcess, HostProcess]) -> None:
    far = {"Mnemic-Min-Version": "999999"}
    refused = [host.client.get(BLOCKS, headers=far) for host in pair]
    assert [each.json()["code"] for each in refused] == ["point-out-of-range"] * 2
    odd = pair[0].client.get(BLOCKS, headers={"Mnemic-Min-Version": "soon"})
    assert odd.json()["code"] == "field-refused"


def test_the_command_line_shows_hosts_and_leaders(
    pair: tuple[HostProcess, HostProcess], address: str
) -> None:
    leading_first(pair, address)
    found = command(address, "cluster")
    assert {each["url"] for each in found["hosts"]} >= {host.url for host in pair}


def test_hosts_measure_what_the_dashboard_shows(
    pair: tuple[HostProcess, HostProcess], address: str
) -> None:
    both = leading_first(pair, address)
    learn(both[1], "Passed on once more.")
    found = [host.client.get("/metrics").text for host in both]
    shown = set(re.findall(r"\b(?:mnemic|process)_\w+", DASHBOARD.read_text(encoding="utf-8")))
    assert shown <= set(re.findall(r"^\w+", found[0], re.MULTILINE))
    assert "\nmnemic_cluster_spaces_led 1.0" in found[0]
    assert "\nmnemic_cluster_takeovers_total 0.0" not in found[0]
    assert "\nmnemic_cluster_spaces_led 0.0" in found[1]
    assert "\nmnemic_cluster_passed_on_total 0.0" not in found[1]


def test_a_client_is_sent_to_the_leader_if_the_host_shall_not_pass_on(
    pair: tuple[HostProcess, HostProcess], address: str, tmp_path: Path
) -> None:
    leader, _ = leading_first(pair, address)
    with hosts(tmp_path, address, 1, "--elsewhere", "redirect") as (third,):
        answer = third.client.post(BLOCKS, json={"content": "Not here."})
        assert answer.status_code == 307
        assert answer.headers["location"].startswith(f"{leader.url}{BLOCKS}")
        # The token is sent along, and unknown there: each has a file of its own.
        with (
            SyncMemory.open(third.url, token=third.secret) as memory,
            pytest.raises(Unauthenticated),
        ):
            memory.learn("Not there either.")


def test_a_request_does_not_wait_for_a_leader_that_has_stopped(
    pair: tuple[HostProcess, HostProcess], address: str
) -> None:
    one, two = leading_first(pair, address)
    body, key = {"content": "Said while the leader is stopped."}, {"Idempotency-Key": "stopped"}
    one.freeze()
    try:
        began = time.monotonic()
        answer = two.client.post(BLOCKS, json=body, headers=key)
        assert (answer.status_code, answer.json()["code"]) == (503, "overdue")
        assert int(answer.headers["retry-after"]) >= 1
        assert two.client.post(BLOCKS, json=body, headers=key).is_success
        assert time.monotonic() - began < 10 * LEASE_S  # a call may take a minute
    finally:
        one.thaw()
    assert learn(one, "It has woken up.").json()["version"] > 0
    found = two.client.get(BLOCKS).json()["items"]
    assert [each["content"] for each in found].count(body["content"]) == 1


def test_another_host_takes_over_from_one_that_was_killed(address: str, tmp_path: Path) -> None:
    space = "/v1/spaces/killed"
    with hosts(tmp_path, address, 2, lease_s=1.0) as (one, two):
        one.client.put(space).raise_for_status()
        key = {"Idempotency-Key": "before"}
        body = {"content": "Written before the kill."}
        before = one.client.post(f"{space}/blocks", json=body, headers=key)
        before.raise_for_status()
        one.kill()
        answers: list[httpx.Response] = []

        def is_taken_over() -> bool:
            answers.append(two.client.post(f"{space}/blocks", json=body, headers=key))
            return answers[-1].is_success

        until(is_taken_over)
        assert answers[-1].json() == before.json()  # acknowledged once, and once only
        refused = [each for each in answers if not each.is_success]
        assert {each.json()["code"] for each in refused} <= {"led-elsewhere"}
        assert all(int(each.headers["retry-after"]) >= 1 for each in refused)
        two.client.post(f"{space}/blocks", json={"content": "After."}).raise_for_status()
        assert two.client.post(f"{space}/verify", json={}).json()["sound"]


def test_hosts_follow_a_space_that_is_moved_while_they_serve_it(
    address: str, tmp_path: Path
) -> None:
    space = "/v1/spaces/moving"
    with (
        servers.SHARED.served() as server,
        servers.schema(server) as target,
        hosts(tmp_path, address, 2) as pair,
    ):
        pair[0].client.put(space).raise_for_status()
        for number, host in enumerate(pair * 2):
            body = {"content": f"Fact {number} of the first database."}
            host.client.post(f"{space}/blocks", json=body).raise_for_status()
        moved = command(address, "move", "moving", "--to", target)
        assert moved["version"] == int(pair[0].client.get(space).json()["version"])
        for number, host in enumerate(pair * 2):
            body = {"content": f"Fact {number} of the second database."}
            answer = host.client.post(f"{space}/blocks", json=body)
            if answer.status_code == 503:  # it was noticed by this very request
                answer = host.client.post(f"{space}/blocks", json=body)
            answer.raise_for_status()
            version = answer.headers["mnemic-version"]
            for other in pair:
                found = other.client.get(f"{space}/blocks", headers={"Mnemic-Min-Version": version})
                assert len(found.json().get("items", found.text)) == 5 + number
        assert pair[1].client.post(f"{space}/verify", json={}).json()["sound"]
        names = {each["space"] for each in pair[1].client.get("/v1/spaces").json()["items"]}
        assert "moving" in names
        assert command(address, "move", "moving", "--to", address)["version"] >= moved["version"]
        assert len(pair[0].client.get(f"{space}/blocks").json()["items"]) == 8
