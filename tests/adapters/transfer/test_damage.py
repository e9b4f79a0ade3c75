"""A damaged export is refused, and the refusal says where."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import orjson
import pytest
from attrs import evolve

from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.transfer.exports.manifest import read
from mnemic.adapters.transfer.exports.reader import Export
from mnemic.adapters.transfer.exports.writer import vectors_path
from mnemic.kernel.errors import ExportCorrupt

Lines = list[bytes]
Harm = Callable[[Lines, int], Lines]

HARMS: dict[str, Harm] = {
    "removed": lambda lines, at: lines[:at] + lines[at + 1 :],
    "doubled": lambda lines, at: [*lines[: at + 1], *lines[at:]],
    "swapped": lambda lines, at: [*lines[:at], lines[at + 1], lines[at], *lines[at + 2 :]],
    "cut": lambda lines, at: [*lines[:at], lines[at][: len(lines[at]) // 2]],
    "emptied": lambda lines, at: [*lines[:at], b"\n", *lines[at + 1 :]],
    "spaced": lambda lines, at: [*lines[:at], lines[at].replace(b":", b": ", 1), *lines[at + 1 :]],
    "no text": lambda lines, at: [*lines[:at], b"\xff\xfe\n", *lines[at + 1 :]],
    "a number": lambda lines, at: [*lines[:at], b"17\n", *lines[at + 1 :]],
}


def refusal(path: Path) -> ExportCorrupt:
    """Read a damaged export, and return the refusal."""
    with pytest.raises(ExportCorrupt) as caught:
        for _ in Export(path).entries():
            pass
    return caught.value


@pytest.mark.parametrize("harm", HARMS)
def test_damage_to_any_line_is_located(exported: Path, harm: str) -> None:
    lines = exported.read_bytes().splitlines(keepends=True)
    found: list[Any] = []
    wanted: list[int] = []
    for at in range(len(lines) - (harm == "swapped")):
        exported.write_bytes(b"".join(HARMS[harm](lines, at)))
        found.append(refusal(exported).facts["line"])
        wanted.append(at + 1 + (harm == "doubled"))
    late = {at - line for at, line in zip(found, wanted, strict=True)}
    assert late <= {0, 1}, "the first of several payloads is missed when the second comes"


@pytest.mark.extended
def test_any_changed_byte_of_any_line_is_detected(exported: Path) -> None:
    """Except for the spaces that pad the first line: they have no meaning."""
    whole = exported.read_bytes()
    filler = range(whole.index(b"}} ") + 2, whole.index(b"\n"))
    for at in [*range(0, filler.start, 7), *range(filler.stop, len(whole), 41)]:
        exported.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        assert refusal(exported).code == "export-corrupt"


def test_any_changed_byte_of_the_vectors_is_detected(exported: Path) -> None:
    beside = vectors_path(exported)
    whole = beside.read_bytes()
    for at in range(0, len(whole), 29):
        beside.write_bytes(whole[:at] + bytes([whole[at] ^ 16]) + whole[at + 1 :])
        facts = refusal(exported).facts
        assert facts.keys() == {"line", "version"}


MISFITS: tuple[Any, ...] = (None, True, 1, 1.0, -1, 2**70, "x", [], {}, ["a"])
"""Of every type that JSON knows."""


def misfits(document: Any) -> Iterator[Any]:
    """Yield a document once for each of its values and each misfit in the value's place."""
    inside = document.items() if isinstance(document, dict) else enumerate(document)
    for key, value in list(inside):
        for misfit in [*MISFITS, *(misfits(value) if isinstance(value, dict | list) else ())]:
            if type(misfit) is not type(value) or misfit != value:
                document[key] = misfit
                yield document
        document[key] = value


def test_a_value_of_any_other_type_anywhere_is_refused(exported: Path) -> None:
    lines = exported.read_bytes().splitlines(keepends=True)
    kinds = {parsed["type"]: at for at, parsed in enumerate(map(orjson.loads, lines))}
    for at in sorted(kinds.values()):
        for number, document in enumerate(misfits(json.loads(lines[at]))):
            if number % 3 == 0:
                line = json.dumps(document, separators=(",", ":")).encode() + b"\n"
                exported.write_bytes(b"".join([*lines[:at], line, *lines[at + 1 :]]))
                assert refusal(exported).code == "export-corrupt"


@pytest.mark.parametrize("erased", ["ffffffffffffffff", "nobody"])
def test_an_erasure_of_an_unknown_block_is_refused(exported: Path, erased: str) -> None:
    first, rest = exported.read_bytes().split(b"\n", 1)
    forged = evolve(read(first), erased=(erased,))
    exported.write_bytes(forged.line() + b"\n" + rest)
    assert "never learned" in refusal(exported).message


@pytest.mark.parametrize("change", [lambda raw: raw[:-1], lambda raw: raw + b"x", lambda _: b""])
def test_a_truncated_or_extended_vector_file_is_detected(
    exported: Path, change: Callable[[bytes], bytes]
) -> None:
    beside = vectors_path(exported)
    beside.write_bytes(change(beside.read_bytes()))
    assert "file of vectors" in refusal(exported).message


def test_missing_vectors_are_named(exported: Path) -> None:
    vectors_path(exported).unlink()
    assert "vectors of" in refusal(exported).message


@pytest.mark.parametrize("first", [b"", b"{}\n", b"[]\n", b'{"data": {}}\n', b"x" * 1000])
def test_a_file_of_another_kind_is_refused(tmp_path: Path, first: bytes) -> None:
    path = tmp_path / "log.ndjson"
    path.write_bytes(first)
    assert refusal(path).facts == {"line": 1}


def test_a_later_format_is_refused_by_its_number(exported: Path) -> None:
    lines = exported.read_bytes().splitlines(keepends=True)
    lines[0] = lines[0].replace(b'"format":1', b'"format":2')
    exported.write_bytes(b"".join(lines))
    assert "it has form 2, this release reads 1" in refusal(exported).message


def forged(path: Path, lines: Lines) -> None:
    """Write an export whose manifest matches *lines*, as someone could who knows the format."""
    manifest = json.loads(lines[0])
    data = manifest["data"]
    data["sha256"] = sha256(b"".join(lines[1:])).hexdigest()
    data["payloads"] = sum(b"mnemic.payload.1" in line for line in lines)
    manifest["digest"] = sha256(orjson.dumps(data)).hexdigest()
    path.write_bytes(orjson.dumps(manifest) + b"\n" + b"".join(lines[1:]))


def test_removed_texts_are_detected(exported: Path) -> None:
    """Even when everything adds up: they were not erased."""
    lines = exported.read_bytes().splitlines(keepends=True)
    place = next(at for at, line in enumerate(lines) if b"block-learned.1" in line)
    lines[place] = lines[place].replace(b'"payloads":1', b'"payloads":0')
    version = json.loads(lines[place])["version"]
    del lines[place + 1]
    forged(exported, lines)
    found = refusal(exported)
    assert (found.facts, "was not erased" in found.message) == ({"version": version}, True)


def test_changed_texts_are_refused(exported: Path) -> None:
    lines = exported.read_bytes().splitlines(keepends=True)
    place = next(at for at, line in enumerate(lines) if b"block-learned.1" in line)
    payload = json.loads(lines[place + 1])
    payload["data"]["data"] = payload["data"]["data"].replace("eyJ", "eyI", 1)
    lines[place + 1] = orjson.dumps(payload) + b"\n"
    forged(exported, lines)
    found = refusal(exported)
    assert (found.facts["line"], "MAC" in found.message) == (place + 1, True)


def test_a_time_that_differs_from_the_event_is_refused(exported: Path) -> None:
    lines = exported.read_bytes().splitlines(keepends=True)
    lines[1] = lines[1].replace(b'"time":"2026', b'"time":"2025')
    forged(exported, lines)
    assert refusal(exported).facts == {"line": 2, "version": 0}


def test_an_export_changed_between_the_two_passes_leaves_no_file(
    exported: Path, tmp_path: Path
) -> None:
    beside = vectors_path(exported)

    def change(done: int, todo: int) -> None:
        if done * 2 == todo:
            exported.write_bytes(exported.read_bytes()[:-9] + b"12345678\n")

    with pytest.raises(ExportCorrupt):
        SyncMemory.import_space(exported, tmp_path / "new.db", progress=change)
    assert sorted(tmp_path.iterdir()) == [exported, beside]
