"""Hosts that read from standbys, one of which is behind the other."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest

from tests.adapters.cluster.cluster_hosts import hosts, until
from tests.adapters.cluster.links import LOOPBACK, Link, network
from tests.adapters.stores.postgres.server_group import server_group

pytestmark = pytest.mark.extended

SPACE = "/v1/spaces/default"
BLOCKS = f"{SPACE}/blocks"


def test_a_read_from_a_standby_that_is_behind_is_answered_by_the_leader(tmp_path: Path) -> None:
    with network() as net:
        links: dict[int, Link] = {}

        def reach(standby: int, socket: Path) -> str:
            links[standby] = net.link(socket)
            return f"host={LOOPBACK} port={links[standby].port}"

        with server_group(standbys=2, synchronous=False, reach=reach) as servers:
            read_from = f"{servers.standbys}&answer_timeout=1&connect_timeout=2"
            with hosts(tmp_path, servers.address, 2, "--read-from", read_from) as (one, two):
                one.client.put(SPACE).raise_for_status()
                net.cut(links[2])
                bodies = [{"content": f"Fact {number}."} for number in range(5)]
                said = [one.client.post(BLOCKS, json=body).raise_for_status() for body in bodies]
                wanted = {"Mnemic-Min-Version": said[-1].headers["mnemic-version"]}
                two.client.get(BLOCKS, headers=wanted).raise_for_status()
                with servers.frozen(primary=False):  # the one that has it
                    answers: list[httpx.Response] = []

                    def is_answered() -> bool:
                        answers.append(two.client.get(BLOCKS, headers=wanted))
                        return answers[-1].status_code != 503  # the server is about to be missed

                    until(is_answered)
                    found = answers[-1]
                    assert found.status_code == 200, found.text
                    assert len(found.json()["items"]) == 5
                net.mend(links[2])
                until(lambda: len(two.client.get(BLOCKS).json()["items"]) == 5)
