"""An export as one body: a plain tar, deterministic, and verified."""

from __future__ import annotations

import io
import stat
import tarfile
from pathlib import Path

import pytest

from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.transfer.exports.archive import (
    LINES,
    VECTORS,
    Packed,
    Unpacking,
)
from mnemic.adapters.transfer.exports.reader import Export
from mnemic.adapters.transfer.exports.writer import vectors_path
from mnemic.kernel.errors import ExportCorrupt, StoreFailed


def packed(path: Path) -> bytes:
    with Packed(path) as archive:
        return b"".join(archive)


def unpacked(body: bytes, folder: Path, step: int = 1 << 16) -> Path:
    folder.mkdir()
    with Unpacking(folder) as archive:
        for start in range(0, len(body), step):
            archive.feed(body[start : start + step])
        return archive.finish()


def tar(*members: tuple[str, bytes], kind: bytes = tarfile.REGTYPE, form: int = 1) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=form) as made:
        for name, data in members:
            member = tarfile.TarInfo(name)
            member.size, member.type, member.linkname = len(data), kind, "elsewhere"
            made.addfile(member, io.BytesIO(data))
    return out.getvalue()


@pytest.mark.parametrize("step", [1, 511, 512, 513, 1 << 20])
def test_an_archive_is_unpacked_from_pieces_of_any_size(
    exported: Path, tmp_path: Path, step: int
) -> None:
    lines = unpacked(packed(exported), tmp_path / "in", step)
    assert lines.read_bytes() == exported.read_bytes()
    assert vectors_path(lines).read_bytes() == vectors_path(exported).read_bytes()
    assert len(list(Export(lines).entries())) == Export(exported).manifest.version + 1


def test_the_archive_is_deterministic_and_its_size_is_known(exported: Path) -> None:
    with Packed(exported) as archive:
        first, size = b"".join(archive), archive.size
        assert (b"".join(archive), len(first)) == (first, size)


@pytest.mark.parametrize("longer", range(0, 512, 73))
def test_no_piece_is_empty(memory: SyncMemory, tmp_path: Path, longer: int) -> None:
    path = tmp_path / "bare"
    memory.learn("a" * (longer + 1))
    memory.export(path)
    vectors_path(path).write_bytes(bytes(512 + longer))
    with Packed(path) as archive:
        pieces = list(archive)
    assert b"" not in pieces
    assert len(b"".join(pieces)) % 512 == 0


def test_any_tar_program_can_unpack_it(exported: Path) -> None:
    with tarfile.open(fileobj=io.BytesIO(packed(exported))) as found:
        assert found.getnames() == [LINES, VECTORS]
        lines = found.extractfile(LINES)
        assert lines is not None
        assert lines.read() == exported.read_bytes()


def test_an_export_without_text_has_one_file(memory: SyncMemory, tmp_path: Path) -> None:
    path = tmp_path / "bare"
    memory.export(path, words=False)
    lines = unpacked(packed(path), tmp_path / "in")
    assert [each.name for each in lines.parent.iterdir()] == [LINES]


def test_unpacked_files_can_be_read_by_their_owner_alone(exported: Path, tmp_path: Path) -> None:
    lines = unpacked(packed(exported), tmp_path / "in")
    modes = {stat.S_IMODE(each.stat().st_mode) for each in lines.parent.iterdir()}
    assert modes == {0o600}


@pytest.mark.parametrize("form", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_a_handmade_tar_with_any_names_is_unpacked(
    exported: Path, tmp_path: Path, form: int
) -> None:
    body = tar(
        ("mémoire.jsonl", exported.read_bytes()),
        ("mémoire.jsonl.vectors", vectors_path(exported).read_bytes()),
        form=form,
    )
    lines = unpacked(body, tmp_path / "in")
    assert lines.read_bytes() == exported.read_bytes()


@pytest.mark.parametrize("name", ["../escaped", "/etc/escaped", "a/../../b", "..", "C:\\b"])
def test_names_in_an_archive_are_not_used_as_paths(tmp_path: Path, name: str) -> None:
    unpacked(tar((name, b"{}")), tmp_path / "in")
    assert sorted(each.name for each in tmp_path.rglob("*")) == sorted(["in", LINES])


@pytest.mark.parametrize(
    "body",
    [
        tar(("a", b"1"), ("b", b"2")),
        tar(("a.vectors", b"1"), ("b.vectors", b"2")),
        tar(("a", b""), kind=tarfile.SYMTYPE),
        tar(("a", b""), kind=tarfile.LNKTYPE),
        tar(("a", b""), kind=tarfile.DIRTYPE),
        tar(("a", b""), kind=tarfile.FIFOTYPE),
        tar(("a.vectors", b"1")),
        tar(),
        b"PK\x03\x04" + bytes(range(256)) * 4,
        b"",
    ],
    ids="two-lines two-vectors link hard-link folder pipe no-lines nothing zip empty".split(),
)
def test_an_archive_of_something_else_is_refused(tmp_path: Path, body: bytes) -> None:
    with pytest.raises(ExportCorrupt):
        unpacked(body, tmp_path / "in")


@pytest.mark.parametrize("missing", [1024, 1025, 5000])
def test_an_archive_that_is_cut_off_is_refused(
    exported: Path, tmp_path: Path, missing: int
) -> None:
    with pytest.raises(ExportCorrupt, match="cut off"):
        unpacked(packed(exported)[:-missing], tmp_path / "in")


def test_a_negative_size_is_refused(tmp_path: Path) -> None:
    header = bytearray(tar(("a", b"1"))[:512])
    header[124:136] = b"\xff" * 11 + b"\x00"
    header[148:156] = b"        "
    header[148:156] = f"{sum(header):06o}\0 ".encode()
    with pytest.raises(ExportCorrupt, match="no size"):
        unpacked(bytes(header), tmp_path / "in")


def test_only_an_export_can_be_packed(tmp_path: Path) -> None:
    (tmp_path / "list").write_text("milk\n", encoding="utf-8")
    with pytest.raises(ExportCorrupt):
        Packed(tmp_path / "list")
    with pytest.raises(StoreFailed):
        Packed(tmp_path / "nothing")


def test_an_export_without_its_vectors_cannot_be_packed(exported: Path) -> None:
    vectors_path(exported).unlink()
    with pytest.raises(StoreFailed):
        Packed(exported)
