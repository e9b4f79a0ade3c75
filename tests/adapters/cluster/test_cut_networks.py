"""A host that is cut off from its database says so in time, and serves again afterwards."""

from __future__ import annotations

import time
from collections.abc import Generator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

import httpx
import pytest

from tests.adapters.cluster.cluster_hosts import HostProcess, hosts, until
from tests.adapters.cluster.links import HostLinks, Network, network
from tests.adapters.stores.postgres import server as servers
from tests.adapters.stores.postgres.server_group import SOCKET

pytestmark = pytest.mark.extended

LEASE_S = 1.0
AT_ONCE = 60
"""More than there are threads for."""
ANSWERED_S = 8.0
"""Within which hosts answer that know that they are cut off; an answer of the database may take a
minute."""
SPACE = "/v1/spaces/default"
BLOCKS = f"{SPACE}/blocks"
FORGOTTEN = "the lease of this host has ended"


@pytest.fixture(scope="module")
def net() -> Generator[Network]:
    with network() as made:
        yield made


@pytest.fixture(scope="module")
def pair(
    net: Network, tmp_path_factory: pytest.TempPathFactory
) -> Generator[tuple[HostProcess, HostProcess]]:
    """Run two hosts, both of which can be cut off."""
    with servers.SHARED.served() as server, servers.schema(server) as address:
        parts = urlsplit(address)
        options = dict(parse_qsl(parts.query))
        socket = Path(options.pop("host")) / SOCKET
        options["connect_timeout"] = "2"
        served = parts._replace(query="&".join(f"{name}={it}" for name, it in options.items()))

        folder = tmp_path_factory.mktemp("hosts")

        def linking(port: int) -> HostLinks:
            return net.host_links(port, [socket])

        with hosts(folder, served.geturl(), 2, lease_s=LEASE_S, linking=linking) as (one, two):
            one.client.put(SPACE).raise_for_status()
            write(one, "before")
            yield one, two


def write(host: HostProcess, key: str) -> httpx.Response:
    return host.client.post(
        BLOCKS, json={"content": f"Written {key}."}, headers={"Idempotency-Key": key}
    )


def leads(host: HostProcess) -> bool:
    return "\nmnemic_cluster_spaces_led 1.0" in host.client.get("/metrics").text


def test_a_host_that_is_cut_off_refuses_in_time_and_serves_again(
    pair: tuple[HostProcess, HostProcess], net: Network
) -> None:
    one, two = pair
    assert one.links is not None
    with ThreadPoolExecutor(AT_ONCE) as pool:
        net.cut(*one.links.servers)
        began_s = time.monotonic()
        early = [pool.submit(write, one, f"early {number}") for number in range(4)]
        until(lambda: FORGOTTEN in write(one, "late").text)
        refused_s = time.monotonic()
        paths = [BLOCKS, "/v1/spaces", "/mcp/default"]
        late: list[Future[httpx.Response]] = [
            pool.submit(one.client.get, path) for path in paths * (AT_ONCE // len(paths))
        ]
        assert {each.result().status_code for each in late} == {503}
        assert time.monotonic() - refused_s < ANSWERED_S
        until(lambda: one.client.get("/readyz").status_code == 503)  # it is asked once a second
        until(lambda: write(two, "meanwhile").is_success)
        assert {each.result().status_code for each in early} == {503}
        assert time.monotonic() - began_s < 20.0  # and not after the time of a call, or later
        net.mend(*one.links.servers)
    until(lambda: write(one, "late").is_success, ANSWERED_S)
    texts = [each["content"] for each in one.client.get(BLOCKS).json()["items"]]
    assert texts.count("Written late.") == texts.count("Written meanwhile.") == 1
    assert one.client.post(f"{SPACE}/verify", json={}).json()["sound"]


@pytest.mark.parametrize("silently", [False, True])
def test_hosts_that_are_cut_off_from_each_other_say_so(
    pair: tuple[HostProcess, HostProcess], net: Network, *, silently: bool
) -> None:
    one, two = pair
    write(one, "alone").raise_for_status()
    leader, other = (one, two) if leads(one) else (two, one)
    assert leader.links is not None
    write(other, "passed on").raise_for_status()  # over a connection that stays open
    net.cut(leader.links.hosts, silently=silently)
    began_s = time.monotonic()
    refused = write(other, "after")
    assert time.monotonic() - began_s < ANSWERED_S  # and not after the time of a call
    assert (refused.status_code, refused.json()["code"]) in {
        (503, "overdue"),
        (503, "led-elsewhere"),
    }
    net.mend(leader.links.hosts)
    assert write(other, "after").is_success
