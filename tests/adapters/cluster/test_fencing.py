"""Epochs: a host that was replaced writes nothing, however late it notices."""

from __future__ import annotations

import threading
import time
from collections.abc import Generator
from contextlib import ExitStack, closing

import pytest

from mnemic.adapters.cluster.host import ClusterHost, give_up
from mnemic.adapters.cluster.settings import ClusterSettings
from mnemic.adapters.embedders.hashing import HashEmbedder
from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.stores.leaders import LedElsewhere
from mnemic.adapters.stores.postgres import PostgresStore
from mnemic.kernel.errors import SpaceNotFound
from tests.adapters.stores.postgres import server as servers

LEASE_S = 0.5
EMBEDDER = HashEmbedder(8)


@pytest.fixture(scope="module")
def server() -> Generator[str]:
    with servers.SHARED.served() as made:
        yield made


@pytest.fixture
def address(server: str) -> Generator[str]:
    with servers.schema(server) as made:
        with SyncMemory.open(made, embedder=EMBEDDER) as memory:
            memory.learn("The demo is on Thursday.")
        yield made


class Host:
    """One host, as a process has it: a store, its part in the cluster, and a memory."""

    def __init__(
        self, address: str, name: str, lease_s: float = 60.0, *, is_shared: bool = False
    ) -> None:
        self.store = PostgresStore(address)
        self.part = ClusterHost(
            self.store,
            ClusterSettings(
                id=name, url=f"http://{name}.example", lease_s=lease_s, is_shared=is_shared
            ),
        )
        self.memory = SyncMemory.open(self.store, embedder=EMBEDDER, actor=name)

    def freeze(self) -> None:
        """Renew the lease no more, as a process that is stopped; what it remembers stays."""
        self.part._stopping.set()  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]
        self.part._is_wanted.set()  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]
        self.part._renewing.join()  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]
        self.part._until_s = float("inf")  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]

    def close(self) -> None:
        self.memory.close()
        self.part.close()
        self.store.close()


def test_the_first_to_write_leads_and_the_others_learn_where(address: str) -> None:
    with closing(Host(address, "one")) as one, closing(Host(address, "two")) as two:
        assert not one.part.leads("default")
        one.memory.learn("Ines leads it.")
        assert one.part.leads("default")
        with pytest.raises(LedElsewhere) as caught:
            two.memory.learn("Jonas leads it.")
        assert caught.value.facts["url"] == "http://one.example"
        assert {block.content for block in two.memory.blocks()} == {
            "The demo is on Thursday.",
            "Ines leads it.",
        }


def test_a_host_that_ends_hands_its_spaces_over_at_once(address: str) -> None:
    with closing(Host(address, "two")) as two:
        with closing(Host(address, "one")) as one:
            one.memory.learn("Ines leads it.")
        two.memory.learn("Jonas leads it.")
        assert two.part.leads("default")


def test_the_lease_of_workers_lasts_until_all_have_ended(address: str) -> None:
    with closing(Host(address, "one", is_shared=True)) as left:
        with closing(Host(address, "one", is_shared=True)) as first:
            first.memory.learn("One worker leads it.")
            left.memory.learn("And so do all.")
            assert first.part.epoch_of("default") == left.part.epoch_of("default")
        with closing(Host(address, "two")) as two:
            with pytest.raises(LedElsewhere):
                two.memory.learn("Jonas leads it.")
            left.memory.learn("The first worker has ended.")
            give_up(address, left.part.settings)
            two.memory.learn("Jonas leads it.")


def test_a_replaced_host_writes_nothing_when_it_wakes(address: str) -> None:
    with ExitStack() as stack:
        one = stack.enter_context(closing(Host(address, "one", LEASE_S)))
        one.memory.learn("Ines leads it.")
        one.freeze()
        time.sleep(1.2 * LEASE_S)
        two = stack.enter_context(closing(Host(address, "two")))
        assert two.part.leader("default").host == "two"  # nothing is written yet: the head is
        before = two.memory.status().version  # where the first one saw it
        with pytest.raises(LedElsewhere):
            one.memory.learn("Too late.")
        assert two.memory.status().version == before
        two.memory.learn("Jonas leads it.")
        assert two.memory.verify().sound


def test_many_hosts_at_once_begin_epochs_one_by_one(address: str) -> None:
    """No two hosts lead in one epoch, whatever the order in which they ask."""
    with closing(PostgresStore(address)) as store:
        store.leadership.enable()
        led: list[tuple[int, str]] = []

        def compete(name: str) -> None:
            with closing(PostgresStore(address)) as other:
                own = other.leadership
                for _ in range(15):
                    own.renew(name, f"http://{name}.example", 0.005)
                    own.take("default", name)
                    leader = own.leader("default")
                    assert leader is not None
                    led.append((leader.epoch, leader.host))

        threads = [threading.Thread(target=compete, args=(f"host {each}",)) for each in range(4)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        leaders = dict(led)
        assert len(led) == 60
        assert len(set(leaders.values())) > 1
        assert all(leaders[epoch] == host for epoch, host in led)


def test_a_store_without_a_cluster_is_not_changed(address: str) -> None:
    with closing(PostgresStore(address)) as store:
        assert not store.leadership.is_enabled()
        store.leadership.enable()
        store.leadership.enable()
        assert store.leadership.is_enabled()
    with SyncMemory.open(address, embedder=EMBEDDER) as memory:  # no host: it writes as before
        memory.learn("Anyone may write.")


def test_what_is_not_there_has_no_leader(address: str) -> None:
    with closing(Host(address, "one")) as one, pytest.raises(SpaceNotFound):
        one.part.leader("nothing")


def test_a_host_that_stops_in_the_middle_of_a_command_does_not_hold_up_the_next(
    address: str,
) -> None:
    """The database keeps the write lock of a stopped process for as long as it is stopped."""
    with ExitStack() as stack:
        one = stack.enter_context(closing(Host(address, "one", LEASE_S)))
        one.memory.learn("Ines leads it.")
        one.freeze()
        stack.enter_context(one.store.log("default").write_lock())
        time.sleep(1.2 * LEASE_S)
        two = stack.enter_context(closing(Host(address, "two")))
        writer = threading.Thread(target=two.memory.learn, args=("Jonas leads it.",), daemon=True)
        writer.start()
        writer.join(timeout=5)
        assert not writer.is_alive()
