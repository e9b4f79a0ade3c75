"""No client of a server excludes the others: each has a share, and silent connections make room."""

from __future__ import annotations

import socket
from contextlib import ExitStack, suppress
from pathlib import Path

import httpx
import pytest

from mnemic.adapters.http.endpoints.temporary_exports import ExportRoom
from mnemic.adapters.http.settings import Settings
from mnemic.adapters.remote.shares import Client
from mnemic.adapters.remote.transport_errors import ShareExceeded
from tests.adapters.http.live_servers import PATIENCE_S, Running, running

BLOCKS = "/v1/spaces/notes/blocks"


def made(it: Running) -> None:
    with it.client() as admin:
        admin.put("/v1/spaces/notes").raise_for_status()


def silent(it: Running) -> socket.socket:
    port = int(it.url.rpartition(":")[2])
    return socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S)


def untrusted(it: Running, name: str = "mailbox") -> httpx.Client:
    _, secret = it.keyring.create(name, {"notes": "write"}, zone="untrusted")
    return it.anonymous(authorization=f"Bearer {secret}")


def refused(answer: httpx.Response, code: str) -> None:
    assert (answer.status_code, answer.json()["code"]) == (429, code)
    assert answer.headers["retry-after"] == "1"


def test_silent_connections_make_room_for_others(tmp_path: Path) -> None:
    with running(tmp_path, Settings(connections_max=8)) as it, ExitStack() as stack:
        held = [stack.enter_context(silent(it)) for _ in range(30)]
        with it.client() as client:
            assert client.get("/v1/spaces").status_code == 200
        with suppress(ConnectionResetError):
            assert held[0].recv(1) == b""  # the longest silent one was cut off


def test_a_connection_in_use_is_kept_while_silent_ones_are_cut(tmp_path: Path) -> None:
    with running(tmp_path, Settings(connections_max=8, heartbeat_s=0.05)) as it:
        made(it)
        with it.client() as client, ExitStack() as stack:
            stream = stack.enter_context(client.stream("GET", "/v1/spaces/notes/events"))
            pieces = stream.iter_raw()
            next(pieces)
            for _ in range(30):
                stack.enter_context(silent(it))
            for _ in range(5):
                assert next(pieces)


def test_a_part_of_a_head_does_not_make_a_connection_busy(tmp_path: Path) -> None:
    with running(tmp_path, Settings(connections_max=8)) as it, ExitStack() as stack:
        for _ in range(30):
            stack.enter_context(silent(it)).sendall(b"GET /healthz HTTP/1.1\r\nx: ")
        with it.client() as client:
            assert client.get("/v1/spaces").status_code == 200


def test_one_token_has_its_share_of_the_streams(tmp_path: Path) -> None:
    with running(tmp_path, Settings(streams_max=2)) as it:
        made(it)
        path = "/v1/spaces/notes/events"
        with it.client() as ada, it.client() as ben, ada.stream("GET", path) as first:
            assert first.status_code == 200
            refused(ada.get(path), "share-exceeded")
            with ben.stream("GET", path) as other:
                assert other.status_code == 200


def test_one_token_has_its_share_of_the_requests(tmp_path: Path) -> None:
    with running(tmp_path, Settings(threads=2, waiting_max=0)) as it, ExitStack() as stack:
        made(it)
        ada, ben = (stack.enter_context(it.client()) for _ in range(2))
        slow = stack.enter_context(silent(it))
        bearer = ada.headers["authorization"]
        head = f"POST {BLOCKS} HTTP/1.1\r\nhost: x\r\nauthorization: {bearer}\r\n"
        body = b"content-type: application/json\r\ncontent-length: 100\r\n\r\n{"
        slow.sendall(head.encode() + body)
        answer = ada.get("/v1/spaces")
        for _ in range(200):  # until the server has seen the head
            answer = ada.post(BLOCKS, json={"content": "more"})
            if answer.status_code != 201:
                break
        refused(answer, "share-exceeded")
        assert ben.post(BLOCKS, json={"content": "others go on"}).status_code == 201


def test_the_tokens_of_a_zone_share_one_part(tmp_path: Path) -> None:
    with running(tmp_path, Settings(streams_max=8)) as it:
        made(it)
        path = "/v1/spaces/notes/events"
        with (
            untrusted(it) as one,
            untrusted(it, "crawler") as two,
            one.stream("GET", path) as first,
        ):
            assert first.status_code == 200
            refused(two.get(path), "share-exceeded")


def test_a_full_inbox_is_told_to_an_untrusted_writer(tmp_path: Path) -> None:
    with running(tmp_path) as it:
        made(it)
        with untrusted(it) as mailbox:
            batch = [{"content": f"flood {n}"} for n in range(256)]
            answer = mailbox.post(f"{BLOCKS}/batch", json={"lessons": batch})
            assert answer.is_success, answer.text
            refused(mailbox.post(BLOCKS, json={"content": "one more"}), "inbox-full")


def test_one_client_has_its_share_of_the_transfers() -> None:
    room, ada, ben = ExportRoom(4), Client("token ada", 2), Client("token ben", 2)
    room.take(ada)
    room.take(ada)
    with pytest.raises(ShareExceeded):
        room.take(ada)
    room.take(ben)
    room.leave(ada)
    room.take(ada)
    assert room.taken == 3
