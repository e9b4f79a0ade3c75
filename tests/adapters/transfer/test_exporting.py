"""export: CloudEvents that hold the log byte for byte, with the vectors in a second file."""

from __future__ import annotations

import json
import sqlite3
from base64 import b64decode
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.stores.logs import chain
from mnemic.adapters.transfer.exports.writer import vectors_path
from mnemic.kernel.errors import (
    FieldRefused,
    LogCorrupt,
    PointOutOfRange,
    SpaceErased,
    StoreFailed,
)
from mnemic.kernel.ports import GENESIS_DIGEST
from tests.adapters.transfer.damage import damage

CORE = frozenset("specversion id source type subject time datacontenttype data data_base64".split())
"""Names that CloudEvents 1.0 knows."""


def read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def events(path: Path) -> list[dict[str, Any]]:
    return [line for line in read(path) if "data_base64" in line]


def test_every_line_is_a_cloud_event(exported: Path) -> None:
    lines = read(exported)
    assert {line["specversion"] for line in lines} == {"1.0"}
    assert {line["source"] for line in lines} == {f"urn:mnemic:{lines[1]['id']}"}
    assert len({line["id"] for line in lines[1:]}) == len(lines) - 1
    extensions = {name for line in lines for name in line} - CORE
    assert extensions == {"digest", "version", "previous", "payloads", "request", "last"}
    assert [line for line in lines if "data" in line and "data_base64" in line] == []


def test_the_chain_can_be_verified_from_the_file_alone(exported: Path, memory: SyncMemory) -> None:
    link = GENESIS_DIGEST
    for version, line in enumerate(events(exported)):
        assert (line["version"], line["previous"]) == (version, link.hex())
        link = chain.digest(link, version, line["type"], b64decode(line["data_base64"]))
        assert line["id"] == link.hex()
    assert link.hex() == memory.verify().head


def test_the_manifest_describes_the_export(exported: Path, memory: SyncMemory) -> None:
    found = memory.verify()
    manifest = read(exported)[0]["data"]
    assert (manifest["space"], manifest["version"]) == ("default", found.events - 1)
    assert (manifest["chain"], manifest["payloads"]) == (found.head, found.payloads)
    assert manifest["vectors_bytes"] == vectors_path(exported).stat().st_size > 0


def test_the_result_describes_what_was_written(memory: SyncMemory, tmp_path: Path) -> None:
    path = tmp_path / "all.ndjson"
    seen: list[tuple[int, int]] = []
    result = memory.export(path, progress=lambda *at: seen.append(at))
    found = memory.verify()
    assert (result.events, result.chain, result.words) == (found.events, found.head, True)
    sizes = [each.stat().st_size for each in (path, vectors_path(path))]
    assert (result.path, result.bytes) == (str(path), sum(sizes))
    assert seen == [(found.events, found.events)]
    assert str(result).startswith(f"Exported {found.events} events of default with ")


def test_vectors_are_in_the_second_file_and_erased_text_in_neither(exported: Path) -> None:
    raw = exported.read_bytes() + vectors_path(exported).read_bytes()
    texts = [
        b64decode(line["data"]["data"]) for line in read(exported)[1:] if "data" in line
        and "data" in line["data"]
    ]  # fmt: skip
    assert any(b"gulls are loud" in text for text in texts)
    assert not any(b"crane needs oil" in text for text in [raw, *texts])


def test_an_export_without_text_holds_none(memory: SyncMemory, tmp_path: Path) -> None:
    path = tmp_path / "bare.ndjson"
    result = memory.export(path, words=False)
    lines = read(path)
    assert (result.payloads, result.vectors_path, result.words) == (0, None, False)
    assert [path.name for path in tmp_path.iterdir()] == ["bare.ndjson"]
    assert [line for line in lines[1:] if "data" in line or "request" in line] == []
    bodies = b"".join(b64decode(line["data_base64"]) for line in lines[1:])
    assert not any(word in bodies for word in (b"harbour", b"Ann", b" gate", b"rota"))


@pytest.mark.parametrize("name", ["log.ndjson", "log.ndjson.vectors"])
def test_files_made_meanwhile_are_not_overwritten(
    memory: SyncMemory, tmp_path: Path, name: str
) -> None:
    def make(_done: int, _total: int) -> None:
        (tmp_path / name).write_text("theirs")

    with pytest.raises(FieldRefused, match="exists"):
        memory.export(tmp_path / "log.ndjson", progress=make)
    assert {file.name: file.read_text() for file in tmp_path.iterdir()} == {name: "theirs"}


def test_nothing_is_overwritten(memory: SyncMemory, exported: Path) -> None:
    before = exported.read_bytes()
    with pytest.raises(FieldRefused, match="exists"):
        memory.export(exported)
    vectors_path(exported).rename(exported.with_name("other.ndjson.vectors"))
    with pytest.raises(FieldRefused, match="exists"):
        memory.export(exported.with_name("other.ndjson"))
    assert exported.read_bytes() == before


@pytest.mark.parametrize("upto", [-1, 10_000])
def test_a_missing_version_is_refused(memory: SyncMemory, tmp_path: Path, upto: int) -> None:
    with pytest.raises(PointOutOfRange):
        memory.export(tmp_path / "x.ndjson", upto=upto)
    with pytest.raises(FieldRefused):
        memory.export(tmp_path / "x.ndjson", upto="all")  # type: ignore[arg-type]
    with pytest.raises(StoreFailed):
        memory.export(tmp_path / "nowhere" / "x.ndjson")
    assert list(tmp_path.iterdir()) == []


def test_a_concurrent_erasure_restarts_the_export(memory: SyncMemory, tmp_path: Path) -> None:
    """What another process erases during the export must not be in the file."""
    path = tmp_path / "log.ndjson"
    last = memory.status().version
    block = memory.blocks().items[0].id
    erasing = iter([block])

    def erase(*_: int) -> None:
        for each in erasing:
            memory.erase(each)

    assert memory.export(path, progress=erase).version == last
    assert read(path)[0]["data"]["erased"] == [block]
    assert not any(b"opens at six" in b64decode(line["data"].get("data", ""))
        for line in read(path)[1:] if "data" in line)  # fmt: skip


def test_an_erased_space_is_exported_only_at_its_present_version(
    memory: SyncMemory, tmp_path: Path
) -> None:
    memory.erase_space("default")
    assert memory.export(tmp_path / "now.ndjson").payloads == 0
    with pytest.raises(SpaceErased):
        memory.export(tmp_path / "then.ndjson", upto=3)
    assert memory.export(tmp_path / "bare.ndjson", upto=3, words=False).version == 3


def test_a_damaged_log_is_exported_up_to_its_damage(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with SyncMemory.open(path) as memory:
        memory.learn("one")
        memory.learn("two")
    damage(path, 3)
    with SyncMemory.open(path, read_only=True) as memory:
        with pytest.raises(LogCorrupt):
            memory.export(tmp_path / "all.ndjson")
        assert memory.export(tmp_path / "sound.ndjson", upto=2).version == 2
    assert not (tmp_path / "all.ndjson").exists()


def test_a_log_with_lost_payloads_is_not_exported(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with SyncMemory.open(path) as memory:
        memory.learn("one")
        memory.learn("two")
    with closing(sqlite3.connect(path)) as rows, rows:
        rows.execute("DELETE FROM payloads WHERE version = 3")
    with SyncMemory.open(path, read_only=True) as memory:
        with pytest.raises(LogCorrupt, match="version 3: a payload is missing") as caught:
            memory.export(tmp_path / "all.ndjson")
        assert caught.value.facts == {"version": 3}
        assert list(tmp_path.glob("*.ndjson*")) == []
        assert memory.export(tmp_path / "sound.ndjson", upto=2).version == 2
        assert memory.export(tmp_path / "bare.ndjson", words=False).version == 3
