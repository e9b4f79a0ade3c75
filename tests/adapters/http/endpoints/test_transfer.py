"""Export and import over HTTP: byte for byte, verified, and without leftovers."""

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
from mnemic.adapters.files.temporary_folders import LOCK, PART
from mnemic.adapters.hosting import Spaces
from mnemic.adapters.http.endpoints.exports import disposition
from mnemic.adapters.http.settings import Settings
from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.stores.memory import MemoryStore
from mnemic.adapters.transfer.exports.archive import Packed, Unpacking
from mnemic.adapters.transfer.exports.reader import Export
from mnemic.kernel.errors import SpaceExists, SpaceNotFound
from tests.adapters.http.live_servers import (
    PATIENCE_S,
    Running,
    events,
    running,
)

TAR = {"content-type": "application/x-tar"}
NAMES = (f"space-{number}" for number in count())
LIMIT = 300_000
T = TypeVar("T")


@pytest.fixture(scope="module")
def temporary_exports(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("spool")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, temporary_exports: Path) -> Generator[Running]:
    settings = Settings(temporary_exports=str(temporary_exports), import_max_bytes=LIMIT)
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


def test_an_exported_and_imported_memory_is_the_same(
    client: httpx.Client, root: httpx.Client
) -> None:
    space = next(NAMES)
    result = bring(root, client.get("export").content, space)
    assert result.status_code == 201
    assert root.get(f"/v1/spaces/{space}/log?limit=100").json() == client.get("log").json()
    verified = root.post(f"/v1/spaces/{space}/verify").json()
    assert (verified["sound"], verified["head"]) == (True, result.json()["chain"])


def test_an_export_has_descriptive_headers(client: httpx.Client) -> None:
    answer = client.get("export")
    version = client.get(".").json()["version"]
    assert answer.headers["content-type"] == "application/x-tar"
    assert answer.headers["content-length"] == str(len(answer.content))
    assert answer.headers["mnemic-version"] == str(version)
    assert f"-{version}.tar" in answer.headers["content-disposition"]
    assert answer.headers["cache-control"] == "no-store"


def test_the_receiver_can_verify_an_export(client: httpx.Client, tmp_path: Path) -> None:
    export = unpacked(client.get("export").content, tmp_path / "in")
    assert len(list(export.entries())) == export.manifest.version + 1


def test_an_export_may_end_earlier_and_leave_out_texts(
    client: httpx.Client, tmp_path: Path
) -> None:
    body = client.get("export", params={"upto": "3", "words": "false"}).content
    manifest = unpacked(body, tmp_path / "in").manifest
    assert (manifest.version, manifest.words) == (3, False)
    assert b"gulls" not in body


@pytest.mark.parametrize("query", ["upto=x", "words=maybe", "path=/etc/passwd", "upto=-5"])
def test_invalid_export_arguments_are_refused(client: httpx.Client, query: str) -> None:
    answer = client.get(f"export?{query}")
    assert answer.status_code in {404, 422}
    assert answer.headers["content-type"] == "application/problem+json"


def test_no_temporary_files_remain(
    client: httpx.Client, root: httpx.Client, temporary_exports: Path
) -> None:
    bring(root, client.get("export").content, next(NAMES)).raise_for_status()
    client.get("export?upto=9999")
    bring(root, b"no archive at all", next(NAMES))
    assert list(temporary_exports.iterdir()) == []


def test_leftovers_of_a_killed_server_are_removed_by_the_next(
    client: httpx.Client, root: httpx.Client, temporary_exports: Path
) -> None:
    left = temporary_exports / f".mnemic-import.left{PART}"
    left.mkdir()
    (left / LOCK).touch()
    (left / "lines").write_text("words")
    bring(root, client.get("export").content, next(NAMES)).raise_for_status()
    assert list(temporary_exports.iterdir()) == []


def test_an_export_is_unlinked_while_it_is_sent(
    client: httpx.Client, temporary_exports: Path
) -> None:
    with client.stream("GET", "export") as answer:
        assert answer.status_code == 200
        assert list(temporary_exports.rglob("*")) == []


def test_an_import_is_private_while_it_arrives(
    client: httpx.Client, root: httpx.Client, temporary_exports: Path
) -> None:
    body, modes = client.get("export").content, list[int]()

    def pieces() -> Generator[bytes]:
        yield body[:1000]
        modes.append(stat.S_IMODE(coming(temporary_exports).stat().st_mode))
        yield body[1000:]

    assert bring(root, pieces(), next(NAMES)).status_code == 201
    assert modes == [0o700]


def soon(ask: Callable[[], T]) -> Generator[T]:
    """Repeat a request until a timeout, while its response is not the expected one."""
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        yield ask()


def coming(temporary_exports: Path) -> Path:
    """Return the folder of an upload, once the server has created it."""
    return next(
        found
        for found in soon(lambda: next(temporary_exports.iterdir(), None))
        if found is not None
    )


def test_an_aborted_import_leaves_neither_files_nor_a_space(
    server: Running, client: httpx.Client, temporary_exports: Path
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
    assert list(temporary_exports.iterdir()) == []


def test_transfers_beyond_the_limit_are_refused(tmp_path: Path) -> None:
    refused: list[httpx.Response] = []
    temporary_exports = tmp_path / "spool"
    temporary_exports.mkdir()
    settings = Settings(temporary_exports=str(temporary_exports), transfers_max=1)
    with running(tmp_path, settings) as server, server.inside("a") as client:

        def pieces() -> Generator[bytes]:
            yield b"no export, but it takes a place"
            coming(temporary_exports)
            refused.append(client.get("export"))

        with server.client() as root:
            assert bring(root, pieces(), "b").status_code == 422
        assert (refused[0].status_code, refused[0].json()["code"]) == (503, "overloaded")
        assert refused[0].headers["retry-after"]
        # The slot is free again after the client has disconnected.
        with client.stream("GET", "export") as answer:
            assert answer.status_code == 200
        assert any(each == 200 for each in soon(lambda: client.get("export").status_code))


def test_an_existing_space_is_not_changed(client: httpx.Client, root: httpx.Client) -> None:
    space = client.base_url.path.rstrip("/").rpartition("/")[2]
    before = client.get("log").json()
    answer = bring(root, client.get("export").content, space)
    assert (answer.status_code, answer.json()["code"]) == (409, "space-exists")
    assert client.get("log").json() == before


def forged(body: bytes) -> bytes:
    """Return an export with one changed byte in the middle of a line."""
    at = body.index(b'"version":3')
    return body[:at] + b'"version":4' + body[at + 11 :]


def test_a_forged_one_is_refused_as_in_the_process_and_makes_no_space(
    client: httpx.Client, root: httpx.Client, temporary_exports: Path
) -> None:
    space = next(NAMES)
    answer = bring(root, forged(client.get("export").content), space)
    problem = answer.json()
    assert (answer.status_code, problem["code"]) == (422, "export-corrupt")
    assert problem["detail"].startswith("export.jsonl: line ")
    assert str(temporary_exports) not in answer.text
    assert root.get(f"/v1/spaces/{space}").status_code == 404


def test_an_export_without_texts_cannot_be_imported(
    client: httpx.Client, root: httpx.Client
) -> None:
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
def test_an_invalid_export_is_refused(
    root: httpx.Client, body: Any, headers: dict[str, str], status: int
) -> None:
    assert bring(root, body, next(NAMES), **headers).status_code == status


def test_an_import_reports_progress(client: httpx.Client, root: httpx.Client) -> None:
    space, body = next(NAMES), client.get("export").content
    answer = bring(root, body, space, accept="text/event-stream")
    *progress, result = events(iter(answer.text.split("\n")))
    assert (result.name, result.data["space"]) == ("result", space)
    assert progress[-1].data["done"] == progress[-1].data["todo"]


@pytest.mark.parametrize("scope", ["read", "write"])
def test_only_an_admin_may_export_or_import(server: Running, scope: str) -> None:
    space = next(NAMES)
    with server.inside(space, scope) as client:
        assert client.get("export").status_code == 403
        assert client.post("import", content=b"", headers=TAR).status_code == 403


def test_an_import_to_an_invisible_space_is_refused(server: Running) -> None:
    with server.client(other="admin") as stranger:
        assert bring(stranger, b"", next(NAMES)).status_code == 404


def test_a_read_only_server_refuses_imports(tmp_path: Path) -> None:
    with SyncMemory.open(tmp_path / "store.db", space="a", embedder=HashEmbedder()) as memory:
        memory.learn("gulls are loud")
    with running(tmp_path, Settings(read_only=True)) as server, server.client() as root:
        carried = root.get("/v1/spaces/a/export")
        assert carried.status_code == 200
        assert bring(root, carried.content, "b").json()["code"] == "view-read-only"


@pytest.mark.parametrize(
    ("space", "expected"),
    [
        ("a", "attachment; filename=\"a-7.tar\"; filename*=UTF-8''a-7.tar"),
        ('a"; x=', "attachment; filename=\"a-x-7.tar\"; filename*=UTF-8''a%22%3B%20x%3D-7.tar"),
        ("../é", "attachment; filename=\"memory-7.tar\"; filename*=UTF-8''..%2F%C3%A9-7.tar"),
    ],
)
def test_the_file_name_is_derived_from_any_space_name(space: str, expected: str) -> None:
    assert disposition(space, 7) == expected


# --- a space during its import --------------------------------------------------------------------


@pytest.mark.anyio
async def test_a_space_is_invisible_until_it_is_complete(tmp_path: Path) -> None:
    path = tmp_path / "export"
    with SyncMemory.open(":memory:", embedder=HashEmbedder()) as memory:
        memory.learn("gulls are loud")
        memory.export(path)
    async with Spaces(MemoryStore(), embedder=HashEmbedder()) as spaces:
        vacancy = await spaces.vacancy("a")
        vacancy.fill(path, actor="ines")
        assert await spaces.names() == ()
        with pytest.raises(SpaceNotFound):
            await spaces.hold("a")
        with pytest.raises(SpaceExists):
            await spaces.vacancy("a")
        with pytest.raises(SpaceExists):
            await spaces.make("a")
        vacancy.release()
        assert await spaces.names() == ("a",)
        (await spaces.hold("a")).release()


def test_an_archive_packed_by_a_client_is_imported(root: httpx.Client, tmp_path: Path) -> None:
    with SyncMemory.open(":memory:", embedder=HashEmbedder()) as memory:
        memory.learn("gulls are loud")
        memory.export(tmp_path / "export")
    with Packed(tmp_path / "export") as archive:
        assert bring(root, iter(archive), next(NAMES)).json()["exported_as"] == "default"
