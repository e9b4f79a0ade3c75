"""What a host does with spaces that were moved to other databases while it has them open."""

from __future__ import annotations

import threading
from collections.abc import Generator
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import anyio
import pytest
from anyio import to_thread

from mnemic.adapters.cluster.moving import move
from mnemic.adapters.cluster.settings import ClusterSettings
from mnemic.adapters.embedders.hashing import HashEmbedder
from mnemic.adapters.hosting import Spaces
from mnemic.adapters.hosting.slots import Slot, close_slot
from mnemic.adapters.http.middleware.security import Caller
from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.mcp.client_sessions import VISIT, ClientSessions, ClientVisit
from mnemic.adapters.stores.leaders import MovedAway
from mnemic.adapters.stores.opening import opened as opened_store
from mnemic.adapters.stores.postgres import PostgresStore
from mnemic.kernel.errors import Closed, FieldRefused, SpaceExists
from tests.adapters.stores.postgres import server as servers

EMBEDDER = HashEmbedder(8)
SETTINGS = ClusterSettings(id="one", url="http://one.example", lease_s=60.0)


@pytest.fixture(scope="module")
def server() -> Generator[str]:
    with servers.SHARED.served() as made:
        yield made


@pytest.fixture
def databases(server: str) -> Generator[list[str]]:
    """Return the addresses of three stores, the first of which has two spaces."""
    with ExitStack() as stack:
        made = [stack.enter_context(servers.schema(server)) for _ in range(3)]
        for space in ("default", "other"):
            with SyncMemory.open(made[0], space=space, embedder=EMBEDDER) as memory:
                memory.learn("The demo is on Thursday.")
        yield made


def opened(address: str) -> Spaces:
    return Spaces(address, cluster=SETTINGS, embedder=EMBEDDER, actor="one")


async def moved(home: str, target: str, space: str = "default") -> None:
    await to_thread.run_sync(move, home, space, target)


async def learn(spaces: Spaces, text: str) -> int:
    """Write as an endpoint does that holds a space, and does not look for it again itself."""
    for attempt in range(2):
        with await spaces.hold("default") as hold:
            try:
                await to_thread.run_sync(hold.memory.learn, text)
            except MovedAway:
                continue
            return attempt
    raise AssertionError("the space was not followed")


def test_whoever_holds_a_space_again_finds_it_wherever_it_was_moved(databases: list[str]) -> None:
    async def run() -> None:
        one, two, three = databases
        async with opened(one) as spaces:
            await learn(spaces, "In the first database.")
            home = spaces.home_of("default")
            assert spaces.is_at(home, "default")
            await moved(one, two)
            assert await learn(spaces, "In the second.") == 1
            assert not spaces.is_at(home, "default")
            await moved(two, three)  # the first database still names the second one
            await learn(spaces, "In the third.")
            await moved(one, one)
            await learn(spaces, "In the first again.")
            assert spaces.is_at(home, "default")
            with await spaces.hold("default") as hold:
                assert len(await to_thread.run_sync(hold.memory.blocks)) == 5

    anyio.run(run)


def test_what_was_open_of_a_moved_space_is_closed(databases: list[str]) -> None:
    async def run() -> None:
        one, two, _ = databases
        async with opened(one) as spaces:
            with await spaces.hold("default") as hold:
                before = hold.memory
            await moved(one, two)
            await learn(spaces, "In the second.")
            with pytest.raises(Closed):
                await to_thread.run_sync(before.blocks)

    anyio.run(run)


def test_spaces_are_given_up_before_the_last_checkpoints_are_written(
    databases: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    led: list[str] = []

    async def closed_slowly(slot: Slot) -> None:
        with closing(PostgresStore(databases[0])) as store:
            led.extend(host.id for host in store.leadership.hosts())
        await close_slot(slot)

    async def run() -> None:
        monkeypatch.setattr("mnemic.adapters.hosting.spaces.close_slot", closed_slowly)
        async with opened(databases[0]) as spaces:
            await learn(spaces, "In the first database.")

    anyio.run(run)
    assert led == []


def test_databases_that_name_each_other_are_refused_with_a_remedy(databases: list[str]) -> None:
    def die(step: str) -> None:
        if step == "moved":
            raise InterruptedError

    async def run() -> None:
        one, two, _ = databases
        await moved(one, two)
        with suppress(InterruptedError):
            move(one, "default", one, step=die)
        async with opened(one) as spaces:
            with pytest.raises(MovedAway, match="mnemic move"):
                await spaces.hold("default")
            await moved(one, one)
            assert await learn(spaces, "In the first again.") == 0

    anyio.run(run)


def test_agents_go_on_in_the_other_database(databases: list[str]) -> None:
    async def run() -> None:
        one, two, _ = databases
        async with opened(one) as spaces, ClientSessions(spaces=spaces).opened() as sessions:
            visit = ClientVisit(caller=Caller(name="ines"), space="default")
            request = SimpleNamespace(scope={VISIT: visit}, headers={})
            client = SimpleNamespace(client_params=None)
            context: Any = SimpleNamespace(request=request, session=client)
            agent = await sessions.session_handle(context)
            await agent.memory.learn("In the first database.")
            assert await sessions.session_handle(context) is agent
            await moved(one, two)
            with pytest.raises(MovedAway):
                await agent.memory.learn("On the way.")
            again = await sessions.session_handle(context)
            await again.memory.learn("In the second.")
            assert len(await again.memory.blocks()) == 3

    anyio.run(run)


def test_a_space_stays_encrypted_and_readable_where_it_is_moved(
    databases: list[str], tmp_path: Path
) -> None:
    async def run() -> None:
        _, one, two = databases
        keys = tmp_path / "keys"
        with opened_store(one, keys=keys) as store:
            SyncMemory.open(store, embedder=EMBEDDER, actor="one").close()
        async with Spaces(
            one, keys=keys, cluster=SETTINGS, embedder=EMBEDDER, actor="one"
        ) as spaces:
            await learn(spaces, "A secret of the first.")
            await moved(one, two)
            await learn(spaces, "A secret of the second.")
            with await spaces.hold("default") as hold:
                blocks = await to_thread.run_sync(hold.memory.blocks)
                assert [each.content for each in blocks.items] == [
                    "A secret of the first.",
                    "A secret of the second.",
                ]
        with closing(PostgresStore(two)) as store:
            kept = b"".join(
                payload.data for _, payloads in store.log("default").read() for payload in payloads
            )
        assert b"secret" not in kept

    anyio.run(run)


def test_a_database_is_opened_once_for_all_that_was_moved_to_it(databases: list[str]) -> None:
    async def run() -> None:
        one, two, _ = databases
        await moved(one, two)
        await moved(one, two, "other")
        async with opened(one) as spaces:

            async def hold(space: str) -> None:
                (await spaces.hold(space)).release()

            async with anyio.create_task_group() as tasks:
                for space in ("default", "other") * 3:
                    tasks.start_soon(hold, space)
            leases = [each for each in threading.enumerate() if each.name == "mnemic-lease"]
            assert len(leases) == 2

    anyio.run(run)


def test_nothing_is_made_where_no_host_would_find_it(databases: list[str]) -> None:
    async def run() -> None:
        one, two, _ = databases
        await moved(one, two)
        async with opened(one) as spaces:
            with pytest.raises(SpaceExists):
                await spaces.vacancy("default")
            with await spaces.hold("default") as hold, pytest.raises(FieldRefused, match="forked"):
                await to_thread.run_sync(hold.memory.fork, "copy")
            with await spaces.hold("other") as hold, pytest.raises(SpaceExists):
                await to_thread.run_sync(hold.memory.fork, "default")
            assert await spaces.names() == ("default", "other")

    anyio.run(run)
