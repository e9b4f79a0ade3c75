"""A client may use its share of a thing, and the rest is for others."""

from __future__ import annotations

import anyio
import pytest

from mnemic.adapters.remote.shares import REST, Client, Lanes, Shares, client_of
from mnemic.adapters.remote.transport_errors import ShareExceeded

ADA = Client("token ada", 2)
BEN = Client("token ben", 2)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.mark.parametrize(
    ("part", "total", "share"), [(2, 4, 2), (2, 5, 3), (2, 1, 1), (8, 4, 1), (8, 144, 18)]
)
def test_a_share_is_a_part_of_the_total_and_at_least_one(part: int, total: int, share: int) -> None:
    assert Client("some", part).share(total) == share


def test_one_client_leaves_the_rest_to_others() -> None:
    shares = Shares(total=4, what="streams")
    for client in (ADA, ADA, BEN, BEN):
        shares.take(client)
    with pytest.raises(ShareExceeded) as caught:
        shares.take(ADA)
    assert (caught.value.status, caught.value.facts) == (429, {"share": 2})
    shares.leave(BEN)
    with pytest.raises(ShareExceeded):
        shares.take(ADA)
    shares.leave(ADA)
    shares.take(ADA)


def test_a_caller_without_a_token_is_not_limited() -> None:
    shares = Shares(total=1, what="streams")
    assert client_of(None) is None
    for _ in range(5):
        shares.take(None)


@pytest.mark.anyio
async def test_calls_beyond_the_running_share_wait_and_further_ones_are_refused() -> None:
    lanes = Lanes(running=2, waiting=2)
    leave = await lanes.enter(ADA)
    entered = anyio.Event()

    async def second() -> None:
        done = await lanes.enter(ADA)
        entered.set()
        done()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(second)
        await anyio.wait_all_tasks_blocked()
        assert not entered.is_set()
        with pytest.raises(ShareExceeded):
            await lanes.enter(ADA)
        (await lanes.enter(BEN))()
        leave()
        await entered.wait()
    (await lanes.enter(ADA))()


@pytest.mark.anyio
async def test_the_place_of_a_zone_rests_after_each_call() -> None:
    lanes, zone = Lanes(running=1, waiting=1), Client("zone untrusted", 2, rests=True)
    for client, most_s, least_s in ((ADA, 0.05, 0.0), (zone, 10.0, REST * 0.05)):
        leave = await lanes.enter(client)
        await anyio.sleep(0.05)
        leave()
        begun_s = anyio.current_time()
        (await lanes.enter(client))()
        assert least_s <= anyio.current_time() - begun_s < most_s


@pytest.mark.anyio
async def test_a_call_that_is_cancelled_while_it_waits_gives_its_place_back() -> None:
    lanes = Lanes(running=2, waiting=0)
    leave = await lanes.enter(Client("zone untrusted", 8))
    for _ in range(3):
        with anyio.move_on_after(0.01):
            with pytest.raises(ShareExceeded):
                await lanes.enter(Client("zone untrusted", 8))
    leave()
    (await lanes.enter(Client("zone untrusted", 8)))()
