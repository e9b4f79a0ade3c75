"""Download and upload of exports."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from mnemic.adapters import inprocess
from mnemic.adapters.client import Memory, ServerUnreachable, SyncMemory
from mnemic.kernel.errors import ExportCorrupt, FieldRefused, SpaceExists, StoreFailed
from tests.adapters.client.serving import Served
from tests.adapters.client.transports import Scripted

TAR = {"content-type": "application/x-tar"}


@pytest.fixture
def filled(memory: SyncMemory) -> SyncMemory:
    memory.learn_many(["angle 0: the gate opens at six", "angle 900: tea"])
    memory.consolidate()
    return memory


def test_an_export_is_that_of_the_process_byte_by_byte(filled: SyncMemory, tmp_path: Path) -> None:
    steps: list[tuple[int, int]] = []
    answer = filled.export(tmp_path / "far.jsonl", progress=lambda *step: steps.append(step))
    with inprocess.SyncMemory.open(tmp_path / "agent.db", read_only=True) as near:
        expected = near.export(tmp_path / "near.jsonl")
    for suffix in ("jsonl", "jsonl.vectors"):
        far, near_by = (tmp_path / f"{name}.{suffix}" for name in ("far", "near"))
        assert far.read_bytes() == near_by.read_bytes()
        assert far.stat().st_mode == near_by.stat().st_mode
    named = {name: each.replace("near", "far") for name, each in _paths(expected).items()}
    assert answer.to_dict() == {**expected.to_dict(), **named}
    assert steps[-1] == (answer.events, answer.events)
    assert _left_over(tmp_path) == []


def _paths(result: object) -> dict[str, str]:
    return {name: getattr(result, name) for name in ("path", "vectors_path")}


def _left_over(folder: Path) -> list[str]:
    return [each.name for each in folder.iterdir() if each.name.startswith(".")]


def test_an_existing_file_is_not_overwritten(filled: SyncMemory, tmp_path: Path) -> None:
    for name in ("a.jsonl", "b.jsonl.vectors"):
        (tmp_path / name).write_text("mine")
    for name in ("a.jsonl", "b.jsonl"):
        with pytest.raises(FieldRefused, match="exists"):
            filled.export(tmp_path / name)
    with pytest.raises(StoreFailed, match="no folder"):
        filled.export(tmp_path / "nowhere" / "a.jsonl")
    assert (tmp_path / "a.jsonl").read_text() == "mine"
    assert _left_over(tmp_path) == []


@pytest.mark.parametrize("body", [b"", b"no archive" * 100, bytes(1024)])
def test_an_invalid_export_leaves_nothing_behind(body: bytes, tmp_path: Path) -> None:
    transport = Scripted((200, TAR, body))
    opened = SyncMemory.open("http://127.0.0.1:1", token="", transport=transport)
    with opened as memory, pytest.raises(ExportCorrupt):
        memory.export(tmp_path / "out.jsonl")
    assert [*tmp_path.iterdir()] == []


def test_an_unanswered_export_leaves_nothing_behind(tmp_path: Path) -> None:
    with socket.socket() as interface:
        interface.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{interface.getsockname()[1]}"
        opened = SyncMemory.open(address, token="", backoff_s=0.0)
        with opened as memory, pytest.raises(ServerUnreachable, match="in 3 tries"):
            memory.export(tmp_path / "out.jsonl")
    assert [*tmp_path.iterdir()] == []


def test_a_memory_is_exported_and_imported(
    filled: SyncMemory, server: Served, tmp_path: Path
) -> None:
    exported = filled.export(tmp_path / "out.jsonl")
    steps: list[tuple[int, int]] = []
    imported = SyncMemory.import_space(
        exported.path, filled, space="ü/copy", progress=lambda *step: steps.append(step)
    )
    assert (imported.space, imported.exported_as) == ("ü/copy", "default")
    assert imported.chain == exported.chain
    assert steps[-1] == (2 * exported.events, 2 * exported.events)
    with SyncMemory.open(server.address, token=server.token(), space="ü/copy") as copy:
        assert copy.verify().head == filled.verify().head
    with pytest.raises(SpaceExists):
        SyncMemory.import_space(exported.path, filled)


def test_a_server_may_be_named_by_its_address(
    filled: SyncMemory, server: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    exported = filled.export(tmp_path / "out.jsonl")
    monkeypatch.setenv("MNEMIC_TOKEN", server.token())
    imported = SyncMemory.import_space(exported.path, server.address, space="copy")
    assert imported.version == exported.version


def test_what_cannot_be_imported_is_refused_before_anything_is_sent(
    filled: SyncMemory, tmp_path: Path
) -> None:
    wordless = filled.export(tmp_path / "out.jsonl", words=False)
    with pytest.raises(FieldRefused, match="without text"):
        SyncMemory.import_space(wordless.path, filled, space="copy")
    with pytest.raises(StoreFailed):
        SyncMemory.import_space(tmp_path / "nothing.jsonl", filled)
    (tmp_path / "forged.jsonl").write_text("{}\n")
    with pytest.raises(ExportCorrupt):
        SyncMemory.import_space(tmp_path / "forged.jsonl", filled)


@pytest.mark.parametrize("own", ["actor", "clock", "entropy"])
def test_arguments_decided_by_the_server_cannot_be_given(filled: SyncMemory, own: str) -> None:
    with pytest.raises(FieldRefused) as refused:
        SyncMemory.import_space("out.jsonl", filled, **{own: "mine"})  # type: ignore[arg-type]
    assert refused.value.facts == {"field": own}


@pytest.mark.anyio
async def test_an_async_memory_is_exported_and_imported(server: Served, tmp_path: Path) -> None:
    async with Memory.open(server.address, token=server.token(), make=True) as memory:
        await memory.learn("the gate opens at six")
        await memory.consolidate()
        exported = await memory.export(tmp_path / "out.jsonl")
        imported = await Memory.import_space(exported.path, memory, space="copy")
    assert (imported.version, imported.chain) == (exported.version, exported.chain)
