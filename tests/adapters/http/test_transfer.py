"""A memory carried over the wire: byte for byte, checked, and nothing left on the way."""

from __future__ import annotations

import stat
import time
from collections.abc import Callable, Generator
from itertools import count
from pathlib import Path
from typing import Any, TypeVar

import httpx
import pytest

from mnemic.adapters.embedders.hashing import HashEmbedder
from mnemic.adapters.exchange.archive import Packed, Unpacking
from mnemic.adapters.exchange.asides import LOCK, PART
from mnemic.adapters.exchange.reading import Export
from mnemic.adapters.hosting import Spaces
from mnemic.adapters.http.departures import disposition
from mnemic.adapters.http.settings import Settings
from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.stores.memory import MemoryStore
from mnemic.kernel.errors import PointOutOfRange, SpaceExists
from tests.adapters.http.running import PATIENCE_S, Running, events, running

TAR = {"content-type": "application/x-tar"}
NAMES = (f"space-{number}" for number in count())
LIMIT = 300_000
T = TypeVar("T")


@pytest.fixture(scope="module")
def spool(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("spool")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, spool: Path) -> Generator[Running]:
    settings = Settings(spool=str(spool), import_max_bytes=LIMIT)
    with running(tmp_path_factory.mktemp("transfer"), settings) as found:
        yield found


@pytest.fixture
def root(server: Running) -> Generator[httpx.Client]:
    with server.client() as found:
        yield found


@pytest.fixture
def client(server: Running) -> Generator[httpx.Client]:
    with server.inside(next(NAMES)) as found:
        lessons = [f"fact {number} about gulls" for number in range(20)]
        found.post("blocks/batch", json={"lessons": lessons}).raise_for_status()
        found.post("consolidate").raise_for_status()
        yield found


def bring(root: httpx.Client, body: Any, space: str, **headers: str) -> httpx.Response:
    return root.post(f"/v1/spaces/{space}/import", content=body, headers={**TAR, **headers})


def unpacked(body: bytes, folder: Path) -> Export:
    folder.mkdir()
    with Unpacking(folder) as archive:
        archive.feed(body)
        return Export(archive.finish())


def test_a_memory_that_is_carried_away_and_brought_back_is_the_same(
    client: httpx.Client, root: httpx.Client
) -> None:
    space = next(NAMES)
    result = bring(root, client.get("export").content, space)
    assert result.status_code == 201
    assert root.get(f"/v1/spaces/{space}/log?limit=100").json() == client.get("log").json()
    verified = root.post(f"/v1/spaces/{space}/verify").json()
    assert (verified["sound"], verified["head"]) == (True, result.json()["chain"])


def test_an_export_says_what_it_is(client: httpx.Client) -> None:
    answer = client.get("export")
    version = client.get(".").json()["version"]
    assert answer.headers["content-type"] == "application/x-tar"
    assert answer.headers["content-length"] == str(len(answer.content))
    assert answer.headers["mnemic-version"] == str(version)
    assert f"-{version}.tar" in answer.headers["content-disposition"]
    assert answer.headers["cache-control"] == "no-store"


def test_whoever_receives_it_can_check_it(client: httpx.Client, tmp_path: Path) -> None:
    export = unpacked(client.get("export").content, tmp_path / "in")
    assert len(list(export.entries())) == export.manifest.version + 1


def test_an_export_may_end_earlier_and_leave_out_the_words(
    client: httpx.Client, tmp_path: Path
) -> None:
    body = client.get("export", params={"upto": "3", "words": "false"}).content
    manifest = unpacked(body, tmp_path / "in").manifest
    assert (manifest.version, manifest.words) == (3, False)
    assert b"gulls" not in body


@pytest.mark.parametrize("query", ["upto=x", "words=maybe", "path=/etc/passwd", "upto=-5"])
def test_an_export_that_makes_no_sense_is_refused(client: httpx.Client, query: str) -> None:
    answer = client.get(f"export?{query}")
    assert answer.status_code in {404, 422}
    assert answer.headers["content-type"] == "application/problem+json"


def test_nothing_is_left_on_the_way(client: httpx.Client, root: httpx.Client, spool: Path) -> None:
    bring(root, client.get("export").content, next(NAMES)).raise_for_status()
    client.get("export?upto=9999")
    bring(root, b"no archive at all", next(NAMES))
    assert list(spool.iterdir()) == []


def test_what_a_killed_server_left_goes_with_the_next_one(
    client: httpx.Client, root: httpx.Client, spool: Path
) -> None:
    left = spool / f".mnemic-import.left{PART}"
    left.mkdir()
    (left / LOCK).touch()
    (left / "lines").write_text("words")
    bring(root, client.get("export").content, next(NAMES)).raise_for_status()
    assert list(spool.iterdir()) == []


def test_while_it_is_sent_no_file_of_it_has_a_name(client: httpx.Client, spool: Path) -> None:
    with client.stream("GET", "export") as answer:
        assert answer.status_code == 200
        assert list(spool.rglob("*")) == []


def test_while_it_comes_only_its_owner_may_read_it(
    client: httpx.Client, root: httpx.Client, spool: Path
) -> None:
    body, modes = client.get("export").content, list[int]()

    def pieces() -> Generator[bytes]:
        yield body[:1000]
        modes.append(stat.S_IMODE(coming(spool).stat().st_mode))
        yield body[1000:]

    assert bring(root, pieces(), next(NAMES)).status_code == 201
    assert modes == [0o700]


def soon(ask: Callable[[], T]) -> Generator[T]:
    """Ask again and again, for as long as it may take until the answer is another."""
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        yield ask()


def coming(spool: Path) -> Path:
    """Return the folder of what comes in, once the server has seen that something does."""
    return next(found for found in soon(lambda: next(spool.iterdir(), None)) if found is not None)


def test_a_sender_who_goes_away_leaves_neither_files_nor_a_space(
    server: Running, client: httpx.Client, spool: Path
) -> None:
    body, space = client.get("export").content, next(NAMES)

    def half() -> Generator[bytes]:
        yield body[: len(body) // 2]
        raise KeyboardInterrupt

    with server.client() as leaving, pytest.raises(KeyboardInterrupt):
        bring(leaving, half(), space)
    with server.client() as root:
        answers = soon(lambda: bring(root, body, space).status_code)
        assert next(each for each in answers if each not in {409, 503}) == 201
    assert list(spool.iterdir()) == []


def test_more_than_may_be_under_way_come_again(tmp_path: Path) -> None:
    refused: list[httpx.Response] = []
    spool = tmp_path / "spool"
    spool.mkdir()
    settings = Settings(spool=str(spool), transfers_max=1)
    with running(tmp_path, settings) as server, server.inside("a") as client:

        def pieces() -> Generator[bytes]:
            yield b"no export, but it takes a place"
            coming(spool)
            refused.append(client.get("export"))

        with server.client() as root:
            assert bring(root, pieces(), "b").status_code == 422
        assert (refused[0].status_code, refused[0].json()["code"]) == (503, "overloaded")
        assert refused[0].headers["retry-after"]
        # The place is free again, though whoever took it goes away in the middle.
        with client.stream("GET", "export") as answer:
            assert answer.status_code == 200
        assert any(each == 200 for each in soon(lambda: client.get("export").status_code))


def test_a_space_that_is_there_is_not_touched(client: httpx.Client, root: httpx.Client) -> None:
    space = client.base_url.path.rstrip("/").rpartition("/")[2]
    before = client.get("log").json()
    answer = bring(root, client.get("export").content, space)
    assert (answer.status_code, answer.json()["code"]) == (409, "space-exists")
    assert client.get("log").json() == before


def forged(body: bytes) -> bytes:
    """Return an export of which one byte is another, in the middle of a line."""
    at = body.index(b'"version":3')
    return body[:at] + b'"version":4' + body[at + 11 :]


def test_a_forged_one_is_refused_as_in_the_process_and_makes_no_space(
    client: httpx.Client, root: httpx.Client, spool: Path
) -> None:
    space = next(NAMES)
    answer = bring(root, forged(client.get("export").content), space)
    told = answer.json()
    assert (answer.status_code, told["code"]) == (422, "export-corrupt")
    assert told["detail"].startswith("export.jsonl: line ")
    assert str(spool) not in answer.text
    assert root.get(f"/v1/spaces/{space}").status_code == 404


def test_one_without_words_makes_no_memory(client: httpx.Client, root: httpx.Client) -> None:
    answer = bring(root, client.get("export?words=false").content, next(NAMES))
    assert (answer.status_code, answer.json()["code"]) == (422, "field-refused")


@pytest.mark.parametrize(
    ("body", "headers", "status"),
    [
        (b"{}", {"content-type": "application/json"}, 415),
        (b"", {"content-type": ""}, 415),
        (b"x", {"content-encoding": "gzip"}, 415),
        (b"", {}, 422),
        (b"no archive" * 1000, {}, 422),
        (bytes(LIMIT + 1), {}, 413),
        (iter([bytes(LIMIT), b"x"]), {}, 413),
    ],
    ids="json untyped packed empty nonsense long long-unannounced".split(),
)
def test_a_body_that_is_no_export_is_refused(
    root: httpx.Client, body: Any, headers: dict[str, str], status: int
) -> None:
    assert bring(root, body, next(NAMES), **headers).status_code == status


def test_an_import_says_how_far_it_is(client: httpx.Client, root: httpx.Client) -> None:
    space, body = next(NAMES), client.get("export").content
    answer = bring(root, body, space, accept="text/event-stream")
    *progress, result = events(iter(answer.text.split("\n")))
    assert (result.name, result.data["space"]) == ("result", space)
    assert progress[-1].data["done"] == progress[-1].data["todo"]


@pytest.mark.parametrize("scope", ["read", "write"])
def test_only_an_admin_may_carry_a_memory_away_or_bring_one(server: Running, scope: str) -> None:
    space = next(NAMES)
    with server.inside(space, scope) as client:
        assert client.get("export").status_code == 403
        assert client.post("import", content=b"", headers=TAR).status_code == 403


def test_whoever_may_not_see_a_space_may_not_bring_it_either(server: Running) -> None:
    with server.client(other="admin") as stranger:
        assert bring(stranger, b"", next(NAMES)).status_code == 404


def test_a_server_that_only_reads_takes_no_memory(tmp_path: Path) -> None:
    with SyncMemory.open(tmp_path / "store.db", space="a", embedder=HashEmbedder()) as memory:
        memory.learn("gulls are loud")
    with running(tmp_path, Settings(read_only=True)) as server, server.client() as root:
        carried = root.get("/v1/spaces/a/export")
        assert carried.status_code == 200
        assert bring(root, carried.content, "b").json()["code"] == "view-read-only"


@pytest.mark.parametrize(
    ("space", "told"),
    [
        ("a", "attachment; filename=\"a-7.tar\"; filename*=UTF-8''a-7.tar"),
        ('a"; x=', "attachment; filename=\"a-x-7.tar\"; filename*=UTF-8''a%22%3B%20x%3D-7.tar"),
        ("../é", "attachment; filename=\"memory-7.tar\"; filename*=UTF-8''..%2F%C3%A9-7.tar"),
    ],
)
def test_a_file_is_named_after_its_space_whatever_that_is_called(space: str, told: str) -> None:
    assert disposition(space, 7) == told


# --- a space that is on its way -------------------------------------------------------------------


@pytest.mark.anyio
async def test_nobody_sees_a_space_before_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "export"
    with SyncMemory.open(":memory:", embedder=HashEmbedder()) as memory:
        memory.learn("gulls are loud")
        memory.export(path)
    async with Spaces(MemoryStore(), embedder=HashEmbedder()) as spaces:
        vacancy = await spaces.vacancy("a")
        vacancy.fill(path, actor="ines")
        assert await spaces.names() == ()
        with pytest.raises(PointOutOfRange):
            await spaces.hold("a")
        with pytest.raises(SpaceExists):
            await spaces.vacancy("a")
        with pytest.raises(SpaceExists):
            await spaces.make("a")
        vacancy.release()
        assert await spaces.names() == ("a",)
        (await spaces.hold("a")).release()


def test_what_was_packed_elsewhere_is_taken(root: httpx.Client, tmp_path: Path) -> None:
    with SyncMemory.open(":memory:", embedder=HashEmbedder()) as memory:
        memory.learn("gulls are loud")
        memory.export(tmp_path / "export")
    with Packed(tmp_path / "export") as archive:
        assert bring(root, iter(archive), next(NAMES)).json()["exported_as"] == "default"
