"""Subscriptions to the log, over connections that break."""

from __future__ import annotations

from contextlib import closing
from itertools import islice

import httpx
import pytest
from anyio import create_task_group
from attrs import evolve
from httpx_sse import ServerSentEvent

from mnemic.adapters.client import Memory, ServerUnreachable, SyncMemory
from mnemic.adapters.client.answers import Answer, Silence
from mnemic.adapters.client.server import Server
from mnemic.adapters.client.subscription import FRUITLESS_MAX, EventSubscription
from mnemic.kernel.errors import FieldRefused, Unauthenticated
from tests.adapters.client.serving import Served

SERVER = Server(address="http://127.0.0.1:1", token="", backoff_s=0.5)
DATA = '{{"version": {}, "hour": 0.0, "recorded_at": "x", "kind": "block-learned"}}'
CUT = Silence(complaint="x")


def test_past_and_new_events_are_delivered(memory: SyncMemory) -> None:
    memory.learn("the gate opens at six")
    with closing(memory.events()) as events:
        past = [*islice(events, 3)]
        assert past == [*memory.log()]
        memory.learn("the crane needs oil")
        assert next(events) == memory.log(after=2)[0]


def test_events_begin_after_a_version(memory: SyncMemory) -> None:
    memory.learn_many(["one", "two", "three"])
    with closing(memory.events(after=2)) as events:
        assert [each.version for each in islice(events, 2)] == [3, 4]


@pytest.mark.anyio
async def test_an_async_subscriber_receives_what_another_client_writes(server: Served) -> None:
    token = server.token()
    heard: list[str] = []
    async with Memory.open(server.address, token=token, make=True) as memory:

        async def write() -> None:
            await memory.learn("the gate opens at six")

        async with create_task_group() as group:
            events = memory.events(after=1)
            group.start_soon(write)
            async for moment in events:
                heard.append(moment.kind)
                break
            await events.aclose()
    assert heard == ["block-learned"]


class Breaking(httpx.BaseTransport):
    """A network that breaks a stream after so many bytes, the first few times."""

    def __init__(self, *cuts: int) -> None:
        self.resumed: list[str | None] = []
        self._cuts = [*cuts]
        self._behind = httpx.HTTPTransport()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        response = self._behind.handle_request(request)
        if not request.url.path.endswith("/events"):
            return response
        self.resumed.append(request.headers.get("Last-Event-ID"))
        if self._cuts:
            response.stream = _Cut(response.stream, self._cuts.pop(0))
        return response

    def close(self) -> None:
        self._behind.close()


class _Cut(httpx.SyncByteStream):
    def __init__(self, stream: object, left: int) -> None:
        assert isinstance(stream, httpx.SyncByteStream)
        self._stream = stream
        self._left = left

    def __iter__(self):  # type: ignore[no-untyped-def]  # noqa: ANN204 - of httpx
        for piece in self._stream:
            yield piece[: self._left]
            self._left -= len(piece)
            if self._left <= 0:
                raise httpx.ReadError("the stream broke")

    def close(self) -> None:
        self._stream.close()


def test_a_broken_stream_is_continued_where_it_broke(server: Served) -> None:
    token, network = server.token(), Breaking(1, 300, 700)
    opened = SyncMemory.open(
        server.address, token=token, make=True, transport=network, backoff_s=0.0
    )
    with opened as memory:
        memory.learn_many([f"lesson {number}" for number in range(8)])
        with closing(memory.events()) as events:
            versions = [each.version for each in islice(events, 10)]
    assert versions == [*range(10)]
    assert len(network.resumed) == 4
    assert network.resumed[0] is None


def test_a_subscriber_without_permission_gets_an_error(server: Served) -> None:
    token = server.token("guest", {"default": "admin"})
    opened = SyncMemory.open(server.address, token=token, make=True)
    with opened as memory, closing(memory.events(after=0)) as events:
        assert next(events).version == 1
        server.keyring.revoke(token.split("_")[1])
        with pytest.raises(Unauthenticated):
            next(events)


def test_a_repeated_version_is_delivered_once() -> None:
    following = EventSubscription(SERVER, "default", -1)
    events = [ServerSentEvent(data=DATA.format(version)) for version in (0, 1, 1, 0, 2)]
    entries = [following.take(event) for event in events]
    assert [entry and entry.version for entry in entries] == [0, 1, None, None, 2]
    assert following.request().headers["Last-Event-ID"] == "2"


def test_a_subscriber_retries_for_about_a_minute_since_the_last_stream() -> None:
    following = EventSubscription(SERVER, "default", -1)
    pauses = [following.pause_s(CUT) for _ in range(FRUITLESS_MAX - 1)]
    assert pauses == [0.5, 1.0, 2.0, 4.0, 8.0, 10.0, 10.0, 10.0, 10.0]
    following.begun()
    assert following.pause_s(CUT) == 0.5
    with pytest.raises(ServerUnreachable):
        [following.pause_s(CUT) for _ in range(FRUITLESS_MAX)]


def test_a_subscriber_reconnects_after_the_delay_of_the_server() -> None:
    following = EventSubscription(evolve(SERVER, backoff_s=5.0), "default", -1)
    assert following.take(ServerSentEvent(retry=1000)) is None
    assert [following.pause_s(CUT), following.pause_s(CUT)] == [1.0, 10.0]


def test_a_refusal_ends_a_subscription_at_once() -> None:
    following = EventSubscription(SERVER, "default", -1)
    refusal = Answer(
        status=422,
        headers={"content-type": "application/problem+json"},
        body=b'{"code": "field-refused", "detail": "no", "recovery": "x"}',
    )
    with pytest.raises(FieldRefused):
        following.pause_s(refusal)


@pytest.mark.parametrize("after", [-2, "1", 1.0, True, None])
def test_an_invalid_version_is_refused_before_anything_is_sent(
    memory: SyncMemory, after: int
) -> None:
    with pytest.raises(FieldRefused) as refused:
        memory.events(after=after)
    assert refused.value.facts == {"field": "after"}
